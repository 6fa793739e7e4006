"""The exclusive lock on a data folder: one server per folder (design: The database).

Two locks are taken: on the folder itself, which nobody can delete without deleting what is in it,
and on a file in it, which names the process that has it. A lock on the file alone would be lost
when somebody deletes the file, and a second server would come up.
"""

import fcntl
import os
from pathlib import Path

from agentpost.db.session import DatabaseBusy

LOCK_NAME = "agentpost.lock"


class FolderLock:
    """Held until the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / LOCK_NAME
        self._held: list[int] = []

    def acquire(self) -> None:
        """Raises `DatabaseBusy` when another server has the folder, `OSError` when there is no such
        folder or it may not be written to."""
        try:
            self._lock(os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY), optional=True)
            while True:
                file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
                self._lock(file)
                if _is_at(file, self._path):
                    break
                # Deleted between opening and locking it: the lock is on a file nobody else sees.
        except BaseException:
            self.release()
            raise
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())

    def release(self) -> None:
        """Let the next one in."""
        while self._held:
            os.close(self._held.pop())

    def _lock(self, descriptor: int, *, optional: bool = False) -> None:
        """``optional``: some network file systems lock no folders; the file's lock is left then."""
        self._held.append(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = self._holder()
            raise DatabaseBusy(
                f"The data folder {self._folder} is in use by another agentpost server"
                f"{f' (process {holder})' if holder else ''}. Stop it, or give this one its own"
                " folder with AGENTPOST_DATA_DIR."
            ) from None
        except OSError:
            if not optional:
                raise

    def _holder(self) -> str:
        try:
            return self._path.read_text("ascii", errors="replace")[:20].strip()
        except OSError:
            return ""


def is_held(folder: Path) -> bool:
    """Whether a server has the folder."""
    try:
        file = os.open(folder / LOCK_NAME, os.O_RDWR)
    except OSError:
        return False  # no server has ever had it
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _is_at(file: int, path: Path) -> bool:
    """Whether the open file is still the one at that path."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(file)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
