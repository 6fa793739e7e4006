"""Jobs against a real record: every row of the spec's transitions that speaks of a job.

spec: Transitions, Reasons, Limits; design: How a job ends; Credits; Expiry and recover.
"""

import pytest

from agentpost.accounts import actions as accounts
from agentpost.credits import actions as credits
from agentpost.jobs import actions as jobs, works
from agentpost.jobs.actions import JobClaim
from agentpost.jobs.rules import JobState
from agentpost.nodes import upkeep
from agentpost.record import signals as s, writer
from tests.harness.context import Harness, Shape
from tests.harness.ends import finish

DAYS = 86_400


def facts(shape: Shape) -> tuple[str, str | None, bool]:
    return shape["status"], shape["reason"], shape["final"]


async def expire(harness: Harness) -> None:
    harness.tick()
    await upkeep.expire_jobs(harness.ctx)


async def stop_work(harness: Harness, message_id: str) -> None:
    harness.tick()
    await works.stop(harness.ctx, harness.account_id, harness.job(message_id)["work_id"])


async def recover(harness: Harness, job_id: str) -> None:
    signal, now = s.Recovered(), harness.tick()
    await harness.ctx.db.write(lambda tx: writer.apply_job(tx, harness.ctx, job_id, signal, now))


async def without_credits(harness: Harness) -> None:
    """Spend everything."""
    rest = harness.one("SELECT balance FROM accounts")[0]
    _, [job] = await harness.working("Spend")
    await jobs.charge(harness.ctx, job, harness.call(job.job_id), rest, "")
    await finish(harness.ctx, job, "Spent.", None, "{}")


@pytest.mark.rule("Limits queue-and-cap")
async def test_queued_work_waits_for_a_slot(harness: Harness) -> None:
    """No resume while 5 run; a freed slot resumes the oldest."""
    await without_credits(harness)
    older, _ = await harness.working("older")
    newer, _ = await harness.working("newer")
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, True)
    await credits.add(harness.ctx, harness.account_id, 5)
    assert {harness.job(m)["status"] for m in (older, newer)} == {"blocked"}
    await accounts.set_hosting_fees(harness.ctx, harness.account_id, False)
    _, running = await harness.working(*"abcde")
    await upkeep.resume_queued(harness.ctx)
    assert {harness.job(m)["status"] for m in (older, newer)} == {"blocked"}
    await finish(harness.ctx, running[0], "Done.", None, "{}")
    assert [harness.job(m)["status"] for m in (older, newer)] == ["running", "blocked"]


@pytest.mark.rule(
    "Transitions 5", "Reasons queue_expired", "Webhook events job.expired", "Limits queue-wait"
)
async def test_queued_work_is_dropped_after_a_day(harness: Harness) -> None:
    await without_credits(harness)
    message_id, _ = await harness.working()
    deadline = harness.one("SELECT queue_by FROM jobs WHERE state = 'queued'")[0]
    harness.clock.advance((deadline - harness.clock.now()) / 1e6 - 0.002)
    await expire(harness)
    assert harness.job(message_id)["status"] == "blocked"
    await expire(harness)
    shown = harness.view(message_id)
    assert facts(shown) == ("expired", "queue_expired", True)
    assert facts(shown["jobs"][0]) == ("expired", "queue_expired", True)
    assert not {"resume", "resume_by"} & set(shown)
    assert harness.names(message_id, "job.") == ["job.blocked", "job.expired"]
    assert harness.names(message_id, "message.") == ["message.blocked", "message.expired"]
    await credits.add(harness.ctx, harness.account_id, 5)
    assert harness.view(message_id) == shown


@pytest.mark.rule("Limits retention")
async def test_a_message_is_kept_for_14_days_after_its_queue_deadline(harness: Harness) -> None:
    await without_credits(harness)
    message_id, _ = await harness.working()
    sql = "SELECT expires_at, queue_by FROM messages m JOIN jobs j ON j.message_id = m.id"
    kept, deadline = harness.one(f"{sql} WHERE m.id = ?", message_id)
    assert kept == deadline + 14 * DAYS * 1_000_000
    harness.tick(DAYS)
    await expire(harness)
    assert harness.one("SELECT expires_at FROM messages WHERE id = ?", message_id) == (kept,)


@pytest.mark.rule("Limits retention")
async def test_a_message_is_kept_for_14_days_after_its_latest_deadline(harness: Harness) -> None:
    """When it parks in the middle, too."""
    message_id, [job] = await harness.working()
    started = harness.one("SELECT started_at FROM jobs")[0]
    expected = started + 21 * DAYS * 1_000_000
    sql = "SELECT expires_at FROM messages WHERE id = ?"
    assert harness.one(sql, message_id) == (expected,)
    with pytest.raises(jobs.OutOfCredits):
        await jobs.hold(harness.ctx, job, harness.call(job.job_id), 10**12)
    assert harness.one(sql, message_id) == (expected,)
    await stop_work(harness, message_id)
    assert harness.one(sql, message_id) == (expected,)


# --- the watch, late results and recover ----------------------------------------------------------
async def overdue(harness: Harness) -> tuple[str, JobClaim]:
    message_id, [job] = await harness.working("Long")
    harness.tick(7 * DAYS)
    await expire(harness)
    return message_id, job


@pytest.mark.rule(
    "Transitions 6",
    "Reasons watch_expired",
    "Message event log state",
    "Webhook events message.expired",
    "Webhook events job.expired",
    "Limits watch",
)
async def test_work_that_does_not_report_back_expires(harness: Harness) -> None:
    """It keeps its slot."""
    message_id, [job] = await harness.working()
    harness.clock.advance(7 * DAYS - 1)
    await expire(harness)
    assert harness.job(message_id)["status"] == "running"
    harness.clock.advance(1)
    await expire(harness)
    assert facts(harness.view(message_id)) == ("expired", "watch_expired", True)
    assert facts(harness.job(message_id)) == ("expired", "watch_expired", True)
    assert harness.log(message_id)[-1]["state"] == "expired"
    assert sorted(harness.names(message_id)) == ["job.expired", "message.expired"]
    _, more = await harness.working(*"abcd")
    assert all(j.job_id.startswith("exe_") for j in more)
    refused, _ = await harness.working("fifth")
    assert harness.job(refused)["reason"] == "too_many_running"
    assert job.job_id in [j["job_id"] for j in harness.view(refused)["running"]]


@pytest.mark.rule("Message.final")
async def test_nothing_of_a_final_message_changes_when_its_work_goes_on(harness: Harness) -> None:
    """Late results and charges appear on recover only."""
    message_id, job = await overdue(harness)
    before, reported = harness.view(message_id), harness.events(message_id)
    harness.tick()
    await jobs.progress(harness.ctx, job, harness.call(job.job_id), "Still at it")
    held = harness.call(job.job_id)
    await jobs.hold(harness.ctx, job, held, 2_000_000)
    await jobs.record_call(
        harness.ctx, job, held, 2_000_000, (), await harness.file(job, "late.txt")
    )
    await jobs.charge(harness.ctx, job, harness.call(job.job_id), 3_000_000, "")
    assert harness.view(message_id) == before
    harness.tick()
    await finish(harness.ctx, job, "Late.", "Which one?", "{}")
    assert harness.view(message_id) == before
    assert harness.events(message_id) == reported
    finished = harness.clock.now()
    await recover(harness, job.job_id)
    after = harness.view(message_id)
    assert facts(after) == ("needs_input", None, True)
    assert after["credits_used"] == 5
    assert [file["name"] for file in after["files"]] == ["late.txt"]
    row = harness.one("SELECT settled_at, credits_used FROM jobs")
    assert row == (finished, 5_000_000)
    assert harness.names(message_id)[-2:] == ["message.needs_input", "job.completed"]


async def test_a_stale_sweep_changes_nothing(harness: Harness) -> None:
    """Guarded by the state it starts from."""
    message_id, job = await overdue(harness)
    await recover(harness, job.job_id)
    before = harness.view(message_id)

    await upkeep._expire(harness.ctx, JobState.RUNNING, job.job_id)
    assert harness.view(message_id) == before
