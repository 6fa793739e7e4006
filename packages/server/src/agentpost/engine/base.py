"""The engine: who runs a job, and the word to stop it. It only dispatches.

The job row is the truth; the engine is told in the transaction that makes a job run, and calls the
worker back once that is committed. A dispatch that gets lost is found by a sweep (a running job
that no node has taken), so losing one costs seconds, never a job. `Engine` is the contract, and
what is needed inside one process; `engine.dispatch` reaches the other ones.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from agentpost.wakeups.base import Transaction


class JobExecutor(Protocol):
    """Runs jobs in this process; safe to call on any thread."""

    def run(self, job_id: str, epoch: int | None) -> None:
        """Begin to run a job. With an epoch it is already ours; without, it is claimed first."""

    def abort(self, job_id: str) -> None:
        """Stop running a job within a second, if it runs here."""


class Engine:
    """Dispatches jobs to the worker of this process. ``node``: this process' id; jobs placed here
    are owned by it at once."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._executor: JobExecutor | None = None

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> str | None:
        """A job shall run once ``tx`` is committed. Returns the node that owns it from that commit
        on, or None when whoever takes it claims it."""
        if self._executor is None:
            return None
        tx.after(partial(self._executor.run, job_id, epoch))
        return self._node

    def abort(self, tx: Transaction, job_id: str) -> None:
        """A job shall stop once ``tx`` is committed, wherever it runs."""
        if self._executor is not None:
            tx.after(partial(self._executor.abort, job_id))

    def ask_for_workers(self, elsewhere: Callable[[], list[str]]) -> None:
        """Ask this, on any thread, which other nodes live and run jobs: they get those of a process
        without a worker."""

    async def start(self, executor: JobExecutor | None) -> None:
        """Begin to dispatch; without a worker this process only places jobs."""
        self._executor = executor

    async def stop(self) -> None:
        """Take no more jobs."""
        self._executor = None
