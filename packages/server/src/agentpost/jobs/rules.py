"""Words for jobs: inner states, what of them is public, reasons and kinds.

The inner states are finer than the public ones: ``expired`` alone hides whether work still runs.
"""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a job or message is not plainly done (spec: Reasons)."""

    OUT_OF_CREDITS = "out_of_credits"
    HOSTING_FEES = "hosting_fees"
    TOO_MANY_RUNNING = "too_many_running"
    QUEUE_EXPIRED = "queue_expired"
    WATCH_EXPIRED = "watch_expired"
    RESULT_UNKNOWN = "result_unknown"
    EXECUTION_FAILED = "execution_failed"
    STOPPED = "stopped"
    AGENT_BUSY = "agent_busy"
    TURN_FAILED = "turn_failed"


class JobKind(StrEnum):
    """``refusal`` never ran and never will; its id starts with ``ref_``."""

    EXECUTION = "execution"
    REFUSAL = "refusal"


class JobRole(StrEnum):
    """How a message relates to a job in its list."""

    EXECUTION = "execution"
    FOLLOW_UP = "follow_up"


class JobStatus(StrEnum):
    """What a client reads (spec: Job)."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    BLOCKED = "blocked"
    EXPIRED = "expired"


class JobState(StrEnum):
    """The inner state of a job; each member is a row in `VIEWS`."""

    RUNNING = "running"
    QUEUED = "queued"  # waits for credits, at its start or parked in the middle
    REFUSED = "refused"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    QUEUE_EXPIRED = "queue_expired"
    OVERDUE = "overdue"  # the watch ended, the work goes on and keeps its slot
    LATE_COMPLETED = "late_completed"  # ended after the watch; the result is kept for a recover
    LATE_FAILED = "late_failed"
    LOST = "lost"  # ended after the watch with nothing to show
    UNKNOWN = "unknown"  # recovered, and nothing was found


@dataclass(frozen=True, slots=True)
class View:
    """What a client sees of an inner state. A refusal's reason is kept on the job itself."""

    status: JobStatus
    final: bool
    reason: Reason | None = None
    queued: bool = False


_EXPIRED = View(JobStatus.EXPIRED, final=True, reason=Reason.WATCH_EXPIRED)
VIEWS: dict[JobState, View] = {
    JobState.RUNNING: View(JobStatus.RUNNING, final=False),
    JobState.QUEUED: View(
        JobStatus.BLOCKED, final=False, reason=Reason.OUT_OF_CREDITS, queued=True
    ),
    JobState.REFUSED: View(JobStatus.BLOCKED, final=True),
    JobState.COMPLETED: View(JobStatus.COMPLETED, final=True),
    JobState.FAILED: View(JobStatus.FAILED, final=True, reason=Reason.EXECUTION_FAILED),
    JobState.STOPPED: View(JobStatus.CANCELLED, final=True, reason=Reason.STOPPED),
    JobState.QUEUE_EXPIRED: View(JobStatus.EXPIRED, final=True, reason=Reason.QUEUE_EXPIRED),
    JobState.OVERDUE: _EXPIRED,
    JobState.LATE_COMPLETED: _EXPIRED,
    JobState.LATE_FAILED: _EXPIRED,
    JobState.LOST: _EXPIRED,
    JobState.UNKNOWN: View(JobStatus.EXPIRED, final=True, reason=Reason.RESULT_UNKNOWN),
}

EXECUTING = frozenset({JobState.RUNNING, JobState.OVERDUE})
"""States in which work really goes on: they hold one of the account's slots (design: Expiry and
recover).
"""

OPEN_JOBS = frozenset({JobState.RUNNING, JobState.QUEUED, JobState.OVERDUE})
"""States that still have a future without anybody asking."""

GENERIC_FAILURE = "The work failed unexpectedly."
CODE_CHANGED_FAILURE = (
    "The work was interrupted and could not be continued: its code changed meanwhile, or does not "
    "make the same calls when it runs again."
)
OUTPUT_INVALID_FAILURE = "The work's output did not fit the response_schema, twice."
OUTPUT_MISSING_FAILURE = "The work ended without an output for the response_schema."
MISSING_CODE_FAILURE = "The job's code is no longer there; it could not be continued."
WORKER_KILLED_FAILURE = (
    "The work was interrupted again and again: the process that ran one of its steps was killed "
    "each time, most often because memory ran out."
)
PROCESS_DIED_FAILURE = (
    "The work was interrupted again and again: the process that ran it ended each time."
)
POISON_FAILURE = (
    "The work was given up: the server that ran it ended six times in a row, and the work got no "
    "further in between."
)
