"""Whether PostgreSQL can be reached, as lines of the log.

Each pool of a process tries to connect again and again while the server is away, and psycopg warns
of each try: hundreds of lines within a minute. Here they become one line when the server is lost,
one a minute while it is away, and one when it is back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import structlog

log = structlog.get_logger(__name__)

LINE_SECONDS: Final = 60.0
"""There is at most one line about a server that is away within so many."""
_LIBRARY: Final = "psycopg.pool"
_NOT_CONNECTED: Final = "error connecting in "
_FOLLOWS: Final = (
    "reconnection attempt in pool ",
    "discarding broken connection",
    "discarding closed connection",
)
"""What the pool says besides. A transaction that lost its connection is logged where it runs."""


class Outage:
    """The server's absence, as far as this process notices. Safe on any thread.

    Args:
        now: seconds of a clock that nobody sets.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._since: float | None = None
        self._failed_at = 0.0
        self._attempts = 0
        self._said_at: float | None = None
        self._is_said = False

    def note_failure(self, error: str) -> None:
        """A connection could not be made. ``error`` may have several lines; the first is logged."""
        with self._lock:
            now = self._now()
            # Only new connections of the main pool end an outage, and a while without a failure.
            if self._since is None or now - self._failed_at >= LINE_SECONDS:
                self._since, self._attempts, self._is_said = now, 0, False
            self._failed_at = now
            self._attempts += 1
            if self._said_at is not None and now - self._said_at < LINE_SECONDS:
                return
            self._said_at, self._is_said = now, True
            away, attempts = round(now - self._since, 1), self._attempts
        reason = error.strip().partition("\n")[0]
        log.warning("database_unreachable", error=reason, seconds=away, attempts=attempts)

    def note_success(self) -> None:
        """A connection was made; logged when it was logged that none could be."""
        with self._lock:
            if self._since is None:
                return
            away, attempts = round(self._now() - self._since, 1), self._attempts
            self._since, is_said = None, self._is_said
        if is_said:
            log.info("database_reachable", seconds=away, attempts=attempts)


class PoolRecords(logging.Filter):
    """Takes what psycopg's pools log of connecting out of the log, and passes it to an outage."""

    def __init__(self, outage: Outage) -> None:
        super().__init__()
        self._outage = outage

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        if text.startswith(_NOT_CONNECTED):
            self._outage.note_failure(
                str(record.args[-1] if isinstance(record.args, tuple) else text)
            )
            return False
        return not text.startswith(_FOLLOWS)


OUTAGE: Final = Outage()
"""That of this process: it has one database, and several pools of it."""
_records: Final = PoolRecords(OUTAGE)


def watch() -> None:
    """Let `OUTAGE` take in what this process's pools log; harmless when it does already."""
    logging.getLogger(_LIBRARY).addFilter(_records)
