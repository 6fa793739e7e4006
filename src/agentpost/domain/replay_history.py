"""What is kept of a message, and what replaying its signals makes of it (`domain.replay`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentpost.domain import signals as s
from agentpost.domain.events import EntryType, EventName
from agentpost.domain.job import JobState
from agentpost.domain.message import MessageStatus, TurnState
from agentpost.domain.records import JobLink, MessageRecord


@dataclass(frozen=True, slots=True)
class KeptSignal:
    """A signal as it is stored; ``signal`` is None where this version cannot read it."""

    owner: str
    id: str
    at: int
    name: str
    signal: s.TurnSignal | s.JobSignal | None


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """A line of the log."""

    seq: int
    at: int
    type: str
    job_id: str | None
    body: Mapping[str, Any]

    @property
    def is_reply_file(self) -> bool:
        """A file that a turn wrote: no signal, but its line is in the log."""
        return self.job_id is None and self.type == EntryType.PROGRESS


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """A webhook event; ``status``: what its data says of the message or job."""

    id: str
    at: int
    name: str
    job_id: str | None
    status: str


@dataclass(frozen=True, slots=True)
class History:
    """All that is kept of a message and of the jobs it lists; ``log_from``: lines of the log from
    before that time may be let go."""

    message: MessageRecord
    links: Sequence[JobLink]
    signals: Sequence[KeptSignal]
    entries: Sequence[KeptEntry]
    events: Sequence[KeptEvent]
    log_from: int = 0


@dataclass(slots=True)
class Step:
    """A signal, what the state machine makes of it, and what the record has of it.

    Attributes:
        entry: type of the log line that it is worth; ``seq``: the number of the recorded one.
        events: names that it is worth; ``sent``: those that are recorded. An event that nobody
            receives is not stored.
        early: it was recorded before one of an earlier time.
        problem: how the record differs; None where it agrees.
    """

    kept: KeptSignal
    before: TurnState | JobState | None
    after: TurnState | JobState | None = None
    entry: EntryType | None = None
    seq: int | None = None
    events: list[EventName] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    status: MessageStatus | None = None
    early: bool = False
    problem: str | None = None
