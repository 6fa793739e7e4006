"""SQLite's log: a stop leaves none, and one that a reader has blown up becomes short again."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.waiting import eventually

SHORT = {
    "agentpost.db.sqlite_log.LONG_BYTES": 1_000_000,
    "agentpost.db.sqlite._LOG_BYTES_IDLE": 100_000,
}


def test_after_a_stop_the_database_is_one_whole_file(
    start_server: ServerMaker, callers: Callable[..., Caller], tmp_path: Path
) -> None:
    server = start_server()
    caller = callers(server)
    message_ids = {caller.send("hi")["id"] for _ in range(3)}
    assert server.stop() == 0
    data = server.home / "data"
    assert [path.name for path in data.glob("agentpost.db*")] == ["agentpost.db"]
    copy = shutil.copyfile(data / "agentpost.db", tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as database:
        rows = database.execute("SELECT id FROM messages WHERE final = 1").fetchall()
    assert message_ids == {row[0] for row in rows}


def test_a_log_that_a_reader_keeps_is_named_and_then_emptied(
    start_server: ServerMaker, callers: Callable[..., Caller]
) -> None:
    server = start_server(constants=SHORT)
    caller = callers(server)
    database = server.home / "data" / "agentpost.db"
    log = database.with_name("agentpost.db-wal")
    with closing(sqlite3.connect(database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM messages").fetchone()
        while log.stat().st_size < 2_000_000:
            caller.send("x" * 19_000)
        code, said = server.run("doctor")
        assert code == 1
        assert f"{log} has " in said
        assert f"process {os.getpid()}" in said
        reader.execute("COMMIT")
        eventually(lambda: log.stat().st_size == 0, what="an empty log")
        assert server.run("doctor")[0] == 0
        caller.send("hi")
