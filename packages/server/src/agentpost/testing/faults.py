"""Crashes at named calls, and the check that a function can be replayed.

Both happen at the database, where a real crash shows: what was committed is there, the rest is not.
The runtime takes the lost run up again from its journal, as it does after a restart.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from agentpost.db.session import Database, Tx
from agentpost.domain.errors import Fenced
from agentpost.explain import timeline_rows
from agentpost.jobs import rows as job_rows
from agentpost.jobs.rules import JobState
from agentpost.messages import rows as message_rows
from agentpost.messages.rules import TurnState
from agentpost.record import journal_rows
from agentpost.record.journal_rules import CallState, name_of
from agentpost.runtime.runs import Run, Runs

T = TypeVar("T")
METHODS: Final = (
    *("step", "write", "progress", "inbox", "files", "charge", "output"),
    *("start", "join", "stop"),
)
"""The recorded calls of jobs and turns."""
_ENDED: Final = {
    str(state) for state in (TurnState.ENDED, TurnState.FAILED, JobState.COMPLETED, JobState.FAILED)
}


class NotRepeatable(AssertionError):
    """A run that was repeated from its journal did something else; the text names both calls."""


class SimulatedCrash(Exception):
    """What the runtime sees of a crash."""


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The ``n``-th call of that method in one turn or job, right before or after it is recorded."""

    method: str
    n: int
    after: bool

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            methods = ", ".join(METHODS)
            raise ValueError(f"{self.method!r} is not a recorded call; choose from {methods}")
        if self.n < 1:
            raise ValueError(f"calls are counted from 1, not {self.n}")

    def __str__(self) -> str:
        return f"crash_{'after' if self.after else 'before'}({self.method!r}, {self.n})"


def crash_after(method: str, n: int = 1) -> CrashPoint:
    """The server dies when the ``n``-th call of ``method`` ("step", "write", "start" …) of a turn
    or job has been recorded: it is not run again. Raises `ValueError` for what is no such call."""
    return CrashPoint(method, n, after=True)


def crash_before(method: str, n: int = 1) -> CrashPoint:
    """The server dies when the body of that call has run, and nothing is recorded yet: it runs a
    second time. Raises as `crash_after`."""
    return CrashPoint(method, n, after=False)


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a run ended, with the number of calls that it made."""

    calls: int
    state: str
    output: tuple[str | None, ...]


class _Hit(Exception):
    """Takes the transaction back: a crash before the record."""

    def __init__(self, run: Run, point: CrashPoint) -> None:
        super().__init__(str(point))
        self.run = run
        self.point = point


class _Replay(Fenced):
    """Takes the end of a run back, so that it is run once more from its complete journal."""

    def __init__(self, run: Run, ending: _Ending) -> None:
        super().__init__(run.owner)
        self.run = run
        self.ending = ending


class FaultyDatabase:
    """A `Database` whose process dies at the crash points, and once at the end of every run."""

    def __init__(self, real: Database, points: list[CrashPoint], *, replay: bool) -> None:
        self._real = real
        self._is_replaying = replay
        self._replayed: dict[str, _Ending] = {}
        self.runs: tuple[Runs, ...] = ()
        self.points = points
        self.lost: list[str] = []
        self.problems: list[str] = []
        self.errors: dict[str, str | None] = {}
        """Why a turn or job failed, by its id: from its first end, because an error that is read
        from the records has lost its line inside the step."""

    @property
    def external_commits(self) -> int | None:
        return self._real.external_commits

    @property
    def changes(self) -> int | None:
        return self._real.changes

    def open(self) -> None:
        self._real.open()

    def close(self) -> None:
        self._real.close()

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self._real.read(fn)

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        return self._real.read_now(fn)

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.write`; raises `SimulatedCrash` at a crash point."""
        try:
            result, hit = await self._real.write(lambda tx: self._run_watched(tx, fn))
        except _Hit as before:
            self._crash(before)
        except _Replay as replay:
            self._replayed[replay.run.owner] = replay.ending
            self.lost.append(replay.run.owner)
            raise
        if hit is not None:
            self._crash(hit)
        return result

    def _crash(self, hit: _Hit) -> None:
        self.points.remove(hit.point)
        self.lost.append(hit.run.owner)
        hit.run.over = True
        raise SimulatedCrash(f"the test's {hit.point}")

    def _run_watched(self, tx: Tx, fn: Callable[[Tx], T]) -> tuple[T, _Hit | None]:
        open_runs = [run for each in self.runs for run in each.open()]
        runs = [run for run in open_runs if not run.over or run.divergence is not None]
        before = [(run, _ending(tx, run), self._call_counts(tx, run)) for run in runs]
        result = fn(tx)
        hit: _Hit | None = None
        for run, was, counts in before:
            counts_now = self._call_counts(tx, run)
            for point in self.points:
                if counts[point.method] < point.n <= counts_now[point.method]:
                    hit = _Hit(run, point)
                    if not point.after:
                        raise hit
            now = _ending(tx, run)
            if now.state in _ENDED and was.state not in _ENDED:
                self.errors.setdefault(run.owner, _error(tx, run.owner))
                # Have the run repeated, or compare the repetition with it.
                first = self._replayed.get(run.owner)
                if run.divergence is not None:
                    self.problems.append(run.divergence)
                elif first is None and self._is_replaying:
                    raise _Replay(run, now)
                elif first is not None and first != now:
                    self.problems.append(_difference(first, now))
        return result, hit

    def _call_counts(self, tx: Tx, run: Run) -> Counter[str]:
        """How many calls of each method are recorded, while a crash point waits for one."""
        calls = journal_rows.all_(tx, run.owner).values() if self.points else ()
        recorded = [c for c in calls if c.state in (CallState.DONE, CallState.ERROR)]
        return Counter(name_of(call.summary).partition(" ")[0] for call in recorded)


def _error(tx: Tx, owner: str) -> str | None:
    """The cause in the signal with which the turn or job failed."""
    signals = timeline_rows.signals(tx, owner, timeline_rows.ALL)
    causes = [json.loads(body).get("cause") for _, _, body in signals]
    return next((str(cause) for cause in reversed(causes) if cause is not None), None)


def _ending(tx: Tx, run: Run) -> _Ending:
    job = job_rows.get(tx, run.owner)
    if job is not None:
        # The text of a failure has the id of a log line.
        is_completed = job.state is JobState.COMPLETED
        output = (job.result, job.question, job.output_json) if is_completed else ()
        return _Ending(run.calls, str(job.state), output)
    message = message_rows.get(tx, run.owner)
    assert message is not None, "a run belongs to a job or a message"
    output = (message.reply, message.asked, message.output_json)
    return _Ending(run.calls, str(message.turn_state), output)


def _difference(first: _Ending, now: _Ending) -> str:
    if first.calls != now.calls:
        return f"the run made {first.calls} recorded calls, its re-run made {now.calls}"
    if first.state != now.state:
        return f"the run ended as {first.state}, its re-run as {now.state}"
    both = zip(first.output, now.output, strict=True)
    pair = next((was, is_now) for was, is_now in both if was != is_now)
    return f"the run said {pair[0]!r}, its re-run {pair[1]!r}"
