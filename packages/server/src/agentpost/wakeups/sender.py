"""Sends notices on a connection of its own, many in one statement.

NOTIFY inside the transaction that answers would cost more than the transaction: its commit takes a
lock that all of the server's databases share, and keeps it until the disk has the commit. So it
follows the commit, in one that waits for no disk. A notice that is lost on the way, with this
process or with the server, costs latency only (see `base`).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

import structlog

from agentpost.domain import backoff

if TYPE_CHECKING:
    from psycopg import Connection

log = structlog.get_logger(__name__)

CHANNEL: Final = "agentpost"
JOINED: Final = "wake"
"""The topic whose subjects are ids, of which a notice may have several."""
PAYLOAD_BYTES_MAX: Final = 7_900
"""PostgreSQL takes less than 8,000."""
_SEND: Final = f"SELECT pg_notify('{CHANNEL}', p) FROM unnest($1::text[]) AS p".encode()
_SEND_NAME: Final = b"notify"
_PAUSE_SECONDS: Final = 0.004
"""After each statement: what comes meanwhile goes together."""
_WAITING_MAX: Final = 10_000
"""Notices that wait; the oldest of more are lost."""
_BATCH: Final = 1_000
_CONNECT_SECONDS: Final = 2
_STOP_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = (0.1, 5.0)


class NoticeSender:
    """A thread that sends what is posted. Safe on any thread.

    Args:
        url: ``postgresql://…``.
        origin: how our payloads begin.
    """

    def __init__(self, url: str, origin: str) -> None:
        self._url = url
        self._origin = origin
        self._waiting: deque[tuple[str, str]] = deque(maxlen=_WAITING_MAX)
        self._posted = threading.Event()
        self._stopping = False
        self._is_stale = False
        self._connection: Connection | None = None
        self._failures = 0
        self._thread: threading.Thread | None = None

    def post(self, topic: str, subject: str) -> None:
        """Send a notice soon."""
        self._waiting.append((topic, subject))
        self._posted.set()

    def start(self) -> None:
        """Begin to send."""
        self._thread = threading.Thread(target=self._run, name="notify", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Send from now on over another connection."""
        self._is_stale = True
        self._posted.set()

    def stop(self) -> None:
        """Send what was posted, and end. Blocks; not long, where the server is silent."""
        self._stopping = True
        self._posted.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping or self._waiting:
            self._posted.wait()
            self._posted.clear()
            if self._is_stale:
                self._is_stale = False
                self._disconnect()
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            if self._waiting:
                self._posted.set()
            if batch and not self._send(payloads(self._origin, batch)) and not self._stopping:
                time.sleep(backoff.pause(self._failures, *_RETRY_SECONDS))
                self._failures += 1
            time.sleep(0 if self._stopping else _PAUSE_SECONDS)
        self._disconnect()

    def _send(self, notices: list[str]) -> bool:
        from psycopg import Error

        try:
            if self._connection is None:
                self._connection = self._connect()
            _notify(self._connection, notices)
        except Error as error:
            log.debug("notices_not_sent", notices=len(notices), error=str(error).strip())
            self._disconnect()
            return False
        self._failures = 0
        return True

    def _connect(self) -> Connection:
        from psycopg import Connection

        connection = Connection.connect(
            self._url,
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            application_name="agentpost notify",
        )
        connection.execute(b"SET synchronous_commit = off")
        connection.pgconn.prepare(_SEND_NAME, _SEND)  # what it fails with, its use does
        return connection

    def _disconnect(self) -> None:
        from psycopg import Error

        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except Error as error:
                log.debug("notices_not_closed", error=str(error).strip())


def _notify(connection: Connection, notices: list[str]) -> None:
    """Raises `psycopg.Error`. Straight to libpq: a cursor would cost more CPU time than the server
    does."""
    from psycopg import OperationalError, errors
    from psycopg.pq import ExecStatus

    literal = _array(notices).encode(connection.info.encoding, "replace")
    result = connection.pgconn.exec_prepared(_SEND_NAME, [literal])
    if result.status == ExecStatus.FATAL_ERROR:
        raise errors.error_from_result(result)
    if result.status != ExecStatus.TUPLES_OK:
        raise OperationalError("notices were not sent")


def _array(texts: list[str]) -> str:
    """An array's literal."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return '{"' + '","'.join(quoted) + '"}'


def payloads(origin: str, notices: list[tuple[str, str]]) -> list[str]:
    """The notices as they are sent, in their order. Subjects of a topic that allows it, one after
    the other, share a payload: `JOINED`."""
    result: list[str] = []
    words: dict[str, None] = {}
    size = 0

    def close() -> None:
        nonlocal size
        if words:
            result.append(f"{origin} {JOINED} {' '.join(words)}")
        words.clear()
        size = 0

    for topic, subject in notices:
        if topic != JOINED:
            result.append(f"{origin} {topic} {subject}")
            continue
        for word in subject.split():
            if size + len(word) > PAYLOAD_BYTES_MAX - 100:
                close()
            if word not in words:
                words[word] = None
                size += len(word) + 1
    close()
    return result
