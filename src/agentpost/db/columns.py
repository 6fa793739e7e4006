"""Column lists and statements made once from the record classes of `domain.record`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any


def names(record: type[Any]) -> tuple[str, ...]:
    """The columns of a record class, in order."""
    return tuple(field.name for field in fields(record))


def select(record: type[Any], table: str, alias: str = "") -> str:
    """``SELECT <columns> FROM <table>``; the row builds the record by position."""
    prefix = f"{alias}." if alias else ""
    return f"SELECT {', '.join(prefix + name for name in names(record))} FROM {table} {alias}"


def insert(record: type[Any], table: str, conflict: str = "") -> str:
    """``INSERT`` of a whole record."""
    columns = names(record)
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {conflict}"


def update(table: str, columns: Sequence[str], where: str) -> str:
    """``UPDATE`` of the named columns."""
    return f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in columns)} WHERE {where}"


def getter(record: type[Any]) -> Any:
    """A fast ``record -> tuple of its columns``."""
    return attrgetter(*names(record))
