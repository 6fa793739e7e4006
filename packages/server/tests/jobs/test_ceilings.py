"""Spend ceilings: of a message and of a key's day, exact whatever happens at the same moment."""

import asyncio

import pytest

from agentpost.accounts import actions as accounts
from agentpost.caller import Caller
from agentpost.jobs import actions as jobs
from agentpost.jobs.actions import JobClaim, OutOfCredits
from agentpost.nodes import upkeep
from tests.harness.context import Harness
from tests.harness.databases import harness
from tests.harness.ends import finish

__all__ = ["harness"]

CREDIT = 1_000_000
DAY = 86_400


async def working(harness: Harness, count: int, most: int | None) -> tuple[str, list[JobClaim]]:
    """A message that may use so many credits, its turn ended, with so many jobs."""
    ticket = await harness.begin_turn(max_credits=most and most * CREDIT)
    started = [await harness.start(ticket) for _ in range(count)]
    await harness.end(ticket)
    return ticket.message.id, [harness.owned(one.job_id) for one in started]


async def paid(harness: Harness, owned: JobClaim, cost: int = CREDIT) -> bool:
    """A step of the job: held, run, recorded; False: the job was parked instead."""
    call = harness.call(owned.job_id)
    try:
        await jobs.hold(harness.ctx, owned, call, cost)
        await jobs.record_call(harness.ctx, owned, call, cost)
    except OutOfCredits:
        return False
    return True


async def limited(harness: Harness, most: float) -> None:
    """The harness goes on with a key that may use so many credits a day."""
    email = "owner@example.com"
    account = harness.one("SELECT email FROM accounts WHERE id = ?", harness.account_id)[0] or email
    made = await accounts.create_key(harness.ctx, account, "few", max_credits_per_day=most)
    harness.caller = Caller(made.record.id, "few", harness.account_id, harness.caller.rules)


@pytest.mark.rule("Additions max_credits")
async def test_jobs_of_a_message_never_use_more_than_it_may(harness: Harness) -> None:
    message_id, started = await working(harness, 4, 3)
    results = await asyncio.gather(*(paid(harness, owned) for owned in started))
    assert sorted(results) == [False, True, True, True]
    shown = harness.view(message_id)
    assert (shown["credits_used"], shown["max_credits"]) == (3, 3)
    for owned in started:
        if harness.owned(owned.job_id).epoch == 1 and harness.one(
            "SELECT state FROM jobs WHERE id = ?", owned.job_id
        ) == ("running",):
            await finish(harness.ctx, owned, "done", None, "{}")
    shown = harness.view(message_id)
    assert shown["waits_for"] == "max_credits"
    assert (shown["status"], shown["final"]) == ("partial", False)
    await upkeep.resume_queued(harness.ctx)
    assert harness.view(message_id) == shown, "there are credits, not for this"


@pytest.mark.rule("Additions max_credits")
async def test_a_start_beyond_the_ceiling_waits(harness: Harness) -> None:
    ticket = await harness.begin_turn(max_credits=CREDIT)
    first = await harness.start(ticket)
    assert await paid(harness, harness.owned(first.job_id))
    second = await harness.start(ticket)
    assert (second.state, second.reason) == ("queued", "out_of_credits")
    await harness.end(ticket)
    await finish(harness.ctx, harness.owned(first.job_id), "done", None, "{}")
    shown = harness.view(ticket.message.id)
    assert (shown["jobs"][1]["status"], shown["waits_for"]) == ("blocked", "max_credits")


@pytest.mark.rule("Additions max_credits_per_day")
async def test_a_key_never_uses_more_in_a_day_than_it_may(harness: Harness) -> None:
    harness.clock.advance(DAY - harness.clock.now() / CREDIT % DAY + 10)  # a day has begun
    await limited(harness, 2)
    started = [(await working(harness, 1, None)) for _ in range(4)]
    results = await asyncio.gather(*(paid(harness, owned) for _, [owned] in started))
    assert sorted(results) == [False, False, True, True]
    parked = [
        message_id for (message_id, _), done in zip(started, results, strict=True) if not done
    ]
    assert {harness.view(one)["waits_for"] for one in parked} == {"next_day"}
    assert "midnight UTC" in harness.log(parked[0])[-1]["text"]

    await upkeep.resume_queued(harness.ctx)
    assert harness.view(parked[0])["status"] == "blocked"
    harness.clock.advance(DAY - 20)
    await upkeep.resume_queued(harness.ctx)
    assert {harness.view(one)["status"] for one in parked} == {"blocked"}, "the day still is"
    harness.clock.advance(20)
    await upkeep.resume_queued(harness.ctx)
    assert {harness.view(one)["status"] for one in parked} == {"processing"}
    for one in parked:
        job_id = harness.job(one)["job_id"]
        assert await paid(harness, harness.owned(job_id))


@pytest.mark.rule("Additions max_credits_per_day")
async def test_what_is_held_over_midnight_counts_for_the_new_day(harness: Harness) -> None:
    harness.clock.advance(DAY - harness.clock.now() / CREDIT % DAY + 10)
    await limited(harness, 1)
    _, [one] = await working(harness, 1, None)
    call = harness.call(one.job_id)
    await jobs.hold(harness.ctx, one, call, CREDIT)
    harness.clock.advance(DAY)
    ticket = await harness.begin_turn()
    second = await harness.start(ticket)
    assert second.state == "queued", "the step that runs will be charged today"
    await jobs.record_call(harness.ctx, one, call, CREDIT)


async def test_another_key_is_not_concerned(harness: Harness) -> None:
    first = harness.caller
    await limited(harness, 1)
    _, [owned] = await working(harness, 1, None)
    assert await paid(harness, owned)
    assert not await paid(harness, owned)
    harness.caller = first
    _, [free] = await working(harness, 1, None)
    assert await paid(harness, free, 50 * CREDIT)
