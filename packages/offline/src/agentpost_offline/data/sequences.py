"""Columns whose entries follow each other in time without a date: month names, weekdays, quarters.

Such a column orders a table as dates do, as long as its rows name each entry once: where they go
back to a month that they had left, it may be another year, and no order is known.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from agentpost_offline.data import words
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import Grain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LENGTHS = {Grain.MONTH: 12, Grain.WEEKDAY: 7, Grain.QUARTER: 4}
_WORDS = {Grain.MONTH: "month", Grain.WEEKDAY: "weekday", Grain.QUARTER: "quarter"}
_QUARTER = re.compile(r"(?:q|quarter|quartal|trimestre)\s?([1-4])|([1-4])\.?\s?(?:q|quartal)")


def find(
    db: DuckDBPyConnection, relation: str, columns: Sequence[Column], fields: Mapping[str, str]
) -> list[Column]:
    """The columns of a loaded table, with the order of those that are sequences. A table with
    dates has the order of its dates and no other."""
    if any(column.kind is Kind.DATE for column in columns):
        return list(columns)
    return [_order(db, relation, column, columns, fields) for column in columns]


def _order(
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
    sql = ", ".join(["v", *(f"b{at}" for at in range(len(beside)))])
    others = "".join(f", {field} as b{at}" for at, field in enumerate(beside))
    runs = db.execute(
        f"with r as (select {entry} as v{others}, lag({entry}) over ({within}order by rowid) as p"
        f" from {relation} where {entry} is not null)"
        " select (select count(*) from r where p is distinct from v),"
        f" (select count(*) from (select distinct {sql} from r))"
    ).fetchone()
    if runs is None or runs[0] > runs[1]:
        return column
    first = _first([places[one] for one in entries], _LENGTHS[grain])
    pairs = sorted(((places[one] - first) % _LENGTHS[grain], one) for one in entries)
    return msgspec.structs.replace(column, sequence=tuple((one, place) for place, one in pairs))


def _places(column: Column, entries: Sequence[str]) -> tuple[Grain | None, dict[str, int]]:
    """What all entries are, and the place of each in the year or week; no two have the same."""
    for grain, length in _LENGTHS.items():
        results = {one: _place(column, grain, one) for one in entries}
        place_of = {
            one: place for one, place in results.items() if place is not None and place <= length
        }
        if len(place_of) == len(entries) == len(set(place_of.values())):
            return grain, place_of
    return None, {}


def _place(column: Column, grain: Grain, entry: str) -> int | None:
    if column.kind is Kind.NUMBER:
        number = float(entry)
        has_grain_name = number == int(number) and words.names(column.name, _WORDS[grain])
        return int(number) if has_grain_name and number >= (grain is not Grain.WEEKDAY) else None
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
