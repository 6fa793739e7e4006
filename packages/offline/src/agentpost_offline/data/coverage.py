"""Which periods the data covers whole: the one rule for answers, charts, decks and films."""

import bisect
import itertools
from collections.abc import Sequence
from datetime import date, timedelta

from agentpost_offline.data.model import Column
from agentpost_offline.data.sql import Compiler
from agentpost_offline.frame import Aggregate, Filter, Grain, Query
from agentpost_offline.style import dates

_SUMS = (Aggregate.SUM, Aggregate.COUNT)
_TOLERANCE = {Grain.WEEK: 2, Grain.MONTH: 5, Grain.QUARTER: 15, Grain.YEAR: 30}
"""How many days a whole period may lack at its edge, where the dates are days."""


def partial_periods(compiler: Compiler, query: Query) -> tuple[date, ...]:
    """The periods at the edges of the time axis that the data covers only in part, by their first
    days; what is no sum may be compared all the same.

    Only conditions on the time count: a group whose last row is older does not make a period
    incomplete. Where a condition cuts the data off, the data reaches to the next date there is.
    """
    grain, is_sum = query.grain, all(measure.aggregate in _SUMS for measure in query.measures)
    if query.time is None or grain is None or grain not in _TOLERANCE or not is_sum:
        return ()
    if grain is Grain.YEAR and any(
        f.column == query.time and f.grain is Grain.MONTH for f in query.filters
    ):  # the same months of both years
        return ()
    every = _days(compiler, query.time, ())
    # "On weekdays" and "in the morning" leave gaps and cut nothing off.
    cuts = tuple(f for f in query.filters
                 if f.column == query.time and f.grain not in dates.CYCLES)  # fmt: skip
    days = _days(compiler, query.time, cuts) if cuts else every
    if not days:
        return ()
    spacing, a_day = _period_length(compiler.column(query.time), every), timedelta(days=1)
    before, after = bisect.bisect_left(every, days[0]), bisect.bisect_right(every, days[-1])
    first = every[before - 1] + a_day if before else _start_of(days[0], spacing)
    last = every[after] - a_day if after < len(every) else dates.last_day(days[-1], spacing)
    spare = _TOLERANCE[grain] * a_day if spacing is Grain.DAY else timedelta()
    begin, end = _start_of(days[0], grain), _start_of(days[-1], grain)
    results = [begin] if first - begin > spare else []
    results += [end] if dates.last_day(end, grain) - last > spare else []
    return tuple(dict.fromkeys(results))


def _days(compiler: Compiler, time: str, filters: Sequence[Filter]) -> list[date]:
    name = compiler.field(time)
    return [day for (day,) in compiler.rows(
        f"select distinct cast(date_trunc('day', {name}) as date) from {compiler.relation}"
        f" where {compiler.where(filters)} and {name} is not null order by 1"
    )]  # fmt: skip


def _period_length(column: Column, days: Sequence[date]) -> Grain:
    """How long the period is that one date of the column stands for."""
    gaps = sorted((b - a).days for a, b in itertools.pairwise(days))
    gap = gaps[len(gaps) // 2] if gaps else 1
    regular = all(day.day == days[0].day or dates.last_day(day, Grain.MONTH) == day for day in days)
    if column.grain in (Grain.YEAR, Grain.QUARTER, Grain.MONTH):
        return column.grain
    if not regular or gap < 28:
        return Grain.DAY
    return Grain.YEAR if gap > 300 else Grain.QUARTER if gap > 80 else Grain.MONTH


def _start_of(day: date, grain: Grain) -> date:
    """The first day of the period that a day is in."""
    months = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}.get(grain)
    if months is not None:
        return day.replace(month=(day.month - 1) // months * months + 1, day=1)
    return day - timedelta(days=day.weekday()) if grain is Grain.WEEK else day
