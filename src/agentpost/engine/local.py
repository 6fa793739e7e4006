"""Dispatch inside one process: the commit that makes a job run hands it to our own worker."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentpost.engine.base import JobExecutor, Transaction


class LocalEngine:
    """See `Engine`.

    Args:
        node: this process' id; jobs placed here are owned by it at once.
    """

    def __init__(self, node: str) -> None:
        self._node = node
        self._executor: JobExecutor | None = None

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> str | None:
        if self._executor is None:
            return None
        tx.after(partial(self._executor.run, job_id, epoch))
        return self._node

    def abort(self, tx: Transaction, job_id: str) -> None:
        if self._executor is not None:
            tx.after(partial(self._executor.abort, job_id))

    def ask_for_workers(self, elsewhere: Callable[[], list[str]]) -> None:
        """There are no other nodes."""

    async def start(self, executor: JobExecutor | None) -> None:
        self._executor = executor

    async def stop(self) -> None:
        self._executor = None
