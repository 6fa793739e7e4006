"""The connections of this node to PostgreSQL.

The one that was given back last is lent first: a read takes two thirds of the CPU time that it
takes with psycopg's own pool (benchmarks/README.md: On PostgreSQL). There all take turns: each has
statements to prepare and plans to make, and the server's caches serve nobody twice. And that pool
waits for the server when a connection comes back, where ours may have an answer outstanding
(`Pipeline.end_reading`).
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Final

import structlog
from psycopg import Error, OperationalError
from psycopg.pq import TransactionStatus

from agentpost.db.postgres_pipeline import PipelinedConnection
from agentpost.domain import backoff
from agentpost.domain.errors import StoreUnavailable

log = structlog.get_logger(__name__)

LINE_SECONDS: Final = 60.0
"""There is at most one line about a server that is away within so many."""
_CONNECT_SECONDS: Final = 5
_RETRY_SECONDS: Final = (0.2, 4.0)
"""The first pause after a connection could not be made, and the longest: a node that is slow to
come back after an outage of the server looks dead to the others."""
_IDLE_SECONDS: Final = 600.0
"""A connection that was not needed for so long is closed."""


class Outage:
    """The server's absence, as far as this process notices. Safe on any thread. ``now``: seconds of
    a clock that nobody sets."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._since: float | None = None
        self._failed_at = 0.0
        self._attempts = 0
        self._said_at = -LINE_SECONDS

    def note_failure(self, error: str) -> None:
        """A connection could not be made. ``error`` may have several lines; the first is logged."""
        with self._lock:
            now = self._now()
            # Only a new connection ends an outage, and a while without a failure.
            if self._since is None or now - self._failed_at >= LINE_SECONDS:
                self._since, self._attempts = now, 0
            self._failed_at = now
            self._attempts += 1
            if now - self._said_at < LINE_SECONDS:
                return
            self._said_at = now
            away, attempts = round(now - self._since, 1), self._attempts
        reason = error.strip().partition("\n")[0]
        log.warning("database_unreachable", error=reason, seconds=away, attempts=attempts)

    def note_success(self) -> None:
        """A connection was made; logged when it was logged that none could be."""
        with self._lock:
            if self._since is None:
                return
            away, attempts = round(self._now() - self._since, 1), self._attempts
            is_said, self._since = self._said_at >= self._since, None
        if is_said:
            log.info("database_reachable", seconds=away, attempts=attempts)


class Pool:
    """Connections for any thread: as many as are used at once.

    Args:
        url: ``postgresql://…``.
        configure: called with each new one.
        options: of each connection.
    """

    def __init__(
        self, url: str, configure: Callable[[PipelinedConnection], None], options: dict[str, Any]
    ) -> None:
        self._url = url
        self._configure = configure
        self._options = options
        self._outage = Outage()
        self._idle: list[tuple[float, PipelinedConnection]] = []  # with when it came back
        self._lock = threading.Lock()

    def connect(self) -> PipelinedConnection:
        """A connection beside those that are lent. Blocks; raises `psycopg.Error`."""
        try:
            connection = PipelinedConnection.connect(
                self._url, connect_timeout=_CONNECT_SECONDS, **self._options
            )
            self._configure(connection)
        except Error as error:
            self._outage.note_failure(str(error))
            raise
        self._outage.note_success()
        return connection

    def renew(self) -> None:
        """Use none of the connections again; one that is lent goes when it comes back."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    @contextmanager
    def connection(self, until: float) -> Iterator[PipelinedConnection]:
        """Lend a connection. Blocks; raises `StoreUnavailable` when none could be made until then,
        by the monotonic clock."""
        with self._lock:
            stack = self._idle
            connection = stack.pop()[1] if stack else None
        if connection is None:
            connection = self._reconnect(until)
        try:
            yield connection
        except BaseException:
            with suppress(Error):
                connection.statements.leave()
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                connection.close()
            raise
        finally:
            self._give_back(connection, stack)

    def _reconnect(self, until: float) -> PipelinedConnection:
        for tries in count():
            try:
                return self.connect()
            except OperationalError as error:
                pause = backoff.pause(tries, *_RETRY_SECONDS)
                if time.monotonic() + pause >= until:
                    raise StoreUnavailable("The database does not answer.") from error
                time.sleep(pause)
        raise AssertionError("it tries until then")

    def _give_back(
        self, connection: PipelinedConnection, stack: list[tuple[float, PipelinedConnection]]
    ) -> None:
        now, surplus = time.monotonic(), connection
        with self._lock:
            if stack is self._idle and not connection.closed:
                stack.append((now, connection))
                if now - stack[0][0] < _IDLE_SECONDS:
                    return
                surplus = stack.pop(0)[1]
        surplus.close()
