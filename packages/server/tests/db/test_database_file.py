"""The database file is looked at by several threads; its folder is one server's."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

from agentpost.db import sqlite
from agentpost.db.lock import FolderLock
from agentpost.db.session import DatabaseBusy
from agentpost.db.sqlite import DatabaseFile
from agentpost.domain.errors import StoreUnavailable


def test_a_slow_look_forgets_no_log_that_another_thread_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    path.touch()
    file = DatabaseFile(path)
    file.on_open()
    real = sqlite._identity

    def slow(looked_at: Path) -> tuple[int, int] | None:
        found = real(looked_at)
        if looked_at == log and not log.exists():
            log.touch()
            file.check()  # as another thread would meanwhile
        return found

    monkeypatch.setattr(sqlite, "_identity", slow)
    file.check()
    monkeypatch.undo()
    log.unlink()
    with pytest.raises(StoreUnavailable, match=r"a\.db-wal was deleted"):
        file.check()


def test_a_lost_log_stays_lost_when_the_connection_is_made_again(tmp_path: Path) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    path.touch()
    log.touch()
    file = DatabaseFile(path)
    file.on_open()
    file.check(is_writing=True)
    aside = log.rename(tmp_path / "aside")
    for make_another in (False, True):  # as SQLite does for a new connection
        if make_another:
            log.touch()
        with pytest.raises(StoreUnavailable, match=r"a\.db-wal was deleted"):
            file.check(is_writing=not make_another)
        file.on_close()
    aside.replace(log)
    file.on_open()


def test_a_log_that_went_with_the_closed_connection_is_not_missed(tmp_path: Path) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    path.touch()
    log.touch()
    file = DatabaseFile(path)
    file.on_open()
    file.on_close()
    file.check()  # a reader, before SQLite removes it
    log.rename(tmp_path / "aside")
    with pytest.raises(StoreUnavailable):
        file.check()
    file.on_close()
    log.touch()
    file.on_open()


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
