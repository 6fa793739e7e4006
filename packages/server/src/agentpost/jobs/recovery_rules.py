"""The result of a recover call for each work (spec: Recovery; design: Expiry and recover)."""

from collections.abc import Iterable
from enum import StrEnum

from agentpost.domain.limits import RECOVER_REQUESTS_MAX
from agentpost.jobs.rules import JobState


class RecoveryState(StrEnum):
    """Worst first: a work with several jobs reports the first that applies to any of them."""

    RECOVERING = "recovering"
    WATCHING = "watching"
    EXHAUSTED = "exhausted"
    SETTLED = "settled"


KEPT_RESULTS = frozenset({JobState.LATE_COMPLETED, JobState.LATE_FAILED, JobState.LOST})
"""The work ended after its watch: what it left is given out by the recover that asks for it."""


def can_recover(state: JobState, recover_requests: int) -> bool:
    """Whether a recover changes the job: its watch is armed again, or its result is there. A result
    that is there is always given out; only watching again is limited."""
    if state is JobState.OVERDUE:
        return recover_requests < RECOVER_REQUESTS_MAX
    return state in KEPT_RESULTS


def state_of(state: JobState, *, recovered: bool) -> RecoveryState:
    """A job after the call; ``recovered``: the call itself changed it."""
    if state is JobState.RUNNING:
        return RecoveryState.RECOVERING if recovered else RecoveryState.WATCHING
    if state is JobState.QUEUED:
        return RecoveryState.WATCHING
    if state is JobState.OVERDUE:
        return RecoveryState.EXHAUSTED
    return RecoveryState.SETTLED


def worst(states: Iterable[RecoveryState]) -> RecoveryState:
    """The state of a work with these jobs."""
    distinct = set(states)
    return next(state for state in RecoveryState if state in distinct)
