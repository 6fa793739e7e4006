"""PostgreSQL: READ COMMITTED and row locks.

Writes go in groups over one connection (`postgres_group`). Reads, and writes that have to be alone,
have a pool of connections, and each a thread of its own.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import structlog

from agentpost.db.queued import Write, call, resolve
from agentpost.db.session import DatabaseClosed, Tx
from agentpost.domain import backoff
from agentpost.domain.errors import StoreUnavailable
from agentpost.domain.sqlstates import ends_session
from agentpost.extras import POSTGRES_ASKED, MissingExtra, require

if TYPE_CHECKING:
    from agentpost.db.postgres_group import GroupWriter
    from agentpost.db.postgres_pipeline import PipelinedConnection
    from agentpost.db.postgres_pool import WarmPool

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger(__name__)

BEGIN: Final = "BEGIN"
BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TIME: Final = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint"
_CONNECTIONS = 10
_OPEN_SECONDS = 30
_KWARGS: Final[dict[str, Any]] = {"application_name": "agentpost", "autocommit": True}
_CONNECT_SECONDS = 5
_WAIT_SECONDS = 30.0
"""How long a transaction waits for a thread, a connection and each lock."""
_RECONNECT_SECONDS = 4.0
"""The pool's pauses between attempts grow up to this: a node that is slow to come back after an
outage of the server looks dead to the others."""
_LINE_CONNECT_SECONDS = 2
_LINE_SILENT_MILLISECONDS = 3_000
"""How long what a `PostgresDedicatedConnection` sent may stay unacknowledged before it counts as
broken."""
_TRIES = 8
"""How often a transaction that lost a deadlock or its connection is run."""
DEADLOCK_SECONDS = (0.005, 0.03)
LOST_SECONDS = (0.05, 0.3)
"""The first pause before it is run again, and the longest."""


class _ConnectionLost(Exception):
    """The connection broke, or its server takes no writes, before our COMMIT was sent: nothing
    happened."""


def check_installed() -> None:
    """Raise `MissingExtra` unless the ``postgres`` extra can be imported: psycopg may be there
    without the library it calls."""
    require("postgres", POSTGRES_ASKED)
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise MissingExtra("postgres", POSTGRES_ASKED, str(error)) from None
    del psycopg, psycopg_pool


class PostgresDatabase:
    """`Database` on a server. Raises `StoreUnavailable` when the server cannot be reached, or
    another transaction holds a lock, for `_WAIT_SECONDS`.

    Args:
        url: ``postgresql://…``; the schema must be there.
        connections: most transactions at once; each has a thread.
        durability: ``full`` or ``normal`` (``synchronous_commit=off``).
    """

    def __init__(
        self, url: str, *, connections: int = _CONNECTIONS, durability: str = "full"
    ) -> None:
        self._url = url
        self._connections = connections
        self._durability = durability
        self._pool: WarmPool | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._writer: GroupWriter | None = None
        self._accepting = threading.Lock()  # nothing is put behind what ends the writer
        self._open = False

    @property
    def external_commits(self) -> int | None:
        return None

    @property
    def changes(self) -> int | None:
        return None

    def open(self) -> None:
        from agentpost.db.postgres_group import GroupWriter
        from agentpost.db.postgres_pipeline import PipelinedConnection
        from agentpost.db.postgres_pool import WarmPool

        watch()
        # One more than the threads: `read_now` borrows one on its caller's thread.
        self._pool = WarmPool(
            self._url,
            most=self._connections + 1,
            configure=self._configure,
            # BEGIN is ours to send: so a read's snapshot costs no statement of its own.
            kwargs=_KWARGS,
            reconnect_seconds=_RECONNECT_SECONDS,
        )
        self._pool.open(_OPEN_SECONDS)
        self._threads = ThreadPoolExecutor(self._connections, thread_name_prefix="db")

        def connect() -> PipelinedConnection:
            connection = PipelinedConnection.connect(
                self._url, connect_timeout=_CONNECT_SECONDS, **_KWARGS
            )
            self._configure(connection)
            return connection

        # A restarted server has broken the idle ones as well.
        self._writer = GroupWriter(connect, self._write_singly, self._pool.check)
        self._writer.start()
        self._open = True

    def close(self) -> None:
        with self._accepting:
            self._open = False
        if self._writer is not None:
            self._writer.stop()
            self._writer = None
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    async def write(self, fn: Callable[[Tx], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._accepting:
            if not self._open or self._writer is None:
                raise DatabaseClosed("the database is closed")
            self._writer.put(Write(fn, loop, future))
        return await future

    async def read(self, fn: Callable[[Tx], T]) -> T:
        until = time.monotonic() + _WAIT_SECONDS
        return await asyncio.wrap_future(self._submit(self._run, fn, BEGIN_READ, until))

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        return self._run(fn, BEGIN_READ, time.monotonic() + _WAIT_SECONDS)

    def _configure(self, connection: PipelinedConnection) -> None:
        connection.prepare_threshold = None  # what is prepared, the pipeline knows
        commit = "on" if self._durability == "full" else "off"
        connection.execute(f"SET synchronous_commit = {commit}".encode())
        connection.execute(f"SET lock_timeout = '{_WAIT_SECONDS:.0f}s'".encode())
        OUTAGE.note_success()

    def _write_singly(self, item: Write) -> None:
        """Run a write in a transaction of its own, on another thread, and resolve it."""
        until = time.monotonic() + _WAIT_SECONDS

        def run() -> None:
            try:
                item.result = self._run(item.fn, BEGIN, until)
            except BaseException as error:
                item.error = error
            resolve([item])

        self._submit(run)

    def _submit(self, run: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        try:
            if self._threads is not None:
                return self._threads.submit(run, *args, **kwargs)
        except RuntimeError:  # closing
            pass
        raise DatabaseClosed("the database is closed")

    def _run(self, fn: Callable[[Tx], T], begin: str, until: float) -> T:
        """Run it until it is committed; a connection that breaks *during* COMMIT is not retried,
        since its effect is unknown: `StoreUnavailable`. ``until`` limits the waiting for a
        connection, in seconds of the monotonic clock."""
        from psycopg import errors
        from psycopg_pool import PoolTimeout

        if self._pool is None:
            raise DatabaseClosed("the database is closed")
        tries = 0
        while True:
            tries += 1
            try:
                result, callbacks = self._attempt(self._pool, fn, begin, until)
            except PoolTimeout as error:
                raise StoreUnavailable("The database does not answer.") from error
            except errors.LockNotAvailable as error:
                text = f"A lock in the database was held for {_WAIT_SECONDS:.0f} seconds."
                raise StoreUnavailable(text) from error
            except (errors.DeadlockDetected, errors.SerializationFailure) as error:
                if tries >= _TRIES:
                    raise
                log.info("transaction_retried", error=type(error).__name__, tried=tries)
                time.sleep(backoff.pause(tries - 1, *DEADLOCK_SECONDS))
            except _ConnectionLost as error:
                if tries >= _TRIES:
                    text = "The connection to the database breaks again and again."
                    raise StoreUnavailable(text) from error.__cause__
                log.warning("connection_lost", error=str(error.__cause__).strip(), tried=tries)
                if isinstance(error.__cause__, errors.ReadOnlySqlTransaction):
                    self._pool.renew()  # the idle ones would go on reading from this server
                else:
                    self._pool.check()  # a restarted server has broken the idle ones as well
                time.sleep(backoff.pause(tries - 1, *LOST_SECONDS))
            else:
                for callback in callbacks:
                    call(callback)
                return result

    @staticmethod
    def _attempt(
        pool: WarmPool, fn: Callable[[Tx], T], begin: str, until: float
    ) -> tuple[T, list[Callable[[], None]]]:
        from psycopg import Error

        from agentpost.db.postgres_pipeline import PostgresTx

        left = max(until - time.monotonic(), 0.001)
        with pool.connection(left) as connection:
            pipeline = connection.statements
            tx = PostgresTx(pipeline)
            try:
                try:
                    pipeline.begin(begin)
                    result = fn(tx)
                    pipeline.settle()
                except BaseException:
                    pipeline.rollback()
                    raise
            except Error as error:
                if begin is BEGIN and ends_session(error):
                    connection.close()
                if connection.closed:
                    raise _ConnectionLost from error
                raise
            if begin is BEGIN_READ:
                pipeline.end_reading()
                return result, tx.callbacks
            try:
                pipeline.commit()
            except BaseException:
                if not connection.closed:  # a statement that nobody had waited for
                    pipeline.rollback()
                raise
        return result, tx.callbacks


class PostgresDedicatedConnection:
    """`DedicatedConnection` to a server. Its writes are worthless after a crash, so its commits do
    not wait for the disk."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: PipelinedConnection | None = None

    def write(self, fn: Callable[[Tx], T]) -> T:
        from agentpost.db.postgres_pipeline import PostgresTx

        connection = self._connection = self._connection or self._connect()
        try:
            pipeline = connection.statements
            pipeline.begin(BEGIN)
            result = fn(PostgresTx(pipeline))
            pipeline.settle()
            pipeline.commit()
        except BaseException:
            self.close()
            raise
        return result

    def time(self) -> int | None:
        row = self.write(lambda tx: tx.one(_TIME))
        return None if row is None else int(row[0])

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> PipelinedConnection:
        from agentpost.db.postgres_pipeline import PipelinedConnection

        connection = PipelinedConnection.connect(
            self._url,
            autocommit=True,
            connect_timeout=_LINE_CONNECT_SECONDS,
            application_name="agentpost beat",
            keepalives_idle=2,
            keepalives_interval=1,
            keepalives_count=3,
            tcp_user_timeout=_LINE_SILENT_MILLISECONDS,
        )
        connection.execute(b"SET synchronous_commit = off")
        return connection


LINE_SECONDS: Final = 60.0
"""There is at most one line about a server that is away within so many."""
_LIBRARY: Final = "psycopg.pool"
_NOT_CONNECTED: Final = "error connecting in "
_FOLLOWS: Final = (
    "reconnection attempt in pool ",
    "discarding broken connection",
    "discarding closed connection",
)
"""What the pool says besides. A transaction that lost its connection is logged where it runs."""


class Outage:
    """The server's absence, as far as this process notices. Safe on any thread. ``now``: seconds of
    a clock that nobody sets."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._since: float | None = None
        self._failed_at = 0.0
        self._attempts = 0
        self._said_at: float | None = None
        self._is_said = False

    def note_failure(self, error: str) -> None:
        """A connection could not be made. ``error`` may have several lines; the first is logged."""
        with self._lock:
            now = self._now()
            # Only new connections of the main pool end an outage, and a while without a failure.
            if self._since is None or now - self._failed_at >= LINE_SECONDS:
                self._since, self._attempts, self._is_said = now, 0, False
            self._failed_at = now
            self._attempts += 1
            if self._said_at is not None and now - self._said_at < LINE_SECONDS:
                return
            self._said_at, self._is_said = now, True
            away, attempts = round(now - self._since, 1), self._attempts
        reason = error.strip().partition("\n")[0]
        log.warning("database_unreachable", error=reason, seconds=away, attempts=attempts)

    def note_success(self) -> None:
        """A connection was made; logged when it was logged that none could be."""
        with self._lock:
            if self._since is None:
                return
            away, attempts = round(self._now() - self._since, 1), self._attempts
            self._since, is_said = None, self._is_said
        if is_said:
            log.info("database_reachable", seconds=away, attempts=attempts)


class PoolRecords(logging.Filter):
    """Takes what psycopg's pools log of connecting out of the log, and passes it to an outage."""

    def __init__(self, outage: Outage) -> None:
        super().__init__()
        self._outage = outage

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        if text.startswith(_NOT_CONNECTED):
            self._outage.note_failure(
                str(record.args[-1] if isinstance(record.args, tuple) else text)
            )
            return False
        return not text.startswith(_FOLLOWS)


OUTAGE: Final = Outage()
"""That of this process: it has one database, and several pools of it."""
_records: Final = PoolRecords(OUTAGE)


def watch() -> None:
    """Let `OUTAGE` take in what this process's pools log; harmless when it does already."""
    logging.getLogger(_LIBRARY).addFilter(_records)
