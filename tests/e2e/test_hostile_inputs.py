"""Hostile messages and files through the real door: each ends in a right work, or says what is
wrong with which file; nothing of the machine leaks, and the server is well afterwards.

All are sent at once to one server; each test then waits for its own. Inputs that take a reader
many seconds are in `tests.extraction.hostile` and `tests.offline.data.test_hostile`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.hostile_files import TABLE
from tests.e2e.hostile_inputs import INPUTS, Input
from tests.e2e.server import AgentServer

SECONDS = 120.0
AHEAD = 4
LEAKS = re.compile(r"Traceback|unexpectedly|File \"|\.py\b|/tmp/|/root/|site-packages|/data/blobs")


@pytest.fixture(scope="module")
def server(offline_server: AgentServer) -> AgentServer:
    return offline_server


def send(caller: Caller, name: str, one: Input) -> Json:
    """Send an input; the answer that comes at once."""
    files = [
        {"name": file, "base64": base64.b64encode(make()).decode()}
        for file, make in one.files.items()
    ]
    return caller.send(one.message, conversation=name, **({"files": files} if files else {}))


def texts_of(caller: Caller, message: Json) -> str:
    """Everything that a message tells its reader."""
    works = [caller.work(job["work_id"])["text"] for job in message["jobs"]]
    return "\n".join(filter(None, [message.get("reply"), message["question"], *works]))


@pytest.fixture(scope="module")
def sent(caller: Caller) -> Iterator[Callable[[str], Json]]:
    """The answer that came at once to an input, in a conversation of its own. The inputs behind it
    are sent, too, so that the server works on several; not all, since a run may share the tests of
    this module out to several processes."""
    names = list(INPUTS)
    with ThreadPoolExecutor(AHEAD) as senders:
        under_way: dict[str, Future[Json]] = {}

        def answer(name: str) -> Json:
            at = names.index(name)
            for each in names[at : at + AHEAD]:
                if each not in under_way:
                    under_way[each] = senders.submit(send, caller, each, INPUTS[each])
            return under_way[name].result()

        yield answer


@pytest.mark.parametrize("name", INPUTS)
def test_it_ends_as_it_should(caller: Caller, sent: Callable[[str], Json], name: str) -> None:
    one = INPUTS[name]
    message = caller.final(sent(name)["id"], SECONDS)
    text = texts_of(caller, message)
    assert re.fullmatch(one.ends, message["status"]), (message["reason"], text)
    assert re.search(one.says, text, re.DOTALL), text
    assert not LEAKS.search(text)
    assert message["credits_used"] <= 5
    if message["status"] != "completed":
        assert message["credits_used"] == 0
    one.look({file["name"]: caller.call("GET", file["url"]).content
              for file in message.get("files") or []})  # fmt: skip


def test_the_server_is_well_afterwards(server: AgentServer, caller: Caller) -> None:
    assert caller.call("GET", "/readyz").status_code == 200
    again = send(
        caller, "afterwards", Input("What is the total revenue?", {"s.csv": lambda: TABLE})
    )
    assert "Total Revenue: 60." in caller.final(again["id"], SECONDS)["reply"]
    log = server.log_file.read_text(errors="replace")
    assert not re.findall(r'"event": "(?:job_failed|turn_failed|request_failed)".*', log)
    assert "a reader failed in a way it should not" not in log
