"""Write functions that share a transaction of SQLite, and its one fsync.

Every function that waits in the queue joins the open transaction (WAL, ``synchronous=FULL``). Under
load that is what makes full durability free; alone, a write is committed at once, since nobody else
is waiting.

A function that fails must not take the others' work with it, and few fail. A savepoint for each
would add a quarter to what the functions cost: SQLite copies every page that they change. So when
one fails, all is taken back and the functions of its group run again, in savepoints.
"""

import queue
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agentpost.db.queued import Write
from agentpost.db.session import Params, Row
from agentpost.domain.errors import StoreUnavailable

_FUNCTIONS_MAX = 256
_SECONDS_MAX = 0.02
BUSY_SECONDS = 30.0
"""How long a write waits for the database while another program holds its lock."""
_PATIENT_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class SqliteTx:
    """A transaction of SQLite: every statement runs at once."""

    connection: sqlite3.Connection
    callbacks: list[Callable[[], None]] = field(default_factory=list)
    facts: set[tuple[str, str]] = field(default_factory=set)
    counts: bool = True

    def execute(self, sql: str, params: Params = ()) -> int:
        return self.connection.execute(sql, params).rowcount

    def execute_nowait(self, sql: str, params: Params = ()) -> None:
        self.connection.execute(sql, params)

    def update_exactly_one(self, sql: str, params: Params, error: Exception) -> None:
        if self.connection.execute(sql, params).rowcount != 1:
            raise error

    def lock(self, sql: str, params: Params) -> None:
        """Nothing: there is one writer."""

    def prefetch(self, sql: str, params: tuple[Any, ...]) -> None:
        """Nothing: a query costs the same at any time."""

    def exclude_from_changes(self) -> None:
        self.counts = False

    def one(self, sql: str, params: Params = ()) -> Row | None:
        row: Row | None = self.connection.execute(sql, params).fetchone()
        return row

    def all(self, sql: str, params: Params = ()) -> list[Row]:
        return self.connection.execute(sql, params).fetchall()

    def after(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)


@dataclass(slots=True)
class Group:
    """Functions that share a commit, of which there is always a first.

    Attributes:
        last: the queue said that nothing comes any more.
        ran_again: one of them failed and the others had to run a second time.
    """

    items: list[Write]
    last: bool = False
    ran_again: bool = False

    def run(
        self,
        connection: sqlite3.Connection,
        waiting: queue.SimpleQueue[Write | None],
        *,
        careful: bool,
    ) -> None:
        """Begin a transaction and run what waits in it; the commit is the caller's. ``careful``: in
        savepoints from the start, so that nothing has to run again."""
        _begin(connection, self.items[0].queued_at)
        until = time.monotonic() + _SECONDS_MAX
        _run_one(connection, self.items[0], in_savepoint=False)  # nothing stands before it
        while len(self.items) < _FUNCTIONS_MAX and time.monotonic() < until:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                break
            if item is None:
                self.last = True
                break
            self.items.append(item)
            if not _run_one(connection, item, in_savepoint=careful or self.ran_again):
                self.ran_again = True
                for each in self.items:
                    _run_one(connection, each, in_savepoint=True)


def _begin(connection: sqlite3.Connection, queued_at: float) -> None:
    """Take the write lock. Time that was spent in the queue counts: it went by behind others that
    waited for the same lock."""
    seconds = time.monotonic() - queued_at
    patient = seconds < _PATIENT_SECONDS
    if not patient:
        left = max(BUSY_SECONDS - seconds, 0.0)
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


def _run_one(connection: sqlite3.Connection, item: Write, *, in_savepoint: bool) -> bool:
    """Run a function, perhaps once more. Returns False when it failed outside of a savepoint: then
    what stood before it in the transaction was taken back as well. Raises when the whole
    transaction is lost: a full disk makes SQLite take all of it back."""
    tx = SqliteTx(connection)
    item.error, item.callbacks, item.changed = None, [], False
    before = connection.total_changes
    if in_savepoint:
        connection.execute("SAVEPOINT f")
    try:
        item.result = item.fn(tx)
    except BaseException as error:
        if not connection.in_transaction:
            raise
        item.error = error
        if in_savepoint:
            connection.execute("ROLLBACK TO f")
            connection.execute("RELEASE f")
        else:
            connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
        return in_savepoint
    if not connection.in_transaction:
        raise sqlite3.OperationalError("the transaction was taken back by the database")
    if in_savepoint:
        connection.execute("RELEASE f")
    item.callbacks = tx.callbacks
    item.changed = tx.counts and connection.total_changes > before
    return True
