"""Columns whose entries follow each other in time without a date: month names, weekdays, quarters.

Such a column orders a table as dates do, as long as its rows name each entry once: where they go
back to a month that they had left, it may be another year, and no order is known.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from agentpost_offline.data import words
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import Derived, Filter, Grain, Op, Query

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LENGTHS = {Grain.MONTH: 12, Grain.WEEKDAY: 7, Grain.QUARTER: 4}
_WORDS = {Grain.MONTH: "month", Grain.WEEKDAY: "weekday", Grain.QUARTER: "quarter"}
_QUARTER = re.compile(r"(?:q|quarter|quartal|trimestre)\s?([1-4])|([1-4])\.?\s?(?:q|quartal)")
_FOLLOWING = (Derived.GROWTH, Derived.DIFFERENCE, Derived.CUMULATIVE)


def found(
    db: DuckDBPyConnection, relation: str, columns: Sequence[Column], fields: Mapping[str, str]
) -> list[Column]:
    """The columns of a loaded table, with the order of those that are sequences. A table with
    dates has the order of its dates and no other."""
    if any(column.kind is Kind.DATE for column in columns):
        return list(columns)
    return [_ordered(db, relation, column, columns, fields) for column in columns]


def _ordered(
    db: DuckDBPyConnection, relation: str, column: Column, columns: Sequence[Column],
    fields: Mapping[str, str],
) -> Column:  # fmt: skip
    if not 2 <= column.distinct <= 12 or column.kind is Kind.BOOLEAN:
        return column
    entry = f"lower(cast({fields[column.name]} as varchar))"
    rows = db.execute(
        f"select {entry}, min(rowid) from {relation} where {entry} is not null"
        " group by 1 order by 2"
    ).fetchall()
    entries = [row[0] for row in rows]
    grain, places = _places(column, entries)
    if grain is None:
        return column
    column = msgspec.structs.replace(column, role=Role.CATEGORY, grain=grain)
    beside = [
        fields[c.name]
        for c in columns
        if c.name != column.name and c.kind is not Kind.NUMBER and c.role is Role.CATEGORY
    ]
    within = f"partition by {', '.join(beside)} " if beside else ""
    listed = ", ".join(["v", *(f"b{at}" for at in range(len(beside)))])
    kept = "".join(f", {field} as b{at}" for at, field in enumerate(beside))
    runs = db.execute(
        f"with r as (select {entry} as v{kept}, lag({entry}) over ({within}order by rowid) as p"
        f" from {relation} where {entry} is not null)"
        " select (select count(*) from r where p is distinct from v),"
        f" (select count(*) from (select distinct {listed} from r))"
    ).fetchone()
    if runs is None or runs[0] > runs[1]:
        return column
    first = _first([places[one] for one in entries], _LENGTHS[grain])
    placed = sorted(((places[one] - first) % _LENGTHS[grain], one) for one in entries)
    return msgspec.structs.replace(column, sequence=tuple((one, place) for place, one in placed))


def _places(column: Column, entries: Sequence[str]) -> tuple[Grain | None, dict[str, int]]:
    """What all entries are, and the place of each in the year or week; no two have the same."""
    for grain, length in _LENGTHS.items():
        made = {one: _place(column, grain, one) for one in entries}
        known = {one: place for one, place in made.items() if place is not None and place <= length}
        if len(known) == len(entries) == len(set(known.values())):
            return grain, known
    return None, {}


def _place(column: Column, grain: Grain, entry: str) -> int | None:
    if column.kind is Kind.NUMBER:
        number = float(entry)
        named = number == int(number) and words.names(column.name, _WORDS[grain])
        return int(number) if named and number >= (grain is not Grain.WEEKDAY) else None
    plain = entry.strip().rstrip(".")
    if grain is Grain.QUARTER:
        match = _QUARTER.fullmatch(plain)
        return int(match[1] or match[2]) if match else None
    return (words.months() if grain is Grain.MONTH else words.weekdays()).get(plain)


def _first(places: Sequence[int], length: int) -> int:
    """The place with which the order begins: that of the first row, where the rows go once around
    the year or week, as a fiscal year from October does; else the first of the calendar."""
    turns = sum(after < before for before, after in itertools.pairwise(places))
    around = (places[-1] - places[0]) % length
    if turns == 1 and around <= max(places) - min(places):
        return places[0]
    return min(places)


def axis(query: Query, columns: Mapping[str, Column]) -> str | None:
    """The sequence along which a query compares, None for a query that does not or has dates."""
    if query.time is not None:
        return query.time if columns[query.time].sequence else None
    if not any(m.derived in _FOLLOWING for m in query.measures):
        return None
    if query.along is not None:
        return query.along
    ordered = [name for name in query.groups if columns[name].sequence]
    beside = any(f.op is Op.IS and len(f.values) > 1 and f.column in ordered for f in query.filters)
    differing = any(m.derived is Derived.DIFFERENCE for m in query.measures)
    # "March against April" are two groups side by side.
    return ordered[0] if ordered and not (differing and beside) else None


def laid(query: Query, name: str, column: Column, filled: Iterable[int]) -> Query:
    """The query with the sequence as its time axis; with `Query.along`, over two entries only:
    the one that the filters name and the one before it, else the first and the last of those
    that have rows (``filled``: their places)."""
    if query.time is not None:
        return query
    groups = tuple(one for one in query.groups if one != name)
    made = msgspec.structs.replace(query, groups=groups, time=name, along=None)
    if query.along is None:
        return made
    places = {place: entry for entry, place in column.sequence}
    said = [f for f in query.filters if f.column == name and f.op is Op.IS]
    own = dict(column.sequence)
    if len(said) == 1 and len(said[0].values) == 1:
        last = own.get(key_of(said[0].values[0]))
        ends = [] if last is None else [one for one in (last - 1, last) if one in places]
    else:
        having = sorted(filled)
        ends = [having[0], having[-1]] if len(having) > 1 else having
    others = tuple(f for f in query.filters if f not in said)
    values = tuple(label(column, place) for place in ends)
    return msgspec.structs.replace(
        made, ends=True, filters=(*others, Filter(name, Op.IS, values)) if values else query.filters
    )


def key_of(value: object) -> str:
    """A value as the entries of a sequence are spelt."""
    return str(value).strip().lower()


def label(column: Column, place: float) -> str | float:
    """The entry at a place, as the table spells it."""
    entry = next(one for one, at in column.sequence if at == place)
    if column.kind is Kind.NUMBER:
        return float(entry)
    return next((value for value in column.values if value.lower() == entry), entry)


__all__ = ["axis", "found", "key_of", "label", "laid"]
