"""The table of nodes: heartbeats, what each node is, and how one leaves (design: Ownership)."""

from dataclasses import dataclass

import structlog

from agentpost.context import NODES, AppContext
from agentpost.db.session import Tx
from agentpost.nodes import faults, ownership, rows as node_rows
from agentpost.nodes.rows import Beat, NodeRecord
from agentpost.operations import metric_rows
from agentpost.record import writer as record
from agentpost.transactions import read_transaction, write_transaction

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A node and what it runs. ``silent``: for how many microseconds this node has seen no beat of
    it; None where nobody watches."""

    record: NodeRecord
    jobs: int
    turns: int
    is_here: bool
    silent: int | None

    @property
    def clock_problem(self) -> str | None:
        """What is wrong with the node's clock; None when nothing is."""
        return faults.clock_problem(self.record.clock_ahead)


def lines(tx: Tx, ctx: AppContext) -> list[NodeLine]:
    """Every node that has come and was not found dead, the oldest first."""
    jobs, turns = metric_rows.jobs_by_node(tx), metric_rows.turns_by_node(tx)
    silent, here = ctx.silent(), ctx.node
    return [
        NodeLine(
            each, jobs.get(each.id, 0), turns.get(each.id, 0), each.id == here, silent.get(each.id)
        )
        for each in node_rows.list_all(tx)
    ]


list_all = read_transaction(lines)


def state_of(node: NodeRecord, now: int, served: bool | None) -> str:
    """What a node does at ``now``: ``running``, ``draining``, ``silent`` or ``ended``. ``served``:
    whether a server has the data folder; None where nodes beat."""
    if served is False:
        return "ended"
    if served is None and node.is_silent(now):
        return "silent"
    return "running" if node.draining_at is None else "draining"


async def beat(ctx: AppContext) -> dict[str, Beat]:
    """A beat without a `Heartbeat`: where no other node watches, once is enough."""
    return await ctx.db.write(lambda tx: node_rows.beat(tx, ctx.node, ctx.clock.now()))


@write_transaction
def describe(tx: Tx, ctx: AppContext, host: str, pid: int) -> None:
    """Write down for operators what this node is; it has beaten before."""
    node_rows.describe(tx, ctx.node, host, pid, ctx.settings.role)


@write_transaction
def begin_draining(tx: Tx, ctx: AppContext) -> None:
    """This node takes no more work; operators see since when."""
    node_rows.set_draining(tx, ctx.node, ctx.clock.now())


async def hand_over_job(ctx: AppContext, job_id: str, epoch: int) -> None:
    """Nothing of the job runs here any more: another node takes it, or the next start."""
    if await ctx.db.write(lambda tx: record.release_job(tx, ctx, job_id, epoch)):
        log.info("job_handed_over", job_id=job_id)


@write_transaction
def leave(tx: Tx, ctx: AppContext) -> None:
    """This node stops in order: the same commit releases its jobs. Jobs of a node that ends without
    this, for example by a kill, count as taken from a dead node."""
    record.release_ownership(tx, ctx)
    _forget(tx, ctx.node, None)
    ctx.wakeups.publish(tx, NODES)


async def forget(ctx: AppContext, node: str, beat: int | None = None) -> bool:
    """That node is gone; with a beat, only if that is still its last: False when it is alive, or
    another was faster."""
    return await ctx.db.write(lambda tx: _forget(tx, node, beat))


def _forget(tx: Tx, node: str, beat: int | None) -> bool:
    has_left = node_rows.forget(tx, node, beat)
    if has_left:
        ownership.forget(tx, node)
    return has_left
