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

Line = tuple[str, int, int, str | None]
"""Of whom a charge is, how much, when, and of which key."""


async def charge(ctx: AppContext, *lines: Line) -> None:
    """Charges of a job that is gone."""

    def write(tx: Tx) -> None:
        for account_id, amount, at, key_id in lines:
            id_ = new_id(ids.LEDGER, at)
            line = LedgerRecord(id_, account_id, "charge", amount, at, "exe_gone", key_id=key_id)
            account_rows.LEDGER.insert(tx, line)

    await ctx.db.write(write)


def reader(ctx: AppContext, account_id: str) -> Caller:
    return Caller("key_any", "any", account_id, rules_of(ctx.settings))


async def test_usage_is_summed_by_day_and_key(
    ctx: AppContext, account: str, clock: ManualClock
) -> None:
    other = await new_account(ctx, "bob@example.com")
    await credits.add(ctx, account, 10)
    for owner, amount in ((account, 1_500_000), (account, 1), (other, 7_000_000)):
        clock.advance(0.001)
        await charge(ctx, (owner, amount, clock.now(), None))
    found = await usage.statement(ctx, account)
    listed = [(line.credits, line.work_id) for line in found.lines]
    assert listed == [(-0.000001, None), (-1.5, None), (10, None)]
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
    await charge(ctx, *((account, 1, at, None) for at in (noon - DAY, noon, noon + 1)))
    bounds = (noon - 2 * DAY, noon + 1)  # the end does not count
    caller = reader(ctx, account)
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
    waiting = (found.open["turns_waiting"].number, found.open["deliveries"].number)
    assert (found.jobs, waiting, found.open["deliveries"].due) == (0, (0, 0), None)
    one = await server_overview.account(ctx, account)
    assert (one.running, one.queued, one.live_keys, one.stored_bytes) == (0, 0, 0, 0)


async def test_both_sums_say_the_same_of_a_charge_whose_message_is_deleted(
    ctx: AppContext, account: str, clock: ManualClock
) -> None:
    """Its line names the key; one of an earlier version does not."""
    key = (await accounts.create_key(ctx, account, "nightly")).record.id
    at = clock.now()
    await charge(ctx, (account, 3_000_000, at, key), (account, 2_000_000, at, None))
    shown = (await usage.statement(ctx, account)).usage
    assert shown is not None
    assert [(each.key_id, each.credits) for each in shown.keys] == [(key, 3), (None, 2)]
    days, caller = (at - DAY, at + DAY), reader(ctx, account)
    listed, _ = await usage.list_page(ctx, caller, UsageGroup.KEY, *days, before=None, limit=10)
    assert {each.id: each.millionths for each in listed} == {key: 3_000_000, "deleted": 2_000_000}
