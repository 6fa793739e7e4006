"""Keys that are rotated, on both databases (design: Keys and ids)."""

import pytest

from agentpost.accounts import actions as accounts, network_rules, rows as account_rows
from agentpost.accounts.actions import KnownKey
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.domain.errors import Refusal

HOUR = 3_600


async def known(ctx: AppContext, secret: str) -> KnownKey:
    found = await accounts.find_key(ctx, secret)
    assert found is not None
    return found


async def lives(ctx: AppContext, secret: str) -> bool:
    found = await accounts.find_key(ctx, secret)
    return found is not None and accounts.is_live(found, ctx.clock.now())


async def test_both_secrets_are_one_key_until_the_overlap_ends(
    ctx: AppContext, account: str, clock: ManualClock
) -> None:
    allowed = network_rules.parse(["203.0.113.0/24"])
    first = await accounts.create_key(ctx, account, "ci", 30 * HOUR, allowed=allowed)
    second = await accounts.rotate(ctx, first.record.id)
    assert second.record.id == first.record.id
    assert second.secret != first.secret
    before, after = await known(ctx, first.secret), await known(ctx, second.secret)
    assert before.caller.key_id == after.caller.key_id == first.record.id
    assert before.networks == after.networks == allowed
    assert before.caller.holds != after.caller.holds

    with pytest.raises(ValueError, match=r"the secret before, ….{4}, is good until 20"):
        await accounts.rotate(ctx, first.record.id)
    clock.advance(24 * HOUR)
    assert not await lives(ctx, first.secret)
    assert await lives(ctx, second.secret)
    clock.advance(6 * HOUR)
    assert not await lives(ctx, second.secret), "the key's own end is as it was"
    with pytest.raises(Refusal, match="live key"):
        await accounts.rotate(ctx, first.record.id)


async def test_an_overlap_of_nothing_ends_all_earlier_secrets(
    ctx: AppContext, account: str
) -> None:
    first = await accounts.create_key(ctx, account, "ci")
    second = await accounts.rotate(ctx, first.record.id, HOUR)
    held = [(await known(ctx, each.secret)).caller.holds for each in (first, second)]
    now = ctx.clock.now()
    assert await ctx.db.read(lambda tx: account_rows.ended_holders(tx, held, now)) == []
    third = await accounts.rotate(ctx, first.record.id, 0)
    for each in (first, second):
        assert await accounts.find_key(ctx, each.secret) is None
    assert await lives(ctx, third.secret)
    assert await ctx.db.read(lambda tx: account_rows.ended_holders(tx, held, now)) == held


async def test_what_is_refused(ctx: AppContext, account: str) -> None:
    key = (await accounts.create_key(ctx, account, "ci")).record
    with pytest.raises(ValueError, match="between 0 and 90 days"):
        await accounts.rotate(ctx, key.id, 91 * 24 * HOUR)
    await accounts.revoke_key(ctx, key.id)
    with pytest.raises(Refusal, match="no such live key"):
        await accounts.rotate(ctx, key.id, 0)
