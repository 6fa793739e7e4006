"""Migrations: they make the same tables on each database, however often they are run."""

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from agentpost.db import migrate
from tests import schema
from tests.conformance.adapters import Backend, Embedded, Scaled
from tests.db.test_expanding import SECOND_VERSION

UPGRADE = """
import sys, pathlib
from agentpost.db import migrate
kind, place = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
if kind == "sqlite":
    migrate.upgrade_sqlite(pathlib.Path(place))
else:
    migrate.upgrade_postgres(place)
"""
COLUMNS = b"""
SELECT table_name, column_name, data_type, is_nullable = 'YES' FROM information_schema.columns
WHERE table_schema = 'public'
ORDER BY table_name, ordinal_position
"""
INDEXES = b"""
SELECT indexname, indexdef FROM pg_indexes
WHERE schemaname = 'public'
"""
POSTGRES_TYPES = {"text": "TEXT", "integer": "INTEGER", "bigint": "BIGINT", "bytea": "BLOB"}
TABLES = {
    **schema.TABLES,
    migrate.VERSION_TABLE: [
        schema.Column("version", "INTEGER", nullable=True),
        schema.Column("serves_from", "INTEGER", nullable=True),
    ],
}


def execute(backend: Backend, sql: str) -> list[tuple[object, ...]]:
    if isinstance(backend, Embedded):
        with closing(sqlite3.connect(backend.path)) as sqlite, sqlite:
            return sqlite.execute(sql).fetchall()
    assert isinstance(backend, Scaled)
    with psycopg.connect(backend.url) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def tables(backend: Backend) -> dict[str, list[schema.Column]]:
    if isinstance(backend, Embedded):
        with closing(sqlite3.connect(backend.path)) as sqlite:
            return schema.read(sqlite)
    assert isinstance(backend, Scaled)
    columns: dict[str, list[schema.Column]] = {}
    with psycopg.connect(backend.url) as connection:
        for table, name, kind, nullable in connection.execute(COLUMNS):
            columns.setdefault(table, []).append(
                schema.Column(name, POSTGRES_TYPES[kind], nullable=nullable)
            )
    return columns


def words(index: str) -> set[str]:
    """The definition of an index without its grammar: PostgreSQL writes it in its own way."""
    ignored = {"in", "any", "array", "text", "public", "using", "btree"}
    return set(re.findall(r"\w+", index.lower())) - ignored


def test_both_databases_get_the_same_tables(upgraded: Backend) -> None:
    assert tables(upgraded) == TABLES


def test_both_databases_get_the_same_indexes(upgraded: Backend) -> None:
    made = {
        statement.split(" ON ")[0].split()[-1]: words(statement)
        for version in migrate.migrations()
        for statement in migrate.statements(version, postgres=False)
        if re.match(r"CREATE (UNIQUE )?INDEX", statement)
    }
    if isinstance(upgraded, Embedded):
        rows = execute(upgraded, "SELECT name, sql FROM sqlite_master WHERE type = 'index'")
    else:
        rows = execute(upgraded, INDEXES.decode())
    indexes = {str(name): words(str(sql)) for name, sql in rows if sql is not None}
    assert {name: indexes.get(name) for name in made} == made


def test_an_upgrade_again_changes_nothing(upgraded: Backend) -> None:
    execute(upgraded, "INSERT INTO meta (name, value) VALUES ('a', 'b')")
    upgraded.upgrade()
    assert execute(upgraded, "SELECT name FROM meta") == [("a",)]
    assert tables(upgraded) == TABLES


def test_several_processes_may_upgrade_at_once(backend: Backend) -> None:
    if isinstance(backend, Embedded):
        arguments = ["sqlite", str(backend.path)]
    else:
        assert isinstance(backend, Scaled)
        arguments = ["postgres", backend.url]
    upgrades = [
        subprocess.Popen(
            [sys.executable, "-c", UPGRADE, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for upgrade in upgrades:
        assert upgrade.stdout is not None
        assert upgrade.stdout.readline() == "ready\n"
    outcomes = [(upgrade.communicate("go\n", 60), upgrade.returncode) for upgrade in upgrades]
    assert [code for _, code in outcomes] == [0, 0, 0], outcomes
    assert tables(backend) == TABLES


@pytest.mark.parametrize("is_right", [True, False])
def test_a_later_migration_happens_whole_or_not_at_all(
    upgraded: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_right: bool
) -> None:
    execute(upgraded, "INSERT INTO meta (name, value) VALUES ('a', 'b')")
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.MIGRATIONS, folder)
    newest = migrate.newest_version()
    script = SECOND_VERSION.read_text() + ("" if is_right else "CREATE TABLE meta (name TEXT);")
    (folder / f"{newest + 1:04}_made_up.sql").write_text(script)
    monkeypatch.setattr(migrate, "MIGRATIONS", folder)
    if is_right:
        upgraded.upgrade()
        assert "made_up" in tables(upgraded)
    else:
        with pytest.raises(OSError, match=r"statement: CREATE TABLE meta \(name TEXT\)"):
            upgraded.upgrade()
        assert tables(upgraded) == TABLES
    assert execute(upgraded, "SELECT version FROM agentpost_schema") == [(newest + is_right,)]
    assert execute(upgraded, "SELECT name FROM meta") == [("a",)]
