"""Two versions on one database: from the baseline on a migration only adds (CONTRIBUTING: A
migration), so the code of the version before works on the new schema."""

import ast
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentpost.db import migrate

ADDS = {"create_table", "create_index", "add_column", "get_bind", "bulk_insert"}
CONTRACTS: dict[str, tuple[str, ...]] = {}
"""Migration -> the columns ("table.column") that it takes away. Each raises `migrate.SERVES_FROM`
to a revision whose code had stopped using them, one release before at the least."""


def new_migrations() -> list[Path]:
    chain = migrate.revisions()
    after = {*chain[chain.index(migrate.SERVES_FROM) + 1 :]} - CONTRACTS.keys()
    paths = sorted((migrate.MIGRATIONS / "versions").glob("[0-9]*.py"))
    return [path for path in paths if path.name[:4] in after]


def refusals(source: str) -> list[str]:
    """What of a migration the version before may not survive."""
    found = []
    new: set[tuple[str, str]] = set()  # columns that the version before leaves empty
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        place = node.func.value
        if not (isinstance(place, ast.Name) and place.id == "op"):
            continue
        given = {word.arg: ast.unparse(word.value) for word in node.keywords}
        if node.func.attr not in ADDS:
            found.append(ast.unparse(node))
        elif given.get("unique") == "True":
            table, columns = ast.literal_eval(node.args[1]), ast.literal_eval(node.args[2])
            if not all((table, column) in new for column in columns):
                found.append(ast.unparse(node))
        elif node.func.attr == "add_column":
            column = node.args[1]
            assert isinstance(column, ast.Call)
            said = {word.arg: ast.unparse(word.value) for word in column.keywords}
            if said.get("nullable") == "False" and "server_default" not in said:
                found.append(ast.unparse(node))
            elif "server_default" not in said:
                new.add((ast.unparse(node.args[0])[1:-1], ast.unparse(column.args[0])[1:-1]))
    return found


@pytest.mark.parametrize("path", new_migrations(), ids=lambda path: path.stem)
def test_a_migration_only_adds(path: Path) -> None:
    assert refusals(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "statement",
    [
        "op.drop_column('jobs', 'node')",
        "op.alter_column('jobs', 'node', new_column_name='owner')",
        "op.rename_table('jobs', 'works')",
        "op.execute('DROP TABLE jobs')",
        "op.create_index('i', 'jobs', ['node'], unique=True)",
        "op.add_column('jobs', sa.Column('a', sa.Text(), nullable=False))",
    ],
)
def test_what_takes_away_or_asks_for_more_is_refused(statement: str) -> None:
    assert refusals(statement) == [ast.unparse(ast.parse(statement))]


def test_what_is_new_may_be_unique() -> None:
    added = "op.add_column('jobs', sa.Column('a', sa.Text(), nullable=True))"
    assert refusals(f"{added}\nop.create_index('i', 'jobs', ['a'], unique=True)") == []
    index = "op.create_index('i', 'jobs', ['a', 'node'], unique=True)"
    assert refusals(f"{added}\n{index}") == [index]


def columns(path: Path) -> dict[str, list[tuple[str, str]]]:
    """(name, type) of every column, by table."""
    with closing(sqlite3.connect(path)) as database:
        names = [row[0] for row in database.execute(migrate._SQLITE_TABLES)]
        return {
            name: [(row[1], row[2]) for row in database.execute(f"PRAGMA table_info({name})")]
            for name in names
        }


def test_what_the_version_before_writes_and_reads_still_can_be(tmp_path: Path) -> None:
    """Every table and column of the oldest schema that is served, as a database of that time has
    them: rows that fill exactly those columns are inserted, changed, read and deleted on the newest
    schema."""
    path = tmp_path / "agentpost.db"
    migrate.upgrade(migrate.sqlite_engine(path), migrate.SERVES_FROM)
    before = columns(path)
    migrate.upgrade(migrate.sqlite_engine(path))
    del before["alembic_version"]
    gone = {column for columns in CONTRACTS.values() for column in columns}
    with closing(sqlite3.connect(path)) as database:
        for table, had in before.items():
            its = [each for each in had if f"{table}.{each[0]}" not in gone]
            database.execute(f"DELETE FROM {table}")
            names = ", ".join(name for name, _ in its)
            values = ["1" if kind == "TEXT" else 1 for _, kind in its]
            marks = ", ".join("?" * len(its))
            database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)
            sets = ", ".join(f"{name} = ?" for name, _ in its)
            assert database.execute(f"UPDATE {table} SET {sets}", values).rowcount == 1
            assert database.execute(f"SELECT {names} FROM {table}").fetchall() == [tuple(values)]
            assert database.execute(f"DELETE FROM {table}").rowcount == 1


def test_code_that_is_older_by_added_things_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agentpost.db"
    migrate.upgrade(migrate.sqlite_engine(path))
    newest = migrate.newest_revision()
    known = migrate.revisions()[:-1]
    monkeypatch.setattr(migrate, "revisions", lambda: known)
    migrate.upgrade_sqlite(path)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (newest,)
        with database:
            database.execute("UPDATE schema_support SET serves_from = ?", (newest,))
    with pytest.raises(OSError, match="can no longer use") as refused:
        migrate.upgrade_sqlite(path)
    assert f"its schema is {newest}, this version knows {known[-1]}" in str(refused.value)
    assert "restore a backup" in str(refused.value)
