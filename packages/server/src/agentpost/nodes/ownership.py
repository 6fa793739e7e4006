"""Ask the database again whether this node still owns a turn or job (design: A node that stood
still)."""

from collections.abc import Callable

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import Fenced
from agentpost.jobs import rows as job_rows
from agentpost.jobs.actions import JobClaim
from agentpost.jobs.rules import EXECUTING
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import TurnState
from agentpost.nodes import rows as node_rows
from agentpost.record.tickets import TurnTicket


async def confirm_job(ctx: AppContext, claim: JobClaim) -> float:
    """Beat and read who owns the job; the time, by the node's lease, at which this node owned it.
    Raises `Fenced`."""

    def is_ours(tx: Tx) -> bool:
        job = job_rows.get(tx, claim.job_id)
        return (
            job is not None
            and job.state in EXECUTING
            and (job.node, job.epoch) == (ctx.node, claim.epoch)
        )

    return await _confirm(ctx, is_ours, f"job {claim.job_id}")


async def confirm_turn(ctx: AppContext, ticket: TurnTicket) -> float:
    """The same for a turn."""

    def is_ours(tx: Tx) -> bool:
        message = message_rows.get(tx, ticket.message.id)
        return (
            message is not None
            and message.turn_state is TurnState.RUNNING
            and (message.turn_node, message.turn_epoch) == (ctx.node, ticket.epoch)
        )

    return await _confirm(ctx, is_ours, f"the turn of {ticket.message.id}")


async def _confirm(ctx: AppContext, is_ours: Callable[[Tx], bool], what: str) -> float:
    sent_at = ctx.lease.now()

    def fn(tx: Tx) -> bool:
        node_rows.confirm(tx, ctx.node, ctx.clock.now())
        return is_ours(tx)

    ours = await ctx.db.write(fn)
    ctx.lease.renew(sent_at)
    if not ours:
        raise Fenced(f"{what} is not ours any more")
    return sent_at
