"""The model's own tools, in a whole server whose model is the stub."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.agents.llm.openai_stub import (
    Calls,
    Hangs,
    OpenAIStub,
    Reply,
    Says,
    instructions_of,
)
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.e2e.test_logs import lines
from tests.forking import MODEL_ALONE
from tests.waiting import eventually

ROWS = b"day,region,revenue\n2026-01-05,North,10\n2026-01-06,South,30\n2026-02-03,North,5\n"
SALES = {"name": "sales.csv", "base64": base64.b64encode(ROWS).decode()}


@pytest.fixture(scope="module")
def server(stub: OpenAIStub, start_server: ServerMaker) -> AgentServer:
    return start_server(
        agent="llm:openai:stub-1", llm_base_url=stub.url, agent_processes=2, imported=MODEL_ALONE
    )


def call(tool: str, /, **args: Any) -> tuple[str, str]:
    return tool, json.dumps(args)


NOTE = call("write_file", path="note.txt", text="Two.")


def results(stub: OpenAIStub) -> list[str]:
    return [m["content"] for m in stub.requests[-1]["messages"] if m["role"] == "tool"]


def test_a_model_alone_has_no_agent_processes(server: AgentServer) -> None:
    (said,) = lines(server, "agent_processes_ignored")
    assert said["level"] == "warning"
    assert lines(server, "agent_process_started") == []


def test_it_writes_pages_and_reads_them_later(caller: Caller, stub: OpenAIStub) -> None:
    index = call("write_file", path="index.html", text='<a href="b.html">B</a>')
    stub.tell(Calls([index, call("write_file", path="b.html", text="<p>B</p>")]), Says(["Done."]))
    done = caller.final(caller.send("Two pages", conversation="pages")["id"])
    assert (done["status"], [file["name"] for file in done["files"]]) == (
        "completed", ["index.html", "b.html"]
    )  # fmt: skip
    assert httpx2.get(done["files"][1]["url"]).text == "<p>B</p>"
    stub.tell(Calls([call("list_files"), call("read_file", name="b.html")]), Says(["Read."]))
    caller.final(caller.send("Read it", conversation="pages")["id"])
    assert results(stub)[-1] == "B"


def test_a_path_that_no_file_may_have_is_told(caller: Caller, stub: OpenAIStub) -> None:
    """Which those are: `egress/test_filenames` of the server."""
    wrong = ["/etc/motd", "", "../a", "a" * 300, "a\nb"]
    stub.tell(
        Calls([call("write_file", path=path, text="Dear all") for path in wrong]),
        Calls([call("write_file", path="letter.txt", text="Dear all")]),
        Says(["Done."]),
    )
    done = caller.final(caller.send("Write a letter", conversation="paths")["id"])
    assert (done["status"], [file["name"] for file in done["files"]]) == (
        "completed", ["letter.txt"]
    )  # fmt: skip
    assert [said[:12] for said in results(stub)[:-1]] == ['{"error":"a '] * len(wrong)


def test_mistakes_in_an_answer_are_repaired(caller: Caller, stub: OpenAIStub) -> None:
    """Text that cannot be stored, in the arguments of a call and in the reply, and an id of two
    calls; a number that JSON does not have is told."""
    calls = [call("write_file", path=f"{n}.txt", text="a\0b\ud83dc\U0001f600") for n in "12"]
    stub.tell(
        Calls(calls, ids=["call_1", "call_1"]),
        Calls([("read_file", '{"name": "1.txt", "offset": NaN}')]),
        Calls([call("run_code", code="'\ud83d'")]),
        Says(["Half \ud83d", " and \0."]),
    )
    done = caller.final(caller.send("Write two files", conversation="repaired")["id"])
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", "Half \ufffd and \ufffd.")
    texts = [httpx2.get(file["url"]).text for file in done["files"]]
    assert texts == ["a\ufffdb\ufffdc\U0001f600"] * 2
    sent = [m for m in stub.requests[-1]["messages"] if m["role"] == "tool"]
    assert len({m["tool_call_id"] for m in sent}) == len(sent) == 4


def test_a_message_stops_what_runs(caller: Caller, stub: OpenAIStub) -> None:
    replies: Iterator[Reply] = iter([Calls([NOTE]), Hangs()])

    def answer(request: dict[str, Any]) -> Reply:
        names = [tool["function"]["name"] for tool in request["tools"]]
        return Calls([call("stop", reply="It is stopped.")]) if "stop" in names else next(replies)

    stub.requests.clear()
    stub.answer = answer
    sent = caller.send("Count all the files", conversation="stop")
    eventually(lambda: len(stub.requests) == 2, what="the model call of the job")
    stop = caller.final(caller.send("Please stop", conversation="stop")["id"])
    assert (stop["reply"], stop["jobs"]) == ("It is stopped.", [])
    assert "working for the user on: Count all the files" in instructions_of(stub.requests[2])
    (job,) = caller.final(sent["id"])["jobs"]
    assert (job["status"], job["reason"]) == ("cancelled", "stopped")


def test_a_result_in_the_caller_s_shape(caller: Caller, stub: OpenAIStub) -> None:
    """In the turn, and in a job that a tool needs."""
    wanted = {
        "response_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "metadata": {"timezone": "Asia/Tokyo"},
    }
    stub.tell(Calls([call("give_result", n=1)]))
    done = caller.final(caller.send("How many?", conversation="result/1", **wanted)["id"])
    assert (done["status"], done["output"], done["jobs"]) == ("completed", {"n": 1}, [])
    stub.tell(Calls([NOTE]), Calls([call("give_result", n=2)]))
    done = caller.final(caller.send("How many?", conversation="result/2", **wanted)["id"])
    assert (done["status"], done["output"], len(done["jobs"])) == ("completed", {"n": 2}, 1)
    assert all("Asia/Tokyo" in instructions_of(request) for request in stub.requests)


def test_it_runs_a_program(caller: Caller, stub: OpenAIStub) -> None:
    code = """
import csv
rows = list(csv.DictReader(files["sales.csv"].splitlines()))
write_file("total.txt", str(sum(int(row["revenue"]) for row in rows)))
print(len(rows), "rows")
"""
    stub.tell(
        Calls([call("run_code", code=code, files=["nothing.csv"])]),
        Calls([call("run_code", code=code, files=["sales.csv"])]),
        Says(["45 in all."]),
    )
    sent = caller.send("How much?", conversation="program", files=[SALES])
    done = caller.final(sent["id"])
    assert done["status"] == "completed", done
    absent, right = results(stub)
    assert "There is no file nothing.csv" in absent
    assert right == "3 rows\nWritten: total.txt."
    (file,) = done["files"]
    assert (file["name"], httpx2.get(file["url"]).text) == ("total.txt", "45")


def test_it_looks_at_tables_and_makes_a_chart(caller: Caller, stub: OpenAIStub) -> None:
    measure = {"table": "sales.csv", "column": "revenue"}
    query = {"measures": [measure], "by": ["region"]}
    files = ["sales.csv"]
    stub.tell(
        Calls([call("describe_tables", files=files)]),
        Calls([call("ask_tables", files=files, query=query)]),
        Calls([call("make_chart", files=files, query=query, title="Who leads", kind="bar")]),
        Says(["South leads."]),
    )
    sent = caller.send("Who leads?", conversation="chart", files=[SALES])
    done = caller.final(sent["id"])
    assert done["status"] == "completed", done
    described, asked, made = results(stub)
    assert "revenue" in described
    assert "30" in asked
    assert done["files"][0]["name"] in made
