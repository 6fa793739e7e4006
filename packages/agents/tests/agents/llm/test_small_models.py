"""A small, slow model in a whole server: few tokens of context, and answers that take long."""

import threading
from typing import Any

import httpx2
import pytest

from agentpost.domain.text import CUT_SHORT
from tests.agents.llm.openai_stub import Calls, Fails, OpenAIStub, Says
from tests.agents.llm.test_tools import SALES, call
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, AgentServer
from tests.forking import MODEL_ALONE
from tests.waiting import PATIENCE, eventually

CONTEXT_TOKENS = 4_096
BYTES_PER_TOKEN = 3
IMPATIENT = {"agentpost.agents.adapters.recording.ANSWER_SECONDS": 0.3}


@pytest.fixture(scope="module")
def server(stub: OpenAIStub, start_server: ServerMaker) -> AgentServer:
    """Its turns hand a call over to the job after a moment."""
    return start_server(
        agent="llm:openai:stub-1",
        llm_base_url=stub.url,
        llm_context_tokens=CONTEXT_TOKENS,
        llm_retries=0,
        constants=IMPATIENT,
        imported=MODEL_ALONE,
    )


def names(request: dict[str, Any]) -> set[str]:
    return {tool["function"]["name"] for tool in request["tools"]}


def test_hello_fits_a_small_context(caller: Caller, stub: OpenAIStub) -> None:
    """Tools that work on files are offered where there are files."""
    stub.tell(Says(["Hello."]))
    caller.final(caller.send("hello", conversation="small")["id"])
    (request,) = stub.requests
    sent = httpx2.Request("POST", stub.url, json=request).content
    assert len(sent) < CONTEXT_TOKENS * BYTES_PER_TOKEN / 2
    assert names(request) == {"ask_user", "write_file", "run_code", "make_document"}
    stub.tell(Calls([call("write_file", path="a.csv", text="a")]), *[Says(["Written."])] * 2)
    caller.final(caller.send("Write a table", conversation="small")["id"])
    assert names(stub.requests[0]) < names(stub.requests[1]) > {"read_file", "make_chart"}
    caller.final(caller.send("Look", conversation="attached", files=[SALES])["id"])
    assert names(stub.requests[2]) == names(stub.requests[1])


def test_an_answer_that_outlives_its_turn_is_not_paid_twice(
    caller: Caller, stub: OpenAIStub
) -> None:
    goes_on = threading.Event()

    def between(piece: int) -> None:
        if piece == 0:
            goes_on.wait(PATIENCE)

    stub.tell(Says(["It takes ", "time."], between))
    sent = caller.send("Think", conversation="late")
    eventually(lambda: caller.get(sent["id"])["jobs"], what="the job of the turn")
    goes_on.set()
    done = caller.final(sent["id"])
    assert (done["status"], done["jobs"][0]["text"]) == ("completed", "It takes time.")
    assert len(stub.requests) == 1


def test_a_call_that_failed_in_the_turn_is_not_made_again(caller: Caller, stub: OpenAIStub) -> None:
    stub.tell(Fails(500))
    done = caller.final(caller.send("Think", conversation="failed")["id"])
    assert (done["status"], len(stub.requests)) == ("failed", 1)
    assert "The model fails now" in done["jobs"][0]["text"]


def test_an_answer_that_is_cut_short_says_so(
    server: AgentServer, caller: Caller, stub: OpenAIStub
) -> None:
    stub.tell(*[Says(["To be or"], finish="length")] * 3)
    done = caller.final(caller.send("Recite", conversation="cut")["id"])
    assert (done["status"], done["reply"]) == ("completed", f"To be or\n\n{CUT_SHORT}")
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx2.Client(base_url=f"{server.url}/openai/v1", headers=headers, timeout=60) as door:
        response = door.post("/responses", json={"model": "agentpost", "input": "Recite"}).json()
        assert (response["status"], response["incomplete_details"]) == (
            "incomplete", {"reason": "max_output_tokens"}
        )  # fmt: skip
        asked = {"model": "agentpost", "messages": [{"role": "user", "content": "Recite"}]}
        completion = door.post("/chat/completions", json=asked).json()
    assert completion["choices"][0]["finish_reason"] == "length"
