"""Which periods the data covers whole: the one rule for answers, charts, decks and films."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from agentpost_offline.data.model import Column, Kind
from agentpost_offline.data.sql import Compiler
from agentpost_offline.frame import Filter, Grain, Query
from agentpost_offline.style import dates

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TOLERANCE = {Grain.WEEK: 2, Grain.MONTH: 5, Grain.QUARTER: 15, Grain.YEAR: 30}
"""How many days a whole period may lack at its edge, where the dates are days."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """From which day to which day the data speaks.

    Args:
        first: the first day.
        last: the last one.
        spacing: how long the period is that one date stands for.
        dates: the first and the last date that rows have.
    """

    first: date
    last: date
    spacing: Grain
    dates: tuple[date, date]

    def lacks_begin(self, start: date, grain: Grain) -> bool:
        """Whether the data begins later than the period that begins at ``start``."""
        return self.first - start > self._spare(grain)

    def lacks_end(self, start: date, grain: Grain) -> bool:
        """Whether the data ends before the period that begins at ``start`` does."""
        return dates.last_day(start, grain) - self.last > self._spare(grain)

    def partial(self, grain: Grain | None) -> tuple[date, ...]:
        """The periods at the edges of the data that it covers only in part, by their first days."""
        if grain not in TOLERANCE:
            return ()
        begin, end = (start_of(day, grain) for day in self.dates)
        results = [begin] if self.lacks_begin(begin, grain) else []
        return (
            (*results, end) if self.lacks_end(end, grain) and end not in results else tuple(results)
        )

    def _spare(self, grain: Grain) -> timedelta:
        return timedelta(days=TOLERANCE.get(grain, 0) if self.spacing is Grain.DAY else 0)


def coverage(db: DuckDBPyConnection, compiler: Compiler, query: Query) -> Coverage | None:
    """What the table covers of the time that a query is about; None without a date.

    Only conditions on the time count: a group whose last row is older does not make a period
    incomplete. Where a condition cuts the data off, the data reaches to the next date there is.
    """
    assert query.time is not None
    column = compiler.column(query.time)
    if column.kind is not Kind.DATE:
        return None
    every = _days(db, compiler, query.time, ())
    if not every:
        return None
    # "On weekdays" and "in the morning" leave gaps and cut nothing off.
    cuts = tuple(f for f in query.filters
                 if f.column == query.time and f.grain not in dates.CYCLES)  # fmt: skip
    days = _days(db, compiler, query.time, cuts) if cuts else every
    if not days:
        return None
    spacing = period_length(column, every)
    after = bisect.bisect_right(every, days[-1])
    before = bisect.bisect_left(every, days[0])
    last = every[after] - timedelta(days=1) if after < len(every) else None
    first = every[before - 1] + timedelta(days=1) if before else None
    return Coverage(
        start_of(days[0], spacing) if first is None else min(first, days[0]),
        dates.last_day(days[-1], spacing) if last is None else max(last, days[-1]),
        spacing,
        (days[0], days[-1]),
    )


def _days(
    db: DuckDBPyConnection, compiler: Compiler, time: str, filters: Sequence[Filter]
) -> list[date]:
    where = compiler.where(filters)
    name = compiler.field(time)
    rows = db.execute(
        f"select distinct cast(date_trunc('day', {name}) as date) from {compiler.relation}"
        f" where {where.sql} and {name} is not null order by 1",
        where.values,
    ).fetchall()
    return [row[0] for row in rows]


def period_length(column: Column, days: Sequence[date]) -> Grain:
    """How long the period is that one date of the column stands for."""
    gaps = sorted((b - a).days for a, b in itertools.pairwise(days))
    gap = gaps[len(gaps) // 2] if gaps else 1
    regular = all(day.day == days[0].day or dates.last_day(day, Grain.MONTH) == day for day in days)
    if column.grain in (Grain.YEAR, Grain.QUARTER, Grain.MONTH):
        return column.grain
    if not regular or gap < 28:
        return Grain.DAY
    return Grain.YEAR if gap > 300 else Grain.QUARTER if gap > 80 else Grain.MONTH


def start_of(day: date, grain: Grain) -> date:
    """The first day of the period that a day is in."""
    if grain is Grain.YEAR:
        return day.replace(month=1, day=1)
    if grain is Grain.QUARTER:
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    if grain is Grain.MONTH:
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if grain is Grain.WEEK else day
