"""The database file is looked at by several threads."""

from pathlib import Path

import pytest

from agentpost.db import database_file
from agentpost.db.database_file import DatabaseFile
from agentpost.domain.errors import StoreUnavailable


def test_a_slow_look_forgets_no_log_that_another_thread_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = tmp_path / "a.db", tmp_path / "a.db-wal"
    path.touch()
    file = DatabaseFile(path)
    file.opened()
    real = database_file._identity

    def slow(looked_at: Path) -> tuple[int, int] | None:
        found = real(looked_at)
        if looked_at == log and not log.exists():
            log.touch()
            file.check()  # as another thread would meanwhile
        return found

    monkeypatch.setattr(database_file, "_identity", slow)
    file.check()
    monkeypatch.undo()
    log.unlink()
    with pytest.raises(StoreUnavailable, match=r"a\.db-wal was deleted"):
        file.check()
