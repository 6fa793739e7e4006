"""Credits and the cap of running jobs: outcomes, not errors (spec: Transitions; design:
Credits).
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.caller import Caller, Json, kinds
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import ACCOUNT, AgentServer
from tests.forking import SetClock
from tests.waiting import PATIENCE, PROMPT, eventually

HOUR = 3_600
SETTINGS = {"bootstrap_credits": 0}


@pytest.fixture
def spent(caller: Caller, server: AgentServer) -> None:
    """The account has nothing left."""
    left = caller.credits()
    if left:
        caller.final(caller.send([["start", "Spend", [["charge", left]]]])["id"])
    assert caller.credits() == 0


def add(server: AgentServer, amount: float) -> None:
    server.command("credits", "add", ACCOUNT, str(amount))


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
@pytest.mark.usefixtures("spent")
def test_without_credits_work_is_queued_and_a_top_up_starts_it(
    caller: Caller, server: AgentServer
) -> None:
    """Talking is free."""
    assert caller.send("hello")["status"] == "completed"
    answer = caller.post([["start", "Queued", [["step", "queued", 1], ["return", "Ran."]]]])
    assert answer.status_code == 201
    message = answer.json()
    assert message["reply"] == "Queued: queued"
    assert (message["status"], message["reason"]) == ("blocked", "out_of_credits")
    assert message["final"] is False
    assert message["resume"] == "add_credits"
    job = message["jobs"][0]
    assert (job["status"], job["reason"]) == ("blocked", "out_of_credits")
    assert (job["queued"], job["final"], job["started_at"]) == (True, False, None)
    assert job["resume_by"] == message["resume_by"]
    day = datetime.fromisoformat(job["resume_by"]) - datetime.fromisoformat(message["created_at"])
    assert timedelta(hours=24) <= day < timedelta(hours=24, seconds=30)

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(caller.get, message["id"], 30)
        add(server, 5)
        added = time.monotonic()
        done = caller.final(message["id"])
        assert time.monotonic() - added < PROMPT
        assert held.result()["status"] in ("processing", "completed")
    assert (done["status"], done["reason"], done["credits_used"]) == ("completed", None, 1)
    assert "resume" not in done
    assert "resume_by" not in done
    assert done["jobs"][0]["queued"] is done["jobs"][0]["resume_by"] is None
    began, ended = done["jobs"][0]["started_at"], done["jobs"][0]["settled_at"]
    assert message["created_at"] < began < ended
    log = caller.log(message["id"])
    assert kinds(log) == ["agent_reply", "state", "result"]
    assert log[1]["state"] == "resumed"
    assert caller.credits() == 4


@pytest.mark.usefixtures("spent")
def test_a_job_parked_on_the_way_goes_on_from_its_last_call(
    caller: Caller, server: AgentServer
) -> None:
    add(server, 2)
    job = [
        ["step", "paid", 1.5],
        ["progress", "half"],
        ["write", "half.txt", "x"],
        ["step", "unpaid", 1],
        ["return", "All."],
    ]
    message = caller.send([["start", "Parked", job]])
    parked = caller.until_message(message["id"], status="blocked")
    assert (parked["reason"], parked["final"]) == ("out_of_credits", False)
    assert parked["jobs"][0]["queued"] is True
    assert parked["jobs"][0]["started_at"] is not None
    assert parked["credits_used"] == 1.5
    assert caller.credits() == 0.5
    stalled = caller.log(message["id"])[-1]
    assert (stalled["type"], stalled["outcome"]) == ("result", "stalled_credits")

    add(server, 0.5)
    done = caller.final(message["id"])
    assert done["credits_used"] == 2.5
    assert caller.credits() == 0
    assert (server.steps().count("paid"), server.steps().count("unpaid")) == (1, 1)
    log = caller.log(message["id"])
    assert [e["step"] for e in log if e["type"] == "progress"] == ["half", "Wrote half.txt"]
    assert [
        e.get("state") or e.get("outcome") for e in log if e["type"] in ("state", "result")
    ] == [
        "stalled_credits",
        "resumed",
        "completed",
    ]


@pytest.mark.usefixtures("spent")
def test_a_charge_may_take_the_balance_to_zero_and_the_next_parks(
    caller: Caller, server: AgentServer
) -> None:
    add(server, 1)
    message = caller.send([["start", "Charge", [["charge", 3], ["charge", 1], ["return", ""]]]])
    parked = caller.until_message(message["id"], status="blocked")
    assert (parked["credits_used"], caller.credits()) == (1, 0)
    add(server, 10)
    assert caller.final(message["id"])["credits_used"] == 2
    assert caller.credits() == 9


@pytest.mark.usefixtures("spent")
def test_queued_work_can_be_stopped(caller: Caller) -> None:
    message = caller.send([["start", "Never", [["return", ""]]]])
    caller.call("POST", f"/v1/work/{message['jobs'][0]['work_id']}/stop")
    done = caller.final(message["id"])
    assert (done["status"], done["reason"], done["final"]) == ("failed", "stopped", True)
    assert (done["jobs"][0]["status"], done["jobs"][0]["queued"]) == ("cancelled", None)
    assert "resume" not in done


def test_work_that_waits_or_runs_too_long_expires(
    start_server: ServerMaker, tmp_path: Path
) -> None:
    clock = SetClock(tmp_path / "clock")
    server = start_server(
        bootstrap_credits=1,
        queue_wait_seconds=HOUR,
        watch_seconds=2 * HOUR,
        sweep_seconds=0.1,
        clock=clock.file,
    )
    caller = Caller(server)
    running = caller.send([["start", "Long", [["gate", "long"], ["return", "late"]]]])
    server.await_gate("long")
    clock.set(2 * HOUR)
    done = caller.final(running["id"])
    assert (done["status"], done["reason"]) == ("expired", "watch_expired")
    assert done["jobs"][0]["status"] == "expired"
    assert caller.log(running["id"])[-1]["state"] == "expired"
    work_id = done["jobs"][0]["work_id"]
    assert caller.work(work_id)["status"] == "running", "the watch ended, the work did not"

    parked = caller.send([["start", "Parked", [["charge", 1], ["charge", 1]]]], conversation="p")
    caller.until_message(parked["id"], status="blocked")
    clock.set(3 * HOUR)
    done = caller.final(parked["id"])
    assert (done["status"], done["reason"]) == ("expired", "queue_expired")
    assert done["jobs"][0]["queued"] is done["jobs"][0]["resume_by"] is None
    states = [entry.get("state") or entry.get("outcome") for entry in caller.log(parked["id"])[1:]]
    assert states == ["stalled_credits", "expired"]
    server.open_gate("long")
    eventually(lambda: caller.work(work_id)["status"] == "idle")
    assert caller.get(running["id"])["status"] == "expired", "a final message stays as it is"


@pytest.mark.rule("Reasons hosting_fees")
def test_due_hosting_fees_refuse_new_work(caller: Caller, server: AgentServer) -> None:
    add(server, 10)
    server.command("hosting-fees", "due", ACCOUNT)
    message = caller.send([["start", "Due", [["return", ""]]]])
    server.command("hosting-fees", "clear", ACCOUNT)
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
def test_the_sixth_job_is_refused_and_told_what_runs(start_server: ServerMaker) -> None:
    server = start_server()
    caller = Caller(server)
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


@pytest.mark.rule("Limits queue-and-cap")
def test_queued_work_waits_for_a_slot(start_server: ServerMaker) -> None:
    server = start_server(bootstrap_credits=0, running_jobs_max=2)
    caller = Caller(server)
    queued = [
        caller.send([["start", f"{n}", [["gate", f"slot{n}"]]]], conversation=f"c{n}")
        for n in range(3)
    ]
    assert {message["status"] for message in queued} == {"blocked"}
    add(server, 10)
    for n in range(2):
        server.await_gate(f"slot{n}")
    assert caller.get(queued[2]["id"])["status"] == "blocked", "the oldest went first"
    assert caller.get(queued[2]["id"])["resume"] == "add_credits"
    server.open_gate("slot0")
    server.await_gate("slot2")
    for name in ("slot1", "slot2"):
        server.open_gate(name)
    assert {caller.final(message["id"])["status"] for message in queued} == {"completed"}


# --- many at once ---------------------------------------------------------------------------------
def test_two_hundred_starts_at_once_never_overdraw(start_server: ServerMaker) -> None:
    server = start_server(
        bootstrap_credits=20, running_jobs_max=1000, busy_wait_seconds=60, pool_workers=1
    )
    caller = Caller(server)
    job = [["step_here", "parallel", 0.3], ["charge", 0.1], ["return", ""]]

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
    assert round(used + left, 6) == 20
    completed = [m for m in messages if m["status"] == "completed"]
    assert all(m["credits_used"] <= 0.4 for m in messages)
    assert left < 0.4, "what could be done was done"
    # 66 steps at the most leave what two charges cost; how many more end depends on their order.
    assert len(completed) >= 2
    assert {m["status"] for m in messages} == {"completed", "blocked"}
    shown = server.command("credits", "show", ACCOUNT)
    assert shown["credits"] == left
    assert server.command("doctor") == {"ok": True, "findings": [], "warnings": []}
