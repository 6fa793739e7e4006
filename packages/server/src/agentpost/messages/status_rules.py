"""The ten rules that derive a message's status, numbered as in the spec, and what follows.

spec: Message status. The first rule that matches wins. "No jobs" (5) must
stand before "every job completed" (6), because all() of nothing is true.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentpost.jobs.rules import VIEWS, JobState, JobStatus, Reason
from agentpost.messages.rules import OPEN_TURNS, MessageStatus, TurnState


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The facts about one job that the rules need, in the message's order of jobs."""

    state: JobState
    reason: Reason | None
    question: str | None = None

    @property
    def status(self) -> JobStatus:
        """The public status."""
        return VIEWS[self.state].status


@dataclass(frozen=True, slots=True)
class Derived:
    """What a client reads of a message's state."""

    rule: int
    status: MessageStatus
    reason: Reason | None
    question: str | None
    final: bool


@dataclass(frozen=True, slots=True)
class _Facts:
    turn: TurnState
    question: str | None
    jobs: Sequence[JobFacts]

    def any(self, status: JobStatus) -> bool:
        return any(job.status is status for job in self.jobs)

    def all(self, status: JobStatus) -> bool:
        return all(job.status is status for job in self.jobs)


RULES: tuple[tuple[int, MessageStatus, Callable[[_Facts], bool]], ...] = (
    (1, MessageStatus.PROCESSING, lambda m: m.turn in OPEN_TURNS),
    (2, MessageStatus.FAILED, lambda m: m.turn in (TurnState.FAILED, TurnState.BUSY)),
    (3, MessageStatus.PROCESSING, lambda m: m.any(JobStatus.RUNNING)),
    (4, MessageStatus.NEEDS_INPUT, lambda m: m.question is not None),
    (5, MessageStatus.COMPLETED, lambda m: not m.jobs),
    (6, MessageStatus.COMPLETED, lambda m: m.all(JobStatus.COMPLETED)),
    (7, MessageStatus.BLOCKED, lambda m: m.all(JobStatus.BLOCKED)),
    (8, MessageStatus.EXPIRED, lambda m: m.all(JobStatus.EXPIRED)),
    (9, MessageStatus.PARTIAL, lambda m: m.any(JobStatus.COMPLETED)),
    (10, MessageStatus.FAILED, lambda m: True),
)


def derive(turn: TurnState, question: str | None, jobs: Sequence[JobFacts]) -> Derived:
    """Status, reason, question and finality of a message.

    Args:
        turn: the turn's state.
        question: what the agent asked in its turn, if it did.
        jobs: the message's jobs, those it joined included, oldest first.
    """
    asks = question is not None or any(job.question is not None for job in jobs)
    if not asks and len(jobs) <= _JOBS_LOOKED_UP:
        return _plain(turn, tuple(jobs))
    return _derive_status(turn, question, jobs)


_JOBS_LOOKED_UP = 2


@lru_cache(maxsize=1024)
def _plain(turn: TurnState, jobs: tuple[JobFacts, ...]) -> Derived:
    """Without questions and with few jobs, as most messages are: by the rules, worked out once.
    That takes ten times as long as to look it up, and each change of a message asks."""
    return _derive_status(turn, None, jobs)


def _derive_status(turn: TurnState, question: str | None, jobs: Sequence[JobFacts]) -> Derived:
    asked = _question(question, jobs)
    facts = _Facts(turn, asked, jobs)
    rule, status = next((n, status) for n, status, holds in RULES if holds(facts))
    return Derived(
        rule=rule,
        status=status,
        reason=_reason(turn, status, jobs),
        question=asked if status is MessageStatus.NEEDS_INPUT else None,
        final=is_final(turn, jobs),
    )


def is_final(turn: TurnState, jobs: Sequence[JobFacts]) -> bool:
    """The message will not change unless a client acts.

    Computed from the jobs, not from the status: a failed turn with a job still running is not
    final, nor is any message whose queued work waits for credits.
    """
    return turn not in OPEN_TURNS and all(VIEWS[job.state].final for job in jobs)


def _question(question: str | None, jobs: Sequence[JobFacts]) -> str | None:
    """The last question asked: jobs end after the turn, so theirs come later. One that came after
    the watch is kept for a recover, like the rest of a late result."""
    questions = [job.question for job in jobs if job.question and job.state is JobState.COMPLETED]
    return questions[-1] if questions else question


def _reason(turn: TurnState, status: MessageStatus, jobs: Sequence[JobFacts]) -> Reason | None:
    """That of the first job that explains the status (spec: Message.reason)."""
    if turn is TurnState.FAILED:
        return Reason.TURN_FAILED
    if turn is TurnState.BUSY:
        return Reason.AGENT_BUSY
    if status is MessageStatus.FAILED:
        ran = [j for j in jobs if j.status in (JobStatus.FAILED, JobStatus.CANCELLED)]
        return (ran or list(jobs))[0].reason
    if status in (MessageStatus.BLOCKED, MessageStatus.EXPIRED, MessageStatus.PARTIAL):
        return next(job.reason for job in jobs if job.status is not JobStatus.COMPLETED)
    return None
