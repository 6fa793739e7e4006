"""Ask the database again whether this node still owns a turn or job (design: A node that stood
still)."""

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import Fenced
from agentpost.jobs import rows as job_rows
from agentpost.messages import rows as message_rows
from agentpost.nodes import rows as node_rows

OWNED = {"turns": message_rows.OWNED, "jobs": job_rows.OWNED}


async def confirm(ctx: AppContext, kind: str, owner: str, epoch: int) -> float:
    """Beat and read who owns the turn (by its message) or job; the time, by the node's lease, at
    which this node owned it at that epoch. ``kind``: of `OWNED`. Raises `Fenced`."""
    sent_at = ctx.lease.now()

    def fn(tx: Tx) -> bool:
        node_rows.confirm(tx, ctx.node, ctx.clock.now())
        return OWNED[kind].has(tx, ctx.node, owner, epoch)

    is_ours = await ctx.db.write(fn)
    ctx.lease.renew(sent_at)
    if not is_ours:
        raise Fenced(f"{owner} is not ours any more")
    return sent_at
