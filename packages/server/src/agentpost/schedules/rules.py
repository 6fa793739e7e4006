"""Schedules: messages that are sent at given times (design: Schedules)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentpost.domain.limits import SCHEDULE_YEARS_AHEAD_MAX
from agentpost.domain.times import DAY, MINUTE
from agentpost.record.records import Time

LATE_MAX: Final = 5 * MINUTE
"""A run that is later than this has been missed: nobody was there to run it."""
AHEAD_MAX: Final = SCHEDULE_YEARS_AHEAD_MAX * 366 * DAY
"""How far off a single time may be. Times of the year 10000 could be stored, but not written."""


class ScheduleStatus(StrEnum):
    """Whether a schedule runs again."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"  # it was for one time only, or its key has ended


class Missed(StrEnum):
    """What becomes of runs whose time passed while no server ran."""

    SKIP = "skip"
    RUN_ONCE = "run_once"


class RunOutcome(StrEnum):
    """What became of the last run."""

    SENT = "sent"
    MISSED = "missed"
    REFUSED = "refused"


@dataclass(slots=True)
class ScheduleRecord:
    """A schedule, as it is stored; ``message_json``: the fields of the message."""

    id: str
    account_id: str
    key_id: str
    cron: str | None
    timezone: str
    missed: Missed
    message_json: str
    created_at: Time
    status: ScheduleStatus = ScheduleStatus.ACTIVE
    next_at: Time | None = None
    missed_runs: int = 0
    last_planned_at: Time | None = None
    last_at: Time | None = None
    last_outcome: RunOutcome | None = None
    last_message_id: str | None = None
    last_error: str | None = None


def run_key(schedule_id: str, planned_at: int) -> str:
    """The idempotency key of a run: there is one message for it, whoever sends it, how often."""
    return f"{schedule_id}:{planned_at}"
