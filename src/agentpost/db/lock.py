"""The exclusive lock on a data folder: one server per folder (design: 2, database contract)."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from agentpost.db.session import DatabaseBusy


class FolderLock:
    """Held until the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "agentpost.lock"
        self._file: int | None = None

    def take(self) -> None:
        """Raises `DatabaseBusy` when another server has the folder."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(file, 20).decode(errors="replace").strip()
            os.close(file)
            raise DatabaseBusy(
                f"The data folder {self._path.parent} is in use by another agentpost server"
                f"{f' (process {holder})' if holder else ''}. Stop it, or give this one its own"
                " folder with AGENTPOST_DATA_DIR."
            ) from None
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        self._file = file

    def release(self) -> None:
        """Let the next one in."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
