"""One server per data folder, also when somebody deletes the lock's file."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from agentpost.db.lock import FolderLock
from agentpost.db.session import DatabaseBusy


def test_the_second_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    first.acquire()
    with pytest.raises(DatabaseBusy, match=r"in use by another agentpost server \(process \d+\)"):
        FolderLock(tmp_path).acquire()
    first.release()
    FolderLock(tmp_path).acquire()


def test_deleting_the_file_lets_nobody_in(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    first.acquire()
    (tmp_path / "agentpost.lock").unlink()
    with pytest.raises(DatabaseBusy, match="in use"):
        FolderLock(tmp_path).acquire()
    first.release()


def test_where_folders_cannot_be_locked_the_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a file that is deleted between opening and locking it counts as none."""
    path = tmp_path / "agentpost.lock"
    flock: Callable[[int, int], None] = fcntl.flock
    locked: list[int] = []

    def no_folders(descriptor: int, how: int) -> None:
        locked.append(descriptor)
        if len(locked) == 1:
            raise OSError("no locks on folders here")
        if len(locked) == 2:
            path.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", no_folders)
    first = FolderLock(tmp_path)
    first.acquire()
    assert len(locked) == 3
    locked[:] = [0, 0]  # from here on folders are locked, too
    with pytest.raises(DatabaseBusy):
        FolderLock(tmp_path).acquire()
    first.release()
