"""Statements to PostgreSQL without a round trip for each: those whose answer nobody needs yet wait,
and go to the server together with the next one that is asked for an answer.

It stands directly on libpq, as psycopg exposes it: psycopg's own pipeline takes three to four times
the CPU time (benchmarks/pipeline.py: 0.05 ms more for a statement, 2.5 ms for the 48 statements of
a job of one step, which takes 5 ms in all).
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from psycopg import Connection, OperationalError, errors, pq
from psycopg.adapt import PyFormat, Transformer

from agentpost.db.session import Params, Row
from agentpost.domain.errors import StoreUnavailable, reason_of

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

COMMIT: Final = "COMMIT"
PREPARED_MAX: Final = 500
_PREPARE_AFTER: Final = 2
"""How often a statement is sent as text before the server keeps it prepared."""
_AUTO: Final = [PyFormat.AUTO]
_WAITING_MAX: Final = 200
"""Statements that wait for their answers at most: neither side has to hold more."""


@lru_cache(maxsize=1024)
def translate(sql: str) -> bytes:
    """Our one SQL text in this database's words. Our SQL has no literal ``?``."""
    first, *rest = sql.split("?")
    text = first + "".join(f"${n}{part}" for n, part in enumerate(rest, 1))
    return (
        text.replace("/*for update*/", "FOR UPDATE")
        .replace("/*skip locked*/", "FOR UPDATE SKIP LOCKED")
        .encode()
    )


class Pipeline:
    """Statements on one connection, in libpq's pipeline mode from the first until `leave`. For one
    thread at a time.

    Attributes:
        round_trips: how often it has waited for the server.
        answered: whether the server has answered since `begin`.
        failed: whether a statement or a check has failed since `begin`.
    """

    def __init__(self, connection: Connection[Row]) -> None:
        self.connection = connection
        self.round_trips = 0
        self.answered = False
        self.failed = False
        self._pgconn = connection.pgconn
        self._adapt = Transformer(connection)
        # What each statement whose answer is outstanding must have changed, see `send`.
        self._waiting: deque[Callable[[PGresult], None] | None] = deque()
        self._is_synced = True  # nothing was sent since the last sync
        self._syncs = 0  # whose answers are outstanding
        self._uses: dict[tuple[str, tuple[int, ...]], int] = {}
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._named = 0
        self._unconfirmed: list[tuple[str, tuple[int, ...]]] = []
        self._poll = select.poll()
        self._poll.register(self._pgconn.socket, select.POLLIN)

    def begin(self, statement: str) -> None:
        """Begin a transaction, with its first statement."""
        self.answered = self.failed = False
        self.send(statement, ())

    def send(
        self, sql: str, params: Params, check: Callable[[PGresult], None] | None = None
    ) -> None:
        """Send a statement with whatever is waited for next. ``check`` is called with its answer,
        and raises when that is wrong: out of whatever waits, at the latest `settle`. An error of
        the statement comes in the same way."""
        pgconn, adapt = self._pgconn, self._adapt
        if len(self._waiting) >= _WAITING_MAX:
            self.flush()
        self._enter()
        values: Sequence[Any] | None = None
        types: tuple[int, ...] = ()
        formats: Sequence[int] | None = None
        if params:
            values = adapt.dump_sequence(params, _AUTO * len(params))
            types, formats = adapt.types or (), adapt.formats
        key = (sql, types)
        name = self._names.get(key)
        if name is None:
            uses = self._uses[key] = self._uses.get(key, 0) + 1
            if uses <= _PREPARE_AFTER:
                pgconn.send_query_params(translate(sql), values, types, formats)
                self._waiting.append(check)
                if len(self._uses) > 2 * PREPARED_MAX:
                    self._uses.clear()
                return
            if len(self._names) >= PREPARED_MAX:
                self._pgconn.send_query_params(b"DEALLOCATE ALL", None)
                self._waiting.append(None)
                self._names.clear()
            self._named += 1
            name = self._names[key] = b"s%d" % self._named
            self._unconfirmed.append(key)
            self._pgconn.send_prepare(name, translate(key[0]), key[1])
            self._waiting.append(None)
        pgconn.send_query_prepared(name, values, formats)
        self._waiting.append(check)

    def answer(self) -> PGresult:
        """The answer of the last statement sent; raises what it, or one before it, failed with."""
        self._pgconn.send_flush_request()
        result = self._take_all()
        assert result is not None
        return result

    def rows(self) -> list[Row]:
        """The rows of the last statement sent; raises as `answer`."""
        return self.load_rows(self.answer())

    def load_rows(self, result: PGresult) -> list[Row]:
        """The rows of an answer."""
        self._adapt.set_pgresult(result)
        return self._adapt.load_rows(0, result.ntuples, tuple)

    def flush(self) -> None:
        """Wait for everything sent; raises as `answer`."""
        if self._waiting:
            self.answer()

    def settle(self) -> None:
        """Let every check pass, on a connection that has answered since `begin`: what fails from
        here on is the commit. Raises as `answer`."""
        if not self.answered or any(self._waiting):
            self.flush()
        while self._poll.poll(0):  # no answer is to come
            self._pgconn.consume_input()  # raises at the end of the connection
        if self._pgconn.status != pq.ConnStatus.OK:
            raise OperationalError("the connection was lost before the commit")

    def commit(self) -> None:
        """Commit, after `settle`; raises as `answer`, and `StoreUnavailable` when the connection
        breaks meanwhile: then the transaction may have been committed."""
        try:
            status = self._end(COMMIT)
        except OperationalError as error:
            if not self.connection.closed:
                raise
            text = f"The connection to the database broke during a commit ({reason_of(error)})."
            raise StoreUnavailable(text) from error
        if status != COMMIT:
            raise OperationalError("the transaction had failed, and was taken back")

    def end_reading(self) -> None:
        """End a transaction that has only read, and wait for nobody: the answer comes before those
        of the next transaction."""
        self.flush()
        self.send(COMMIT, ())
        self._sync()
        if self._pgconn.flush():
            self.leave()  # it must reach the server now

    def rollback(self) -> None:
        """Take the transaction back; raises `OperationalError` when the connection is broken."""
        self._enter()
        self._sync()
        try:
            self._take_all(to_sync=True)
        except Exception:  # of statements that are taken back
            if self.connection.closed:
                raise
        if self._pgconn.transaction_status != pq.TransactionStatus.IDLE:
            self._end("ROLLBACK")

    def leave(self) -> None:
        """Wait for everything sent, and leave the connection as psycopg expects it."""
        if self._pgconn.pipeline_status != pq.PipelineStatus.OFF:
            if not self._is_synced:
                self._sync()
            if self._syncs:
                self._take_all(to_sync=True)
            self._pgconn.exit_pipeline_mode()

    # --- parts ------------------------------------------------------------------------------------
    def _enter(self) -> None:
        self._is_synced = False
        if self._pgconn.pipeline_status == pq.PipelineStatus.OFF:
            self._pgconn.enter_pipeline_mode()

    def _sync(self) -> None:
        self._pgconn.pipeline_sync()
        self._is_synced = True
        self._syncs += 1

    def _end(self, statement: str) -> str:
        self.send(statement, ())
        self._sync()
        result = self._take_all(to_sync=True)
        return "" if result is None else (result.command_status or b"").decode()

    def _take_all(self, *, to_sync: bool = False) -> PGresult | None:
        """Take the answers of all that waits, and with ``to_sync`` of all syncs; the last of them.

        After a failed statement the server skips everything up to a sync: that is sent, so the
        connection can be used again, and then the failure is raised.
        """
        self.round_trips += 1
        pgconn = self._pgconn
        unsent = pgconn.flush()
        last: PGresult | None = None
        failed: Exception | None = None
        while self._waiting or (to_sync and self._syncs):
            if unsent or pgconn.is_busy():
                unsent = self._exchange(unsent)
                continue
            result = pgconn.get_result()
            if result is None:
                continue  # ends the results of a statement
            status = result.status
            if status == pq.ExecStatus.PIPELINE_SYNC:
                self._syncs -= 1
                continue
            check = self._waiting.popleft()
            self.answered = True
            if status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
                last = result
                if check is not None and failed is None:
                    failed = _run_check(check, result)
            elif status == pq.ExecStatus.FATAL_ERROR:
                failed = errors.error_from_result(result)
                if not to_sync:
                    self._sync()
                    unsent = pgconn.flush()
                    to_sync = True
            elif failed is None:
                failed = OperationalError("a statement was not run")
        keys, self._unconfirmed = self._unconfirmed, []
        if failed is not None:
            self.failed = True
            for key in keys:
                self._names.pop(key, None)
            raise failed
        return last

    def _exchange(self, unsent: int) -> int:
        """Wait until more has come, or can be sent; what is left to send."""
        pgconn = self._pgconn
        if unsent:
            self._poll.modify(pgconn.socket, select.POLLIN | select.POLLOUT)
            self._poll.poll()
            self._poll.modify(pgconn.socket, select.POLLIN)
        else:
            self._poll.poll()
        pgconn.consume_input()
        return pgconn.flush() if unsent else 0


class PipelinedConnection(Connection[Row]):
    """A connection with its `Pipeline`."""

    _statements: Pipeline | None = None

    @property
    def statements(self) -> Pipeline:
        """The same one as long as the connection lasts: it knows what is prepared."""
        if self._statements is None:
            self._statements = Pipeline(self)
        return self._statements


def _run_check(check: Callable[[PGresult], None], result: PGresult) -> Exception | None:
    try:
        check(result)
    except Exception as error:
        return error
    return None


class PostgresTx:
    """A transaction of PostgreSQL."""

    __slots__ = ("_ahead", "_pipeline", "callbacks", "facts", "has_written")

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._ahead: dict[tuple[str, Params], list[Row]] = {}  # not of another function's queries
        self.callbacks: list[Callable[[], None]] = []
        self.facts: set[tuple[str, str]] = set()
        self.has_written = False

    def execute(self, sql: str, params: Params = ()) -> int:
        self.has_written = True
        self._pipeline.send(sql, params)
        return self._pipeline.answer().command_tuples or 0

    def execute_nowait(self, sql: str, params: Params = ()) -> None:
        self.has_written = True
        self._pipeline.send(sql, params)

    def update_exactly_one(self, sql: str, params: Params, error: Exception) -> None:
        def check(result: PGresult) -> None:
            if result.command_tuples != 1:
                raise error

        self.has_written = True
        self._pipeline.send(sql, params, check)

    def lock(self, sql: str, params: Params) -> None:
        self._pipeline.send(sql, params)

    def prefetch(self, sql: str, params: tuple[Any, ...]) -> None:
        def keep(result: PGresult) -> None:
            self._ahead[sql, params] = self._pipeline.load_rows(result)

        self._pipeline.send(sql, params, keep)

    def exclude_from_changes(self) -> None:
        """Nothing: changes are not counted here."""

    def one(self, sql: str, params: Params = ()) -> Row | None:
        rows = self.all(sql, params)
        return rows[0] if rows else None

    def all(self, sql: str, params: Params = ()) -> list[Row]:
        rows = self._ahead.pop((sql, tuple(params)), None) if self._ahead else None
        if rows is not None:
            return rows
        if not sql.startswith("SELECT"):  # a change that returns what it changed
            self.has_written = True
        self._pipeline.send(sql, params)
        return self._pipeline.rows()

    def after(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)
