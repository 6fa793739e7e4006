"""The tables and columns of the newest schema, as the migrations make them."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import NamedTuple

from agentpost.db import migrate


class Column(NamedTuple):
    """A column: ``type`` is TEXT, INTEGER, BIGINT or BLOB."""

    name: str
    type: str
    nullable: bool


def create(connection: sqlite3.Connection, versions: Iterable[int]) -> None:
    """Run the migrations of these versions."""
    for version in versions:
        for statement in migrate.statements(version, postgres=False):
            connection.execute(statement)


def read(connection: sqlite3.Connection) -> dict[str, list[Column]]:
    """The columns of every table."""
    names = [name for (name,) in connection.execute(migrate._SQLITE_TABLES)]
    return {
        table: [
            Column(name, kind, not not_null)
            for _, name, kind, not_null, _, _ in connection.execute(f"PRAGMA table_info({table})")
        ]
        for table in names
    }


def _newest() -> dict[str, list[Column]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        create(connection, migrate.migrations())
        return read(connection)


TABLES = _newest()
"""Table -> its columns, without the table of the version itself."""
