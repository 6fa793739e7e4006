"""Dispatch over all nodes of a PostgreSQL installation, by notices.

A job runs on the node that makes it run, if that has a worker. A node without one gives it to one
of the workers whose heart beats (`nodes.heartbeat`), and that one claims the job. A job that no
worker was told of, or whose notice was lost, is taken by the sweep for jobs that nobody took: there
is no other net (design: A node that stood still).
"""

import time
from collections.abc import Callable

from agentpost.engine.base import Engine, JobExecutor
from agentpost.wakeups.base import Transaction
from agentpost.wakeups.notices import PostgresNotices

ABORT = "abort"
RUN = "run"
"""Topic of notices: a node and the job it is to claim."""
LEAVES = "ends"
"""Topic of notices: a node that takes no more jobs. Its heart may beat on for a while."""
_LEFT_SECONDS = 60.0
"""After this time the node is gone, or its beats say that it drains."""


class NoticeEngine(Engine):
    """Dispatches to the own worker, else to another node's.

    Args:
        node: this process' id.
        notices: carries jobs for a worker, aborts, and which workers leave; started and stopped by
            others.
    """

    def __init__(self, node: str, notices: PostgresNotices) -> None:
        super().__init__(node)
        self._notices = notices
        self._live_workers: Callable[[], list[str]] = list
        self._left_at: dict[str, float] = {}  # replaced as a whole: read on any thread
        self._turn = 0
        notices.on(LEAVES, self._on_leave)

    def ask_for_workers(self, elsewhere: Callable[[], list[str]]) -> None:
        self._live_workers = elsewhere

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> str | None:
        node = super().dispatch(tx, job_id, epoch)
        if node is None and (workers := self.workers()):
            self._turn += 1
            self._notices.send(tx, RUN, f"{workers[self._turn % len(workers)]} {job_id}")
        return node

    def workers(self) -> list[str]:
        """The other nodes that live and take jobs, as far as is known here."""
        left_at = self._left_at
        return [node for node in self._live_workers() if node not in left_at]

    def abort(self, tx: Transaction, job_id: str) -> None:
        self._notices.send(tx, ABORT, job_id)

    async def start(self, executor: JobExecutor | None) -> None:
        await super().start(executor)
        if executor is not None:
            self._notices.on(ABORT, executor.abort)
            self._notices.on(RUN, self._on_job)

    async def stop(self) -> None:
        if self._executor is not None:
            self._notices.post(LEAVES, self._node)
        await super().stop()

    def _on_leave(self, node: str) -> None:
        now = time.monotonic()
        recent = {other: at for other, at in self._left_at.items() if at > now - _LEFT_SECONDS}
        self._left_at = {**recent, node: now}

    def _on_job(self, subject: str) -> None:
        node, _, job_id = subject.partition(" ")
        executor = self._executor
        if node == self._node and executor is not None:
            executor.run(job_id, None)
