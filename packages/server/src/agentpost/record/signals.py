"""The signals of turns and jobs. Everything enters the record as one of these.

A signal says what happened, never what follows from it: that is `record.transitions`.
"""

from dataclasses import dataclass

from agentpost.credits.rules import Ceiling
from agentpost.jobs.rules import Reason
from agentpost.messages.rules import TurnFailure


# --- to a turn ------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TurnQueued:
    """Accepted while another turn of the conversation runs."""


@dataclass(frozen=True, slots=True)
class TurnBegun:
    """The conversation is free: the agent gets the message."""


@dataclass(frozen=True, slots=True)
class TurnReclaimed:
    """The node that ran the turn is gone; it runs again with the same inputs."""


@dataclass(frozen=True, slots=True)
class BusyTimedOut:
    """The turn before it took too long."""


@dataclass(frozen=True, slots=True)
class BusyRefused:
    """Another turn runs, and the client did not want to wait for it."""


@dataclass(frozen=True, slots=True)
class Resent:
    """The client sent a busy message again with the same key and body."""


@dataclass(frozen=True, slots=True)
class TurnReplied:
    """The agent finished its turn. ``delivered_sync``: the POST call still waits for it."""

    reply: str | None
    question: str | None
    delivered_sync: bool


@dataclass(frozen=True, slots=True)
class TurnBroken:
    """The agent's turn failed; ``cause`` is for the operator."""

    detail: TurnFailure
    cause: str | None = None


# --- to a job -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Admitted:
    """Room and credits are there: the job starts."""


@dataclass(frozen=True, slots=True)
class ShortOfCredits:
    """No credits at the start, or too few for the next step; ``needed`` in millionths. ``ceiling``:
    which one leaves too few, None: the balance. ``waits_until``: when it leaves more."""

    needed: int
    ceiling: Ceiling | None = None
    waits_until: int | None = None


@dataclass(frozen=True, slots=True)
class StartRefused:
    """The start is refused for good."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class JobReclaimed:
    """The node that ran the job is gone, or lost it; it continues from its last recorded call."""


@dataclass(frozen=True, slots=True)
class StepInterrupted:
    """The worker process was killed that ran a function for the job; it runs again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Progressed:
    """The job says what it does now; ``in_step``: the body of a step does, so that it is no
    recorded call."""

    step: str
    in_step: bool = False


@dataclass(frozen=True, slots=True)
class CodeChanged:
    """The job made another call than the one recorded; it waits for code that makes that one.
    ``text`` names both calls; ``cause`` has their values, for the operator. ``is_new``: nothing was
    told of this difference yet."""

    text: str
    cause: str | None = None
    is_new: bool = True


@dataclass(frozen=True, slots=True)
class CodeFits:
    """A job that waited for its code has made the recorded calls, and makes the next one."""


@dataclass(frozen=True, slots=True)
class FileWritten:
    """A file landed in the work."""

    name: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The job's function returned; ``answer_format``: JSON of what its question asks for."""

    text: str
    question: str | None
    answer_format: str | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The job's function raised; ``cause`` is for the operator. ``is_lasting``: the same request
    would fail again."""

    text: str
    cause: str | None = None
    is_lasting: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody stopped the job."""


@dataclass(frozen=True, slots=True)
class CeilingRaised:
    """The work of its message may use more credits; it waits for that no longer."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """Credits and a slot are there for queued work."""


@dataclass(frozen=True, slots=True)
class QueueTimedOut:
    """Queued work waited too long for credits."""


@dataclass(frozen=True, slots=True)
class WatchTimedOut:
    """Running work did not report back in time."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """The client asked to look again for the result of expired work; ``text`` is what was kept."""

    text: str = ""


TurnSignal = (
    TurnQueued
    | TurnBegun
    | TurnReclaimed
    | BusyTimedOut
    | BusyRefused
    | Resent
    | TurnReplied
    | TurnBroken
)
JobSignal = (
    Admitted
    | ShortOfCredits
    | StartRefused
    | JobReclaimed
    | StepInterrupted
    | Progressed
    | CodeChanged
    | CodeFits
    | FileWritten
    | Finished
    | Failed
    | Stopped
    | CeilingRaised
    | Resumed
    | QueueTimedOut
    | WatchTimedOut
    | Recovered
)
