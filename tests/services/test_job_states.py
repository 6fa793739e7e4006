"""Jobs against a real record: every row of the spec's transitions that speaks of a job.

spec: Transitions, Reasons, Limits; design: How a job ends; Credits; Expiry and recover.
"""

import pytest

from agentpost.db.session import Tx
from agentpost.domain import signals as s
from agentpost.domain.errors import Fenced
from agentpost.domain.job import JobState
from agentpost.services import accounts, credits, jobs, record, upkeep, works
from agentpost.services.jobs import Owned
from tests.services.house import Desk, Shape

DAYS = 86_400


def facts(shape: Shape) -> tuple[str, str | None, bool]:
    return shape["status"], shape["reason"], shape["final"]


async def expire(desk: Desk) -> None:
    desk.tick()
    await upkeep.expire_jobs(desk.house)


async def stop_work(desk: Desk, message_id: str) -> None:
    desk.tick()
    await works.stop(desk.house, desk.account_id, desk.job(message_id)["work_id"])


async def recover(desk: Desk, job_id: str) -> None:
    signal, now = s.Recovered(), desk.tick()
    await desk.house.db.write(lambda tx: record.apply_job(tx, desk.house, job_id, signal, now))


async def without_credits(desk: Desk) -> None:
    """Spend everything."""
    rest = desk.one("SELECT balance FROM accounts")[0]
    _, [job] = await desk.working("Spend")
    await jobs.charge(desk.house, job, desk.call(job.job_id), rest, "")
    await jobs.finish(desk.house, job, "Spent.", None, "{}")


# --- new ------------------------------------------------------------------------------------------
@pytest.mark.rule("Job.job_id", "Job.kind", "Job.started_at", "Job.settled_at", "Transitions 1")
async def test_work_starts(desk: Desk) -> None:
    message_id, [job] = await desk.working("Chart")
    shown = desk.shown(message_id)
    assert facts(shown) == ("processing", None, False)
    listed = shown["jobs"][0]
    assert facts(listed) == ("running", None, False)
    assert (listed["kind"], listed["role"]) == ("execution", "execution")
    assert listed["job_id"].startswith("exe_")
    assert listed["started_at"] is not None
    assert (listed["settled_at"], listed["queued"], listed["resume_by"]) == (None, None, None)
    assert desk.engine.placed == [(job.job_id, job.epoch)]
    assert desk.names(message_id) == []


@pytest.mark.rule(
    "Job.started_at",
    "Transitions 2",
    "Reasons out_of_credits",
    "Webhook events message.blocked",
    "Webhook events job.blocked",
)
async def test_work_without_credits_is_queued(desk: Desk) -> None:
    await without_credits(desk)
    message_id, _ = await desk.working("Chart")
    shown = desk.shown(message_id)
    assert facts(shown) == ("blocked", "out_of_credits", False)
    listed = shown["jobs"][0]
    assert facts(listed) == ("blocked", "out_of_credits", False)
    assert (listed["kind"], listed["queued"], listed["started_at"]) == ("execution", True, None)
    assert shown["resume"] == "add_credits"
    assert shown["resume_by"] == listed["resume_by"]
    assert desk.names(message_id) == ["job.blocked", "message.blocked"]
    assert desk.types(message_id) == ["agent_reply"]


@pytest.mark.rule(
    "Message.jobs",
    "Message.running",
    "Job.job_id",
    "Job.kind",
    "Transitions 3",
    "Reasons too_many_running",
    "Webhook events job.blocked",
)
async def test_the_sixth_start_is_refused(desk: Desk) -> None:
    message_id, running = await desk.working(*"abcde")
    refused_id, _ = await desk.working("sixth")
    shown = desk.shown(refused_id)
    assert facts(shown) == ("blocked", "too_many_running", True)
    listed = shown["jobs"][0]
    assert facts(listed) == ("blocked", "too_many_running", True)
    assert (listed["kind"], listed["queued"], listed["started_at"]) == ("refusal", None, None)
    assert listed["job_id"].startswith("ref_")
    assert [j["job_id"] for j in shown["running"]] == [j.job_id for j in running]
    assert {j["message_id"] for j in shown["running"]} == {message_id}
    assert desk.names(refused_id) == ["job.blocked", "message.blocked"]
    assert "resume" not in shown


@pytest.mark.rule("Reasons hosting_fees")
async def test_hosting_fees_refuse_new_work(desk: Desk) -> None:
    """Refused, final, before any other reason (design: Credits)."""
    await accounts.set_hosting_fees(desk.house, desk.account_id, True)
    message_id, _ = await desk.working()
    assert facts(desk.shown(message_id)) == ("blocked", "hosting_fees", True)
    assert desk.job(message_id)["kind"] == "refusal"
    assert "running" not in desk.shown(message_id)


# --- queued ---------------------------------------------------------------------------------------
@pytest.mark.rule(
    "Finality 3", "Transitions 4", "Message event log state", "Webhook events job.resumed"
)
async def test_credits_resume_queued_work(desk: Desk) -> None:
    await without_credits(desk)
    message_id, [job] = await desk.working("Chart")
    desk.tick()
    await credits.add(desk.house, desk.account_id, 5)
    shown = desk.shown(message_id)
    assert facts(shown) == ("processing", None, False)
    assert facts(shown["jobs"][0]) == ("running", None, False)
    assert not {"resume", "resume_by"} & set(shown)
    await jobs.finish(desk.house, desk.owned(job.job_id), "Charted.", None, "{}")
    assert facts(desk.shown(message_id)) == ("completed", None, True)
    assert desk.names(message_id, "job.") == ["job.blocked", "job.resumed", "job.completed"]
    assert desk.names(message_id, "message.") == ["message.blocked", "message.completed"]
    assert [e.get("state") or e["type"] for e in desk.log(message_id)] == [
        "agent_reply",
        "resumed",
        "result",
    ]


@pytest.mark.rule("Limits queue-and-cap")
async def test_queued_work_waits_for_a_slot(desk: Desk) -> None:
    """No resume while 5 run; a freed slot resumes the oldest (design: Credits)."""
    await without_credits(desk)
    older, _ = await desk.working("older")
    newer, _ = await desk.working("newer")
    await accounts.set_hosting_fees(desk.house, desk.account_id, True)
    await credits.add(desk.house, desk.account_id, 5)
    assert {desk.job(m)["status"] for m in (older, newer)} == {"blocked"}
    await accounts.set_hosting_fees(desk.house, desk.account_id, False)
    _, running = await desk.working(*"abcde")
    await upkeep.resume_queued(desk.house)
    assert {desk.job(m)["status"] for m in (older, newer)} == {"blocked"}
    await jobs.finish(desk.house, running[0], "Done.", None, "{}")
    assert [desk.job(m)["status"] for m in (older, newer)] == ["running", "blocked"]


@pytest.mark.rule(
    "Transitions 5", "Reasons queue_expired", "Webhook events job.expired", "Limits queue-wait"
)
async def test_queued_work_is_dropped_after_a_day(desk: Desk) -> None:
    await without_credits(desk)
    message_id, _ = await desk.working()
    deadline = desk.one("SELECT queue_by FROM jobs WHERE state = 'queued'")[0]
    desk.clock.advance((deadline - desk.clock.now()) / 1e6 - 0.002)
    await expire(desk)
    assert desk.job(message_id)["status"] == "blocked"
    await expire(desk)
    shown = desk.shown(message_id)
    assert facts(shown) == ("expired", "queue_expired", True)
    assert facts(shown["jobs"][0]) == ("expired", "queue_expired", True)
    assert not {"resume", "resume_by"} & set(shown)
    assert desk.names(message_id, "job.") == ["job.blocked", "job.expired"]
    assert desk.names(message_id, "message.") == ["message.blocked", "message.expired"]
    await credits.add(desk.house, desk.account_id, 5)
    assert desk.shown(message_id) == shown


@pytest.mark.rule("Limits retention")
async def test_a_message_is_kept_for_14_days_after_its_queue_deadline(desk: Desk) -> None:
    await without_credits(desk)
    message_id, _ = await desk.working()
    sql = "SELECT expires_at, queue_by FROM messages m JOIN jobs j ON j.message_id = m.id"
    kept, deadline = desk.one(f"{sql} WHERE m.id = ?", message_id)
    assert kept == deadline + 14 * DAYS * 1_000_000
    desk.tick(DAYS)
    await expire(desk)
    assert desk.one("SELECT expires_at FROM messages WHERE id = ?", message_id) == (kept,)


@pytest.mark.rule("Limits retention")
async def test_a_message_is_kept_for_14_days_after_its_latest_deadline(desk: Desk) -> None:
    """When it parks in the middle, too."""
    message_id, [job] = await desk.working()
    started = desk.one("SELECT started_at FROM jobs")[0]
    expected = started + 21 * DAYS * 1_000_000
    sql = "SELECT expires_at FROM messages WHERE id = ?"
    assert desk.one(sql, message_id) == (expected,)
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(desk.house, job, desk.call(job.job_id), 10**12)
    assert desk.one(sql, message_id) == (expected,)
    await stop_work(desk, message_id)
    assert desk.one(sql, message_id) == (expected,)


@pytest.mark.rule("Transitions 9")
async def test_queued_work_can_be_stopped(desk: Desk) -> None:
    """design: How a job ends."""
    await without_credits(desk)
    message_id, _ = await desk.working()
    await stop_work(desk, message_id)
    assert facts(desk.shown(message_id)) == ("failed", "stopped", True)
    assert facts(desk.job(message_id)) == ("cancelled", "stopped", True)
    assert desk.names(message_id, "job.") == ["job.blocked", "job.failed"]


# --- running --------------------------------------------------------------------------------------
@pytest.mark.rule("Transitions 7", "Message event log result", "Webhook events job.completed")
async def test_work_finishes(desk: Desk) -> None:
    message_id, [job] = await desk.working("Chart")
    desk.tick()
    await jobs.write_file(
        desk.house, job, desk.call(job.job_id), await desk.file(job, "a/b.txt"), 0
    )
    desk.tick()
    await jobs.finish(desk.house, job, "Charted.", None, "{}")
    shown = desk.shown(message_id)
    assert facts(shown) == ("completed", None, True)
    assert facts(shown["jobs"][0]) == ("completed", None, True)
    assert shown["files"] == shown["jobs"][0]["files"]
    assert [file["name"] for file in shown["files"]] == ["b.txt"]
    result = desk.log(message_id)[-1]
    told = [result[key] for key in ("type", "job_id", "title", "text", "outcome")]
    assert told == ["result", job.job_id, "Chart", "Charted.", "completed"]
    assert [file["name"] for file in result["files"]] == ["b.txt"]
    assert sorted(desk.names(message_id)) == ["job.completed", "message.completed"]


@pytest.mark.rule(
    "Transitions 8",
    "Reasons execution_failed",
    "Message event log result",
    "Webhook events job.failed",
)
async def test_work_fails(desk: Desk) -> None:
    message_id, [job] = await desk.working()
    await jobs.fail(desk.house, job, "No such column.")
    assert facts(desk.shown(message_id)) == ("failed", "execution_failed", True)
    assert facts(desk.job(message_id)) == ("failed", "execution_failed", True)
    result = desk.log(message_id)[-1]
    assert (result["outcome"], result["text"]) == ("failed", "No such column.")
    assert sorted(desk.names(message_id)) == ["job.failed", "message.failed"]


@pytest.mark.rule(
    "Transitions 9", "Reasons stopped", "Message event log state", "Webhook events job.failed"
)
async def test_work_is_stopped(desk: Desk) -> None:
    """Cancelled, told as job.failed."""
    message_id, [job] = await desk.working()
    await stop_work(desk, message_id)
    assert facts(desk.shown(message_id)) == ("failed", "stopped", True)
    assert facts(desk.job(message_id)) == ("cancelled", "stopped", True)
    assert desk.engine.aborted == [job.job_id]
    assert desk.log(message_id)[-1]["state"] == "stopped"
    assert sorted(desk.names(message_id)) == ["job.failed", "message.failed"]
    await stop_work(desk, message_id)
    assert len(desk.names(message_id)) == 2
    with pytest.raises(Fenced):
        await jobs.finish(desk.house, job, "Too late.", None, "{}")


async def test_a_job_may_ask(desk: Desk) -> None:
    """The job is completed, the message and those that joined need input (design: How a job
    ends).
    """
    message_id, [job] = await desk.working()
    ticket = await desk.begun("and?")
    await desk.join(ticket, job.job_id)
    await desk.end(ticket)
    await jobs.finish(desk.house, job, "", "Which one?", "{}")
    for shown in (desk.shown(message_id), desk.shown(ticket.message.id)):
        assert facts(shown) == ("needs_input", None, True)
        assert shown["question"] == "Which one?"
        assert shown["jobs"][0]["status"] == "completed"


@pytest.mark.rule("Message status 9")
async def test_some_of_the_work_fails(desk: Desk) -> None:
    """Processing until nothing runs, then partial."""
    message_id, [first, second] = await desk.working("a", "b")
    await jobs.fail(desk.house, first, "No.")
    assert facts(desk.shown(message_id)) == ("processing", None, False)
    await jobs.finish(desk.house, second, "Yes.", None, "{}")
    assert facts(desk.shown(message_id)) == ("partial", "execution_failed", True)
    assert desk.names(message_id, "message.") == ["message.partial"]


# --- the watch, late results and recover ----------------------------------------------------------
async def overdue(desk: Desk) -> tuple[str, Owned]:
    message_id, [job] = await desk.working("Long")
    desk.tick(7 * DAYS)
    await expire(desk)
    return message_id, job


@pytest.mark.rule(
    "Transitions 6",
    "Reasons watch_expired",
    "Message event log state",
    "Webhook events message.expired",
    "Webhook events job.expired",
    "Limits watch",
)
async def test_work_that_does_not_report_back_expires(desk: Desk) -> None:
    """It keeps its slot (design: Expiry and recover)."""
    message_id, [job] = await desk.working()
    desk.clock.advance(7 * DAYS - 1)
    await expire(desk)
    assert desk.job(message_id)["status"] == "running"
    desk.clock.advance(1)
    await expire(desk)
    assert facts(desk.shown(message_id)) == ("expired", "watch_expired", True)
    assert facts(desk.job(message_id)) == ("expired", "watch_expired", True)
    assert desk.log(message_id)[-1]["state"] == "expired"
    assert sorted(desk.names(message_id)) == ["job.expired", "message.expired"]
    _, more = await desk.working(*"abcd")
    assert all(j.job_id.startswith("exe_") for j in more)
    refused, _ = await desk.working("fifth")
    assert desk.job(refused)["reason"] == "too_many_running"
    assert job.job_id in [j["job_id"] for j in desk.shown(refused)["running"]]


@pytest.mark.rule("Message.final")
async def test_nothing_of_a_final_message_changes_when_its_work_goes_on(desk: Desk) -> None:
    """Late results and charges appear on recover only (design: Expiry and recover)."""
    message_id, job = await overdue(desk)
    before, told = desk.shown(message_id), desk.events(message_id)
    desk.tick()
    await jobs.progress(desk.house, job, desk.call(job.job_id), "Still at it")
    held = desk.call(job.job_id)
    await jobs.hold(desk.house, job, held, 2_000_000)
    await jobs.write_file(desk.house, job, held, await desk.file(job, "late.txt"), 2_000_000)
    await jobs.charge(desk.house, job, desk.call(job.job_id), 3_000_000, "")
    assert desk.shown(message_id) == before
    desk.tick()
    await jobs.finish(desk.house, job, "Late.", "Which one?", "{}")
    assert desk.shown(message_id) == before
    assert desk.events(message_id) == told
    finished = desk.clock.now()
    await recover(desk, job.job_id)
    after = desk.shown(message_id)
    assert facts(after) == ("needs_input", None, True)
    assert after["credits_used"] == 5
    assert [file["name"] for file in after["files"]] == ["late.txt"]
    row = desk.one("SELECT settled_at, credits_used FROM jobs")
    assert row == (finished, 5_000_000)
    assert desk.names(message_id)[-2:] == ["message.needs_input", "job.completed"]


@pytest.mark.rule("Job.settled_at", "Transitions 10")
async def test_recover_re_arms_the_watch(desk: Desk) -> None:
    """Running, processing, not final (design: Expiry and recover)."""
    message_id, job = await overdue(desk)
    await recover(desk, job.job_id)
    assert facts(desk.shown(message_id)) == ("processing", None, False)
    assert desk.job(message_id)["settled_at"] is None
    await jobs.finish(desk.house, job, "Late.", None, "{}")
    assert facts(desk.shown(message_id)) == ("completed", None, True)
    assert desk.names(message_id, "message.") == ["message.expired", "message.completed"]


async def test_recover_finds_a_late_failure(desk: Desk) -> None:
    """design: Expiry and recover."""
    message_id, job = await overdue(desk)
    await jobs.fail(desk.house, job, "No.")
    await recover(desk, job.job_id)
    assert facts(desk.shown(message_id)) == ("failed", "execution_failed", True)


@pytest.mark.rule("Transitions 11", "Reasons result_unknown", "Message event log state")
async def test_recover_of_work_that_left_nothing(desk: Desk) -> None:
    """Status expired (design: Expiry and recover)."""
    message_id, job = await overdue(desk)
    await stop_work(desk, message_id)
    before = desk.shown(message_id)
    assert facts(before) == ("expired", "watch_expired", True)
    await recover(desk, job.job_id)
    assert facts(desk.shown(message_id)) == ("expired", "result_unknown", True)
    assert desk.log(message_id)[-1]["state"] == "unknown"
    assert desk.names(message_id, "job.") == ["job.expired", "job.expired"]


async def test_a_stale_sweep_changes_nothing(desk: Desk) -> None:
    """Guarded by the state it starts from (design: Deadlines)."""
    message_id, job = await overdue(desk)
    await recover(desk, job.job_id)
    before = desk.shown(message_id)

    def late(tx: Tx) -> None:
        upkeep._expire(desk.house, job.job_id, JobState.RUNNING, tx)

    await desk.house.db.write(late)
    assert desk.shown(message_id) == before
