"""Dispatch over all nodes of a PostgreSQL installation, by Procrastinate (https://procrastinate.readthedocs.io).

A job is deferred on our own connection, so it is dispatched if and only if the commit that makes it
run goes through. What a Procrastinate worker then does takes no time: it hands the job to our own
worker, which claims it in the record. So at most one node runs it, and Procrastinate's rows are
short-lived; whatever gets lost between the two is found by the sweep for jobs that nobody took.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import structlog

from agentpost.domain import backoff
from agentpost.engine.base import JobExecutor, Transaction

if TYPE_CHECKING:
    from procrastinate import App

log = structlog.get_logger(__name__)

QUEUE = "agentpost"
TASK = "agentpost.run_job"
ABORT = "abort"
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
_SCHEMA_LOCK = 7_301_994_652


class Notices(Protocol):
    """What carries the word to stop from node to node."""

    def on(self, topic: str, listener: Callable[[str], None]) -> None:
        """Call this with the subject of every notice of a topic, our own ones included."""
        ...

    def on_reconnect(self, listener: Callable[[], None]) -> None:
        """Call this, on the loop of `start`, when the connection was lost and is back."""
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
        notices: carries aborts; started and stopped by others.
    """

    def __init__(self, url: str, node: str, notices: Notices) -> None:
        self._url = url
        self._node = node
        self._notices = notices
        self._task: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None

    def dispatch(self, tx: Transaction, job_id: str, epoch: int) -> None:
        import psycopg
        from procrastinate.exceptions import ConnectorException

        task = self._placing.configure_task(TASK, queue=QUEUE, connection=tx.connection)
        try:
            task.defer(job_id=job_id)
        except ConnectorException as error:
            # The database adapter knows which of the driver's errors are worth another try.
            if isinstance(error.__cause__, psycopg.Error):
                raise error.__cause__ from None
            raise

    @cached_property
    def _placing(self) -> App:
        """Defers on connections it is given, and opens none."""
        from procrastinate import App, SyncPsycopgConnector

        return App(connector=SyncPsycopgConnector())

    def abort(self, tx: Transaction, job_id: str) -> None:
        self._notices.send(tx, ABORT, job_id)

    async def start(self, executor: JobExecutor | None) -> None:
        if executor is None:
            return
        self._notices.on(ABORT, executor.abort)
        self._notices.on_reconnect(self._begin_anew)
        self._task = asyncio.create_task(self._serve(executor), name="procrastinate")

    async def stop(self) -> None:
        for task in (self._task, self._running):
            if task is not None:
                await _end(task)
        self._task = self._running = None

    async def check(self) -> None:
        """Raises `ConnectionError` when jobs should be dispatched to this process and are not."""
        if self._task is not None and (self._running is None or self._running.done()):
            raise ConnectionError("the dispatcher has no connection to the database")

    def _begin_anew(self) -> None:
        """A Procrastinate worker whose listener or heartbeat broke works on without: end it."""
        if self._running is not None:
            self._running.cancel()

    async def _serve(self, executor: JobExecutor) -> None:
        """Keep a Procrastinate worker running."""
        tries = 0
        while True:
            began = asyncio.get_running_loop().time()
            self._running = asyncio.create_task(self._work(executor))
            await asyncio.wait({self._running})  # its end is not ours
            error = None if self._running.cancelled() else self._running.exception()
            if error is not None:
                log.warning("dispatch_interrupted", error=str(error.__cause__ or error).strip())
            if asyncio.get_running_loop().time() - began > _RETRY_SECONDS_MAX:
                tries = 0
            await asyncio.sleep(backoff.pause(tries, _RETRY_SECONDS_MIN, _RETRY_SECONDS_MAX))
            tries += 1

    async def _work(self, executor: JobExecutor) -> None:
        async with _working_app(self._url, executor).open_async() as app, _tidied(app):
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
