"""What is counted, for whom, and until when (spec: Limits; design: Rate limits)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentpost.accounts import actions as accounts, admission
from agentpost.caller import Caller
from agentpost.domain.errors import RateLimited
from agentpost.limits import allowances
from tests.harness.driver import ManualHarness, manual_harness

HOUR, DAY = 3_600, 86_400


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[ManualHarness]:
    async with manual_harness(
        tmp_path,
        requests_per_minute=2,
        messages_per_hour=2,
        messages_per_day=3,
        waits_per_hour=1,
        work_reads_per_hour=1,
    ) as made:
        yield made


async def test_a_minute_moves_with_the_clock(at: ManualHarness) -> None:
    assert (await admission.request(at.ctx, at.caller)).allowed
    at.clock.advance(20)
    assert (await admission.request(at.ctx, at.caller)).remaining == 0
    at.clock.advance(39.5)
    refused = await admission.request(at.ctx, at.caller)
    assert (refused.allowed, refused.seconds_until(refused.free_at)) == (False, 1)
    at.clock.advance(0.5)
    decision = await admission.request(at.ctx, at.caller)
    assert (decision.allowed, decision.seconds_until(decision.reset_at)) == (True, 20)


@pytest.mark.rule("Limits messages")
async def test_messages_have_an_hour_and_a_day(at: ManualHarness) -> None:
    for _ in range(2):
        await admission.message(at.ctx, at.caller)
    with pytest.raises(RateLimited) as refused:
        await admission.message(at.ctx, at.caller)
    assert refused.value.retry_after_seconds == 60
    at.clock.advance(HOUR)
    await admission.message(at.ctx, at.caller)
    at.clock.advance(HOUR)
    with pytest.raises(RateLimited):  # the hour is empty, the day is full
        await admission.message(at.ctx, at.caller)
    at.clock.advance(DAY - 2 * HOUR)
    await admission.message(at.ctx, at.caller)


async def test_an_unsent_message_leaves_its_place(at: ManualHarness) -> None:
    for _ in range(20):
        decision = await admission.message(at.ctx, at.caller)
        await admission.unsent(at.ctx, at.caller, decision)
    await admission.message(at.ctx, at.caller)


async def test_keys_share_the_account_and_not_the_minute(at: ManualHarness) -> None:
    second = Caller("key_2", "second", at.caller.account_id, at.caller.rules)
    other = Caller("key_3", "third", "acc_other", at.caller.rules)
    for _ in range(2):
        await admission.request(at.ctx, at.caller)
    assert (await admission.request(at.ctx, second)).allowed
    await admission.wait(at.ctx, at.caller)
    await admission.work_read(at.ctx, at.caller)
    for refuse in (admission.wait, admission.work_read):
        with pytest.raises(RateLimited):
            await refuse(at.ctx, second)
        await refuse(at.ctx, other)


async def test_an_account_may_have_numbers_of_its_own(at: ManualHarness) -> None:
    await allowances.override(at.ctx, at.caller.account_id, {"waits_per_hour": 3})
    known = await accounts.find_key(at.ctx, "svc_key_moving")
    assert known is not None
    for _ in range(3):
        await admission.wait(at.ctx, known.caller)
    with pytest.raises(RateLimited):
        await admission.wait(at.ctx, known.caller)
    shown, overridden = await allowances.show(at.ctx, "owner@localhost")
    assert (shown.waits_per_hour, shown.messages_per_day) == (3, 3)
    assert overridden == frozenset({"waits_per_hour"})
    await allowances.override(at.ctx, at.caller.account_id, {"waits_per_hour": None})
    assert (await allowances.show(at.ctx, "owner@localhost"))[1] == frozenset()


async def test_numbers_that_let_nothing_in_are_refused(at: ManualHarness) -> None:
    for changes in ({"waits_per_hour": 0}, {"waits": 5}):
        with pytest.raises(ValueError, match="wait"):
            await allowances.override(at.ctx, at.caller.account_id, changes)
