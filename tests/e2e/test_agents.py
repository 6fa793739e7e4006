"""Agents that misbehave hurt their own message and nobody else's (design: Turns; How a turn ends;
How a job ends).
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT, eventually

CallerMaker = Callable[..., Caller]
SETTINGS = {"turn_reply_seconds": 30, "sweep_seconds": 0.2}


@pytest.fixture(scope="module")
def hasty(start_server: ServerMaker) -> AgentServer:
    """A turn may take a second: only for turns that never end, since any may on a busy machine."""
    return start_server(turn_limit_seconds=1, turn_reply_seconds=30, sweep_seconds=0.2)


def failed_turn(caller: Caller, message: Json, detail: str) -> Json:
    """The message ended so; its log says why."""
    assert (message["status"], message["reason"]) == ("failed", "turn_failed")
    (entry,) = [each for each in caller.log(message["id"]) if each["type"] == "turn_failed"]
    assert entry["reason"] == detail
    assert "leaked" not in entry["text"], "what went wrong inside is not for the caller"
    return message


# --- turns ----------------------------------------------------------------------------------------
@pytest.mark.rule("Reasons execution_failed")
@pytest.mark.parametrize("kind", ["error", "timeout", "cancelled", "exit", "interrupt"])
def test_an_exception_fails_the_turn_or_the_job(caller: Caller, kind: str) -> None:
    """The conversation goes on, and so does what a turn has started."""
    job = [["write", "a.txt", "x"], ["leak", kind]]
    message = caller.send([["reply", "never shown"], ["start", "Leak", job], ["leak", kind]])
    assert (message["status"], message["reply"]) == ("failed", None)
    done = failed_turn(caller, caller.final(message["id"]), "error")
    assert done["final"] is True
    assert (done["jobs"][0]["status"], done["jobs"][0]["reason"]) == ("failed", "execution_failed")
    assert [file["name"] for file in done["jobs"][0]["files"]] == ["a.txt"]
    (result,) = [entry for entry in caller.log(done["id"]) if entry["type"] == "result"]
    assert (result["outcome"], "leaked" in result["text"]) == ("failed", False)
    assert caller.send("and on")["status"] == "completed"


@pytest.mark.parametrize("script", [[["remember", "k", "v"]], [["step", "only"]], [["reply", " "]]])
def test_a_turn_that_says_and_does_nothing_is_empty(
    caller: Caller, script: list[list[str]]
) -> None:
    failed_turn(caller, caller.send(script), "empty")


def test_a_turn_that_only_works_is_no_failure(caller: Caller) -> None:
    message = caller.send([["write", "a.txt", "x"]])
    assert (message["status"], message["reply"]) == ("completed", None)
    assert [file["name"] for file in message["files"]] == ["a.txt"]


def completes(caller: Caller, conversation: str) -> None:
    """The conversation goes on; of the server's hasty turns any may be abandoned."""

    def completed() -> bool:
        done: bool = caller.send("and on", conversation=conversation)["status"] == "completed"
        return done

    eventually(completed, what="a turn")


@pytest.mark.parametrize("never_ends", ["gate", "stubborn"])
def test_a_turn_that_never_ends_is_abandoned(
    hasty: AgentServer, callers: CallerMaker, never_ends: str
) -> None:
    """Also one that refuses to be cancelled."""
    caller = callers(hasty)
    began = time.monotonic()
    message = caller.send([[never_ends, never_ends], ["reply", "late"]], conversation=never_ends)
    failed_turn(caller, message, "abandoned")
    assert time.monotonic() - began < PROMPT
    completes(caller, never_ends)
    hasty.open_gate(never_ends)
    assert caller.get(message["id"]) == message, "what it says afterwards does not count"


def test_memory_is_kept_only_when_the_turn_ends_well(caller: Caller) -> None:
    caller.send([["remember", "good", "1"], ["reply", "ok"]], conversation="memory")
    caller.send([["remember", "bad", "1"], ["leak", "error"]], conversation="memory")
    reply = caller.send([["see"]], conversation="memory")["reply"]
    assert '"state": {"good": "1"}' in reply


def test_a_blocking_agent_leaves_the_api_answering(
    hasty: AgentServer, callers: CallerMaker
) -> None:
    caller = callers(hasty)
    with ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(caller.send, [["block", 60, "asleep"], ["reply", "awake"]])
        hasty.await_gate("asleep")
        for _ in range(5):
            assert caller.call("GET", "/v1/me").status_code == 200
        failed_turn(caller, blocked.result(), "abandoned")
    # It was ended while its agent still slept: until that wakes, the next turns wait in vain too.
    hasty.open_gate("asleep")
    eventually(lambda: caller.send("and on")["status"] == "completed")


# --- jobs -----------------------------------------------------------------------------------------
def test_a_broken_step_fails_the_job_and_costs_nothing(caller: Caller) -> None:
    before = caller.credits()
    done = caller.final(caller.send([["start", "Broken", [["broken_step", 5]]]])["id"])
    assert done["jobs"][0]["status"] == "failed"
    assert done["credits_used"] == 0
    assert caller.credits() == before


def test_a_job_hears_what_is_said_to_it(caller: Caller, server: AgentServer) -> None:
    first = caller.send([["start", "Hear", [["gate", "hear"], ["inbox", 20]]]], conversation="hear")
    server.await_gate("hear")
    server.open_gate("hear")
    job_id = first["jobs"][0]["job_id"]
    caller.send([["join", job_id, "make it blue"]], conversation="hear")
    done = caller.final(first["id"])
    assert done["status"] == "completed"
    steps = [entry.get("step") for entry in caller.log(first["id"])]
    assert "heard: make it blue" in steps


def test_text_that_cannot_be_stored_loses_only_that(caller: Caller) -> None:
    message = caller.send([["start_oddly", [["inbox", 20], ["talk_oddly"]]]])
    clean = "odd ? text"
    assert message["reply"] == message["jobs"][0]["title"] == clean
    done = caller.final(message["id"])
    assert (done["status"], done["question"]) == ("needs_input", clean)
    steps = [entry["step"] for entry in caller.log(message["id"]) if entry["type"] == "progress"]
    assert steps == [f"heard: {clean}", clean]


# --- the server -----------------------------------------------------------------------------------
def test_it_stops_when_it_is_reported_to_and_answers_who_waits(start_server: ServerMaker) -> None:
    server = start_server()
    caller = Caller(server)
    message = caller.send([["start", "Stays", [["step", "once"], ["gate", "up"], ["step", "two"]]]])
    server.await_gate("up")
    with ThreadPoolExecutor(2) as pool:
        held = pool.submit(caller.get, message["id"], 40)
        turn = pool.submit(caller.send, [["gate", "turn"], ["reply", "after"]])
        server.await_gate("turn")
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < PROMPT
        assert held.result()["status"] == "processing"
        answered = turn.result()
        assert answered["status"] == "processing"

    server.open_gate("up")
    server.open_gate("turn")
    server.start()
    assert caller.final(message["id"], 5)["status"] == "completed"
    assert caller.final(answered["id"], 5)["reply"] == "after"
    assert server.steps() == ["once", "two"]
