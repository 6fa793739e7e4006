"""The engine port: who runs a job, and the word to stop it. It only dispatches.

The job row is the truth; the engine is told in the transaction that makes a job run, and calls the
worker back once that is committed. A dispatch that gets lost is found by a sweep (a running job
that no node has taken), so losing one costs seconds, never a job. Contract:
`tests.conformance.test_engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Transaction(Protocol):
    """The part of a database transaction that this port needs."""

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Run a statement in it."""
        ...

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once it is committed."""
        ...


class JobExecutor(Protocol):
    """Runs jobs in this process; safe to call on any thread."""

    def run(self, job_id: str, epoch: int | None) -> None:
        """Begin to run a job. With an epoch it is already ours; without, it is claimed first."""
        ...

    def abort(self, job_id: str) -> None:
        """Stop running a job within a second, if it runs here."""
        ...


class Engine(Protocol):
    """Dispatches jobs to workers."""

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> str | None:
        """A job shall run once ``tx`` is committed.

        Returns the node that owns it from that commit on, or None when whoever takes it claims it.
        """
        ...

    def abort(self, tx: Transaction, job_id: str) -> None:
        """A job shall stop once ``tx`` is committed, wherever it runs."""
        ...

    def ask_for_workers(self, elsewhere: Callable[[], list[str]]) -> None:
        """Ask this, on any thread, which other nodes live and run jobs: they get those of a process
        without a worker."""
        ...

    async def start(self, executor: JobExecutor | None) -> None:
        """Begin to dispatch; without a worker this process only places jobs."""
        ...

    async def stop(self) -> None:
        """Take no more jobs."""
        ...
