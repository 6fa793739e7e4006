"""Puts jobs into Procrastinate's queue, after the commits that made them run.

Procrastinate notifies the workers in the transaction that defers a job, and the commit of such a
one takes a lock that all of the server's databases share. So that is never the transaction that
answers somebody, and it does not wait for the disk. A job that is lost in between is found by the
sweep for jobs that nobody took.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import structlog

if TYPE_CHECKING:
    import psycopg
    from procrastinate import App

log = structlog.get_logger(__name__)
QUEUE: Final = "agentpost"
TASK: Final = "agentpost.run_job"
_BATCH: Final = 500
_CONNECT_SECONDS: Final = 2


class QueueWriter:
    """A thread, from the first job on, and its connection. Safe on any thread.

    Args:
        url: ``postgresql://…``, with Procrastinate's tables.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiting: deque[str] = deque()
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._connection: psycopg.Connection | None = None

    def put(self, job_id: str) -> None:
        """Queue a job soon, with others; waits for nothing."""
        self._waiting.append(job_id)
        with self._lock:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="queue")
            self._thread.submit(self._write)

    def close(self) -> None:
        """Queue what was put, and disconnect. Blocks; what is put later begins anew."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.submit(self._disconnect)
            thread.shutdown()

    def _write(self) -> None:
        taken: list[str] = []
        while self._waiting and len(taken) < _BATCH:
            taken.append(self._waiting.popleft())
        if not taken:
            return  # they went with those before
        try:
            self._defer(taken)
        except Exception as error:
            log.warning("jobs_not_queued", jobs=len(taken), error=str(error.__cause__ or error))
            self._disconnect()

    def _defer(self, job_ids: list[str]) -> None:
        if self._connection is None:
            self._connection = self._connect()
        task = self._app.configure_task(TASK, queue=QUEUE, connection=self._connection)
        arguments: list[dict[str, Any]] = [{"job_id": job_id} for job_id in job_ids]
        task.batch_defer(*arguments)

    @cached_property
    def _app(self) -> App:
        """Defers on connections it is given, and opens none."""
        from procrastinate import App, SyncPsycopgConnector

        return App(connector=SyncPsycopgConnector())

    def _connect(self) -> psycopg.Connection:
        from psycopg import Connection

        connection = Connection.connect(
            self._url,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            application_name="agentpost queue",
        )
        connection.execute(b"SET synchronous_commit = off")
        return connection

    def _disconnect(self) -> None:
        from psycopg import Error

        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Error):
                connection.close()
