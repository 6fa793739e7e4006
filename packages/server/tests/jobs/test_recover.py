"""Expiry ends the watch, not the work; recover finds out (spec: recoverMessage; design: Expiry and
recover).
"""

import pytest

from agentpost.credits import actions as credits
from agentpost.domain.limits import RECOVER_REQUESTS_MAX
from agentpost.jobs import actions as jobs, recovery
from agentpost.jobs.actions import JobClaim, OutOfCredits
from agentpost.jobs.recovery_rules import RecoveryState as R
from agentpost.nodes import upkeep
from tests.harness.driver import DAY, ManualHarness


async def expired(at: ManualHarness) -> tuple[str, JobClaim]:
    """A message whose running job was watched for seven days."""
    message_id, owned = await at.working()
    at.clock.advance(7 * DAY)
    await upkeep.expire_jobs(at.ctx)
    assert (await at.shape(message_id))["status"] == "expired"
    return message_id, owned


async def recover(at: ManualHarness, message_id: str) -> list[R]:
    return [work.state for work in (await recovery.recover(at.ctx, at.caller, message_id)).work]


async def entry_types(at: ManualHarness, message_id: str) -> list[object]:
    found = await at.rows("SELECT type FROM entries WHERE message_id = ? ORDER BY seq", message_id)
    return [row[0] for row in found]


@pytest.mark.rule("Transitions 11", "Reasons result_unknown")
async def test_idle_with_nothing_to_show_is_result_unknown(at: ManualHarness) -> None:
    message_id, owned = await expired(at)
    await at.ctx.db.write(lambda tx: tx.execute("UPDATE accounts SET balance = 0, held = 0"))
    with pytest.raises(OutOfCredits):
        await jobs.hold(at.ctx, owned, at._call(), 5)

    assert await recover(at, message_id) == [R.SETTLED]
    shape = await at.shape(message_id)
    assert (shape["status"], shape["reason"]) == ("expired", "result_unknown")
    assert shape["final"] is True
    assert await entry_types(at, message_id) == ["agent_reply", "state", "state"]


@pytest.mark.rule("Recovery.state", "recoverMessage.repeat")
async def test_it_is_watched_again_three_times_at_most(at: ManualHarness) -> None:
    message_id, owned = await expired(at)
    for _ in range(RECOVER_REQUESTS_MAX):
        assert await recover(at, message_id) == [R.RECOVERING]
        assert await recover(at, message_id) == [R.WATCHING], "safe to repeat"
        shape = await at.shape(message_id)
        assert (shape["status"], shape["final"]) == ("processing", False)
        at.clock.advance(7 * DAY)
        await upkeep.expire_jobs(at.ctx)
    assert await recover(at, message_id) == [R.EXHAUSTED]
    assert (await at.shape(message_id))["status"] == "expired"

    await at.finish(owned)  # what is there in the end is given out all the same
    assert await recover(at, message_id) == [R.SETTLED]
    assert (await at.shape(message_id))["status"] == "completed"


@pytest.mark.rule("Recovery.state")
async def test_work_that_waited_too_long_for_credits_is_settled(at: ManualHarness) -> None:
    message_id, owned = await at.working()
    await at.ctx.db.write(lambda tx: tx.execute("UPDATE accounts SET balance = 0"))
    with pytest.raises(OutOfCredits):
        await jobs.hold(at.ctx, owned, at._call(), 5)
    assert await recover(at, message_id) == [R.WATCHING]
    at.clock.advance(DAY)
    await upkeep.expire_jobs(at.ctx)
    assert await recover(at, message_id) == [R.SETTLED]
    await credits.add(at.ctx, at.caller.account_id, 10)
    assert (await at.shape(message_id))["reason"] == "queue_expired"


@pytest.mark.rule("Recovery.work")
async def test_each_work_is_reported_once_the_worst_first(at: ManualHarness) -> None:
    message_id = (await at.accept()).message.id
    first = await at.start(message_id)
    works = await at.rows("SELECT work_id FROM jobs WHERE id = ?", first.job_id)
    work_id = str(works[0][0])
    at.clock.advance(1)
    await at.start(message_id, work_id)
    other = await at.start(message_id)
    await at.end(message_id)
    await at.finish(first)
    await at.finish(other)
    first_work, other_work = (await recovery.recover(at.ctx, at.caller, message_id)).work
    assert first_work.work_id == work_id != other_work.work_id
    assert [first_work.state, other_work.state] == [R.WATCHING, R.SETTLED]


async def test_a_joined_message_recovers_the_job_for_all(at: ManualHarness) -> None:
    message_id, owned = await at.working()
    follower = (await at.accept("joins", conversation="another")).message.id
    await at.join(follower, owned.job_id)
    await at.end(follower)
    at.clock.advance(7 * DAY)
    await upkeep.expire_jobs(at.ctx)
    assert await recover(at, follower) == [R.RECOVERING]
    for each in (message_id, follower):
        assert (await at.shape(each))["status"] == "processing"


async def test_a_recovered_message_is_kept_longer(at: ManualHarness) -> None:
    message_id, _ = await expired(at)
    before = (await at.snapshot(message_id)).message.expires_at
    await recover(at, message_id)
    after = (await at.snapshot(message_id)).message.expires_at
    assert after - before == 7 * DAY * 1_000_000
