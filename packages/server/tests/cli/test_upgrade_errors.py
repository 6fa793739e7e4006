"""A database that cannot be used is one clear line that says what to do, and exit code 1.

Real processes. Nothing in the database is changed by an upgrade that fails.
"""

import ctypes
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from agentpost.db import migrate
from tests import forking, programs
from tests.servers import Postgres, empty_sqlite

COMMANDS = (["serve", "--port", "0"], ["db", "upgrade"], ["accounts", "list"])
CAP_DAC_OVERRIDE = 1
PR_CAPBSET_DROP = 24


def run(
    folder: Path, *arguments: str, url: str = "", before: Callable[[], None] | None = None
) -> str:
    """What it complains of: the only line it prints to standard error."""
    environment = {**os.environ, "AGENTPOST_DATA_DIR": str(folder), "AGENTPOST_DATABASE_URL": url}
    if before is None:
        ended = forking.run(arguments, env=environment, cwd=folder.parent, timeout=120)
    else:
        program = (sys.executable, "-m", "agentpost", *arguments)
        ended = programs.run(*program, env=environment, cwd=folder.parent, preexec_fn=before)
    assert ended.returncode == 1, ended.stderr + ended.stdout
    assert "Traceback" not in ended.stderr
    [line] = [line for line in ended.stderr.splitlines() if line.startswith("agentpost: ")]
    return line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database of today."""
    path = tmp_path_factory.mktemp("today") / "agentpost.db"
    shutil.copyfile(empty_sqlite(), path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    return path.read_bytes()


DEVELOPMENT = [
    f"CREATE TABLE {name} (id TEXT)"
    for name in ("alembic_version", "accounts", "messages", "message_jobs", "ledger")
]
NEWER = ["UPDATE agentpost_schema SET version = 9999, serves_from = 9998"]
FOREIGN = ["CREATE TABLE bookmarks (url TEXT)"]
WITH_VERSIONS = [*FOREIGN, "CREATE TABLE alembic_version (version_num TEXT)"]
WITH_VERSIONS.append("INSERT INTO alembic_version VALUES ('a1b2c3')")
FOREIGN_TABLES = "belongs to another program: it has the tables {}."


UPGRADE = COMMANDS[1:2]
UNUSABLE = {
    "development": (DEVELOPMENT, COMMANDS, [
        "was made by a development version of agentpost, before the first release",
        "To start afresh, name another folder with AGENTPOST_DATA_DIR",
        "agentpost accounts export",
    ]),
    "newer": (NEWER, COMMANDS, [
        "made by a newer version of agentpost (its schema is 9999",
        "Start that version, or restore a backup",
    ]),
    "foreign": (FOREIGN, UPGRADE, [
        FOREIGN_TABLES.format("bookmarks"), "name another folder with AGENTPOST_DATA_DIR",
    ]),
    "with versions": (WITH_VERSIONS, UPGRADE, [
        FOREIGN_TABLES.format("alembic_version, bookmarks"),
    ]),
}  # fmt: skip
"""What was run in a database, the commands that refuse it, and what they say."""


def schema_of(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()


@pytest.mark.parametrize(
    ("case", "command"),
    [(case, command) for case, (_, commands, _) in UNUSABLE.items() for command in commands],
)
def test_a_file_that_cannot_be_used_is_said_and_left_alone(
    case: str, command: list[str], folder: Path, template: bytes
) -> None:
    statements, _, reported = UNUSABLE[case]
    path = folder / "agentpost.db"
    if statements is NEWER:
        path.write_bytes(template)
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        before = schema_of(connection)
    line = run(folder, *command)
    assert [text for text in reported if text not in line] == [], line
    with closing(sqlite3.connect(path)) as connection:
        assert schema_of(connection) == before


@pytest.mark.parametrize(
    ("case", "advice"),
    [
        ("development", "name an empty database"),
        ("newer", "Start that version"),
        ("foreign", "AGENTPOST_DATABASE_URL"),
    ],
)
def test_a_postgresql_database_that_cannot_be_used_is_said_and_left_alone(
    case: str, advice: str, folder: Path, fresh_postgres: Callable[..., str], postgres: Postgres
) -> None:
    statements, _, (reported, *_) = UNUSABLE[case]
    url = fresh_postgres(*([postgres.schema()] if statements is NEWER else []))
    tables = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
    with psycopg.connect(url) as connection:
        connection.execute("; ".join(statements).encode())
        before = connection.execute(tables.encode()).fetchall()
    line = run(folder, "db", "upgrade", url=url)
    assert reported in line
    assert advice in line
    assert url not in line
    with psycopg.connect(url) as connection:
        assert connection.execute(tables.encode()).fetchall() == before


@pytest.mark.parametrize("what", ["text", "header", "middle"])
def test_a_damaged_file_is_said(folder: Path, template: bytes, what: str) -> None:
    damaged = {
        "text": b"not a database at all " * 1_000,
        "header": b"\xff" * 100 + template[100:],
        "middle": template[:4_096] + b"\xff" * (len(template) - 4_096),
    }
    (folder / "agentpost.db").write_bytes(damaged[what])
    for arguments in (["serve", "--port", "0"], ["accounts", "list"]):
        line = run(folder, *arguments)
        assert str(folder / "agentpost.db") in line
        assert "damaged" in line
        assert "estore a backup" in line
    assert (folder / "agentpost.db").read_bytes() == damaged[what]


def test_a_schema_of_our_own_beside_another_program(fresh_postgres: Callable[..., str]) -> None:
    url = fresh_postgres()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.execute("CREATE SCHEMA ours")
    apart = f"{url}&options=-csearch_path%3Dours"
    for _ in range(2):
        migrate.upgrade_postgres(apart)
    with psycopg.connect(url) as connection:
        tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'ours' AND tablename = 'jobs'"
        assert connection.execute(tables.encode()).fetchone() == (1,)


def only_what_permissions_say() -> None:
    """In the child: root's privilege to read and write everything ends."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0


def test_a_read_only_file_is_said(folder: Path, template: bytes) -> None:
    path = folder / "agentpost.db"
    path.write_bytes(template)
    path.chmod(0o400)
    for arguments in (["serve", "--port", "0"], ["accounts", "list"]):
        line = run(folder, *arguments, before=only_what_permissions_say)
        assert f"{path} cannot be written (Permission denied)" in line
        assert "AGENTPOST_DATA_DIR" in line
