"""SQLite's write-ahead log that cannot be emptied, because somebody reads an old state.

Whoever has begun to read sees the database of that moment until the transaction ends. What was
written since then stays in the log, which grows with every write.
"""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from agentpost.domain.text import human_size

LONG_BYTES: Final = 64 * 1024 * 1024
_READ_MARKS: Final = range(123, 128)
"""The bytes of the file ``-shm`` that readers lock (sqlite.org/walformat.html)."""
_LOCKS: Final = Path("/proc/locks")


def problem(path: Path) -> str:
    """Why the log of the database at ``path`` is longer than `LONG_BYTES`, and what to do; "" when
    it is not, or is about to be emptied. Blocks."""
    log = path.with_name(f"{path.name}-wal")
    try:
        size = log.stat().st_size
        if size <= LONG_BYTES:
            return ""
        with closing(sqlite3.connect(path)) as connection:
            _, pages, copied_pages = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    except (OSError, sqlite3.Error):
        return ""
    if pages == copied_pages:
        return ""
    pids = sorted(_readers(path.with_name(f"{path.name}-shm")) - {os.getpid()})
    programs = ", ".join(f"process {pid}{_program(pid)}" for pid in pids)
    return (
        f"Its log {log} has {human_size(size)} and cannot be emptied: a program keeps reading an"
        f" old state of the database{f' ({programs})' if programs else ''}. End that program, or"
        " its transaction; the server then empties the log."
    )


def _readers(shared: Path) -> set[int]:
    """The processes that read now, where the system names them (Linux)."""
    pids: set[int] = set()
    with suppress(OSError, ValueError):
        inode = str(shared.stat().st_ino)
        for line in _LOCKS.read_text().splitlines():
            # 3: POSIX  ADVISORY  READ 11710 fe:00:2149312 124 124
            parts = line.split()
            if parts[1] != "POSIX" or parts[5].rpartition(":")[2] != inode:
                continue
            first, last = int(parts[6]), int(parts[7])
            if any(first <= mark <= last for mark in _READ_MARKS):
                pids.add(int(parts[4]))
    return pids


def _program(pid: int) -> str:
    try:
        return f" ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    except OSError:
        return ""
