"""Dispatch over all nodes of a PostgreSQL installation, by Procrastinate (https://procrastinate.readthedocs.io).

A job runs on the node that makes it run, if that has a worker: the node owns it from the commit on.
A node without one gives it, by a notice after the commit, to one of the workers whose heart beats
(`cluster.heartbeat`), and that one claims the job. When it knows of none, the job is queued with
Procrastinate, after the commit as well (`queueing`).

What a Procrastinate worker then does takes no time: it hands the job to our own worker, which
claims it in the record. So at most one node runs it, and Procrastinate's rows are short-lived.
Whatever gets lost on these ways is found by the sweep for jobs that nobody took.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

import structlog

from agentpost.domain import backoff
from agentpost.engine.base import JobExecutor, Transaction
from agentpost.engine.queueing import QUEUE, TASK, QueueWriter

if TYPE_CHECKING:
    from procrastinate import App

log = structlog.get_logger(__name__)

ABORT = "abort"
RUN = "run"
"""Topic of notices: a node and the job it is to claim."""
ENDS = "ends"
"""Topic of notices: a node that takes no more jobs. Its heart may beat on for a while."""
_ENDED_SECONDS = 60.0
"""So long after it the node is gone, or its beats say that it drains."""
_CONCURRENCY = 100
_CONNECTIONS = 3
BEAT_SECONDS = 5.0
_STALLED_SECONDS = 30.0
_TIDY_SECONDS = 600.0
_POLL_SECONDS = 5.0
_POOL_SECONDS = 5.0
_STOP_SECONDS = 2.0
_STOP_TRIES = 2
_RETRY_SECONDS_MIN = 0.1
_RETRY_SECONDS_MAX = 5.0
_LINE_SECONDS = 60.0
"""How long an interruption is not logged again."""
_SCHEMA_LOCK = 7_301_994_652


class Notices(Protocol):
    """What carries the word to stop from node to node."""

    def on(self, topic: str, listener: Callable[[str], None]) -> None:
        """Call this with the subject of every notice of a topic, our own ones included."""
        ...

    def on_reconnect(self, listener: Callable[[], None]) -> None:
        """Call this, on the loop of `start`, when the connection was lost and is back."""
        ...

    def post(self, topic: str, subject: str) -> None:
        """Give notice to the other nodes; safe on any thread."""
        ...

    def send(self, tx: Transaction, topic: str, subject: str) -> None:
        """Give notice once ``tx`` is committed."""
        ...


def upgrade(url: str) -> None:
    """Make Procrastinate's own tables where they are missing; processes may come at once."""
    import psycopg
    from procrastinate.schema import SchemaManager

    with psycopg.connect(url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
        found = connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone()
        if found == (None,):
            connection.execute(SchemaManager.get_schema())


class ProcrastinateEngine:
    """See `Engine`.

    Args:
        url: ``postgresql://…``, with Procrastinate's tables (see `upgrade`).
        node: this process' id, by which its worker is named.
        notices: carries aborts, jobs for a worker, and which workers end; started and stopped by
            others.
    """

    def __init__(self, url: str, node: str, notices: Notices) -> None:
        self._url = url
        self._node = node
        self._notices = notices
        self._task: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._executor: JobExecutor | None = None
        self._queue = QueueWriter(url)
        self._live_workers: Callable[[], list[str]] = list
        self._ended: dict[str, float] = {}  # when each said so, replaced as a whole
        self._given = 0
        notices.on(ENDS, self._hear_end)

    def ask_for_workers(self, elsewhere: Callable[[], list[str]]) -> None:
        self._live_workers = elsewhere

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> str | None:
        if self._executor is not None:
            tx.after(partial(self._executor.run, job_id, epoch))
            return self._node
        workers = self.workers()
        if workers:
            self._given += 1
            worker = workers[self._given % len(workers)]
            self._notices.send(tx, RUN, f"{worker} {job_id}")
        else:
            tx.after(partial(self._queue.put, job_id))
        return None

    def workers(self) -> list[str]:
        """The other nodes that live and take jobs, as far as is known here."""
        ended = self._ended
        return [node for node in self._live_workers() if node not in ended]

    def abort(self, tx: Transaction, job_id: str) -> None:
        self._notices.send(tx, ABORT, job_id)

    async def start(self, executor: JobExecutor | None) -> None:
        if executor is None:
            return
        self._executor = executor
        self._notices.on(ABORT, executor.abort)
        self._notices.on(RUN, self._hear_job)
        self._notices.on_reconnect(self._begin_anew)
        self._task = asyncio.create_task(self._serve(executor), name="procrastinate")

    async def stop(self) -> None:
        if self._executor is not None:
            self._executor = None
            self._notices.post(ENDS, self._node)
        for task in (self._task, self._running):
            if task is not None:
                await _end(task)
        self._task = self._running = None
        await asyncio.to_thread(self._queue.close)

    async def check(self) -> None:
        """Raises `ConnectionError` when jobs should be dispatched to this process and are not."""
        if self._task is not None and (self._running is None or self._running.done()):
            raise ConnectionError("the dispatcher has no connection to the database")

    def _hear_end(self, node: str) -> None:
        now = time.monotonic()
        recent = {other: at for other, at in self._ended.items() if at > now - _ENDED_SECONDS}
        self._ended = {**recent, node: now}

    def _hear_job(self, subject: str) -> None:
        node, _, job_id = subject.partition(" ")
        executor = self._executor
        if node == self._node and executor is not None:
            executor.run(job_id, None)

    def _begin_anew(self) -> None:
        """A Procrastinate worker whose listener or heartbeat broke works on without: end it."""
        if self._running is not None:
            self._running.cancel()

    async def _serve(self, executor: JobExecutor) -> None:
        """Keep a Procrastinate worker running."""
        tries = 0
        said_at = -_LINE_SECONDS
        while True:
            began = asyncio.get_running_loop().time()
            self._running = asyncio.create_task(self._work(executor))
            await asyncio.wait({self._running})  # its end is not ours
            error = None if self._running.cancelled() else self._running.exception()
            now = asyncio.get_running_loop().time()
            if error is not None and now - said_at >= _LINE_SECONDS:
                log.warning("dispatch_interrupted", error=str(error.__cause__ or error).strip())
                said_at = now
            if now - began > _RETRY_SECONDS_MAX:
                tries = 0
            await asyncio.sleep(backoff.pause(tries, _RETRY_SECONDS_MIN, _RETRY_SECONDS_MAX))
            tries += 1

    async def _work(self, executor: JobExecutor) -> None:
        app = _working_app(self._url, executor)
        try:
            async with app.open_async(), _tidied(app):
                await app.run_worker_async(
                    name=self._node,
                    queues=[QUEUE],
                    concurrency=_CONCURRENCY,
                    fetch_job_polling_interval=_POLL_SECONDS,
                    abort_job_polling_interval=_STALLED_SECONDS,
                    shutdown_graceful_timeout=_STOP_SECONDS,
                    delete_jobs="always",
                    install_signal_handlers=False,
                    update_heartbeat_interval=BEAT_SECONDS,
                    stalled_worker_timeout=_STALLED_SECONDS,
                )
        finally:
            # Cancelled while it opens, the pool stays open, and its tasks take no cancellation.
            await app.close_async()


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel it until it has ended: before Python 3.12 a notification that arrives at the same
    moment makes the driver lose the cancellation. A server that hangs may keep it from ending."""
    for _ in range(_STOP_TRIES):
        task.cancel()
        await asyncio.wait({task}, timeout=_STOP_SECONDS)
        if task.done():
            await asyncio.gather(task, return_exceptions=True)
            return
    log.warning("dispatch_did_not_end")


def _working_app(url: str, executor: JobExecutor) -> App:
    from procrastinate import App, PsycopgConnector

    connector = PsycopgConnector(
        conninfo=url,
        min_size=1,
        max_size=_CONNECTIONS,
        timeout=_POOL_SECONDS,
        kwargs={"application_name": "agentpost dispatch"},
    )
    app = App(connector=connector)

    async def run_job(job_id: str) -> None:
        executor.run(job_id, None)

    app.task(name=TASK, queue=QUEUE)(run_job)
    return app


@contextlib.asynccontextmanager
async def _tidied(app: App) -> AsyncIterator[None]:
    """Rows that killed workers left are forgotten, now and as long as we run."""

    async def tidy() -> None:
        while True:
            await asyncio.sleep(_TIDY_SECONDS)
            try:
                await _forget_stalled(app)
            except Exception as error:
                log.warning("stalled_rows_not_forgotten", error=str(error).strip())

    await _forget_stalled(app)
    task = asyncio.create_task(tidy(), name="procrastinate tidy")
    try:
        yield
    finally:
        await _end(task)


async def _forget_stalled(app: App) -> None:
    """Rows that a killed worker had fetched; their jobs are found by the sweep."""
    from procrastinate.jobs import Status

    stalled = await app.job_manager.get_stalled_jobs(
        queue=QUEUE, seconds_since_heartbeat=_STALLED_SECONDS
    )
    for job in stalled:
        assert job.id is not None
        await app.job_manager.finish_job_by_id_async(job.id, Status.FAILED, delete_job=True)
