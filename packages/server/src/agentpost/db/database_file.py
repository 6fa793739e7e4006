"""Whether the SQLite database that is open is still the one at its path.

A process keeps writing to a file after it was deleted, moved or replaced, without any error.
Nothing of that is there after the next start, so it must not be answered as stored.
"""

from __future__ import annotations

import threading
from pathlib import Path

from agentpost.domain.errors import StoreUnavailable

_Identity = tuple[int, int]


class DatabaseFile:
    """The database file and its write-ahead log, each known by device and inode."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log_path = path.with_name(f"{path.name}-wal")
        self._file: _Identity | None = None
        self._log: _Identity | None = None
        self._log_is_lost = False
        self._looking = threading.RLock()

    def on_open(self) -> None:
        """A connection was made. The first one decides which file it is for good.
        Raises `StoreUnavailable`."""
        if self._file is None:
            self._file = _identity(self.path)
        self.check()

    def log_bytes(self) -> int:
        """How long the log is."""
        try:
            return self._log_path.stat().st_size
        except OSError:
            return 0

    def on_close(self) -> None:
        """The connection that writes was closed: the log may have gone with it, unless it was lost
        before. Then readers still hold the lost one, and another in its place is not ours."""
        with self._looking:
            if not self._log_is_lost:
                self._log = None

    def check(self, *, is_writing: bool = False) -> None:
        """Raises `StoreUnavailable` when another file, or none, is where the open one was.

        ``is_writing``: the connection that writes is open, so SQLite has not removed the log.
        """
        if self._file is None:
            return
        if _identity(self.path) != self._file:
            raise StoreUnavailable(
                f"The open database is no longer the file at {self.path}: it was deleted, moved"
                " or replaced. Put it back or restore a backup, and start the server again."
            )
        with self._looking:
            known_log = self._log  # before looking: SQLite may make the log meanwhile
            log = _identity(self._log_path)
            is_missing = known_log is not None and log != known_log
            self._log_is_lost = is_missing and (is_writing or self._log_is_lost)
            if is_missing:
                raise StoreUnavailable(
                    f"{self._log_path} was deleted, moved or replaced while the database was open."
                    " Stop the server, check the database and start the server again."
                )
            if log is not None:
                self._log = log


def _identity(path: Path) -> _Identity | None:
    """None when there is nothing there, or it cannot be looked at."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
