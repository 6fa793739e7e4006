"""Totals since the process started, for `/metrics`: of what is no state of a row."""

import threading
from dataclasses import dataclass, field


class Tally:
    """A total for each of a few kinds. Safe on any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._totals: dict[str, int] = {}

    def add(self, kind: str, amount: int = 1) -> None:
        """Add to the total of that kind."""
        with self._lock:
            self._totals[kind] = self._totals.get(kind, 0) + amount

    def totals(self) -> dict[str, int]:
        """The total of each kind that was added to."""
        with self._lock:
            return dict(self._totals)


@dataclass(frozen=True, slots=True)
class Counters:
    """The totals of a process.

    Attributes:
        turns_failed: by reason.
        jobs_ended: by the state that they ended in.
        credits_charged: millionths, all of the kind "".
        connections_refused: those that were turned away, all of the kind "".
        task_runs: by the name of the task.
        task_failures: those of the runs that raised.
    """

    turns_failed: Tally = field(default_factory=Tally)
    jobs_ended: Tally = field(default_factory=Tally)
    credits_charged: Tally = field(default_factory=Tally)
    connections_refused: Tally = field(default_factory=Tally)
    task_runs: Tally = field(default_factory=Tally)
    task_failures: Tally = field(default_factory=Tally)
