"""The database file is looked at by several threads."""

from pathlib import Path

import pytest

from agentpost.db import sqlite
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
