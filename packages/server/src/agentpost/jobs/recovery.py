"""Recovering a message whose work did not report back in time (spec: recoverMessage; design: Expiry
and recover).

Expiry ended the watch, not the work. A recover watches again what still runs, and gives out what
has ended since. It never sends the message again and never starts work; with a higher ceiling of
credits, work that was parked by the old one continues.
"""

from agentpost.accounts import rows as account_rows
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.credits import actions as credits, ceiling_rows
from agentpost.credits.rules import Ceiling
from agentpost.db.session import Tx
from agentpost.jobs import rows as job_rows
from agentpost.jobs.recovery_rules import RecoveryState, can_recover, state_of, worst
from agentpost.jobs.rules import JobRole, JobState
from agentpost.jobs.work_shapes import RecoveredWorkShape, RecoveryShape
from agentpost.messages import rows as message_rows
from agentpost.record import signals as s, writer
from agentpost.record.records import JobRecord, MessageRecord
from agentpost.transactions import write_transaction


@write_transaction
def recover(
    tx: Tx, ctx: AppContext, caller: Caller, message_id: str, max_credits: int | None = None
) -> RecoveryShape:
    """Each work of the message with its state, in the message's order; raises ``not_found``.
    ``max_credits``: what its work may use from now on, in millionths; work that waits for that
    ceiling continues when there is room. Safe to repeat: what is watched already stays as it is."""
    now = ctx.clock.now()
    message = message_rows.of_key(tx, message_id, caller.key_id, now)
    if max_credits is not None:
        _set_ceiling(tx, ctx, message, max_credits, now)
    states = _recover_works(tx, ctx, message, now)
    works = [RecoveredWorkShape(work_id=work_id, state=state) for work_id, state in states.items()]
    return RecoveryShape(id=message_id, work=works)


@write_transaction
def recover_for(tx: Tx, ctx: AppContext, account_id: str, message_id: str) -> RecoveryState:
    """The same for a person of the account, whichever key sent the message: the worst state.
    ``settled`` for a message without work."""
    now = ctx.clock.now()
    message = message_rows.of_account(tx, message_id, account_id, now)
    states = _recover_works(tx, ctx, message, now)
    return worst(states.values()) if states else RecoveryState.SETTLED


def _recover_works(
    tx: Tx, ctx: AppContext, message: MessageRecord, now: int
) -> dict[str, RecoveryState]:
    by_work: dict[str, list[RecoveryState]] = {}
    for link in sorted(message_rows.links(tx, message.id), key=lambda link: link.job.id):
        state = _recover(tx, ctx, link.job, now)
        by_work.setdefault(link.job.work_id, []).append(state)
    return {work_id: worst(states) for work_id, states in by_work.items()}


def _set_ceiling(
    tx: Tx, ctx: AppContext, seen_record: MessageRecord, max_credits: int, now: int
) -> None:
    account = account_rows.lock(tx, seen_record.account_id)
    links = message_rows.links(tx, seen_record.id)
    started = sorted(link.job.id for link in links if link.role is JobRole.EXECUTION)
    jobs = [job for job in (job_rows.lock(tx, job_id) for job_id in started) if job is not None]
    message = message_rows.lock(tx, seen_record.id)
    assert message is not None
    writer.set_max_credits(tx, ctx, message, max_credits, now)
    if ceiling_rows.used_by_message(tx, message.id) < max_credits:
        for job in jobs:
            if job.state is JobState.QUEUED and job.ceiling is Ceiling.MESSAGE:
                writer.apply_job(tx, ctx, job.id, s.CeilingRaised(), now)
    credits.resume_queued(tx, ctx, account, now)


def _recover(tx: Tx, ctx: AppContext, seen_record: JobRecord, now: int) -> RecoveryState:
    job = job_rows.lock(tx, seen_record.id) or seen_record
    if not can_recover(job.state, job.recover_requests):
        return state_of(job.state, recovered=False)
    job = writer.apply_job(tx, ctx, job.id, s.Recovered(), now)
    return state_of(job.state, recovered=True)
