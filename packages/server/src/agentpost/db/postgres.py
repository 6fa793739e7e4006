"""PostgreSQL: READ COMMITTED and row locks.

Writes go in groups over one connection (`postgres_group`). Reads, and writes that have to be alone,
have a pool of connections, and each a thread of its own.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

import structlog
from psycopg import Error, errors

from agentpost.db.postgres_group import GroupWriter
from agentpost.db.postgres_pipeline import PipelinedConnection, PostgresTx
from agentpost.db.postgres_pool import Pool
from agentpost.db.queued import Write, call, resolve
from agentpost.db.session import DatabaseClosed, Tx
from agentpost.domain import backoff
from agentpost.domain.errors import StoreUnavailable
from agentpost.domain.sqlstates import ends_session

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger(__name__)

BEGIN: Final = "BEGIN"
BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TIME: Final = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint"
_CONNECTIONS = 10
_OPEN_SECONDS = 30
# BEGIN is ours to send: so a read's snapshot costs no statement of its own.
_OPTIONS: Final[dict[str, Any]] = {"application_name": "agentpost", "autocommit": True}
_WAIT_SECONDS = 30.0
"""How long a transaction waits for a thread, a connection and each lock."""
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
        self._pool: Pool | None = None
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
        self._pool = Pool(self._url, self._configure, _OPTIONS)
        with self._pool.connection(time.monotonic() + _OPEN_SECONDS):
            pass
        self._threads = ThreadPoolExecutor(self._connections, thread_name_prefix="db")
        # A restarted server has broken the idle ones as well.
        self._writer = GroupWriter(self._pool.connect, self._write_singly, self._pool.renew)
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
            self._pool.renew()
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
        if self._pool is None:
            raise DatabaseClosed("the database is closed")
        tries = 0
        while True:
            tries += 1
            try:
                result, callbacks = self._attempt(self._pool, fn, begin, until)
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
                # A restarted server has broken the others as well; on one that takes no writes they
                # would go on reading.
                self._pool.renew()
                time.sleep(backoff.pause(tries - 1, *LOST_SECONDS))
            else:
                for callback in callbacks:
                    call(callback)
                return result

    @staticmethod
    def _attempt(
        pool: Pool, fn: Callable[[Tx], T], begin: str, until: float
    ) -> tuple[T, list[Callable[[], None]]]:
        with pool.connection(until) as connection:
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
