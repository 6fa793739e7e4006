"""Jobs against a real record: every row of the spec's transitions that speaks of a job.

spec: Job and message transitions, Reasons, Limits; design: 4.5-4.9.
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
    await upkeep.expire_jobs(desk.ctx)


async def stop_work(desk: Desk, message_id: str) -> None:
    desk.tick()
    await works.stop(desk.ctx, desk.account_id, desk.job(message_id)["work_id"])


async def recover(desk: Desk, job_id: str) -> None:
    signal, now = s.Recovered(), desk.tick()
    await desk.ctx.db.write(lambda tx: record.apply_job(tx, desk.ctx, job_id, signal, now))


async def without_credits(desk: Desk) -> None:
    """Spend everything."""
    rest = desk.one("SELECT balance FROM accounts")[0]
    _, [job] = await desk.working("Spend")
    await jobs.charge(desk.ctx, job, desk.call(job.job_id), rest, "")
    await jobs.finish(desk.ctx, job, "Spent.", None, "{}")


# --- new ------------------------------------------------------------------------------------------
async def test_work_starts(desk: Desk) -> None:
    """spec: transitions, new -> running."""
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


async def test_work_without_credits_is_queued(desk: Desk) -> None:
    """spec: transitions, new -> blocked (out_of_credits); createMessage 3."""
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


async def test_the_sixth_start_is_refused(desk: Desk) -> None:
    """spec: transitions, new -> refusal (too_many_running), with the running list."""
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


async def test_hosting_fees_refuse_new_work(desk: Desk) -> None:
    """spec: Reasons, hosting_fees; design: 4.6: refused, final, before any other reason."""
    await accounts.set_hosting_fees(desk.ctx, desk.account_id, True)
    message_id, _ = await desk.working()
    assert facts(desk.shown(message_id)) == ("blocked", "hosting_fees", True)
    assert desk.job(message_id)["kind"] == "refusal"
    assert "running" not in desk.shown(message_id)


# --- queued ---------------------------------------------------------------------------------------
async def test_credits_resume_queued_work(desk: Desk) -> None:
    """spec: transitions, queued -> running: job.resumed, processing, then its result."""
    await without_credits(desk)
    message_id, [job] = await desk.working("Chart")
    desk.tick()
    await credits.add(desk.ctx, desk.account_id, 5)
    shown = desk.shown(message_id)
    assert facts(shown) == ("processing", None, False)
    assert facts(shown["jobs"][0]) == ("running", None, False)
    assert not {"resume", "resume_by"} & set(shown)
    await jobs.finish(desk.ctx, desk.owned(job.job_id), "Charted.", None, "{}")
    assert facts(desk.shown(message_id)) == ("completed", None, True)
    assert desk.names(message_id, "job.") == ["job.blocked", "job.resumed", "job.completed"]
    assert desk.names(message_id, "message.") == ["message.blocked", "message.completed"]
    assert [e.get("state") or e["type"] for e in desk.log(message_id)] == [
        "agent_reply",
        "resumed",
        "result",
    ]


async def test_queued_work_waits_for_a_slot(desk: Desk) -> None:
    """spec: Limits: no resume while 5 run; design: 4.6: a freed slot resumes the oldest."""
    await without_credits(desk)
    older, _ = await desk.working("older")
    newer, _ = await desk.working("newer")
    await accounts.set_hosting_fees(desk.ctx, desk.account_id, True)
    await credits.add(desk.ctx, desk.account_id, 5)
    assert {desk.job(m)["status"] for m in (older, newer)} == {"blocked"}
    await accounts.set_hosting_fees(desk.ctx, desk.account_id, False)
    _, running = await desk.working(*"abcde")
    await upkeep.resume_queued(desk.ctx)
    assert {desk.job(m)["status"] for m in (older, newer)} == {"blocked"}
    await jobs.finish(desk.ctx, running[0], "Done.", None, "{}")
    assert [desk.job(m)["status"] for m in (older, newer)] == ["running", "blocked"]


async def test_queued_work_is_dropped_after_a_day(desk: Desk) -> None:
    """spec: transitions, queued -> expired (queue_expired)."""
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
    await credits.add(desk.ctx, desk.account_id, 5)
    assert desk.shown(message_id) == shown


async def test_a_message_is_kept_for_14_days_after_its_queue_deadline(desk: Desk) -> None:
    """spec: Limits, message retention (queued: 24 hours after queuing)."""
    await without_credits(desk)
    message_id, _ = await desk.working()
    sql = "SELECT expires_at, queue_by FROM messages m JOIN jobs j ON j.message_id = m.id"
    kept, deadline = desk.one(f"{sql} WHERE m.id = ?", message_id)
    assert kept == deadline + 14 * DAYS * 1_000_000
    desk.tick(DAYS)
    await expire(desk)
    assert desk.one("SELECT expires_at FROM messages WHERE id = ?", message_id) == (kept,)


async def test_a_message_is_kept_for_14_days_after_its_latest_deadline(desk: Desk) -> None:
    """spec: Limits, message retention (running: 7 days after start), parked in the middle too."""
    message_id, [job] = await desk.working()
    started = desk.one("SELECT started_at FROM jobs")[0]
    expected = started + 21 * DAYS * 1_000_000
    sql = "SELECT expires_at FROM messages WHERE id = ?"
    assert desk.one(sql, message_id) == (expected,)
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(desk.ctx, job, desk.call(job.job_id), 10**12)
    assert desk.one(sql, message_id) == (expected,)
    await stop_work(desk, message_id)
    assert desk.one(sql, message_id) == (expected,)


async def test_queued_work_can_be_stopped(desk: Desk) -> None:
    """spec: transitions, stopped; design: 4.5."""
    await without_credits(desk)
    message_id, _ = await desk.working()
    await stop_work(desk, message_id)
    assert facts(desk.shown(message_id)) == ("failed", "stopped", True)
    assert facts(desk.job(message_id)) == ("cancelled", "stopped", True)
    assert desk.names(message_id, "job.") == ["job.blocked", "job.failed"]


# --- running --------------------------------------------------------------------------------------
async def test_work_finishes(desk: Desk) -> None:
    """spec: transitions, running -> completed."""
    message_id, [job] = await desk.working("Chart")
    desk.tick()
    await jobs.write_file(desk.ctx, job, desk.call(job.job_id), await desk.file(job, "a/b.txt"), 0)
    desk.tick()
    await jobs.finish(desk.ctx, job, "Charted.", None, "{}")
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


async def test_work_fails(desk: Desk) -> None:
    """spec: transitions, running -> failed (execution_failed)."""
    message_id, [job] = await desk.working()
    await jobs.fail(desk.ctx, job, "No such column.")
    assert facts(desk.shown(message_id)) == ("failed", "execution_failed", True)
    assert facts(desk.job(message_id)) == ("failed", "execution_failed", True)
    result = desk.log(message_id)[-1]
    assert (result["outcome"], result["text"]) == ("failed", "No such column.")
    assert sorted(desk.names(message_id)) == ["job.failed", "message.failed"]


async def test_work_is_stopped(desk: Desk) -> None:
    """spec: transitions, running -> stopped: cancelled, told as job.failed."""
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
        await jobs.finish(desk.ctx, job, "Too late.", None, "{}")


async def test_a_job_may_ask(desk: Desk) -> None:
    """design: 4.5: the job is completed, the message and those that joined need input."""
    message_id, [job] = await desk.working()
    ticket = await desk.begun("and?")
    await desk.join(ticket, job.job_id)
    await desk.end(ticket)
    await jobs.finish(desk.ctx, job, "", "Which one?", "{}")
    for shown in (desk.shown(message_id), desk.shown(ticket.message.id)):
        assert facts(shown) == ("needs_input", None, True)
        assert shown["question"] == "Which one?"
        assert shown["jobs"][0]["status"] == "completed"


async def test_some_of_the_work_fails(desk: Desk) -> None:
    """spec: Message status 3, 9: processing until nothing runs, then partial."""
    message_id, [first, second] = await desk.working("a", "b")
    await jobs.fail(desk.ctx, first, "No.")
    assert facts(desk.shown(message_id)) == ("processing", None, False)
    await jobs.finish(desk.ctx, second, "Yes.", None, "{}")
    assert facts(desk.shown(message_id)) == ("partial", "execution_failed", True)
    assert desk.names(message_id, "message.") == ["message.partial"]


# --- the watch, late results and recover ----------------------------------------------------------
async def overdue(desk: Desk) -> tuple[str, Owned]:
    message_id, [job] = await desk.working("Long")
    desk.tick(7 * DAYS)
    await expire(desk)
    return message_id, job


async def test_work_that_does_not_report_back_expires(desk: Desk) -> None:
    """spec: transitions, running -> expired (watch_expired); design: 4.9: it keeps its slot."""
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


async def test_nothing_of_a_final_message_changes_when_its_work_goes_on(desk: Desk) -> None:
    """spec: Message, final; design: 4.9: late results and charges appear on recover only."""
    message_id, job = await overdue(desk)
    before, told = desk.shown(message_id), desk.events(message_id)
    desk.tick()
    await jobs.progress(desk.ctx, job, desk.call(job.job_id), "Still at it")
    held = desk.call(job.job_id)
    await jobs.hold(desk.ctx, job, held, 2_000_000)
    await jobs.write_file(desk.ctx, job, held, await desk.file(job, "late.txt"), 2_000_000)
    await jobs.charge(desk.ctx, job, desk.call(job.job_id), 3_000_000, "")
    assert desk.shown(message_id) == before
    desk.tick()
    await jobs.finish(desk.ctx, job, "Late.", "Which one?", "{}")
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


async def test_recover_re_arms_the_watch(desk: Desk) -> None:
    """spec: transitions, recover; design: 4.9: running, processing, not final."""
    message_id, job = await overdue(desk)
    await recover(desk, job.job_id)
    assert facts(desk.shown(message_id)) == ("processing", None, False)
    assert desk.job(message_id)["settled_at"] is None
    await jobs.finish(desk.ctx, job, "Late.", None, "{}")
    assert facts(desk.shown(message_id)) == ("completed", None, True)
    assert desk.names(message_id, "message.") == ["message.expired", "message.completed"]


async def test_recover_finds_a_late_failure(desk: Desk) -> None:
    """design: 4.9."""
    message_id, job = await overdue(desk)
    await jobs.fail(desk.ctx, job, "No.")
    await recover(desk, job.job_id)
    assert facts(desk.shown(message_id)) == ("failed", "execution_failed", True)


async def test_recover_of_work_that_left_nothing(desk: Desk) -> None:
    """spec: transitions, recovered -> result_unknown; design: 4.9: status expired."""
    message_id, job = await overdue(desk)
    await stop_work(desk, message_id)
    before = desk.shown(message_id)
    assert facts(before) == ("expired", "watch_expired", True)
    await recover(desk, job.job_id)
    assert facts(desk.shown(message_id)) == ("expired", "result_unknown", True)
    assert desk.log(message_id)[-1]["state"] == "unknown"
    assert desk.names(message_id, "job.") == ["job.expired", "job.expired"]


async def test_a_stale_sweep_changes_nothing(desk: Desk) -> None:
    """design: 2, upkeep: guarded by the state it starts from."""
    message_id, job = await overdue(desk)
    await recover(desk, job.job_id)
    before = desk.shown(message_id)

    def late(tx: Tx) -> None:
        upkeep._expire(desk.ctx, job.job_id, JobState.RUNNING, tx)

    await desk.ctx.db.write(late)
    assert desk.shown(message_id) == before
