"""An account at a glance, and how its works stand.

It is read in one transaction, so a page never contradicts itself.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from agentpost.accounts import rows as account_rows
from agentpost.context import AppContext
from agentpost.credits import usage
from agentpost.credits.rules import UsageLine
from agentpost.db.filtered import COUNTED_MAX
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.credits import to_credits
from agentpost.domain.times import DAY
from agentpost.jobs import rows as job_rows, work_rows
from agentpost.jobs.rules import JobState, Reason
from agentpost.limits.allowances import allowances_of
from agentpost.messages import list_rows, rows as message_rows
from agentpost.messages.filter_rules import MessageFilter
from agentpost.messages.rules import MessageStatus
from agentpost.record.records import JobRecord, MessageSummary, WorkRecord
from agentpost.requests import rows as request_rows
from agentpost.transactions import read_transaction
from agentpost.webhooks import health
from agentpost.webhooks.health import EndpointHealth


class WorkState(Enum):
    """How a work stands, for people; the value is what they read."""

    RUNNING = "running"
    QUEUED = "blocked"
    ASKING = "needs input"
    DONE = "completed"
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
_SHOWN: Final = 6
REQUESTS_MAX: Final = COUNTED_MAX
DAYS: Final = 14
"""How many days are summed up, today included."""


@dataclass(frozen=True, slots=True)
class WorkSummary:
    """A work in a list."""

    work: WorkRecord
    state: WorkState


@dataclass(frozen=True, slots=True)
class Overview:
    """An account at a glance; ``works`` and ``messages`` are the newest, newest first.

    Attributes:
        queued: how many jobs wait for credits.
        requests: how many there were in the last 24 hours, at most `REQUESTS_MAX`.
        refused: the error codes of those requests, and how often; the most frequent first.
        failed: why messages of the last 24 hours have failed, and how many; the most first.
            Those that somebody stopped are left out.
        failing: endpoints none of whose attempts has succeeded for a while.
        days: the last `DAYS` days, the oldest first.
    """

    email: str
    credits: float
    held: float
    running: int
    running_max: int
    queued: int
    works: list[WorkSummary]
    messages: list[MessageSummary]
    requests: int
    refused: list[tuple[str, int]]
    failed: list[tuple[Reason | None, int]]
    failing: list[EndpointHealth]
    days: list[UsageLine]


@read_transaction
def overview(tx: Tx, ctx: AppContext, account_id: str) -> Overview:
    """The account; its id comes from our own rows."""
    account = account_rows.get(tx, account_id)
    now = ctx.clock.now()
    executing, queued = job_rows.executing(tx, account_id), job_rows.list_queued(tx, account_id)
    jobs = [*executing, *queued]
    works = work_rows.list_(tx, account_id, _SHOWN)
    errors = request_rows.errors(tx, account_id, ids.at(ids.REQUEST, now - DAY))
    owner, columns = ("account_id", account_id), message_rows.SUMMARY
    newest, _ = list_rows.page(tx, owner, MessageFilter(), now, columns, limit=_SHOWN)
    ends = message_rows.ends(tx, account_id, ids.at(ids.MESSAGE, now - DAY))
    lines = [
        WorkSummary(work, state_of(tx, work, [job for job in jobs if job.work_id == work.id]))
        for work in works
    ]
    return Overview(
        email=account.email,
        credits=to_credits(account.wallet.available),
        held=to_credits(account.wallet.held),
        running=len(executing),
        queued=len(queued),
        running_max=allowances_of(ctx.settings, account.limits_json).running_jobs,
        works=lines,
        messages=[message_rows.summary_of(row) for row in newest],
        requests=sum(errors.values()),
        refused=sorted(
            ((code, count) for code, count in errors.items() if code),
            key=lambda each: (-each[1], each[0]),
        ),
        failed=sorted(
            (
                (reason, count)
                for status, reason, count in ends
                if status is MessageStatus.FAILED and reason is not Reason.STOPPED
            ),
            key=lambda each: -each[1],
        ),
        failing=[each for each in health.of_account(tx, account_id) if each.is_failing],
        days=usage.days(tx, account_id, now, DAYS),
    )


def state_of(tx: Tx, work: WorkRecord, jobs: list[JobRecord]) -> WorkState:
    """How a work stands. ``jobs``: those of the work that still have a future."""
    if any(job.state is not JobState.QUEUED for job in jobs):
        return WorkState.RUNNING
    if jobs:
        return WorkState.QUEUED
    if work.question:
        return WorkState.ASKING
    last = job_rows.last_in_work(tx, work.id)
    return _ENDED.get(last, WorkState.IDLE) if last is not None else WorkState.IDLE
