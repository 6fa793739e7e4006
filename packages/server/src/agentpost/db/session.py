"""The database port: a transaction is a plain synchronous function of a connection.

``await db.write(fn)`` runs ``fn(tx)`` in a write transaction and returns what it returned once the
commit is on disk. The function may be run again (a deadlock, a lost group), so it has no side
effect besides its SQL; what has to follow the commit is registered with ``tx.after`` and is started
by whoever commits, so nothing depends on the caller still being there.

SQL is one text for both databases: parameters are ``?``, and the comments ``/*for update*/`` and
``/*skip locked*/`` stand where PostgreSQL takes row locks (SQLite has one writer and reads past
them). Contract of the adapters: `tests.conformance.test_database`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Params = Sequence[Any]
UNHEARD = "unheard"
"""A fact of an account: it has no webhook endpoint and reads no events."""
NO_FILES = "no files"
"""A fact of a job: it has written none."""
Row = tuple[Any, ...]


class Tx(Protocol):
    """One transaction. `execute_nowait`, `update_exactly_one`, `lock` and `prefetch` save round
    trips to a database server; on SQLite they are plain statements, or nothing.

    Attributes:
        facts: what its functions have read and hold until the commit, as a word and the id it is
            said of: it spares later functions of the same transaction a query.
    """

    facts: set[tuple[str, str]]

    def execute(self, sql: str, params: Params = ()) -> int:
        """Run a statement and return the number of rows it changed."""

    def execute_nowait(self, sql: str, params: Params = ()) -> None:
        """Run a statement without waiting for its answer. Its error is raised by a later statement,
        or instead of the commit."""

    def update_exactly_one(self, sql: str, params: Params, error: Exception) -> None:
        """Run a statement that must change one row; raises ``error`` when it does not, at once or
        as `execute_nowait` raises."""

    def lock(self, sql: str, params: Params) -> None:
        """Run a query that locks rows, without reading its answer. Does nothing where a write
        transaction is alone anyway."""

    def prefetch(self, sql: str, params: tuple[Any, ...]) -> None:
        """Send a query together with the next statement, for `one` or `all` to return its answer
        when they are called with the same arguments later in the transaction. The answer may be of
        this moment, and it need not be read."""

    def exclude_from_changes(self) -> None:
        """Do not count this transaction in `Database.changes`: it takes back what it changes."""

    def one(self, sql: str, params: Params = ()) -> Row | None:
        """The first row, or None."""

    def all(self, sql: str, params: Params = ()) -> list[Row]:
        """All rows."""

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once the transaction is committed; must be quick and safe on any thread."""


def scalar(tx: Tx, sql: str, params: Params = ()) -> Any:
    """The first value of a query that always has a row, such as a count."""
    row = tx.one(sql, params)
    assert row is not None
    return row[0]


class Database(Protocol):
    """A database with its schema in place. Usable from any thread and any event loop."""

    @property
    def external_commits(self) -> int | None:
        """How often another process was found to have committed, since `open`; within a second of
        it. None: that cannot be seen here, so anything may change at any time."""

    @property
    def changes(self) -> int | None:
        """Grows with every commit that changed a row, ours and other processes'; None as above."""

    def open(self) -> None:
        """Connect and start the threads. Blocks."""

    def close(self) -> None:
        """Finish what was accepted, then disconnect. Blocks. What comes later is refused with
        `DatabaseClosed`."""

    async def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in a write transaction; returns after the commit, raises what it raised."""

    async def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` on a consistent snapshot; it must not write."""

    def read_now(self, fn: Callable[[Tx], T]) -> T:
        """`read` on the calling thread. Blocks: for short point reads only."""


class DedicatedConnection(Protocol):
    """A connection beside all others, for one thread: nobody else's work holds it up."""

    def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in a write transaction, once. Blocks. Raises when the session has broken;
        the next call begins another one. Nothing can follow its commit."""

    def time(self) -> int | None:
        """The database's own clock, in microseconds since 1970 UTC; None where that is this
        machine's. Blocks and raises as `write` does."""

    def close(self) -> None:
        """Disconnect; safe on another thread."""


class DatabaseBusy(Exception):
    """Another process holds the database; the text says which and what to do."""


class DatabaseClosed(Exception):
    """The database is closed, or closing: the transaction did not begin."""
