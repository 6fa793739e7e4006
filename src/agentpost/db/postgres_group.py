"""Write functions that share a transaction of PostgreSQL: one connection of this node commits what
waits, as SQLite's writer does (`sqlite_group`).

A group is the fast way, and nobody depends on it. Whatever stands against it takes the whole group
back, and each of its functions runs again in a transaction of its own (`postgres`): one that failed
after it wrote, a deadlock, a connection that broke before COMMIT was sent. A group holds the row
locks of all its functions, so it must not wait for others: it gives up at a lock that is not free
within `_LOCK_MILLISECONDS`.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog
from psycopg import Error, OperationalError

from agentpost.db.postgres_pipeline import Pipeline, PipelinedConnection, PostgresTx
from agentpost.db.queued import Write, call, resolve

log = structlog.get_logger(__name__)

BEGIN: Final = b"BEGIN"
_FUNCTIONS_MAX: Final = 256
_SECONDS_MAX: Final = 0.01
_LOCK_MILLISECONDS: Final = 10
_AWAY_SECONDS: Final = 0.5
"""How long functions run singly after the connection could not be made."""


class GroupWriter:
    """A thread that commits groups, and its connection.

    Args:
        connect: makes a connection; blocks, and raises `psycopg.Error`.
        singly: runs a function elsewhere, in a transaction of its own, and resolves it.
        lost: called when the connection has broken.
    """

    def __init__(
        self,
        connect: Callable[[], PipelinedConnection],
        singly: Callable[[Write], None],
        lost: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._singly = singly
        self._lost = lost
        self._queue: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._connection: PipelinedConnection | None = None
        self._away_until = 0.0
        self._thread = threading.Thread(target=self._run, name="db-write", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def put(self, item: Write) -> None:
        """Commit a function, with others."""
        self._queue.put(item)

    def stop(self) -> None:
        """Finish what was put. Blocks; nothing may be put any more."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Nothing that fails on the way ends the thread."""
        group = _Group()
        while not group.last:
            item = self._queue.get()
            if item is None:
                break
            group = _Group(item)
            if time.monotonic() < self._away_until:
                self._each_singly(group)
                continue
            try:
                self._write(group)
            except BaseException as error:
                if not isinstance(error, Error):
                    log.exception("group_failed")
                self._drop()
                self._each_singly(group)
        self._drop()

    def _write(self, group: _Group) -> None:
        """Commit the group, or leave it to be run singly; raises when the connection cannot be used
        and nothing was committed."""
        pipeline = self._connected().statements
        pipeline.begin(BEGIN)
        try:
            group.run(pipeline, self._queue)
            pipeline.settle()
        except Exception as error:
            pipeline.rollback()
            if len(group.items) == 1 and not isinstance(error, OperationalError):
                group.items[0].error = error  # its own, and again it would be the same
                resolve(group.items)
            else:
                self._each_singly(group)
            return
        try:
            pipeline.commit()
        except Exception as error:
            if not self._connected_still():
                # It was committed, or not: nobody knows, so nobody runs it again.
                for item in group.items:
                    item.error = error
            else:  # a statement that nobody had waited for
                pipeline.rollback()
                self._each_singly(group)
                return
        else:
            for item in group.items:
                for callback in item.callbacks:
                    call(callback)
        resolve(group.items)

    def _each_singly(self, group: _Group) -> None:
        for item in group.items:
            item.error, item.callbacks = None, []
            self._singly(item)

    def _connected(self) -> PipelinedConnection:
        if self._connection is None or self._connection.closed:
            self._away_until = time.monotonic() + _AWAY_SECONDS
            connection = self._connect()
            connection.execute(f"SET lock_timeout = {_LOCK_MILLISECONDS}".encode())
            self._connection = connection
            self._away_until = 0.0
        return self._connection

    def _connected_still(self) -> bool:
        """Whether the connection lives; lets go of one that does not."""
        if self._connection is not None and self._connection.closed:
            self._drop()
        return self._connection is not None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            if connection.closed:
                call(self._lost)
            with contextlib.suppress(Error):
                connection.close()


class _Group:
    """Functions that share a commit.

    Attributes:
        last: the queue said that nothing comes any more.
    """

    def __init__(self, *items: Write) -> None:
        self.items = list(items)
        self.last = False

    def run(self, pipeline: Pipeline, waiting: queue.SimpleQueue[Write | None]) -> None:
        """Run the first function, and what waits, in the transaction that has begun."""
        until = time.monotonic() + _SECONDS_MAX
        _run_one(pipeline, self.items[0])
        while len(self.items) < _FUNCTIONS_MAX and time.monotonic() < until:
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            if item is None:
                self.last = True
                return
            self.items.append(item)
            _run_one(pipeline, item)


def _run_one(pipeline: Pipeline, item: Write) -> None:
    """Run a function. Raises when what it did has to be taken back, and when a statement failed,
    its own or one of a function before it: that, not what the function raised because of it."""
    tx = PostgresTx(pipeline)
    try:
        item.result = item.fn(tx)
    except Exception as error:
        if tx.has_written and not pipeline.failed:
            pipeline.flush()  # raises, if a change that the function relied on was none
        if tx.has_written or pipeline.failed:
            raise
        item.error = error
    else:
        item.callbacks = tx.callbacks
