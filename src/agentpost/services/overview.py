"""An account at a glance, and how its works stand.

It is read in one transaction, so a page never contradicts itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from agentpost.db import accounts
from agentpost.db import jobs as job_rows
from agentpost.db import messages as message_rows
from agentpost.db import works as rows
from agentpost.db.session import Tx
from agentpost.domain.credits import to_credits
from agentpost.domain.job import JobState
from agentpost.domain.limits import WORK_LIST_DEFAULT
from agentpost.domain.records import JobRecord, MessageSummary, WorkRecord
from agentpost.services.allowances import running_jobs_max
from agentpost.services.context import AppContext
from agentpost.services.transactions import read_transaction


class WorkState(Enum):
    """How a work stands, for people; the value is what they read."""

    RUNNING = "running"
    QUEUED = "waiting for credits"
    ASKING = "asks you something"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    EXPIRED = "expired"
    IDLE = "idle"


_ENDED: Final = {
    JobState.COMPLETED: WorkState.DONE,
    JobState.FAILED: WorkState.FAILED,
    JobState.STOPPED: WorkState.STOPPED,
    JobState.QUEUE_EXPIRED: WorkState.EXPIRED,
    JobState.LATE_COMPLETED: WorkState.EXPIRED,
    JobState.LATE_FAILED: WorkState.EXPIRED,
    JobState.LOST: WorkState.EXPIRED,
    JobState.UNKNOWN: WorkState.EXPIRED,
}
"""How a work stands when the job that was started last has ended so."""
_MESSAGE_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """A work in a list."""

    work: WorkRecord
    state: WorkState


@dataclass(frozen=True, slots=True)
class Overview:
    """An account at a glance; ``works`` and ``messages`` are the newest, newest first."""

    name: str
    email: str
    credits: float
    running: int
    running_max: int
    works: list[WorkSummary]
    messages: list[MessageSummary]


@read_transaction
def overview(tx: Tx, ctx: AppContext, account_id: str) -> Overview:
    """The account; its id comes from our own rows."""
    account = accounts.get(tx, account_id)
    executing = job_rows.executing(tx, account_id)
    jobs = [*executing, *job_rows.queued(tx, account_id)]
    works = rows.list_(tx, account_id, WORK_LIST_DEFAULT)
    lines = [
        WorkSummary(work, state_of(tx, work, [job for job in jobs if job.work_id == work.id]))
        for work in works
    ]
    return Overview(
        name=account.name,
        email=account.email,
        credits=to_credits(account.wallet.available),
        running=len(executing),
        running_max=running_jobs_max(ctx.settings, account.limits_json),
        works=lines,
        messages=message_rows.newest(
            tx, account_id, ctx.clock.now(), _MESSAGE_CHARACTERS, WORK_LIST_DEFAULT
        ),
    )


def state_of(tx: Tx, work: WorkRecord, jobs: list[JobRecord]) -> WorkState:
    """How a work stands.

    Args:
        jobs: those of the work that still have a future.
    """
    if any(job.state is not JobState.QUEUED for job in jobs):
        return WorkState.RUNNING
    if jobs:
        return WorkState.QUEUED
    if work.question:
        return WorkState.ASKING
    last = job_rows.last_in_work(tx, work.id)
    return _ENDED.get(last, WorkState.IDLE) if last is not None else WorkState.IDLE
