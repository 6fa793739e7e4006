"""The table of nodes and their heartbeats."""

from __future__ import annotations

from agentpost.clock import Clock
from agentpost.db import nodes as rows
from agentpost.db.session import DedicatedConnection, Tx
from agentpost.services import missing_runs, record
from agentpost.services.context import AppContext
from agentpost.services.transactions import write_transaction


class Beats:
    """Beats of one node on a line of its own; for one thread. ``node`` is whose."""

    def __init__(self, connection: DedicatedConnection, node: str, clock: Clock) -> None:
        self.node = node
        self._connection = connection
        self._clock = clock

    def beat(self) -> dict[str, int]:
        """Beat once; every node's beat as it is now. Blocks; raises what the database raises."""
        return self._connection.write(lambda tx: rows.beat(tx, self.node, self._clock.now()))

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()


async def beat(ctx: AppContext) -> dict[str, int]:
    """`Beats.beat` on the node's main database: where no other node watches, once is enough."""
    return await ctx.db.write(lambda tx: rows.beat(tx, ctx.node, ctx.clock.now()))


@write_transaction
def leave(tx: Tx, ctx: AppContext) -> None:
    """This node stops in order: the same commit releases its jobs. Jobs of a node that ends without
    this, for example by a kill, count as taken from a dead node."""
    record.release_ownership(tx, ctx.node)
    _forget(tx, ctx.node, None)


async def forget(ctx: AppContext, node: str, beat: int | None = None) -> bool:
    """That node is gone; with a beat, only if that is still its last: False when it is alive, or
    another was faster."""
    return await ctx.db.write(lambda tx: _forget(tx, node, beat))


def _forget(tx: Tx, node: str, beat: int | None) -> bool:
    gone = rows.forget(tx, node, beat)
    if gone:
        missing_runs.forget(tx, node)
    return gone
