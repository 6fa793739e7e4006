"""Kinds of columns and indexes, for `db.tables`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from types import NoneType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, Text, text

_KINDS: Final[dict[Any, type[Any]]] = {int: Integer, bytes: LargeBinary}


def text_column(name: str, *, null: bool = False) -> Column[str]:
    """Plain text, or a word of an enumeration."""
    return Column(name, Text, nullable=null)


def time_column(name: str, *, null: bool = False) -> Column[int]:
    """Microseconds since 1970, or another number of 64 bits."""
    return Column(name, BigInteger, nullable=null)


def count_column(name: str) -> Column[int]:
    """A number of 32 bits that is always there."""
    return Column(name, Integer, nullable=False)


def id_column(name: str = "id") -> Column[str]:
    """The primary key, made by `agentpost.clock.new_id`."""
    return Column(name, Text, primary_key=True)


def columns_of(
    record: type[Any], *, key: str = "id", zero: tuple[str, ...] = ()
) -> Iterator[Column[Any]]:
    """A column for each field; one that may be None may be NULL.

    Args:
        key: the primary key, "" when it has several columns.
        zero: columns that were added later, with 0 in the rows that there were.
    """
    hints = get_type_hints(record, include_extras=True)
    for field in fields(record):
        hint = hints[field.name]
        null = NoneType in get_args(hint)
        if null:
            hint = get_args(hint)[0]
        kind = BigInteger if get_origin(hint) is Annotated else _KINDS.get(hint, Text)
        default = "0" if field.name in zero else None
        is_key = field.name == key
        yield Column(field.name, kind, primary_key=is_key, nullable=null, server_default=default)


def partial_index(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index of the rows for which ``where`` holds, on both databases."""
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)
