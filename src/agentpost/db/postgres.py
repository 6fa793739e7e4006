"""PostgreSQL: a pool, READ COMMITTED and row locks, each transaction on a thread of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from agentpost.db.session import Params, Row, Tx

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

T = TypeVar("T")
log = structlog.get_logger(__name__)

READ_ONLY = b"SET TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE READ"
TRIES = 8
"""How often a transaction that lost a deadlock or a connection is run again."""


@lru_cache(maxsize=1024)
def translate(sql: str) -> str:
    """Our one SQL text in this database's words. Our SQL has no literal ``?`` or ``%``."""
    return (
        sql.replace("?", "%s")
        .replace("/*for update*/", "FOR UPDATE")
        .replace("/*skip locked*/", "FOR UPDATE SKIP LOCKED")
    )


class PostgresTx:
    """See `Tx`."""

    __slots__ = ("_execute", "callbacks", "connection")

    def __init__(self, connection: Connection[Row]) -> None:
        self.connection: Any = connection
        self._execute = connection.execute
        self.callbacks: list[Callable[[], None]] = []

    def execute(self, sql: str, params: Params = ()) -> int:
        """See `Tx.execute`."""
        return self._execute(translate(sql).encode(), params).rowcount

    def one(self, sql: str, params: Params = ()) -> Row | None:
        """See `Tx.one`."""
        return self._execute(translate(sql).encode(), params).fetchone()

    def all(self, sql: str, params: Params = ()) -> list[Row]:
        """See `Tx.all`."""
        return self._execute(translate(sql).encode(), params).fetchall()

    def after(self, callback: Callable[[], None]) -> None:
        """See `Tx.after`."""
        self.callbacks.append(callback)


class PostgresDatabase:
    """See `Database`.

    Args:
        url: ``postgresql://…``; the schema must be there.
        connections: most transactions at once; each has a thread.
        durability: ``full`` or ``normal`` (``synchronous_commit=off``).
    """

    def __init__(self, url: str, *, connections: int = 10, durability: str = "full") -> None:
        self._url = url
        self._connections = connections
        self._durability = durability
        self._pool: ConnectionPool[Connection[Row]] | None = None
        self._threads: ThreadPoolExecutor | None = None

    def open(self) -> None:
        """See `Database.open`."""
        from psycopg_pool import ConnectionPool

        def configure(connection: Connection[Row]) -> None:
            connection.prepare_threshold = 2
            connection.prepared_max = 500
            commit = "on" if self._durability == "full" else "off"
            connection.execute(f"SET synchronous_commit = {commit}".encode())
            connection.commit()

        self._pool = ConnectionPool(
            self._url,
            min_size=2,
            max_size=self._connections + 1,
            configure=configure,
            kwargs={"application_name": "agentpost"},
            open=False,
        )
        self._pool.open(wait=True, timeout=30)
        self._threads = ThreadPoolExecutor(self._connections, thread_name_prefix="db")

    def close(self) -> None:
        """See `Database.close`."""
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.write`."""
        assert self._threads is not None, "the database is not open"
        future = self._threads.submit(self._write, fn)
        # The transaction goes on when the awaiting request is cancelled: it was accepted.
        return await asyncio.shield(asyncio.wrap_future(future))

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.read`."""
        assert self._threads is not None, "the database is not open"
        return await asyncio.wrap_future(self._threads.submit(self.read_now, fn))

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.read_now`."""
        return self._retrying(
            fn,
            lambda connection: connection.execute(
                b"SET TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE READ"
            ),
        )

    def _write(self, fn: Callable[[Tx], T]) -> T:
        return self._retrying(fn, None)

    def _retrying(
        self, fn: Callable[[Tx], T], begin: Callable[[Connection[Row]], object] | None
    ) -> T:
        from psycopg import OperationalError, errors

        assert self._pool is not None, "the database is not open"
        tried = 0
        while True:
            tried += 1
            try:
                with self._pool.connection() as connection, connection.transaction():
                    if begin is not None:
                        begin(connection)
                    tx = PostgresTx(connection)
                    result = fn(tx)
            except (errors.DeadlockDetected, errors.SerializationFailure) as error:
                if tried >= TRIES:
                    raise
                log.info("transaction_retried", error=type(error).__name__, tried=tried)
                time.sleep(0.005 * tried)
                continue
            except OperationalError as error:
                # A broken connection before our COMMIT was sent: nothing happened.
                if begin is None or tried >= TRIES:
                    raise
                log.warning("read_retried", error=type(error).__name__)
                time.sleep(0.1 * tried)
                continue
            for callback in tx.callbacks:
                try:
                    callback()
                except Exception:
                    log.exception("after_commit_failed")
            return result
