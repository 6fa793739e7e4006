"""One turn at a time in a conversation (spec: Reasons agent_busy; design: One turn at a time)."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx2
import pytest

from tests.e2e.caller import Caller, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer

SETTINGS = {"busy_wait_seconds": 0.5, "turn_reply_seconds": 30}


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


@pytest.mark.rule(
    "Message.retry_after_seconds", "Reasons agent_busy", "Transitions 12", "Errors outcomes"
)
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
    running = occupy(caller, server, pool, "again")
    body = {"conversation": "again", "files": [{"name": "a.txt", "base64": "eA=="}]}
    first = caller.post([["read"]], key="again", **body)
    assert first.json()["reason"] == "agent_busy"
    second = caller.post([["read"]], key="again", **body)
    assert (second.status_code, second.json()["reason"]) == (200, "agent_busy"), "busy once more"
    server.open_gate("again")
    assert running.result().json()["reply"] == "finally"
    third = caller.post([["read"]], key="again", **body)

    assert third.status_code == 200
    assert third.headers["Idempotent-Replayed"] == "true"
    message = third.json()
    assert message["id"] == first.json()["id"]
    assert (message["status"], message["reply"]) == ("completed", "x")
    assert "retry_after_seconds" not in message
    assert message["reason"] is None
    assert kinds(caller.log(message["id"])) == ["turn_busy", "turn_busy", "agent_reply"]


@pytest.mark.databases("sqlite", "postgres")
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


@pytest.mark.databases("sqlite", "postgres")
def test_waiting_messages_run_in_order_of_acceptance(
    start_server: ServerMaker, callers: Callable[..., Caller]
) -> None:
    server = start_server(busy_wait_seconds=60, turn_reply_seconds=0.1)
    caller = callers(server)
    first = caller.send([["gate", "order"], ["reply", "0"]])
    ids = [first["id"], *(caller.send([["reply", str(n)]])["id"] for n in range(1, 6))]
    assert {caller.get(i)["status"] for i in ids} == {"processing"}

    server.open_gate("order")
    done = [caller.final(i) for i in ids]
    assert [message["reply"] for message in done] == ["0", "1", "2", "3", "4", "5"]
    ends = [message["updated_at"] for message in done]
    assert ends == sorted(ends)


# --- what the caller wants ------------------------------------------------------------------------
@pytest.mark.rule("Additions busy")
def test_a_message_that_would_not_wait_is_busy_at_once(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    running = occupy(caller, server, pool, "at once")
    body = {"conversation": "at once", "busy": "fail"}
    first = caller.post("quick", key="at once", **body)
    assert first.status_code == 201
    message = first.json()
    assert (message["status"], message["reason"]) == ("failed", "agent_busy")
    assert (message["retry_after_seconds"], message["final"]) == (15, True)
    assert kinds(caller.log(message["id"])) == ["turn_busy"]
    second = caller.post("quick", key="at once", **body)
    assert (second.status_code, second.json()["reason"]) == (200, "agent_busy"), "busy once more"
    server.open_gate("at once")
    assert running.result().json()["reply"] == "finally"
    third = caller.post("quick", key="at once", **body).json()
    assert (third["id"], third["status"]) == (message["id"], "completed")


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Additions busy", "Additions queue_position")
def test_queued_messages_are_answered_at_once_and_get_their_turns_in_order(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    running = occupy(caller, server, pool, "line")
    queued = [
        caller.post([["gate", f"line {n}"], ["reply", f"{n}"]], conversation="line", busy="queue")
        for n in (1, 2)
    ]
    assert [answer.status_code for answer in queued] == [201, 201]
    assert [answer.json()["status"] for answer in queued] == ["processing", "processing"]
    assert [answer.json()["queue_position"] for answer in queued] == [1, 2]
    one, two = (answer.json()["id"] for answer in queued)
    waited = caller.send("impatient", conversation="line")
    assert waited["reason"] == "agent_busy", "half a second is over, the queued ones stay"
    assert "queue_position" not in waited

    server.open_gate("line")
    assert running.result().json()["reply"] == "finally"
    server.await_gate("line 1")
    assert "queue_position" not in caller.get(one)
    assert caller.get(two)["queue_position"] == 1
    server.open_gate("line 1")
    server.open_gate("line 2")
    assert [caller.final(one)["reply"], caller.final(two)["reply"]] == ["1", "2"]
    reply = caller.log(two)[-1]
    assert (reply["type"], reply["delivered_sync"]) == ("agent_reply", False)


@pytest.mark.rule("Additions busy")
def test_a_free_conversation_answers_whatever_is_asked_of_a_busy_one(caller: Caller) -> None:
    for busy in ("wait", "fail", "queue"):
        message = caller.send("hello", conversation=f"free {busy}", busy=busy)
        assert message["status"] == "completed"
        assert "queue_position" not in message


# --- a call that does not wait --------------------------------------------------------------------
@pytest.mark.rule("Additions wait-1", "Additions wait-3")
def test_a_call_that_does_not_wait_is_answered_at_once(caller: Caller, server: AgentServer) -> None:
    """Also one whose agent is as fast: what the log says of the answer is true."""
    script = [["gate", "unheld"], ["reply", "there"]]
    answer = caller.post(script, key="unheld", wait=0)
    message = answer.json()
    assert (answer.status_code, message["status"], message["final"]) == (201, "processing", False)
    for wait in (0, 30, None):
        again = caller.post(script, key="unheld", wait=wait)
        assert (again.status_code, again.json()["id"]) == (200, message["id"])
    server.open_gate("unheld")
    assert caller.final(message["id"])["reply"] == "there"
    assert caller.log(message["id"])[0]["delivered_sync"] is False
    fast = caller.post("fast", wait=0).json()
    assert (fast["status"], fast["reply"]) == ("processing", None)
    caller.final(fast["id"])
    assert caller.log(fast["id"])[0]["delivered_sync"] is False


@pytest.mark.rule("Additions wait-2")
def test_a_call_is_held_no_longer_than_the_server_allows(
    caller: Caller, server: AgentServer
) -> None:
    windows = {}
    for wait in (15, 45, None):
        message = caller.post("hello", wait=wait).json()
        assert message["reply"] == "You said: hello"
        rows = server.rows(
            f"SELECT reply_deadline - created_at AS held FROM messages WHERE id = '{message['id']}'"
        )
        windows[wait] = rows[0]["held"] / 1_000_000
    assert windows == {15: 15, 45: 30, None: 30}


@pytest.mark.rule("Additions wait-2")
@pytest.mark.parametrize("wait", ["46", "-1", "1.5", "soon", "", ["1", "2"]])
def test_a_wait_that_is_none_is_refused_and_leaves_the_key_free(
    caller: Caller, wait: object
) -> None:
    refused = caller.post("hello", key=f"wait {wait!r}", wait=wait)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
    assert [each["field"] for each in refused.json()["problems"]] == ["wait"]
    assert caller.post("another", key=f"wait {wait!r}").status_code == 201


@pytest.mark.rule("Additions wait-3")
def test_a_busy_message_sent_again_without_waiting_is_answered_at_once(
    caller: Caller, server: AgentServer, pool: ThreadPoolExecutor
) -> None:
    running = occupy(caller, server, pool, "unheld again")
    sent = [caller.post("hi", "busy later", 0, conversation="unheld again") for _ in range(2)]
    assert [answer.status_code for answer in sent] == [201, 200]
    message_id = sent[0].json()["id"]
    assert caller.until_message(message_id, final=True)["reason"] == "agent_busy"
    again = caller.post("hi", "busy later", 0, conversation="unheld again")
    assert (again.status_code, again.json()["status"]) == (200, "processing")
    server.open_gate("unheld again")
    assert running.result().json()["reply"] == "finally"
    done = caller.until_message(message_id, final=True)
    while done["reason"] == "agent_busy":  # half a second was over before the gate was seen
        done = caller.post("hi", "busy later", conversation="unheld again").json()
    assert done["reply"] == "You said: hi"
    assert caller.log(message_id)[-1]["type"] == "agent_reply"
