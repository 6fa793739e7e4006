"""Rows of tables, as they are."""

from agentpost.db.session import Tx


def insert(tx: Tx, table: str, **row: object) -> None:
    """A row of these columns; the others have their defaults."""
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    tx.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
