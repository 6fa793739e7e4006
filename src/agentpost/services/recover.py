"""Recovering a message whose work did not report back in time (spec: recoverMessage; design: Expiry
and recover).

Expiry ended the watch, not the work. A recover watches again what still runs, and gives out what
has ended since. It never sends the message again and never starts work.
"""

from __future__ import annotations

from agentpost.db import jobs as job_rows
from agentpost.db import messages as message_rows
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain import signals as s
from agentpost.domain.errors import not_found
from agentpost.domain.records import JobRecord
from agentpost.domain.recovery import RecoveryState, can_recover, state_of, worst
from agentpost.services import record
from agentpost.services.context import AppContext
from agentpost.services.messages import Caller


async def recover(ctx: AppContext, caller: Caller, message_id: str) -> dict[str, RecoveryState]:
    """Each work of the message with its state, in the message's order; raises ``not_found``.

    Safe to repeat: what is watched already stays as it is.
    """

    def fn(tx: Tx) -> dict[str, RecoveryState]:
        now = ctx.clock.now()
        message = message_rows.get_of_key(tx, message_id, caller.key_id, now)
        if message is None:
            raise not_found("message")
        by_work: dict[str, list[RecoveryState]] = {}
        for link in sorted(message_rows.links(tx, message.id), key=lambda link: link.job.id):
            state = _recover(tx, ctx, link.job, now)
            by_work.setdefault(link.job.work_id, []).append(state)
        return {work_id: worst(states) for work_id, states in by_work.items()}

    if not ids.is_id(ids.MESSAGE, message_id):
        raise not_found("message")
    return await ctx.db.write(fn)


def _recover(tx: Tx, ctx: AppContext, unlocked: JobRecord, now: int) -> RecoveryState:
    job = job_rows.lock(tx, unlocked.id) or unlocked
    if not can_recover(job.state, job.recover_requests):
        return state_of(job.state, recovered=False)
    job = record.apply_job(tx, ctx, job.id, s.Recovered(), now)
    return state_of(job.state, recovered=True)
