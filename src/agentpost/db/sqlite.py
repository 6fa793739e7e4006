"""SQLite: one writer thread that commits in groups, readers beside it.

Every write function waiting in the queue joins the open transaction, each in its own savepoint, and
all of them share one fsync (WAL, ``synchronous=FULL``). Under load that is what makes full
durability free; alone, a write is committed at once, since nobody else is waiting.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import structlog

from agentpost.db.session import Params, Row, Tx

T = TypeVar("T")
log = structlog.get_logger(__name__)

GROUP_FUNCTIONS_MAX = 256
GROUP_SECONDS_MAX = 0.02
BUSY_SECONDS = 30.0
READERS = 2


class SqliteTx:
    """See `Tx`."""

    __slots__ = ("_execute", "callbacks", "connection")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._execute = connection.execute
        self.callbacks: list[Callable[[], None]] = []

    def execute(self, sql: str, params: Params = ()) -> int:
        """See `Tx.execute`."""
        return self._execute(sql, params).rowcount

    def one(self, sql: str, params: Params = ()) -> Row | None:
        """See `Tx.one`."""
        row: Row | None = self._execute(sql, params).fetchone()
        return row

    def all(self, sql: str, params: Params = ()) -> list[Row]:
        """See `Tx.all`."""
        return self._execute(sql, params).fetchall()

    def after(self, callback: Callable[[], None]) -> None:
        """See `Tx.after`."""
        self.callbacks.append(callback)


class _Write:
    """A queued write function with the future its caller awaits."""

    __slots__ = ("error", "fn", "future", "loop", "result")

    def __init__(
        self,
        fn: Callable[[Tx], Any],
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
    ) -> None:
        self.fn = fn
        self.loop = loop
        self.future = future
        self.result: Any = None
        self.error: BaseException | None = None


def connect(path: Path, *, durability: str = "full") -> sqlite3.Connection:
    """A connection set up our way; ``durability`` is ``full`` or ``normal``."""
    connection = sqlite3.connect(
        path,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=512,
    )
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA temp_store=MEMORY")
    connection.execute("PRAGMA cache_size=-2000")
    return connection


class SqliteDatabase:
    """See `Database`.

    Args:
        path: the database file; its schema must be there.
        durability: ``full`` (an answered write survives a power cut) or ``normal``.
        on_foreign_commit: called on the writer thread when another process has committed.
        foreign_check_seconds: how often to look for that.
    """

    def __init__(
        self,
        path: Path,
        *,
        durability: str = "full",
        on_foreign_commit: Callable[[], None] | None = None,
        foreign_check_seconds: float = 0.25,
    ) -> None:
        self._path = path
        self._durability = durability
        self._on_foreign_commit = on_foreign_commit
        self._foreign_check_seconds = foreign_check_seconds
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._local = threading.local()
        self._readers: ThreadPoolExecutor | None = None
        self._writer: threading.Thread | None = None

    def open(self) -> None:
        """See `Database.open`."""
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="db-read")
        self._writer = threading.Thread(target=self._run, name="db-write", daemon=True)
        self._writer.start()

    def close(self) -> None:
        """See `Database.close`."""
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            self._writer = None
        if self._readers is not None:
            self._readers.shutdown(wait=True)
            self._readers = None

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.write`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(_Write(fn, loop, future))
        return await future

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.read`."""
        assert self._readers is not None, "the database is not open"
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self.read_now, fn)

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.read_now`."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self._path)
            connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")
        try:
            return fn(SqliteTx(connection))
        finally:
            connection.execute("COMMIT")

    # --- the writer thread ------------------------------------------------------------------------
    def _run(self) -> None:
        connection = connect(self._path, durability=self._durability)
        seen = self._data_version(connection)
        checked = time.monotonic()
        while True:
            try:
                item = self._queue.get(timeout=self._foreign_check_seconds)
            except queue.Empty:
                item = None
                stopping = False
            else:
                stopping = item is None
            if item is not None:
                stopping = self._commit_group(connection, item)
            now = time.monotonic()
            if now - checked >= self._foreign_check_seconds:
                checked = now
                version = self._data_version(connection)
                if version != seen:
                    seen = version
                    if self._on_foreign_commit is not None:
                        _call(self._on_foreign_commit)
            if stopping:
                connection.close()
                return

    @staticmethod
    def _data_version(connection: sqlite3.Connection) -> int:
        version: int = connection.execute("PRAGMA data_version").fetchone()[0]
        return version

    def _commit_group(self, connection: sqlite3.Connection, first: _Write) -> bool:
        """Run the group in one transaction; True when the queue says to stop."""
        group: list[_Write] = []
        callbacks: list[Callable[[], None]] = []
        stopping = False
        try:
            connection.execute("BEGIN IMMEDIATE")
            until = time.monotonic() + GROUP_SECONDS_MAX
            item: _Write | None = first
            while item is not None:
                group.append(item)
                self._run_one(connection, item, callbacks, alone=len(group) == 1)
                if len(group) >= GROUP_FUNCTIONS_MAX or time.monotonic() >= until:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
                stopping = item is None
            connection.execute("COMMIT")
        except BaseException as error:
            log.error("commit_failed", error=str(error), functions=len(group) or 1)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for item in group or [first]:
                item.error = error
            callbacks = []
        for callback in callbacks:
            _call(callback)
        _resolve(group or [first])
        return stopping

    def _run_one(
        self,
        connection: sqlite3.Connection,
        item: _Write,
        callbacks: list[Callable[[], None]],
        *,
        alone: bool,
    ) -> None:
        """Run one function; the first of a group needs no savepoint, nothing stands before it."""
        tx = SqliteTx(connection)
        if not alone:
            connection.execute("SAVEPOINT f")
        try:
            item.result = item.fn(tx)
        except BaseException as error:
            item.error = error
            if alone:
                connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
            else:
                connection.execute("ROLLBACK TO f")
                connection.execute("RELEASE f")
            return
        if not alone:
            connection.execute("RELEASE f")
        callbacks.extend(tx.callbacks)


def _call(callback: Callable[[], None]) -> None:
    """A callback must not take the writer down."""
    try:
        callback()
    except Exception:
        log.exception("after_commit_failed")


def _resolve(group: list[_Write]) -> None:
    """Hand the results over, one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Write]] = {}
    for item in group:
        by_loop.setdefault(item.loop, []).append(item)
    for loop, items in by_loop.items():
        try:
            loop.call_soon_threadsafe(_set_results, items)
        except RuntimeError:
            log.debug("loop_closed_before_result", functions=len(items))


def _set_results(items: list[_Write]) -> None:
    for item in items:
        if item.future.cancelled():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)
