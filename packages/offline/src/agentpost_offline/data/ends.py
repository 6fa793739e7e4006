"""The first and the last period of a table, which a growth without a named length compares."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import msgspec

from agentpost_offline.data.coverage import (
    LONGEST,
    TOLERANCE,
    Coverage,
    coverage,
    start_of,
)
from agentpost_offline.data.loading import Loaded
from agentpost_offline.data.model import Column
from agentpost_offline.data.sql import Compiler
from agentpost_offline.frame import Filter, Grain, Op, Query
from agentpost_offline.style import dates

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def resolved(
    db: DuckDBPyConnection, loaded: Loaded, compiler: Compiler, query: Query
) -> tuple[Query, list[tuple[date, Grain]]]:
    """The query with the two periods that it compares as its filter, and the incomplete periods
    at the edges of the table that are left out.

    When the query is about one year, quarter or month and the table has the one before, these
    two are compared; else the first and the last whole period, of the longest length of which
    there are two. A query whose rows are in one period keeps its filters.
    """
    assert query.time is not None
    column = compiler.column(query.time)
    where = compiler.where(query.filters)
    name = compiler.field(query.time)
    rows = db.execute(
        f"select distinct cast(date_trunc('day', {name}) as date) from {loaded.relation}"
        f" where {where.sql} and {name} is not null order by 1",
        where.values,
    ).fetchall()
    days = [row[0] for row in rows]
    plain = msgspec.structs.replace(query, ends=False, grain=query.grain or Grain.DAY)
    if not days:
        return plain, []
    named = _with_the_one_before(column, query)
    if named is not None:
        return _between(plain, query, *named), []
    if query.grain is not None:
        return plain, []
    covered = coverage(db, loaded, compiler, query)
    assert covered is not None, "there are days"
    spacing = covered.spacing
    for grain in LONGEST[: LONGEST.index(spacing) + 1]:
        if grain is Grain.QUARTER and spacing is not Grain.QUARTER:
            continue
        starts = sorted({start_of(day, grain) for day in days})
        kept, left = _whole(starts, covered, grain)
        weeks = grain is Grain.WEEK
        if weeks and kept and kept[0].isocalendar().year != kept[-1].isocalendar().year:
            continue
        if len(kept) > 1 and (grain is not Grain.WEEK or spacing is Grain.DAY):
            return _between(plain, query, kept[0], kept[-1], grain), [(d, grain) for d in left]
    return msgspec.structs.replace(plain, grain=spacing), []


def _between(plain: Query, query: Query, first: date, last: date, grain: Grain) -> Query:
    """The query over two periods only."""
    assert query.time is not None
    others = tuple(f for f in query.filters if f.column != query.time or f.grain is Grain.WEEKDAY)
    if grain is Grain.WEEK:
        weeks = tuple(float(day.isocalendar().week) for day in (first, last))
        # A week's number is that of several years.
        reach = Filter(query.time, Op.BETWEEN, (
            first.isoformat(), dates.last_day(last, grain).isoformat()))  # fmt: skip
        made: tuple[Filter, ...] = (reach, Filter(query.time, Op.IS, weeks, Grain.WEEK))
    else:
        made = (Filter(query.time, Op.IS, tuple(_spelt(day, grain) for day in (first, last))),)
    return msgspec.structs.replace(plain, grain=grain, filters=(*others, *made))


def _spelt(day: date, grain: Grain) -> str:
    if grain is Grain.QUARTER:
        return f"{day.year:04}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {Grain.YEAR: 4, Grain.MONTH: 7}.get(grain, 10)]


def _with_the_one_before(column: Column, query: Query) -> tuple[date, date, Grain] | None:
    """As in "growth in March": against February, when the table has it."""
    dated = [f for f in query.filters if f.column == query.time and f.grain is not Grain.WEEKDAY]
    if len(dated) != 1 or dated[0].op is not Op.BETWEEN or len(dated[0].values) != 2:
        return None
    low, high = (str(value) for value in dated[0].values)
    grain, first = dates.whole(low, high), dates.parsed(low)
    begin = dates.parsed(column.first)
    if grain is None or first is None or begin is None or first == date.min:
        return None
    before = start_of(first - timedelta(days=1), grain)
    if begin - before > timedelta(days=TOLERANCE.get(grain, 0)):
        return None
    return before, first, grain


def _whole(starts: list[date], covered: Coverage, grain: Grain) -> tuple[list[date], list[date]]:
    """The periods that the data covers from their first to their last day, and the others."""
    kept, left = list(starts), []
    if covered.lacks_begin(kept[0], grain):
        left.append(kept.pop(0))
    if kept and covered.lacks_end(kept[-1], grain):
        left.append(kept.pop())
    return kept, left
