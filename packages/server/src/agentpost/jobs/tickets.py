"""What the run of a job begins with, as a transaction reads it (design: The journal; Ownership)."""

from __future__ import annotations

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.jobs import rows as job_rows
from agentpost.jobs import work_rows
from agentpost.jobs.rules import EXECUTING
from agentpost.messages import rows as message_rows
from agentpost.record import history, journal_rows
from agentpost.record.records import JobRecord, MessageRecord
from agentpost.record.tickets import JobTicket


def read(tx: Tx, ctx: AppContext, job_id: str, epoch: int) -> JobTicket | None:
    """Of a job that this node owns at ``epoch``; None when it does not any more."""
    confirmed_at = ctx.lease.now()  # before anything is read: a stop in between must show
    job = job_rows.get(tx, job_id)
    if job is None or job.epoch != epoch or job.state not in EXECUTING:
        return None
    return make(tx, job, message_rows.get(tx, job.message_id), confirmed_at)


def make(tx: Tx, job: JobRecord, message: MessageRecord | None, confirmed_at: float) -> JobTicket:
    """Of a job that is this node's, and the message that started it; ``confirmed``: see
    `JobTicket`."""
    assert message is not None, "a message outlives its jobs"
    work = work_rows.get(tx, job.work_id, job.account_id)
    calls = journal_rows.all_(tx, job.id) if job.calls else {}
    state_json = work.state_json if work else "{}"
    message_said = history.said_by(tx, message)
    schema = message.response_schema_json
    return JobTicket(job, job.epoch, calls, message_said, state_json, confirmed_at, schema)
