"""A pool that lends the connection that was given back last: a read takes two thirds of the CPU
time that it takes with psycopg's own pool (benchmarks/README.md: On PostgreSQL).

psycopg's pool lends the one that has rested longest, so all of them take turns: each has statements
to prepare and plans to make, and the server's caches serve nobody twice. And it waits for the
server when one comes back, where ours may have an answer outstanding (`Pipeline.end_reading`). So
the few that are used most never go back to it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from psycopg import Error
from psycopg_pool import ConnectionPool

from agentpost.db.postgres_pipeline import PipelinedConnection

_WARM_MAX: Final = 4
_CONNECTIONS_MIN: Final = 2


class WarmPool:
    """Connections for any thread.

    Args:
        url: ``postgresql://…``.
        most: so many there are at most.
        configure: called with each new one.
        kwargs: of each connection.
        reconnect_seconds: see `psycopg_pool.ConnectionPool`.
    """

    def __init__(
        self,
        url: str,
        *,
        most: int,
        configure: Callable[[PipelinedConnection], None],
        kwargs: dict[str, Any],
        reconnect_seconds: float,
    ) -> None:
        self._pool = ConnectionPool(
            url,
            connection_class=PipelinedConnection,
            min_size=_CONNECTIONS_MIN,
            max_size=most,
            configure=configure,
            kwargs=kwargs,
            reconnect_timeout=reconnect_seconds,
            open=False,
        )
        self._warm: deque[PipelinedConnection] = deque()
        self._lock = threading.Lock()
        self._asking = 0  # who waits for one of the pool's gets the next that comes back
        self._is_open = False

    def open(self, seconds: float) -> None:
        """Connect. Blocks; raises `PoolTimeout`."""
        self._pool.open(wait=True, timeout=seconds)
        self._is_open = True

    def close(self) -> None:
        """Disconnect. Blocks."""
        with self._lock:
            self._is_open = False
        for connection in self._take_warm():
            connection.close()
        self._pool.close()

    def check(self) -> None:
        """Replace the connections that have broken. Blocks."""
        for connection in self._take_warm():
            self._put_back(connection)
        self._pool.check()

    def renew(self) -> None:
        """Replace every connection; one that is lent goes when it comes back."""
        for connection in self._take_warm():
            connection.close()
            self._pool.putconn(connection)
        self._pool.drain()

    @contextmanager
    def connection(self, seconds: float) -> Iterator[PipelinedConnection]:
        """Lend a connection; raises `PoolTimeout` when all are lent for so long."""
        connection = self._take(seconds)
        try:
            yield connection
        except BaseException:
            self._put_back(connection)
            raise
        with self._lock:
            if self._is_open and not self._asking and len(self._warm) < _WARM_MAX:
                self._warm.append(connection)
                return
        self._put_back(connection)

    def _take(self, seconds: float) -> PipelinedConnection:
        with self._lock:
            if self._warm:
                return self._warm.pop()
            self._asking += 1
        try:
            return self._pool.getconn(seconds)
        finally:
            with self._lock:
                self._asking -= 1

    def _put_back(self, connection: PipelinedConnection) -> None:
        if not connection.closed:
            with suppress(Error):
                connection.statements.leave()
        self._pool.putconn(connection)

    def _take_warm(self) -> list[PipelinedConnection]:
        with self._lock:
            warm = list(self._warm)
            self._warm.clear()
        return warm
