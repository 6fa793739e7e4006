"""Hostile messages and files through the real door: each ends in a right work, or says what is
wrong with which file; nothing of the machine leaks, and the server is well afterwards.

All are sent at once to one server; each test then waits for its own. Inputs that take a reader
many seconds are in `tests.extraction.hostile` and `tests.offline.data.test_hostile`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
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


class Sent:
    """The first answers to inputs, each sent in a conversation of its own.

    They are sent a few ahead of the test that asks, so that the server works on several; not all at
    once, since a run may share the tests of this module out to several processes.
    """

    def __init__(self, caller: Caller, senders: ThreadPoolExecutor) -> None:
        self._caller = caller
        self._senders = senders
        self._names = list(INPUTS)
        self._sent: dict[str, Future[Json]] = {}

    def answer(self, name: str) -> Json:
        """The answer that came at once."""
        at = self._names.index(name)
        for each in self._names[at : at + AHEAD]:
            if each not in self._sent:
                sending = self._senders.submit(send, self._caller, each, INPUTS[each])
                self._sent[each] = sending
        return self._sent[name].result()

    def all(self) -> list[Json]:
        """The answers to everything that was sent."""
        return [sending.result() for sending in self._sent.values()]


@pytest.fixture(scope="module")
def sent(caller: Caller) -> Iterator[Sent]:
    with ThreadPoolExecutor(AHEAD) as senders:
        yield Sent(caller, senders)


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


@pytest.mark.parametrize("name", INPUTS)
def test_it_ends_as_it_should(caller: Caller, sent: Sent, name: str) -> None:
    one = INPUTS[name]
    message = caller.final(sent.answer(name)["id"], SECONDS)
    text = texts_of(caller, message)
    assert re.fullmatch(one.ends, message["status"]), (message["reason"], text)
    assert re.search(one.says, text, re.DOTALL), text
    assert not LEAKS.search(text)
    assert message["credits_used"] <= 5
    if message["status"] != "completed":
        assert message["credits_used"] == 0
    one.look({file["name"]: caller.call("GET", file["url"]).content
              for file in message.get("files") or []})  # fmt: skip


def test_the_server_is_well_afterwards(server: AgentServer, caller: Caller, sent: Sent) -> None:
    for name in list(INPUTS)[-AHEAD:]:
        sent.answer(name)
    for answer in sent.all():
        caller.final(answer["id"], SECONDS)
    assert caller.call("GET", "/readyz").status_code == 200
    again = send(
        caller, "afterwards", Input("What is the total revenue?", {"s.csv": lambda: TABLE})
    )
    assert "Total Revenue: 60." in caller.final(again["id"], SECONDS)["reply"]
    log = server.log_file.read_text(errors="replace")
    assert not re.findall(r'"event": "(?:job_failed|turn_failed|request_failed)".*', log)
    assert "a reader failed in a way it should not" not in log
