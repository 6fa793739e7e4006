"""The signals of turns and jobs. Everything enters the record as one of these.

A signal says what happened, never what follows from it: that is `record.transitions`.
"""

from dataclasses import dataclass

from agentpost.credits.rules import Ceiling
from agentpost.jobs.rules import Reason
from agentpost.messages.rules import TurnFailure


@dataclass(frozen=True)
class TurnSignal:
    """What happened to a turn."""


@dataclass(frozen=True)
class JobSignal:
    """What happened to a job."""


# --- to a turn ------------------------------------------------------------------------------------
class TurnQueued(TurnSignal):
    """Accepted while another turn of the conversation runs."""


class TurnBegun(TurnSignal):
    """The conversation is free: the agent gets the message."""


class TurnReclaimed(TurnSignal):
    """The node that ran the turn is gone; it runs again with the same inputs."""


class BusyTimedOut(TurnSignal):
    """The turn before it took too long."""


class BusyRefused(TurnSignal):
    """Another turn runs, and the client did not want to wait for it."""


class Resent(TurnSignal):
    """The client sent a busy message again with the same key and body."""


@dataclass(frozen=True)
class TurnReplied(TurnSignal):
    """The agent finished its turn. ``delivered_sync``: the POST call still waits for it."""

    reply: str | None
    question: str | None
    delivered_sync: bool


@dataclass(frozen=True)
class TurnBroken(TurnSignal):
    """The agent's turn failed; ``cause`` is for the operator."""

    detail: TurnFailure
    cause: str | None = None


# --- to a job -------------------------------------------------------------------------------------
class Admitted(JobSignal):
    """Room and credits are there: the job starts."""


@dataclass(frozen=True)
class ShortOfCredits(JobSignal):
    """No credits at the start, or too few for the next step; ``needed`` in millionths. ``ceiling``:
    which one leaves too few, None: the balance. ``waits_until``: when it leaves more."""

    needed: int
    ceiling: Ceiling | None = None
    waits_until: int | None = None


@dataclass(frozen=True)
class StartRefused(JobSignal):
    """The start is refused for good."""

    reason: Reason


class JobReclaimed(JobSignal):
    """The node that ran the job is gone, or lost it; it continues from its last recorded call."""


@dataclass(frozen=True)
class StepInterrupted(JobSignal):
    """The worker process was killed that ran a function for the job; it runs again."""

    reason: str


@dataclass(frozen=True)
class Progressed(JobSignal):
    """The job says what it does now; ``in_step``: the body of a step does, so that it is no
    recorded call."""

    step: str
    in_step: bool = False


@dataclass(frozen=True)
class CodeChanged(JobSignal):
    """The job made another call than the one recorded; it waits for code that makes that one.
    ``text`` names both calls; ``cause`` has their values, for the operator. ``is_new``: nothing was
    told of this difference yet."""

    text: str
    cause: str | None = None
    is_new: bool = True


class CodeFits(JobSignal):
    """A job that waited for its code has made the recorded calls, and makes the next one."""


@dataclass(frozen=True)
class FileWritten(JobSignal):
    """A file landed in the work."""

    name: str


@dataclass(frozen=True)
class Finished(JobSignal):
    """The job's function returned; ``answer_format``: JSON of what its question asks for."""

    text: str
    question: str | None
    answer_format: str | None = None


@dataclass(frozen=True)
class Failed(JobSignal):
    """The job's function raised; ``cause`` is for the operator. ``is_lasting``: the same request
    would fail again."""

    text: str
    cause: str | None = None
    is_lasting: bool = False


class Stopped(JobSignal):
    """Somebody stopped the job."""


class CeilingRaised(JobSignal):
    """The work of its message may use more credits; it waits for that no longer."""


class Resumed(JobSignal):
    """Credits and a slot are there for queued work."""


class QueueTimedOut(JobSignal):
    """Queued work waited too long for credits."""


class WatchTimedOut(JobSignal):
    """Running work did not report back in time."""


@dataclass(frozen=True)
class Recovered(JobSignal):
    """The client asked to look again for the result of expired work; ``text`` is what was kept."""

    text: str = ""
