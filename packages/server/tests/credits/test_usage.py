"""What the pages of credits and of the operator read, on each database."""

import pytest

from agentpost.accounts import actions as accounts, overview, rows as account_rows
from agentpost.caller import Caller
from agentpost.clock import ManualClock, new_id
from agentpost.context import AppContext
from agentpost.credits import actions as credits, usage
from agentpost.credits.rules import UsageGroup
from agentpost.db import filtered
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.times import DAY, HOUR
from agentpost.limits.allowances import rules_of
from agentpost.nodes import rows as node_rows
from agentpost.operations import server_overview
from agentpost.record.records import LedgerRecord, RequestRecord
from agentpost.requests import rows as request_rows
from tests.harness.databases import new_account


async def test_usage_is_summed_by_day_and_key(
    ctx: AppContext, account: str, clock: ManualClock
) -> None:
    other = await new_account(ctx, "bob@example.com")
    await credits.add(ctx, account, 10)

    def charge(tx: Tx) -> None:
        for owner, amount in ((account, 1_500_000), (account, 1), (other, 7_000_000)):
            clock.advance(0.001)
            at = clock.now()
            line = LedgerRecord(new_id(ids.LEDGER, at), owner, "charge", amount, at, "exe_gone")
            account_rows.LEDGER.insert(tx, line)

    await ctx.db.write(charge)
    found = await usage.statement(ctx, account)
    assert [(line.credits, line.work_id) for line in found.lines] == [
        (-0.000001, None),
        (-1.5, None),
        (10, None),
    ]
    assert found.usage is not None
    today = found.usage.days[-1]
    assert (today.credits, today.charges, today.messages) == (1.500001, 2, 0)
    assert [(key.key_id, key.charges) for key in found.usage.keys] == [(None, 2)]
    first = found.lines[0].record.id
    older = await usage.statement(ctx, account, before=first, holds=True)
    assert [line.credits for line in older.lines] == [-1.5, 10]
    assert older.usage is None


async def test_credits_count_when_they_were_charged_whatever_became_of_the_message(
    ctx: AppContext, account: str, clock: ManualClock
) -> None:
    noon = clock.now() // DAY * DAY + DAY // 2

    def charge(tx: Tx) -> None:
        for at in (noon - DAY, noon, noon + 1):
            line = LedgerRecord(new_id(ids.LEDGER, at), account, "charge", 1, at, "exe_gone")
            account_rows.LEDGER.insert(tx, line)

    await ctx.db.write(charge)
    bounds = (noon - 2 * DAY, noon + 1)  # the end does not count
    caller = Caller("key_any", "any", account, rules_of(ctx.settings))
    for group, expected in ((UsageGroup.DAY, [1, 1]), (UsageGroup.KEY, [2])):
        found, more = await usage.list_page(ctx, caller, group, *bounds, before=None, limit=10)
        assert ([line.millionths for line in found], more) == (expected, False)
        assert group is UsageGroup.DAY or [line.id for line in found] == ["deleted"]


async def test_an_overview_counts_what_failed_today(
    ctx: AppContext, account: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(tx: Tx) -> None:
        for error, age in (("not_found", 2), ("rate_limited", 1), ("not_found", 0), (None, 0)):
            at = clock.now() - age * HOUR
            request_rows.REQUESTS.insert_all(tx, [request_record(account, at, error)])
        old = clock.now() - DAY - 1
        request_rows.REQUESTS.insert_all(tx, [request_record(account, old, "internal")])

    await ctx.db.write(ask)
    found = await overview.overview(ctx, account)
    assert found.requests == 4
    assert found.refused == [("not_found", 2), ("rate_limited", 1)]
    assert (found.failed, found.failing, len(found.days)) == ([], [], overview.DAYS)
    monkeypatch.setattr(filtered, "COUNTED_MAX", 2)
    assert (await overview.overview(ctx, account)).requests == 2


def request_record(account_id: str, at: int, error: str | None) -> RequestRecord:
    status = 200 if error is None else 400
    row = (new_id(ids.REQUEST, at), at, account_id, "key_1", "GET", "/v1/me", status, error)
    return RequestRecord(*row, 1, 0, 0, None, None, None)


async def test_an_operator_reads_the_whole_server(ctx: AppContext, account: str) -> None:
    await new_account(ctx, "bob@example.com")
    await ctx.db.write(lambda tx: node_rows.beat(tx, "node_a", 5))
    found = await server_overview.server(ctx, "OWNER@")
    assert [line.account.id for line in found.accounts] == [account]
    assert [(node.record.id, node.record.started_at, node.is_here) for node in found.nodes] == [
        ("node_a", 5, False)
    ]
    assert (
        found.jobs,
        found.open.turns_waiting.number,
        found.open.deliveries.number,
        found.open.delivery_due,
    ) == (
        0,
        0,
        0,
        None,
    )
    one = await server_overview.account(ctx, account)
    assert (one.running, one.queued, one.live_keys, one.stored_bytes) == (0, 0, 0, 0)


async def test_both_sums_say_the_same_of_a_charge_whose_message_is_deleted(
    ctx: AppContext, account: str, clock: ManualClock
) -> None:
    """Its line names the key; one of an earlier version does not."""
    key = (await accounts.create_key(ctx, account, "nightly")).record.id
    at = clock.now()

    def charge(tx: Tx) -> None:
        for amount, named in ((3_000_000, key), (2_000_000, None)):
            line = LedgerRecord(new_id(ids.LEDGER, at), account, "charge", amount, at, "exe_gone")
            line.key_id = named
            account_rows.LEDGER.insert(tx, line)

    await ctx.db.write(charge)
    shown = (await usage.statement(ctx, account)).usage
    assert shown is not None
    assert [(each.key_id, each.credits) for each in shown.keys] == [(key, 3), (None, 2)]
    listed, _ = await usage.list_page(
        ctx,
        Caller(key, "named", account, rules_of(ctx.settings)),
        UsageGroup.KEY,
        at - DAY,
        at + DAY,
        before=None,
        limit=10,
    )
    assert {each.id: each.millionths for each in listed} == {key: 3_000_000, "deleted": 2_000_000}
