"""Write functions that share a transaction of PostgreSQL: one connection of this node commits what
waits, as SQLite's writer does (`sqlite_group`). With `postgres_pipeline` it halved the CPU time of
an echo, from 5.8 to 2.7 ms, and its commits went from 3.6 to 0.8 (benchmarks/README.md: On
PostgreSQL).

A group is the fast way, and nobody depends on it. Whatever stands against it takes the whole group
back, and each of its functions runs again in a transaction of its own (`postgres`): one that failed
after it wrote, a connection that broke before COMMIT was sent. A group holds the row locks of all
its functions, so it must not wait for others: it gives up at a lock that is not free within
`_LOCK_MILLISECONDS`. Then it begins again with the function that met the lock: the first one holds
no locks but its own, so it may wait, as long as nobody else's work is held up for long.
"""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog
from psycopg import Error, OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

from agentpost.db.postgres_pipeline import Pipeline, PipelinedConnection, PostgresTx
from agentpost.db.queued import Write, call, resolve
from agentpost.domain.sqlstates import ends_session

log = structlog.get_logger(__name__)

BEGIN: Final = "BEGIN"
_FUNCTIONS_MAX: Final = 256
_SECONDS_MAX: Final = 0.01
_LOCK_MILLISECONDS: Final = 10
_PATIENT_MILLISECONDS: Final = 100
"""For a lock that the first function of a group waits for, which met it before."""
_SET_LOCK: Final = "SET LOCAL lock_timeout = {}"
_BEGINNINGS_MAX: Final = 3
"""How often a group begins before its functions run singly."""
_HURRIED_SECONDS: Final = 1.0
"""How long no function is waited for, after one was in vain."""
_AWAY_SECONDS: Final = 0.5
"""How long functions run singly after the connection could not be made."""


class GroupWriter:
    """A thread that commits groups, and its connection.

    Args:
        connect: makes a connection; blocks, and raises `psycopg.Error`.
        singly: runs a function elsewhere, in a transaction of its own, and resolves it.
        on_loss: called when the connection has broken.
    """

    def __init__(
        self,
        connect: Callable[[], PipelinedConnection],
        singly: Callable[[Write], None],
        on_loss: Callable[[], None],
    ) -> None:
        self._connect = connect
        self._singly = singly
        self._lost = on_loss
        self._queue: queue.SimpleQueue[Write | None] = queue.SimpleQueue()
        self._connection: PipelinedConnection | None = None
        self._away_until = self._hurried_until = 0.0
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
        group = _Group(self._queue)
        while not group.last:
            item = self._queue.get()
            if item is None:
                break
            group = _Group(self._queue, item)
            if time.monotonic() < self._away_until:
                self._singly(item)
                continue
            try:
                self._write(group)
            except BaseException as error:
                if not isinstance(error, Error):
                    log.exception("group_failed")
                self._drop()
                self._each_singly(group)
        self._drop()

    def _write(self, group: "_Group") -> None:
        """Commit the group, or leave it to be run singly; raises when the connection cannot be used
        and nothing was committed."""
        pipeline = self._reconnect().statements
        while group.items:
            pipeline.begin(BEGIN)
            try:
                group.run(pipeline)
                pipeline.settle()
            except Exception as error:
                pipeline.rollback()
                if ends_session(error):
                    raise
                if not self._begins_again(group, error):
                    return
            else:
                self._commit(pipeline, group)
                return

    def _begins_again(self, group: "_Group", error: Exception) -> bool:
        """A group was taken back: make it ready to run again, or leave its functions to others."""
        if len(group.items) == 1 and not isinstance(error, OperationalError):
            group.items[0].error = error  # its own, and again it would be the same
            resolve(group.items)
            return False
        met_lock = isinstance(error, (LockNotAvailable, DeadlockDetected)) and group.at is not None
        if not met_lock or time.monotonic() < self._hurried_until:
            self._each_singly(group)
            return False
        if group.beginnings > 1 and group.at == 0:  # it has been waited for
            self._hurried_until = time.monotonic() + _HURRIED_SECONDS
            self._run_singly(group.items.pop(0))
        elif group.beginnings >= _BEGINNINGS_MAX:
            self._each_singly(group)
            return False
        else:
            # Begin again with the function that ran last; none has run.
            assert group.at is not None, "one was running"
            group.items.insert(0, group.items.pop(group.at))
            for item in group.items:
                item.error, item.callbacks = None, []
        return True

    def _commit(self, pipeline: Pipeline, group: "_Group") -> None:
        try:
            pipeline.commit()
        except Exception as error:
            if not self._connected_still():
                # It was committed, or not: nobody knows, so nobody runs it again.
                for item in group.items:
                    item.error = error
            else:  # a statement that nobody had waited for
                pipeline.rollback()
                if ends_session(error):
                    raise
                self._each_singly(group)
                return
        else:
            for item in group.items:
                for callback in item.callbacks:
                    call(callback)
        resolve(group.items)

    def _each_singly(self, group: "_Group") -> None:
        for item in group.items:
            self._run_singly(item)

    def _run_singly(self, item: Write) -> None:
        item.error, item.callbacks = None, []
        self._singly(item)

    def _reconnect(self) -> PipelinedConnection:
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

    Args:
        waiting: where more of them come from.

    Attributes:
        last: the queue said that nothing comes any more.
        beginnings: how often it has begun to run.
        at: the place of the function that runs; None when all have.
    """

    def __init__(self, waiting: queue.SimpleQueue[Write | None], *items: Write) -> None:
        self.items = list(items)
        self.last = False
        self.beginnings = 0
        self.at: int | None = None
        self._waiting = waiting

    def run(self, pipeline: Pipeline) -> None:
        """Run the functions, and what waits, in the transaction that has begun."""
        self.beginnings += 1
        is_patient = self.beginnings > 1
        if is_patient:
            pipeline.send(_SET_LOCK.format(_PATIENT_MILLISECONDS), ())
        until = time.monotonic() + _SECONDS_MAX
        self.at = 0
        while self.at < len(self.items):
            _run_one(pipeline, self.items[self.at])
            self.at += 1
            if self.at == 1 and is_patient:
                pipeline.send(_SET_LOCK.format(_LOCK_MILLISECONDS), ())
                until = time.monotonic() + _SECONDS_MAX  # it may have waited for longer
            if self.at == len(self.items) < _FUNCTIONS_MAX and time.monotonic() < until:
                self._take_one()
        self.at = None

    def _take_one(self) -> None:
        if self.last:
            return
        try:
            item = self._waiting.get_nowait()
        except queue.Empty:
            return
        if item is None:
            self.last = True
        else:
            self.items.append(item)


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
