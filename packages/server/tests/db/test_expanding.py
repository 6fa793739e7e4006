"""Two versions on one database: a migration only adds (CONTRIBUTING: A migration), so the code of
the version before works on the new schema. A made-up second version stands for those to come."""

import re
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from agentpost.db import migrate
from tests import schema

SECOND_VERSION = Path(__file__).with_name("second_version.sql")
CONTRACTS: dict[int, tuple[str, ...]] = {}
"""Version -> the columns ("table.column") that its migration takes away. Each raises
`migrate.SERVES_FROM` to a version whose code had stopped using them, one release before at the
least."""

TABLE = re.compile(r"CREATE TABLE (\w+) ")
COLUMN = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+) (.*)")
INDEX = re.compile(r"CREATE (UNIQUE )?INDEX \w+ ON (\w+) \(([\w, ]+)\)")


def refusals(statements: Iterable[str]) -> list[str]:
    """The statements that the version before may not survive."""
    refused = []
    tables, columns = set(), set()  # what the version before leaves empty
    for statement in statements:
        if table := TABLE.match(statement):
            tables.add(table[1])
        elif column := COLUMN.match(statement):
            if "DEFAULT" not in column[3]:
                columns.add((column[1], column[2]))
            if "NOT NULL" in column[3] and "DEFAULT" not in column[3]:
                refused.append(statement)
        elif index := INDEX.match(statement):
            names = index[3].split(", ")
            is_new = index[2] in tables or all((index[2], name) in columns for name in names)
            if index[1] and not is_new:
                refused.append(statement)
        else:
            refused.append(statement)
    return refused


@pytest.fixture
def with_second_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(migrate.MIGRATIONS, folder)
    shutil.copyfile(SECOND_VERSION, folder / f"{migrate.newest_version() + 1:04}_made_up.sql")
    monkeypatch.setattr(migrate, "MIGRATIONS", folder)


@pytest.mark.usefixtures("with_second_version")
def test_migrations_only_add() -> None:
    for version in migrate.migrations():
        if version > migrate.SERVES_FROM and version not in CONTRACTS:
            assert refusals(migrate.statements(version, postgres=False)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE jobs DROP COLUMN node",
        "ALTER TABLE jobs RENAME COLUMN node TO owner",
        "ALTER TABLE jobs RENAME TO works",
        "DROP TABLE jobs",
        "UPDATE jobs SET node = NULL",
        "CREATE UNIQUE INDEX i ON jobs (node)",
        "ALTER TABLE jobs ADD COLUMN a TEXT NOT NULL",
    ],
)
def test_a_statement_that_takes_away_or_asks_for_more_is_refused(statement: str) -> None:
    assert refusals([statement]) == [statement]


def test_only_new_columns_may_be_unique() -> None:
    column = "ALTER TABLE jobs ADD COLUMN a TEXT"
    assert refusals([column, "CREATE UNIQUE INDEX i ON jobs (a)"]) == []
    index = "CREATE UNIQUE INDEX i ON jobs (a, node)"
    assert refusals([column, index]) == [index]


@pytest.mark.usefixtures("with_second_version")
def test_rows_of_the_version_before_are_written_and_read_on_the_newest_schema() -> None:
    """Rows that fill exactly the columns of the oldest schema that is served are inserted, changed,
    read and deleted."""
    lost = {column for columns in CONTRACTS.values() for column in columns}
    with closing(sqlite3.connect(":memory:")) as database:
        schema.create(database, range(1, migrate.SERVES_FROM + 1))
        tables_before = schema.read(database)
        schema.create(database, range(migrate.SERVES_FROM + 1, migrate.newest_version() + 1))
        for table, all_columns in tables_before.items():
            columns = [c for c in all_columns if f"{table}.{c.name}" not in lost]
            names = ", ".join(column.name for column in columns)
            values = ["1" if column.type == "TEXT" else 1 for column in columns]
            marks = ", ".join("?" * len(columns))
            database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)
            sets = ", ".join(f"{column.name} = ?" for column in columns)
            assert database.execute(f"UPDATE {table} SET {sets}", values).rowcount == 1
            assert database.execute(f"SELECT {names} FROM {table}").fetchall() == [tuple(values)]
            assert database.execute(f"DELETE FROM {table}").rowcount == 1


def test_older_code_uses_a_newer_schema_that_only_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "agentpost.db"
    migrate.upgrade_sqlite(path)
    known = migrate.newest_version()
    request.getfixturevalue("with_second_version")
    migrate.upgrade_sqlite(path)
    monkeypatch.undo()
    assert migrate.newest_version() == known
    migrate.upgrade_sqlite(path)
    with closing(sqlite3.connect(path)) as database, database:
        row = database.execute(migrate._READ_VERSION).fetchone()
        assert row == (known + 1, migrate.SERVES_FROM)
        database.execute("UPDATE agentpost_schema SET serves_from = version")
    with pytest.raises(OSError, match="can no longer use") as refusal:
        migrate.upgrade_sqlite(path)
    assert f"its schema is {known + 1}, this version knows {known}" in str(refusal.value)
    assert "restore a backup" in str(refusal.value)
