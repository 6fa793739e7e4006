"""The only home of a state change: from + signal -> to, with the entry and event it is worth.

Two tables, one for turns and one for jobs. A pair without a row is a programmer's error
(`RuleBroken`), never a silent no-op. `record.writer` is the only caller.

spec: Transitions; design: Entries and events; Expiry and recover.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from agentpost.domain.errors import RuleBroken
from agentpost.jobs.rules import JobState as J
from agentpost.messages.rules import AGENT_BUSY_TEXT, TURN_FAILURE_TEXTS, TurnState as T
from agentpost.record import signals as s
from agentpost.record.events import (
    CEILING_TEXTS,
    QUEUE_EXPIRED_TEXT,
    STALLED_TEXT,
    STATE_TEXTS,
    Entry,
    EntryType,
    EventName,
    JobStateWord,
    Outcome,
)

State = TypeVar("State", T, J, T | None, J | None)


@dataclass(frozen=True, slots=True)
class Row(Generic[State]):
    """``entry`` builds the log line from the signal; ``event`` names the job's webhook event."""

    to: State
    entry: Callable[[Any], Entry | None] | None = None
    event: EventName | None = None


@dataclass(frozen=True, slots=True)
class Change(Generic[State]):
    """The effect of a signal: the new state and what it is worth telling."""

    before: State | None
    after: State
    entry: Entry | None
    event: EventName | None


def _reply(signal: s.TurnReplied) -> Entry | None:
    said = "\n\n".join(part for part in (signal.reply, signal.question) if part)
    if not said:
        return None  # a turn that only started, joined or stopped work said nothing
    fields = {"text": said, "delivered_sync": signal.delivered_sync}
    return Entry(EntryType.AGENT_REPLY, fields, with_files=True)


def _turn_failed(signal: s.TurnBroken) -> Entry:
    fields = {"text": TURN_FAILURE_TEXTS[signal.detail], "reason": signal.detail.value}
    return Entry(EntryType.TURN_FAILED, fields)


def _busy(_: s.BusyTimedOut | s.BusyRefused) -> Entry:
    return Entry(EntryType.TURN_BUSY, {"text": AGENT_BUSY_TEXT, "reason": "agent_busy"})


def _result(outcome: Outcome) -> Callable[[s.Finished | s.Failed], Entry]:
    return lambda signal: _result_entry(signal.text, outcome)


def _result_entry(text: str, outcome: Outcome) -> Entry:
    return Entry(EntryType.RESULT, {"text": text, "outcome": outcome.value}, with_files=True)


def _stalled_entry(signal: s.ShortOfCredits) -> Entry:
    text = STALLED_TEXT if signal.ceiling is None else CEILING_TEXTS[signal.ceiling]
    return _result_entry(text, Outcome.STALLED_CREDITS)


def _progress(signal: s.Progressed) -> Entry:
    fields = {"step": signal.step, "status": "started", "file_names": []}
    return Entry(EntryType.PROGRESS, fields)


def _code_changed(signal: s.CodeChanged) -> Entry | None:
    return _progress(s.Progressed(signal.text)) if signal.is_new else None


def file_written(signal: s.FileWritten) -> Entry:
    """The line of a file that a job or turn wrote."""
    step = f"Wrote {signal.name}"
    fields = {"step": step, "status": "done", "file_names": [signal.name]}
    return Entry(EntryType.PROGRESS, fields)


def _state(word: JobStateWord, text: str | None = None) -> Callable[[Any], Entry]:
    fields = {"state": word.value, "text": text or STATE_TEXTS[word]}
    return lambda _: Entry(EntryType.STATE, fields)


TURNS: dict[tuple[T | None, type[s.TurnSignal]], Row[T]] = {
    (None, s.TurnQueued): Row(T.WAITING),
    (None, s.TurnBegun): Row(T.RUNNING),
    (T.WAITING, s.TurnBegun): Row(T.RUNNING),
    (T.WAITING, s.BusyTimedOut): Row(T.BUSY, _busy),
    (T.WAITING, s.TurnBroken): Row(T.FAILED, _turn_failed),
    (T.WAITING, s.BusyRefused): Row(T.BUSY, _busy),
    (T.BUSY, s.Resent): Row(T.WAITING),
    (T.RUNNING, s.TurnReclaimed): Row(T.RUNNING),
    (T.RUNNING, s.TurnReplied): Row(T.ENDED, _reply),
    (T.RUNNING, s.TurnBroken): Row(T.FAILED, _turn_failed),
}

_EXPIRED = _state(JobStateWord.EXPIRED)
_FINISHED, _FAILED = _result(Outcome.COMPLETED), _result(Outcome.FAILED)
JOBS: dict[tuple[J | None, type[s.JobSignal]], Row[J]] = {
    # the start: run, queue or refuse
    (None, s.Admitted): Row(J.RUNNING),
    (None, s.ShortOfCredits): Row(J.QUEUED, event=EventName.JOB_BLOCKED),
    (None, s.StartRefused): Row(J.REFUSED, event=EventName.JOB_BLOCKED),
    # running
    (J.RUNNING, s.JobReclaimed): Row(J.RUNNING),
    (J.RUNNING, s.StepInterrupted): Row(J.RUNNING),
    (J.RUNNING, s.Progressed): Row(J.RUNNING, _progress),
    (J.RUNNING, s.CodeChanged): Row(J.RUNNING, _code_changed),
    (J.RUNNING, s.CodeFits): Row(J.RUNNING),
    (J.RUNNING, s.FileWritten): Row(J.RUNNING, file_written),
    (J.RUNNING, s.Finished): Row(J.COMPLETED, _FINISHED, EventName.JOB_COMPLETED),
    (J.RUNNING, s.Failed): Row(J.FAILED, _FAILED, EventName.JOB_FAILED),
    (J.RUNNING, s.ShortOfCredits): Row(J.QUEUED, _stalled_entry, EventName.JOB_BLOCKED),
    (J.RUNNING, s.Stopped): Row(J.STOPPED, _state(JobStateWord.STOPPED), EventName.JOB_FAILED),
    (J.RUNNING, s.WatchTimedOut): Row(J.OVERDUE, _EXPIRED, EventName.JOB_EXPIRED),
    # queued for credits
    (J.QUEUED, s.CeilingRaised): Row(J.QUEUED),
    (J.QUEUED, s.Resumed): Row(J.RUNNING, _state(JobStateWord.RESUMED), EventName.JOB_RESUMED),
    (J.QUEUED, s.Stopped): Row(J.STOPPED, _state(JobStateWord.STOPPED), EventName.JOB_FAILED),
    (J.QUEUED, s.QueueTimedOut): Row(
        J.QUEUE_EXPIRED, _state(JobStateWord.EXPIRED, QUEUE_EXPIRED_TEXT), EventName.JOB_EXPIRED
    ),
    # overdue: the message is final, so nothing is told until somebody recovers it
    (J.OVERDUE, s.JobReclaimed): Row(J.OVERDUE),
    (J.OVERDUE, s.StepInterrupted): Row(J.OVERDUE),
    (J.OVERDUE, s.Progressed): Row(J.OVERDUE),
    (J.OVERDUE, s.CodeChanged): Row(J.OVERDUE),
    (J.OVERDUE, s.CodeFits): Row(J.OVERDUE),
    (J.OVERDUE, s.FileWritten): Row(J.OVERDUE),
    (J.OVERDUE, s.Finished): Row(J.LATE_COMPLETED),
    (J.OVERDUE, s.Failed): Row(J.LATE_FAILED),
    (J.OVERDUE, s.ShortOfCredits): Row(J.LOST),
    (J.OVERDUE, s.Stopped): Row(J.LOST),
    (J.OVERDUE, s.Recovered): Row(J.RUNNING),
    (J.LATE_COMPLETED, s.Recovered): Row(J.COMPLETED, _FINISHED, EventName.JOB_COMPLETED),
    (J.LATE_FAILED, s.Recovered): Row(J.FAILED, _FAILED, EventName.JOB_FAILED),
    (J.LOST, s.Recovered): Row(J.UNKNOWN, _state(JobStateWord.UNKNOWN), EventName.JOB_EXPIRED),
}


@overload
def fold(state: T | None, signal: s.TurnSignal) -> Change[T]: ...
@overload
def fold(state: J | None, signal: s.JobSignal) -> Change[J]: ...
def fold(state: Any, signal: s.TurnSignal | s.JobSignal) -> Change[Any]:
    """Fold a signal into a turn or a job; ``state`` None is one that is being made."""
    row = _ROWS.get((state, type(signal)))
    if row is None:
        raise RuleBroken(f"what is {state} cannot take {type(signal).__name__}")
    return Change(state, row.to, row.entry(signal) if row.entry else None, row.event)


_ROWS: dict[Any, Row[Any]] = {**TURNS, **JOBS}
