"""Temporary files of this process, in a folder of its own that never outlives the data.

A process that is killed leaves its folder behind; the next one that starts beside it removes it. A
folder is in use as long as somebody holds its lock, which the system lets go of with the process.
What a folder has to have elsewhere goes with it: it has a link there named `ELSEWHERE`.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from agentpost.storage.private_folder import make_private

ELSEWHERE: Final = "elsewhere"
AGENTS: Final = "agents"
"""The folder of agent processes, which may have such a link as well."""


class Scratch:
    """One process' folder; inside, `tempfile` makes its files there, too."""

    def __init__(self, root: Path, name: str) -> None:
        """Make ``root / name``, and remove the folders of processes that are gone."""
        make_private(root)
        self.folder = root / name
        alone = os.open(root, os.O_RDONLY)
        try:
            fcntl.flock(alone, fcntl.LOCK_EX)  # a folder just made is not locked yet
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            for other in root.iterdir():
                if other != self.folder and _is_left(other):
                    _remove(other)
        finally:
            os.close(alone)
        self._before = tempfile.tempdir
        tempfile.tempdir = str(self.folder)

    def close(self) -> None:
        """Remove it with all that is in it."""
        tempfile.tempdir = self._before
        _remove(self.folder)
        os.close(self._lock)


def _remove(folder: Path) -> None:
    """Nobody but the server's user can have made the link: the folder is private."""
    for link in (folder / ELSEWHERE, folder / AGENTS / ELSEWHERE):
        with contextlib.suppress(OSError):
            shutil.rmtree(link.readlink(), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
