"""Handle deadlines of turns and jobs, and rows that a dead node left behind.

Every sweep is bounded, guarded by the state it starts from and idempotent, so any node may run it
at any time (design: Deadlines).
"""

from functools import partial
from typing import NamedTuple

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.credits import actions as credits
from agentpost.db.session import Tx
from agentpost.domain.times import seconds
from agentpost.jobs import rows as job_rows
from agentpost.jobs.rules import JobState
from agentpost.messages import rows as message_rows
from agentpost.nodes import poison_rules, rows as node_rows
from agentpost.operations import health_state
from agentpost.record import signals as s, writer
from agentpost.tasks.sweeps import sweep
from agentpost.transactions import read_transaction, write_transaction
from agentpost.turns import actions as turns

CHUNK = 100


async def expire_waiting_turns(ctx: AppContext) -> None:
    """Messages that waited too long for their turn end ``agent_busy`` (spec: Reasons
    agent_busy).
    """
    expire = partial(turns.expire_wait, ctx)
    await sweep(ctx, "expire_waiting_turns", message_rows.busy_due, expire)


async def abandon_turns(ctx: AppContext) -> None:
    """End turns over their limit, one sweep later than the runner, which cancels its agent first.

    Left to processes that run turns: the next of the conversation begins in the same commit. And to
    those whose clock is right: the times were written by others (design: Clocks of nodes).
    """
    if ctx.turns is None or health_state.CLOCK in ctx.health.failing_parts():
        return
    grace = ctx.settings.turn_limit_seconds + ctx.settings.sweep_seconds

    def find(tx: Tx, at: int, limit: int) -> list[str]:
        return message_rows.begun_before(tx, at - seconds(grace), limit)

    await sweep(ctx, "abandon_turns", find, partial(turns.abandon, ctx))


async def expire_jobs(ctx: AppContext) -> None:
    """Queued work that waited too long, running work that did not report back."""
    queued = partial(_expire, ctx, JobState.QUEUED)
    await sweep(ctx, "expire_queued", job_rows.queue_due, queued)
    running = partial(_expire, ctx, JobState.RUNNING)
    await sweep(ctx, "expire_running", job_rows.watch_due, running)


@write_transaction
def _expire(tx: Tx, ctx: AppContext, state: JobState, job_id: str) -> None:
    """Expire a job if it is still due: the sweep read it before this transaction."""
    now = ctx.clock.now()
    unlocked = job_rows.get(tx, job_id)
    if unlocked is None:
        return
    account_rows.lock(tx, unlocked.account_id)  # a stop or a top-up decides under this lock as well
    job = job_rows.lock(tx, job_id)
    if job is None or job.state is not state:
        return
    due = job.queue_by if state is JobState.QUEUED else job.watch_by
    if due is None or due > now:
        return
    signal = s.QueueTimedOut() if state is JobState.QUEUED else s.WatchTimedOut()
    writer.apply_job(tx, ctx, job_id, signal, now)


async def resume_queued(ctx: AppContext) -> None:
    """A safety net: queued work that could go on does (a lowered cap, fees that were cleared)."""
    resume = partial(_resume, ctx)
    await sweep(ctx, "resume_queued", lambda tx, *_: job_rows.accounts_with_queued(tx), resume)


@write_transaction
def _resume(tx: Tx, ctx: AppContext, account_id: str) -> None:
    account = account_rows.lock(tx, account_id)
    credits.resume_queued(tx, ctx, account, ctx.clock.now())


class Left(NamedTuple):
    """A turn, by its message, or a job to recover. ``node``: whose it was; None: without an owner.
    ``deaths``: of what ran it, in a row, with that of ``node``."""

    id: str
    node: str | None
    deaths: int


@read_transaction
def left_behind(tx: Tx, ctx: AppContext, dead: set[str]) -> tuple[list[Left], list[Left]]:
    """Open turns, and open jobs, whose node is dead or no longer in the table of nodes.

    Both are read in one snapshot: a node that has just come is in the table before it owns work.
    Rows of this node are never included, even when another node removed it from the table.
    """
    alive = {*node_rows.all_(tx)} - dead | {ctx.node}
    open_turns = [
        Left(message_id, node, deaths + (node is not None))
        for message_id, node, deaths in message_rows.turns_left_by(tx, alive)
    ]
    orphans = [Left(message_id, None, 0) for message_id in message_rows.waiting_for_nobody(tx)]
    return [*open_turns, *orphans], [_left(*row) for row in job_rows.left_by(tx, alive)]


@read_transaction
def waiting_for_code(tx: Tx, ctx: AppContext) -> list[tuple[str, str]]:
    """(id, node) of the jobs that wait for their code on other nodes: this one may have other
    code."""
    return job_rows.diverged_elsewhere(tx, ctx.node)


def _left(job_id: str, node: str | None, takeovers: int, has_got_further: bool) -> Left:
    if node is not None:
        takeovers = poison_rules.deaths_in_a_row(takeovers, has_got_further=has_got_further)
    elif has_got_further:
        takeovers = 0
    return Left(job_id, node, takeovers)


async def unowned_jobs(ctx: AppContext) -> list[str]:
    """Jobs that should run and have no owner, e.g. resumed by a command."""
    return await ctx.resting.due("unowned_jobs", lambda tx, _: job_rows.list_unowned(tx, CHUNK))
