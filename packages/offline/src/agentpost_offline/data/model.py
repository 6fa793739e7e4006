"""Tables as the rest of the agent sees them: what was read from files, and what was computed."""

from enum import StrEnum

import msgspec

from agentpost_offline.frame import Cell, Grain, Query

Note = tuple[str, dict[str, object]]
"""What the reader of a table must know: the key of a text among the ``notes`` of ``texts/*.json``,
and what stands in it."""


class Kind(StrEnum):
    """What the cells of a column are."""

    NUMBER = "number"
    DATE = "date"
    TEXT = "text"
    BOOLEAN = "boolean"


class Role(StrEnum):
    """What a column is for, which decides what may be computed of it."""

    AMOUNT = "amount"
    """May be summed: revenue, orders, hours."""
    RATE = "rate"
    """A price, share, temperature, age, rating: averaged, never summed."""
    CATEGORY = "category"
    TIME = "time"
    IDENTIFIER = "identifier"
    """Told apart and counted, never summed: order numbers, codes."""
    TEXT = "text"


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column. ``name`` is unique in its table; ``label`` is what people read ("Revenue")."""

    name: str
    label: str
    kind: Kind
    role: Role
    unit: str | None = None
    """``€``, ``%``, ``kg``: as the header or the cells say it."""
    distinct: int = 0
    missing: int = 0
    values: tuple[str, ...] = ()
    """Of a category: its values, most frequent first; the first hundreds (see ``distinct``)."""
    first: str | float | None = None
    """The smallest value; of dates, ISO 8601."""
    last: str | float | None = None
    grain: Grain | None = None
    """Of dates: how exact they are (hours when they have a time of day)."""
    formula: tuple[str, ...] = ()
    """Of a figure of two columns: the one's name, the sign, the other's name (`data.formulas`)."""


class Table(msgspec.Struct, frozen=True, omit_defaults=True):
    """One table of a file: the file itself, a sheet, a table in a document or in the message."""

    id: str
    file: str
    """The file's id; empty for a table pasted into the message."""
    name: str
    """``sales.csv``, or ``book.xlsx, sheet Orders``."""
    rows: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    """What the reader must know: rows that were left out, columns that were unpivoted."""


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a query found: the columns of ``rows`` are the groups, the time axis, the measures."""

    query: Query
    rows: tuple[tuple[Cell, ...], ...]
    counted: int
    """Rows of the table that passed the filters."""
    reading: str = ""
    """How the question was understood: "margin, country = Spain, Q2 2025, 41 rows"."""
    notes: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    """First days of the periods at the edges of the time axis that the data covers only in part,
    ISO 8601; none where the measures do not add up, as averages."""
