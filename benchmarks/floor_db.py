"""The floor's store: one SQLite file, one writer thread that commits many writes with one fsync."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

GROUP_MAX = 256

SCHEMA = """
CREATE TABLE IF NOT EXISTS messages(
    id TEXT PRIMARY KEY, conversation TEXT NOT NULL, text TEXT NOT NULL, status TEXT NOT NULL,
    reply TEXT, job TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, settled_at TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries(
    message_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, text TEXT NOT NULL,
    at TEXT NOT NULL, PRIMARY KEY (message_id, seq)
) WITHOUT ROWID;
"""

Statement: TypeAlias = tuple[str, Sequence[object]]
Write: TypeAlias = tuple[tuple[Statement, ...], asyncio.Future[None]]


class Store:
    """Durable writes in groups, reads by id. Made and used on one event loop."""

    def __init__(self, path: Path) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._reader = connect(path)
        self._reader.executescript(SCHEMA)
        self._thread = threading.Thread(target=self._run, args=(path,), name="writer")
        self._thread.start()

    def write(self, *statements: Statement) -> asyncio.Future[None]:
        """Queue one transaction; the future is done once it is on the disk."""
        future: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((statements, future))
        return future

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """A read of what is committed."""
        return self._reader.execute(sql, values).fetchall()

    def close(self) -> None:
        """Commit what is queued and stop the thread."""
        self._queue.put(None)
        self._thread.join()
        self._reader.close()

    def _run(self, path: Path) -> None:
        connection = connect(path)
        while (first := self._queue.get()) is not None:
            group = [first]
            stopping = False
            while len(group) < GROUP_MAX and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    stopping = True
                    break
                group.append(following)
            self._commit(connection, group)
            if stopping:
                break
        connection.close()

    def _commit(self, connection: sqlite3.Connection, group: list[Write]) -> None:
        error: Exception | None = None
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statements, _ in group:
                for sql, values in statements:
                    connection.execute(sql, values)
            connection.execute("COMMIT")
        except sqlite3.Error as caught:
            connection.rollback()
            error = caught
        self._loop.call_soon_threadsafe(settle, [future for _, future in group], error)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that commits only when told, and then waits for the disk."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def settle(futures: list[asyncio.Future[None]], error: Exception | None) -> None:
    """Tell everybody in the group at once."""
    for future in futures:
        if future.cancelled():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)
