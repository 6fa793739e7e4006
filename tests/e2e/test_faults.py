"""Faults of our own never look like the agent's (design: Faults of our own).

The disk of a running server is full for a while: its process may not make its files longer. What
could not be recorded is stopped without an end and run again from its journal afterwards.
"""

import resource
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.e2e.agents import Script
from tests.e2e.caller import Caller, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer

CREDITS = 1000
SOON_SECONDS = 60.0


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(bootstrap_credits=CREDITS)


@contextmanager
def full_disk(server: AgentServer) -> Iterator[None]:
    """Inside: the server's files cannot grow, and a message is refused for it."""
    assert server.process is not None
    pid = server.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


def traces(server: AgentServer, name: str) -> Counter[str]:
    """How often each step of that name began."""
    began = [line.split() for line in server.trace() if line.startswith(f"{name}.")]
    assert len({tuple(line) for line in began}) == len({step for step, _ in began}), "one key each"
    return Counter(step for step, _ in began)


@pytest.mark.parametrize(
    ("name", "hindered", "entries"),
    [
        ("s", [["step_watched", "s.1", 1]], []),
        ("w", [["write_watched", "w.1", "text", 1]], ["progress"]),
        ("g", [["steps_at_once", "g.1", "g.2"]], []),
    ],
)
def test_a_job_whose_calls_cannot_be_recorded_goes_on_later(
    caller: Caller, server: AgentServer, name: str, hindered: Script, entries: list[str]
) -> None:
    before = caller.credits()
    script = [["step", f"{name}.0", 1], ["gate", name], *hindered, ["return", "ok"]]
    message = caller.send([["start", "Work", script]])
    server.await_gate(name)
    with full_disk(server):
        server.open_gate(name)
        server.await_gate(f"{name}.1")
        assert caller.http.get(f"/v1/messages/{message['id']}").json()["status"] == "processing"
    done = caller.final(message["id"], SOON_SECONDS)

    assert (done["status"], done["reason"]) == ("completed", None)
    assert sorted(kinds(caller.log(message["id"]))) == ["agent_reply", *entries, "result"]
    steps = 1 if name == "g" else 2
    assert (done["credits_used"], caller.credits()) == (steps, before - steps)
    began = traces(server, name)
    assert began[f"{name}.0"] == 1, "what was recorded never runs again"
    assert all(step.count(".") == 1 for step in began), f"the author's handler saw it: {began}"


def test_a_turn_whose_calls_cannot_be_recorded_goes_on_later(
    caller: Caller, server: AgentServer
) -> None:
    script: Script = [["step", "t.0"], ["gate", "t"], ["step_watched", "t.1"], ["reply", "said"]]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(caller.send, script)
        server.await_gate("t")
        with full_disk(server):
            server.open_gate("t")
            server.await_gate("t.1")
        message = call.result()
    done = caller.final(message["id"], SOON_SECONDS)
    assert (done["status"], done["reply"]) == ("completed", "said")
    assert traces(server, "t") == {"t.0": 1, "t.1": 2}
    assert kinds(caller.log(done["id"])) == ["agent_reply"]


def test_an_end_that_cannot_be_recorded_is_recorded_later(
    caller: Caller, server: AgentServer
) -> None:
    message = caller.send([["start", "Work", [["gate", "end"], ["return", "ok"]]]])
    server.await_gate("end")
    with full_disk(server):
        server.open_gate("end")
        for _ in range(20):  # the end waits in the same queue
            refused = caller.http.post("/v1/messages", json={"message": "hello"})
            assert (refused.status_code, refused.json()["error"]) == (500, "internal")
    done = caller.final(message["id"], SOON_SECONDS)
    assert done["status"] == "completed"
    assert server.command("doctor") == {"ok": True, "findings": [], "warnings": []}
