"""A data folder whose name has characters that mean something in a URL."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.e2e.caller import Caller
from tests.e2e.server import AgentServer

FILE = [{"name": "a.txt", "base64": "YWFh"}]


def has_message(database: Path, message_id: str) -> bool:
    with closing(sqlite3.connect(database)) as opened:
        row = opened.execute("SELECT 1 FROM messages WHERE id = ?", (message_id,)).fetchone()
    return row is not None


def test_every_command_finds_the_folder_by_its_name(
    tmp_path: Path, callers: Callable[..., Caller]
) -> None:
    """Each of the characters would cut the name off or change it."""
    places = tmp_path / "places"
    places.mkdir()
    data, backup, restored = (
        places / f"a%20b?c=d#e%s ü&;' {n}" for n in ("data", "backup", "restored")
    )
    server = AgentServer(tmp_path / "server", data_dir=str(data))

    def run(*arguments: str, folder: Path = data) -> None:
        code, said = server.run(*arguments, data=folder)
        assert code == 0, said

    run("db", "upgrade")
    server.start()
    message_id = callers(server).send("hi", files=FILE)["id"]
    run("doctor")
    run("backup", str(backup))
    server.stop()
    run("restore", str(backup), "--without-secret-key", folder=restored)
    run("doctor", "--full", folder=restored)
    for folder in (data, restored):
        assert has_message(folder / "agentpost.db", message_id)
    assert {place.name for place in places.iterdir()} == {
        place.name for place in (data, backup, restored)
    }
