"""The second path: a figure is computed again by another query before a claim may state it.

A value of a group or period comes from grouped rows; here it is one number over the rows that a
filter lets through. A total is a sum of groups; here it is computed without them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import msgspec

from agentpost_offline.data.model import Cell, Result, Table
from agentpost_offline.frame import (
    Derived,
    Filter,
    Grain,
    Measure,
    Op,
    Query,
)
from agentpost_offline.story.shape import number
from agentpost_offline.style import dates


class Source(Protocol):
    """What a story is computed from: `data.dataset.Dataset`, or a stand-in for it."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that were found."""
        ...

    def run(self, query: Query) -> Result:
        """Compute a query."""
        ...


@dataclass(frozen=True, slots=True)
class Check:
    """A value and the filters and measure that must give it again."""

    value: float
    measure: Measure
    filters: tuple[Filter, ...] = ()


def group_filter(column: str, key: Cell) -> Filter:
    """The rows of one group."""
    if key is None or key == "":
        return Filter(column, Op.MISSING)
    return Filter(column, Op.IS, (key if isinstance(key, (int, float, str)) else str(key),))


def period_filter(column: str, first: Cell, last: Cell, grain: Grain | None) -> Filter | None:
    """The rows from one period to another; None where no filter says that."""
    if grain in (Grain.WEEKDAY, Grain.HOUR):
        value = number(first)
        return Filter(column, Op.IS, (value,), grain) if value is not None else None
    start, end = dates.parsed(first), dates.parsed(last)
    if start is None or end is None:
        return None
    until = dates.last_day(end, grain or Grain.DAY)
    return Filter(column, Op.BETWEEN, (start.isoformat(), until.isoformat()))


class Second:
    """Computes figures again from the tables, each once."""

    def __init__(self, source: Source, query: Query) -> None:
        self._source = source
        self._query = query
        self._known: dict[Query, float | None] = {}

    def agrees(self, check: Check) -> bool:
        """Whether the value comes out again."""
        if check.measure.derived is Derived.SHARE:
            plain = msgspec.structs.replace(check.measure, derived=None)
            part, whole = self._value(plain, check.filters), self._value(plain, ())
            again = None if part is None or not whole else 100 * part / whole
        elif check.measure.derived is not None:
            return False
        else:
            again = self._value(check.measure, check.filters)
        return again is not None and math.isclose(again, check.value, rel_tol=1e-7, abs_tol=1e-7)

    def _value(self, measure: Measure, filters: tuple[Filter, ...]) -> float | None:
        query = Query(self._query.table, (measure,), filters=(*self._query.filters, *filters))
        if query not in self._known:
            rows = self._source.run(query).rows
            self._known[query] = number(rows[0][-1]) if rows else None
        return self._known[query]
