"""SQLite: one writer thread that commits in groups, readers beside it.

Every write function waiting in the queue joins the open transaction, each in its own savepoint, and
all of them share one fsync (WAL, ``synchronous=FULL``). Under load that is what makes full
durability free; alone, a write is committed at once, since nobody else is waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import structlog

from agentpost.db.database_file import DatabaseFile
from agentpost.db.session import DatabaseClosed, Params, Row, Tx
from agentpost.domain.errors import StoreUnavailable

T = TypeVar("T")
log = structlog.get_logger(__name__)

_GROUP_FUNCTIONS_MAX = 256
_GROUP_SECONDS_MAX = 0.02
BUSY_SECONDS = 30.0
"""How long a write waits for the database while another program holds its lock."""
_PATIENT_SECONDS = 1.0
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

    __slots__ = ("error", "fn", "future", "loop", "queued_at", "result")

    def __init__(
        self,
        fn: Callable[[Tx], Any],
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[Any],
    ) -> None:
        self.fn = fn
        self.loop = loop
        self.future = future
        self.queued_at = time.monotonic()
        self.result: Any = None
        self.error: BaseException | None = None


@dataclass(slots=True)
class _Group:
    """Functions that share a commit, what follows it, and whether the queue ends with them."""

    items: list[_Write]
    callbacks: list[Callable[[], None]] = field(default_factory=list)
    last: bool = False


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

    A connection on which something failed that is not the function's own fault is closed, and the
    next function gets a new one: after an I/O error its state is unknown. Writes raise
    `StoreUnavailable` after `BUSY_SECONDS` of waiting for another program's lock, and when what
    they wrote to is not the file at ``path`` any more.

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
        on_external_commit: Callable[[], None] | None = None,
        external_check_seconds: float = 0.25,
    ) -> None:
        self._path = path
        self._file = DatabaseFile(path)
        self._durability = durability
        self._on_external_commit = on_external_commit
        self._external_check_seconds = external_check_seconds
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._accepting = threading.Lock()  # nothing is queued behind the None that ends the thread
        self._open = False
        self._local = threading.local()
        self._readers: ThreadPoolExecutor | None = None
        self._writer: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None  # the writer thread's
        self._seen_version: int | None = None
        self._failing = ""  # the writer's last fault, until something was committed again
        self._external_commits = 0
        self._own_changes = 0

    @property
    def external_commits(self) -> int | None:
        """See `Database.external_commits`."""
        return self._external_commits

    @property
    def changes(self) -> int | None:
        """See `Database.changes`."""
        return self._own_changes + self._external_commits

    def open(self) -> None:
        """See `Database.open`."""
        self._seen_version = _data_version(self._connected())
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="db-read")
        self._writer = threading.Thread(target=self._run, name="db-write", daemon=True)
        self._open = True
        self._writer.start()

    def close(self) -> None:
        """See `Database.close`."""
        with self._accepting:
            if self._open:
                self._open = False
                self._queue.put(None)
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if self._readers is not None:
            self._readers.shutdown(wait=True)
            self._readers = None

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.write`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._accepting:
            if not self._open:
                raise DatabaseClosed("the database is closed")
            self._queue.put(_Write(fn, loop, future))
        return await future

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.read`."""
        if self._readers is None:
            raise DatabaseClosed("the database is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self.read_now, fn)

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        """See `Database.read_now`."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        try:
            if connection is None:
                self._file.check()  # connecting would make a file where there is none
                connection = self._local.connection = connect(self._path)
                connection.execute("PRAGMA query_only=ON")
            connection.execute("BEGIN")
            try:
                return fn(SqliteTx(connection))
            finally:
                connection.execute("COMMIT")
        except sqlite3.Error:
            # Else a transaction that could not be ended would refuse every later read.
            self._local.connection = None
            _close(connection)
            raise

    # --- the writer thread ------------------------------------------------------------------------
    def _run(self) -> None:
        """Serve the queue until it says to stop; nothing that fails on the way ends the thread."""
        checked = time.monotonic()
        stopping = False
        while not stopping:
            try:
                item = self._queue.get(timeout=self._external_check_seconds)
            except queue.Empty:
                pass
            else:
                stopping = item is None or self._write_group(item)
            now = time.monotonic()
            if now - checked >= self._external_check_seconds:
                checked = now
                self._check_external_commits()
        self._drop_connection()

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            self._file.check()  # connecting would make a file where there is none
            self._connection = connect(self._path, durability=self._durability)
            self._file.opened()
        return self._connection

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        self._seen_version = None  # versions of two connections cannot be compared
        self._file.closed()
        _close(connection)

    def _check_external_commits(self) -> None:
        try:
            version = _data_version(self._connected())
            self._file.check()
        except BaseException as error:
            if self._is_new_fault(error):
                log.error("database_not_readable", error=str(error))
            self._drop_connection()
            return
        if version != self._seen_version:
            self._seen_version = version
            self._external_commits += 1
            if self._on_external_commit is not None:
                _call(self._on_external_commit)

    def _write_group(self, first: _Write) -> bool:
        """Commit a group and tell everybody in it how it went; True when the queue says to stop."""
        group = _Group([first])
        try:
            connection = self._connected()
            before = connection.total_changes
            self._commit_group(connection, group)
            self._own_changes += connection.total_changes > before
        except BaseException as error:
            self._drop_connection()  # that takes back whatever was done
            for item in group.items:
                item.error = error
            if self._is_new_fault(error):
                log.error("commit_failed", error=str(error))
        else:
            self._failing = ""
            for callback in group.callbacks:
                _call(callback)
        finally:
            _resolve(group.items)
        return group.last

    def _commit_group(self, connection: sqlite3.Connection, group: _Group) -> None:
        """Run what waits in one transaction, together with the first of the group."""
        _begin(connection, group.items[0].queued_at)
        until = time.monotonic() + _GROUP_SECONDS_MAX
        _run_one(connection, group, alone=True)
        while len(group.items) < _GROUP_FUNCTIONS_MAX and time.monotonic() < until:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                group.last = True
                break
            group.items.append(item)
            _run_one(connection, group, alone=False)
        connection.execute("COMMIT")
        self._file.check()

    def _is_new_fault(self, error: BaseException) -> bool:
        """A fault is logged once for as long as it lasts; what it does to each caller they say."""
        is_new = str(error) != self._failing
        self._failing = str(error)
        return is_new


def _begin(connection: sqlite3.Connection, queued_at: float) -> None:
    """Take the write lock. Time that was spent in the queue counts: it went by behind others that
    waited for the same lock."""
    waited = time.monotonic() - queued_at
    patient = waited < _PATIENT_SECONDS
    if not patient:
        left = max(BUSY_SECONDS - waited, 0.0)
        connection.execute(f"PRAGMA busy_timeout={left * 1_000:.0f}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        raise StoreUnavailable(
            f"The database was locked by another program for {BUSY_SECONDS:.0f} seconds."
        ) from error
    finally:
        if not patient:
            connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1_000:.0f}")


def _run_one(connection: sqlite3.Connection, group: _Group, *, alone: bool) -> None:
    """Run the last function of the group; the first needs no savepoint, nothing stands before it.

    Raises when the whole transaction is lost: a full disk makes SQLite take all of it back.
    """
    item = group.items[-1]
    tx = SqliteTx(connection)
    if not alone:
        connection.execute("SAVEPOINT f")
    try:
        item.result = item.fn(tx)
    except BaseException as error:
        if not connection.in_transaction:
            raise
        item.error = error
        if alone:
            connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
        else:
            connection.execute("ROLLBACK TO f")
            connection.execute("RELEASE f")
        return
    if not connection.in_transaction:
        raise sqlite3.OperationalError("the transaction was taken back by the database")
    if not alone:
        connection.execute("RELEASE f")
    group.callbacks.extend(tx.callbacks)


def _data_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        with contextlib.suppress(sqlite3.Error):
            connection.close()


def _call(callback: Callable[[], None]) -> None:
    """A callback must not take the writer down."""
    try:
        callback()
    except BaseException:
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
        if item.future.done():  # cancelled
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)
