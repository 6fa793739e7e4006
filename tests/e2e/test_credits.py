"""Credits and the cap of running jobs at a running server: outcomes, not errors (spec: Transitions;
design: Credits). Each state by itself: `tests.credits`, `tests.jobs`."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest

from tests.e2e.caller import Caller, Json, kinds
from tests.e2e.server import ACCOUNT, AgentServer
from tests.waiting import PATIENCE, PROMPT, eventually

SETTINGS = {"bootstrap_credits": 0}


# --- out of credits -------------------------------------------------------------------------------
@pytest.mark.rule(
    "What the service does 5",
    "Finality 3",
    "Job.started_at",
    "Message event log state",
    "Reasons out_of_credits",
    "Transitions 2",
    "Transitions 4",
    "createMessage 3",
    "Errors outcomes",
)
def test_without_credits_work_is_queued_and_a_top_up_starts_it(
    caller: Caller, server: AgentServer
) -> None:
    """Talking is free. Work that is short of credits on the way goes on from its last call."""
    assert caller.send("hello")["status"] == "completed"
    job = [["step", "paid", 1.5], ["write", "half.txt", "x"], ["charge", 1], ["step", "unpaid", 1]]
    answer = caller.post([["start", "Queued", [*job, ["return", "Ran."]]]])
    assert answer.status_code == 201
    message = answer.json()
    assert message["reply"] == "Queued: queued"
    assert (message["status"], message["reason"]) == ("blocked", "out_of_credits")
    assert message["final"] is False
    assert message["resume"] == "add_credits"
    queued = message["jobs"][0]
    assert (queued["status"], queued["reason"]) == ("blocked", "out_of_credits")
    assert (queued["queued"], queued["final"], queued["started_at"]) == (True, False, None)
    assert queued["resume_by"] == message["resume_by"]
    until = datetime.fromisoformat(queued["resume_by"])
    waits = until - datetime.fromisoformat(message["created_at"])
    assert timedelta(hours=24) <= waits < timedelta(hours=24, seconds=30)

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(caller.get, message["id"], 30)
        server.command("credits", "add", ACCOUNT, "2")
        added = time.monotonic()
        parked = caller.until_message(message["id"], status="blocked", credits_used=2)
        assert time.monotonic() - added < PROMPT
        assert held.result()["status"] in ("processing", "blocked")
    assert (parked["reason"], parked["final"]) == ("out_of_credits", False)
    assert parked["jobs"][0]["queued"] is True
    began = parked["jobs"][0]["started_at"]
    assert caller.credits() == 0, "a charge takes what is left"

    server.command("credits", "add", ACCOUNT, "5")
    done = caller.final(message["id"])
    assert (done["status"], done["reason"], done["credits_used"]) == ("completed", None, 3)
    assert not {"resume", "resume_by"} & set(done)
    assert done["jobs"][0]["queued"] is done["jobs"][0]["resume_by"] is None
    assert done["jobs"][0]["started_at"] == began
    assert message["created_at"] < began < done["jobs"][0]["settled_at"]
    log = caller.log(message["id"])
    assert kinds(log)[0] == "agent_reply"
    reported = [entry.get("state") or entry.get("outcome") or entry["step"] for entry in log[1:]]
    again = ["resumed", "completed"]
    assert reported == ["resumed", "Wrote half.txt", "stalled_credits", *again]
    assert server.steps() == ["paid", "unpaid"]
    assert caller.credits() == 4


@pytest.mark.rule("Reasons hosting_fees")
def test_due_hosting_fees_refuse_new_work(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    caller = callers(server, server.new_key("due"))
    server.command("hosting-fees", "due", "due@example.com")
    message = caller.send([["start", "Due", [["return", ""]]]])
    server.command("hosting-fees", "clear", "due@example.com")
    assert (message["status"], message["reason"]) == ("blocked", "hosting_fees")
    assert message["final"] is True
    job = message["jobs"][0]
    assert (job["kind"], job["queued"]) == ("refusal", None)
    assert job["job_id"].startswith("ref_")
    assert "resume" not in message
    again = caller.send([["start", "Clear", [["return", ""]]]])
    assert caller.final(again["id"])["status"] == "completed"


# --- the cap --------------------------------------------------------------------------------------
@pytest.mark.rule(
    "What the service does 5",
    "Transitions 3",
    "Reasons too_many_running",
    "Errors outcomes",
    "Limits running-jobs",
    "Limits cap",
)
def test_the_sixth_job_is_refused_and_told_what_runs(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    caller = callers(server, server.new_key("busy"))
    first = [
        caller.send([["start", f"{n}", [["gate", "cap"]]]], conversation=f"c{n}") for n in range(4)
    ]
    script = [["start", "fifth", [["gate", "cap"]]], ["start", "sixth", [["return", ""]]]]
    message = caller.send(script, conversation="more")

    assert message["reply"] == "fifth: running\n\nsixth: refused"
    fifth, sixth = message["jobs"]
    assert (sixth["kind"], sixth["status"]) == ("refusal", "blocked")
    assert (sixth["reason"], sixth["final"]) == ("too_many_running", True)
    assert sixth["job_id"].startswith("ref_")
    assert sixth["link"].endswith(sixth["work_id"])
    started = [*first, {**message, "jobs": [fifth]}]
    assert message["running"] == [
        {
            "job_id": sent["jobs"][0]["job_id"],
            "message_id": sent["id"],
            "work_id": sent["jobs"][0]["work_id"],
        }
        for sent in started
    ]
    only = caller.send([["start", "seventh", [["return", ""]]]], conversation="only")
    assert (only["status"], only["reason"], only["final"]) == ("blocked", "too_many_running", True)

    joined = caller.send([["join"]], conversation="c0")
    assert joined["jobs"][0]["role"] == "follow_up", "following up is never refused"
    stopped = caller.send([["stop"]], conversation="c1")
    assert stopped["reply"] == "stopped: True", "nor is stopping"
    again = caller.send([["start", "again", [["return", ""]]]], conversation="only")
    assert caller.final(again["id"])["status"] == "completed"

    server.open_gate("cap")
    done = caller.final(message["id"])
    assert (done["status"], done["reason"]) == ("partial", "too_many_running")


# --- many at once ---------------------------------------------------------------------------------
def test_two_hundred_starts_at_once_never_overdraw(
    server: AgentServer, callers: Callable[..., Caller]
) -> None:
    caller = callers(server, server.new_key("many", running_jobs=1_000))
    job = [["step_here", "parallel", 1.5], ["charge", 0.5], ["return", ""]]

    def start(n: int) -> Json:
        return caller.send([["start", f"{n}", job]], conversation=f"c{n}")

    with ThreadPoolExecutor(40) as pool:
        sent = list(pool.map(start, range(200)))

    def settled() -> list[Json]:
        messages = [caller.get(message["id"]) for message in sent]
        return [] if any(m["status"] == "processing" for m in messages) else messages

    messages = eventually(settled, 3 * PATIENCE)
    used = round(sum(message["credits_used"] for message in messages), 6)
    left = caller.credits()
    assert left >= 0
    assert round(used + left, 6) == 100
    completed = [m for m in messages if m["status"] == "completed"]
    assert all(m["credits_used"] <= 2 for m in messages)
    assert left < 2, "what could be done was done"
    # 66 steps at the most leave what two charges cost; how many more end depends on their order.
    assert len(completed) >= 2
    assert {m["status"] for m in messages} == {"completed", "blocked"}
    assert server.command("credits", "show", "many@example.com")["credits"] == left
    assert server.command("doctor") == {"ok": True, "findings": [], "warnings": []}
