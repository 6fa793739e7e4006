"""SQLite: one writer thread that commits in groups (`sqlite_group`), readers beside it."""

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import structlog

from agentpost.db.queued import Write, call, resolve
from agentpost.db.session import DatabaseClosed, Tx
from agentpost.db.sqlite_group import BUSY_SECONDS, Group, SqliteTx
from agentpost.domain.errors import StoreUnavailable

T = TypeVar("T")
log = structlog.get_logger(__name__)

_CAREFUL_SECONDS = 1.0
"""How long functions run in savepoints after one has failed: whoever makes them fail on purpose
makes others run again once in that time, and no more."""
READERS = 2
_CHECKPOINT_ROWS = 400
"""After so many changed rows the writer copies the log into the database when nobody waits for it:
about a thousand pages, after which SQLite by itself would do it inside of a commit."""
_LOG_PAGES_MAX = 4_000
"""A commit that makes the log this long copies it nevertheless: somebody waited all the time."""
_LOG_BYTES_MAX = 4_096 * _LOG_PAGES_MAX
"""So long the log stays when it is used again from its beginning; one that somebody read may have
grown longer."""
_LOG_BYTES_IDLE = 4 * 1024 * 1024
"""A longer log is emptied when there is nothing to write: making it longer again costs time."""
_STOP_BUSY_SECONDS = 1.0


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
    connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES_MAX}")
    connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES_MAX}")
    return connection


class SqliteDatabase:
    """`Database` on a file of SQLite.

    A connection on which something failed that is not the function's own fault is closed, and the
    next function gets a new one: after an I/O error its state is unknown. Writes raise
    `StoreUnavailable` after `BUSY_SECONDS` of waiting for another program's lock, and when what
    they wrote to is not the file at ``path`` any more.

    Args:
        path: the database file; its schema must be there.
        durability: ``full`` (an answered write survives a power cut) or ``normal``.
        on_external_commit: called on the writer thread when another process has committed.
        external_check_seconds: how often to look for that.
    """

    def __init__(
        self,
        path: Path,
        *,
        durability: str = "full",
        on_external_commit: Callable[[], None] | None = None,
        external_check_seconds: float = 0.5,
    ) -> None:
        self._path = path
        self._file = DatabaseFile(path)
        self._durability = durability
        self._on_external_commit = on_external_commit
        self._external_check_seconds = external_check_seconds
        self._queue: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._accepting = threading.Lock()  # nothing is queued behind the None that ends the thread
        self._open = False
        self._idle_readers: list[sqlite3.Connection] = []
        self._has_ended = False
        self._reads: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._readers: list[threading.Thread] = []
        self._writer: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None  # the writer thread's
        self._seen_version: int | None = None
        self._failing = ""  # the writer's last fault, until something was committed again
        self._careful_until = 0.0  # functions run in savepoints
        self._external_commits = 0
        self._own_changes = 0
        self._copied_rows = 0  # of the writer's connection, by `total_changes`

    @property
    def external_commits(self) -> int | None:
        return self._external_commits

    @property
    def changes(self) -> int | None:
        return self._own_changes + self._external_commits

    def open(self) -> None:
        self._seen_version = _data_version(self._open_connection())
        self._readers = [
            threading.Thread(target=self._serve_reads, name=f"db-read-{n}", daemon=True)
            for n in range(READERS)
        ]
        self._writer = threading.Thread(target=self._run, name="db-write", daemon=True)
        self._open = True
        for thread in (self._writer, *self._readers):
            thread.start()

    def close(self) -> None:
        with self._accepting:
            if self._open:
                self._open = False
                self._queue.put(None)
                for _ in self._readers:
                    self._reads.put(None)
        if self._writer is None:
            return
        self._writer.join()
        self._writer = None
        for thread in self._readers:
            thread.join()
        self._readers = []
        with self._accepting:
            self._has_ended = True
            while self._idle_readers:
                _close(self._idle_readers.pop())
        # Copy the log into the database and close it, so that a copy of the one file is whole. The
        # log stays while another program has the database open.
        with contextlib.suppress(sqlite3.Error, StoreUnavailable):
            _truncate_log(self._open_connection(), busy_seconds=_STOP_BUSY_SECONDS)
        self._drop_connection()

    async def write(self, fn: Callable[[Tx], T]) -> T:
        return await self._put(self._queue, fn)

    async def read(self, fn: Callable[[Tx], T]) -> T:
        return await self._put(self._reads, fn)

    def _put(
        self, items: queue.SimpleQueue[Write | None], fn: Callable[[Tx], T]
    ) -> asyncio.Future[T]:
        """Queue the function; its result. Raises `DatabaseClosed`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._accepting:
            if not self._open:
                raise DatabaseClosed("the database is closed")
            items.put(Write(fn, loop, future))
        return future

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        connection = self._take_reader()
        is_sound = True
        try:
            connection.execute("BEGIN")
            try:
                return fn(SqliteTx(connection))
            finally:
                connection.execute("COMMIT")
        except sqlite3.Error:
            is_sound = False  # else a transaction that could not be ended would refuse later reads
            raise
        finally:
            with self._accepting:
                if is_sound and not self._has_ended:
                    self._idle_readers.append(connection)
                else:
                    _close(connection)

    def _take_reader(self) -> sqlite3.Connection:
        with contextlib.suppress(IndexError):
            return self._idle_readers.pop()
        if self._has_ended:
            raise DatabaseClosed("the database is closed")
        self._file.check()  # connecting would make a file where there is none
        connection = connect(self._path)
        connection.execute("PRAGMA query_only=ON")
        return connection

    def _serve_reads(self) -> None:
        """Serve reads until the queue says to stop. Not an executor's threads: these take half the
        CPU time for short reads that come together."""
        while (item := self._reads.get()) is not None:
            if item.future.cancelled():
                continue
            try:
                item.result = self.read_now(item.fn)
            except BaseException as error:
                item.error = error
            resolve((item,))

    # --- the writer thread ------------------------------------------------------------------------
    def _run(self) -> None:
        """Serve the queue until it says to stop; nothing that fails on the way ends the thread."""
        checked_at = time.monotonic()
        stopping = False
        while not stopping:
            try:
                item = self._queue.get(timeout=self._external_check_seconds)
            except queue.Empty:
                # Empty a long log, now that there is nothing to write.
                if self._connection is not None and self._file.log_bytes() > _LOG_BYTES_IDLE:
                    with contextlib.suppress(sqlite3.Error):  # whoever reads it keeps it
                        _truncate_log(self._connection, busy_seconds=0)
            else:
                stopping = item is None or self._write_group(item)
            now = time.monotonic()
            if now - checked_at >= self._external_check_seconds:
                checked_at = now
                self._check_external_commits()
            self._copy_log()

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._file.check()  # connecting would make a file where there is none
            self._connection = connect(self._path, durability=self._durability)
            self._copied_rows = 0
            self._file.on_open()
        return self._connection

    def _drop_connection(self) -> None:
        connection, self._connection = self._connection, None
        self._seen_version = None  # versions of two connections cannot be compared
        self._file.on_close()
        _close(connection)

    def _copy_log(self) -> None:
        """Copy the log into the database, which takes milliseconds, when it is time and nobody
        waits: done by a commit, whoever waits for that waits for the copy as well."""
        connection = self._connection
        if connection is None or not self._queue.empty():
            return
        with contextlib.suppress(sqlite3.Error):  # as in a commit: the log has everything
            if connection.total_changes - self._copied_rows >= _CHECKPOINT_ROWS:
                self._copied_rows = connection.total_changes
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def _check_external_commits(self) -> None:
        try:
            version = _data_version(self._open_connection())
            self._file.check(is_writing=True)
        except BaseException as error:
            if self._is_new_fault(error):
                log.error("database_not_readable", error=str(error))
            self._drop_connection()
            return
        if version != self._seen_version:
            self._seen_version = version
            self._external_commits += 1
            if self._on_external_commit is not None:
                call(self._on_external_commit)

    def _write_group(self, first: Write) -> bool:
        """Commit a group and tell everybody in it how it went; True when the queue says to stop."""
        group = Group([first])
        careful = time.monotonic() < self._careful_until
        try:
            connection = self._open_connection()
            group.run(connection, self._queue, careful=careful)
            connection.execute("COMMIT")
            self._file.check(is_writing=True)
            self._own_changes += any(item.changed for item in group.items)
        except BaseException as error:
            self._drop_connection()  # that takes back whatever was done
            for item in group.items:
                item.error = error
            if self._is_new_fault(error):
                log.error("commit_failed", error=str(error))
        else:
            self._failing = ""
            for item in group.items:
                for callback in item.callbacks:
                    call(callback)
        finally:
            resolve(group.items)
        if group.ran_again:
            self._careful_until = time.monotonic() + _CAREFUL_SECONDS
        return group.last

    def _is_new_fault(self, error: BaseException) -> bool:
        """A fault is logged once for as long as it lasts; what it does to each caller they say."""
        is_new = str(error) != self._failing
        self._failing = str(error)
        return is_new


def _truncate_log(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Copy the log into the database and empty it, unless somebody uses it for so long."""
    connection.execute(f"PRAGMA busy_timeout={busy_seconds * 1_000:.0f}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1_000:.0f}")


def _data_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        with contextlib.suppress(sqlite3.Error):
            connection.close()


_Identity = tuple[int, int]


class DatabaseFile:
    """The database file and its write-ahead log, each known by device and inode."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log_path = path.with_name(f"{path.name}-wal")
        self._file: _Identity | None = None
        self._log: _Identity | None = None
        self._log_is_lost = False
        self._looking = threading.RLock()

    def on_open(self) -> None:
        """A connection was made. The first one decides which file it is for good.
        Raises `StoreUnavailable`."""
        if self._file is None:
            self._file = _identity(self.path)
        self.check()

    def log_bytes(self) -> int:
        """How long the log is."""
        try:
            return self._log_path.stat().st_size
        except OSError:
            return 0

    def on_close(self) -> None:
        """The connection that writes was closed: the log may have gone with it, unless it was lost
        before. Then readers still hold the lost one, and another in its place is not ours."""
        with self._looking:
            if not self._log_is_lost:
                self._log = None

    def check(self, *, is_writing: bool = False) -> None:
        """Raises `StoreUnavailable` when another file, or none, is where the open one was.
        ``is_writing``: the connection that writes is open, so SQLite has not removed the log."""
        if self._file is None:
            return
        if _identity(self.path) != self._file:
            raise StoreUnavailable(
                f"The open database is no longer the file at {self.path}: it was deleted, moved"
                " or replaced. Put it back or restore a backup, and start the server again."
            )
        with self._looking:
            known_log = self._log  # before looking: SQLite may make the log meanwhile
            log = _identity(self._log_path)
            is_missing = known_log is not None and log != known_log
            self._log_is_lost = is_missing and (is_writing or self._log_is_lost)
            if is_missing:
                raise StoreUnavailable(
                    f"{self._log_path} was deleted, moved or replaced while the database was open."
                    " Stop the server, check the database and start the server again."
                )
            if log is not None:
                self._log = log


def _identity(path: Path) -> _Identity | None:
    """None when there is nothing there, or it cannot be looked at."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
