"""One turn at a time in a conversation (spec: Reasons agent_busy; design: One turn at a time)."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest

from tests.e2e.caller import Caller, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server(busy_wait_seconds=0.5, turn_reply_seconds=10)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(30) as pool:
        yield pool


def occupy(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor, name: str
) -> Future[httpx2.Response]:
    """A turn that runs in the conversation ``name`` until its gate opens."""
    script = [["gate", name], ["reply", "finally"]]
    running = pool.submit(caller.post, script, None, conversation=name)
    server.await_gate(name)
    return running


@pytest.mark.rule("Reasons agent_busy", "Errors outcomes")
def test_a_message_that_waits_too_long_ends_busy(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    running = occupy(caller, server, pool, "busy")
    message = caller.send("me too", conversation="busy")

    assert (message["status"], message["reason"]) == ("failed", "agent_busy")
    assert message["retry_after_seconds"] == 15
    assert message["final"] is True
    assert message["reply"] is None
    assert message["jobs"] == []
    log = caller.log(message["id"])
    assert [(entry["type"], entry["reason"]) for entry in log] == [("turn_busy", "agent_busy")]
    assert log[0]["text"]
    assert caller.send("elsewhere", conversation="other")["status"] == "completed"
    server.open_gate("busy")
    assert running.result().json()["reply"] == "finally"


@pytest.mark.rule("Transitions 12")
def test_the_same_call_again_runs_it_under_the_same_id(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    occupy(caller, server, pool, "again")
    body = {"conversation": "again", "files": [{"name": "a.txt", "base64": "eA=="}]}
    first = caller.post([["read"]], key="again", **body)
    assert first.json()["reason"] == "agent_busy"
    second = caller.post([["read"]], key="again", **body)
    assert (second.status_code, second.json()["reason"]) == (200, "agent_busy"), "busy once more"
    server.open_gate("again")
    third = caller.post([["read"]], key="again", **body)

    assert third.status_code == 200
    assert third.headers["Idempotent-Replayed"] == "true"
    message = third.json()
    assert message["id"] == first.json()["id"]
    assert (message["status"], message["reply"]) == ("completed", "x")
    assert "retry_after_seconds" not in message
    assert message["reason"] is None
    assert kinds(caller.log(message["id"])) == ["turn_busy", "turn_busy", "agent_reply"]


def test_of_many_repeats_one_runs_it(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    running = occupy(caller, server, pool, "many")
    script = [["step", "rearmed"], ["reply", "ran"]]
    busy = caller.post(script, key="many", conversation="many").json()
    assert busy["reason"] == "agent_busy"
    server.open_gate("many")
    running.result()
    start = threading.Barrier(20)

    def again(_: int) -> httpx2.Response:
        start.wait()
        return caller.post(script, key="many", conversation="many")

    answers = list(pool.map(again, range(20)))
    assert Counter(answer.status_code for answer in answers) == {200: 20}
    assert {answer.json()["id"] for answer in answers} == {busy["id"]}
    assert caller.final(busy["id"])["reply"] == "ran"
    assert kinds(caller.log(busy["id"])) == ["turn_busy", "agent_reply"]
    assert len([line for line in server.trace() if line.startswith("rearmed ")]) == 1


def test_waiting_messages_run_in_order_of_acceptance(
    start_server: ServerMaker, pool: ThreadPoolExecutor
) -> None:
    server = start_server(busy_wait_seconds=20, turn_reply_seconds=0.1)
    caller = Caller(server)
    first = caller.send([["gate", "order"], ["reply", "0"]])
    ids = [first["id"], *(caller.send([["reply", str(n)]])["id"] for n in range(1, 6))]
    assert {caller.get(i)["status"] for i in ids} == {"processing"}

    server.open_gate("order")
    done = [caller.final(i) for i in ids]
    assert [message["reply"] for message in done] == ["0", "1", "2", "3", "4", "5"]
    ends = [message["updated_at"] for message in done]
    assert ends == sorted(ends)
    caller.close()
