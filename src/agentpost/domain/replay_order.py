"""The order in which a message's signals were committed, as far as its record shows it.

Signals are stored with their times. Nodes' clocks differ and clocks are set, so another order is
taken where only that one fits the states and the log: its numbers are the order of the commits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentpost.domain import signals as s
from agentpost.domain import transitions
from agentpost.domain.errors import RuleBroken
from agentpost.domain.events import EntryType
from agentpost.domain.job import JobRole, JobState
from agentpost.domain.message import TurnState
from agentpost.domain.replay_history import History, KeptEntry, KeptSignal, Step

TRIES_MAX: Final = 20_000
"""How many placings of signals are tried before the record counts as one that has no order."""


@dataclass(slots=True)
class _Placing:
    """A signal that was placed, and what to restore when it turns out to be wrong."""

    index: int
    step: Step
    line: int
    unseen: int


class Order:
    """Looks for an order of the signals in which each fits its owner's state and the log.

    ``alone``: only of this job's signals, each by its state; the log is not looked at.
    ``turn_first``: the turn's signals as early as they fit, whatever their times.
    """

    def __init__(
        self, history: History, alone: str | None = None, *, turn_first: bool = False
    ) -> None:
        self._turn = history.message.id
        self._log_from = history.log_from
        self._alone = alone
        self._titles = {link.job.id: link.job.title for link in history.links}
        self._joined = {link.job.id for link in history.links if link.role is JobRole.FOLLOW_UP}
        kept = (signal for signal in history.signals if alone in (None, signal.owner))
        self._signals = sorted(
            kept, key=lambda kept: (turn_first and kept.owner != self._turn, kept.at, kept.id)
        )
        self._to_start = {link.job.id for link in history.links} - self._joined
        self._log = [entry for entry in history.entries if not entry.is_reply_file]
        self._states: dict[str, TurnState | JobState] = {}
        self._unseen: dict[str, int] = {}  # lines of joined jobs from before the message joined
        if alone is None:
            self._unseen = {job_id: self._earlier(history, job_id) for job_id in self._joined}
        self._placed = [False] * len(self._signals)
        self._line = 0
        self._first = 0

    def find(self) -> list[Step]:
        """The steps in an order that fits; else the longest ones, with the first that does not."""
        path: list[_Placing] = []
        choices: list[Iterator[int]] = [self._open()]
        longest: list[Step] = []
        tries = 0
        while choices and len(path) < len(self._signals) and tries < TRIES_MAX:
            placing = None
            for index in choices[-1]:
                tries += 1
                placing = self._place(index)
                if placing is not None or tries >= TRIES_MAX:
                    break
            if placing is not None:
                path.append(placing)
                choices.append(self._open())
                continue
            if len(path) >= len(longest):
                longest = [*(placing.step for placing in path), self._misfit()]
            choices.pop()
            if path and tries < TRIES_MAX:
                self._take_back(path.pop())
        if len(path) == len(self._signals):
            return [placing.step for placing in path]
        return longest

    def _earlier(self, history: History, job_id: str) -> int:
        """How many lines the log lacks of those that a joined job is worth: the first ones."""
        worth = sum(step.entry is not None for step in Order(history, job_id).find())
        return worth - sum(entry.job_id == job_id for entry in self._log)

    def _open(self) -> Iterator[int]:
        """What is not placed yet, earliest first."""
        while self._first < len(self._placed) and self._placed[self._first]:
            self._first += 1
        for index in range(self._first, len(self._placed)):
            if not self._placed[index]:
                yield index

    def _place(self, index: int) -> _Placing | None:
        step = self._step(self._signals[index])
        if step.problem is not None:
            return None
        step.early = any(
            not self._placed[n] and self._signals[n].at < step.kept.at
            for n in range(self._first, index)
        )
        owner = step.kept.owner
        placing = _Placing(index, step, self._line, self._unseen.get(owner, 0))
        if step.seq is not None:
            self._line += 1
        elif step.entry is not None and self._unseen.get(owner, 0) > 0:
            self._unseen[owner] -= 1
        assert step.after is not None
        self._states[owner] = step.after
        self._placed[index] = True
        return placing

    def _take_back(self, placing: _Placing) -> None:
        owner = placing.step.kept.owner
        if placing.step.before is None:
            del self._states[owner]
        else:
            self._states[owner] = placing.step.before
        self._line = placing.line
        if owner in self._unseen:
            self._unseen[owner] = placing.unseen
        self._placed[placing.index] = False
        self._first = min(self._first, placing.index)

    def _misfit(self) -> Step:
        """The earliest signal that is left, with what is wrong about it."""
        misfits = [self._step(self._signals[index]) for index in self._open()]
        return next(step for step in misfits if step.problem is not None)

    def _step(self, kept: KeptSignal) -> Step:
        """What comes of the signal here; with a ``problem`` where it does not fit."""
        before = self._states.get(kept.owner)
        step = Step(kept, before)
        if kept.signal is None:
            step.problem = f"this version cannot read the signal {kept.name}"
        elif before is None and self._starts_outside(kept.owner):
            step.problem = "the job was not started while its message's turn ran"
        else:
            self._fold(step, kept.signal)
        return step

    def _starts_outside(self, owner: str) -> bool:
        if owner not in self._to_start or self._alone:
            return False
        return self._states.get(self._turn) is not TurnState.RUNNING

    def _is_early_end(self, after: TurnState | JobState) -> bool:
        """Whether the turn would end before a job that it starts has begun."""
        has_open = not self._to_start.issubset(self._states)
        return after is TurnState.ENDED and has_open and self._alone is None

    def _fold(self, step: Step, signal: s.TurnSignal | s.JobSignal) -> None:
        of_turn = step.kept.owner == self._turn
        try:
            change = fold(step.before, signal, of_turn=of_turn)
        except RuleBroken as error:
            step.problem = str(error)
            return
        if self._is_early_end(change.after):
            step.problem = "the turn ended before a job that it started had begun"
            return
        step.after = change.after
        if not of_turn and change.event is not None:
            step.events = [change.event]
        if change.entry is None:
            return
        step.entry = change.entry.type
        if self._alone or self._unseen.get(step.kept.owner, 0) > 0:
            return
        fields = dict(change.entry.fields)
        if change.entry.type is EntryType.RESULT:
            fields["title"] = self._titles.get(step.kept.owner)
        found = self._log[self._line] if self._line < len(self._log) else None
        job_id = None if of_turn else step.kept.owner
        problem = _difference(step, fields, found, job_id)
        if problem is None:
            step.seq = found.seq if found is not None else None
        elif self._line > 0 or step.kept.at >= self._log_from:
            step.problem = problem  # else: the line was let go


def fold(
    before: TurnState | JobState | None, signal: s.TurnSignal | s.JobSignal, *, of_turn: bool
) -> transitions.Change[TurnState] | transitions.Change[JobState]:
    """`transitions.turn` or `transitions.job`; raises `RuleBroken`, also for the other's signal."""
    if of_turn and isinstance(signal, s.TurnSignal) and not isinstance(before, JobState):
        return transitions.turn(before, signal)
    if not of_turn and isinstance(signal, s.JobSignal) and not isinstance(before, TurnState):
        return transitions.job(before, signal)
    raise RuleBroken(f"{'a turn' if of_turn else 'a job'} cannot take {type(signal).__name__}")


def _difference(
    step: Step, fields: Mapping[str, Any], found: KeptEntry | None, job_id: str | None
) -> str | None:
    """How the next line of the log is not what the signal is worth."""
    if found is None:
        return f"the log has no {step.entry} entry of it"
    if (found.type, found.job_id) != (step.entry, job_id):
        of = f" of {found.job_id}" if found.job_id else ""
        return f"the log has no {step.entry} entry of it: entry {found.seq} is {found.type}{of}"
    if found.at != step.kept.at:
        return f"entry {found.seq} has another time than the signal"
    for name, value in fields.items():
        if found.body.get(name) != value:
            return (
                f"entry {found.seq} ({found.type}): {name} is {found.body.get(name)!r},"
                f" expected {value!r}"
            )
    return None
