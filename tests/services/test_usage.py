"""What the pages of credits and of the operator read, on each database."""

from agentpost.clock import ManualClock, new_id
from agentpost.db import accounts as rows
from agentpost.db import nodes
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.records import LedgerRecord
from agentpost.services import credits, operating, usage
from agentpost.services.context import AppContext
from tests.services.databases import account, clock, ctx, new_account, schema_url

__all__ = ["account", "clock", "ctx", "schema_url"]


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
            rows.add_ledger(tx, line)

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


async def test_an_operator_reads_the_whole_server(ctx: AppContext, account: str) -> None:
    await new_account(ctx, "bob@example.com")
    await ctx.db.write(lambda tx: nodes.beat(tx, "node_a", 5))
    found = await operating.server(ctx, "OWNER@")
    assert [line.account.id for line in found.accounts] == [account]
    assert [(node.id, node.started_at, node.is_here) for node in found.nodes] == [
        ("node_a", 5, False)
    ]
    assert (found.jobs, found.turns_waiting, found.deliveries, found.deliveries_due) == (
        0,
        0,
        0,
        None,
    )
    one = await operating.account(ctx, account)
    assert (one.running, one.queued, one.live_keys, one.stored_bytes) == (0, 0, 0, 0)
