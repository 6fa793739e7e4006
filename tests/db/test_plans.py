"""No statement of the server walks a whole table: history must not make it slower.

SQLite is asked how it would run every statement kept in `agentpost.db`. A scan is fine over a
partial index, which holds only what is open; anything else needs an index it can search.
"""

import importlib
import pkgutil
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Text

import agentpost.db
from agentpost.db import messages, migrate, works
from agentpost.db.tables import metadata

STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b.*\bWHERE\b", re.DOTALL)
COMPARED = re.compile(r"(\w+)(?:, \w+)?\)? (?:<|>|<=|>=) \(?\?")
# Completed with as many marks as there are ids; only a part of others.
TEMPLATES = {"messages._VERSIONS", "doctor._RETRY"}
OPEN_ONLY = re.compile(
    r"SCAN \w+ USING (COVERING )?INDEX ix_"
    r"(jobs_unowned|jobs_executing|jobs_queued|messages_running|messages_waiting|works_deleted|mails_due)"
)


def statements() -> Iterator[tuple[str, str]]:
    """(where it is kept, its text)."""
    for found in pkgutil.iter_modules(agentpost.db.__path__):
        if found.name in ("migrations", "postgres"):
            continue
        module = importlib.import_module(f"agentpost.db.{found.name}")
        for name, value in vars(module).items():
            kept = f"{found.name}.{name}"
            if isinstance(value, str) and STATEMENT.match(value) and kept not in TEMPLATES:
                yield kept, value


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path: Path = tmp_path_factory.mktemp("plans") / "agentpost.db"
    migrate.upgrade_sqlite(path)
    with closing(sqlite3.connect(path)) as opened:
        yield opened


def plan(connection: sqlite3.Connection, sql: str) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", tuple("?" * sql.count("?")))
    return [row[3] for row in rows]


@pytest.mark.parametrize(("kept", "sql"), list(statements()))
def test_no_statement_walks_a_table(connection: sqlite3.Connection, kept: str, sql: str) -> None:
    walks = [
        step
        for step in plan(connection, sql)
        if step.startswith("SCAN") and not OPEN_ONLY.match(step)
    ]
    assert walks == [], kept


def test_the_next_turn_is_found_among_those_that_wait(connection: sqlite3.Connection) -> None:
    assert "ix_messages_waiting" in plan(connection, messages._NEXT_WAITING)[0]


def test_a_file_finds_what_it_writes_over_however_much_that_is(
    connection: sqlite3.Connection,
) -> None:
    """Neither by walking its work's files nor all its versions."""
    [search] = plan(connection, works._REWRITE)
    assert "ix_files_work (work_id=? AND path=? AND replaced<?)" in search


def test_no_statement_relies_on_the_order_of_text() -> None:
    """Beyond ids: PostgreSQL sorts text as the database's language does, which has its own ideas
    about punctuation. Ids of one kind have one prefix and hex digits: they sort alike everywhere.
    """
    texts = {
        column.name
        for table in metadata.tables.values()
        for column in table.columns
        if isinstance(column.type, Text)
    }
    source = "".join(path.read_text() for path in Path(agentpost.db.__path__[0]).glob("*.py"))
    compared = set(COMPARED.findall(source))
    assert {"expires_at", "id"} <= compared, "this test reads the statements wrongly"
    assert compared & texts == {"id", "event_id", "message_id"}
