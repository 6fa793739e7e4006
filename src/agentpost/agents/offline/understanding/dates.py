"""Periods as filters on a table's date column."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.agents.offline.frame import Filter, Grain, Op
from agentpost.agents.offline.understanding.periods import Calendar, Period
from agentpost.agents.offline.understanding.segments import Segment

_BACK = 4
"""How many segments before a period can hold its "since" or "between"."""


def filters(found: Sequence[Segment], named: Sequence[Period], calendar: Calendar) -> list[Filter]:
    """The filters for periods that restrict the rows; marks their segments and words as used."""
    made: list[Filter] = []
    at = 0
    while at < len(named):
        period = named[at]
        following = named[at + 1] if at + 1 < len(named) else None
        if following is not None and _joined(found, period, following):
            made += _between(period, following, calendar)
            _use(found, period.first, following.end)
            _use_back(found, period.first, ("when", "op"))
            at += 2
            continue
        made.append(_one(found, period, calendar))
        _use(found, period.first, period.end)
        at += 1
    return _merged(made)


def listed(named: Sequence[Period], calendar: Calendar) -> list[Filter] | None:
    """The filters that keep exactly these periods, each a group of its own: for comparisons.

    None when no filters do: those of "March 2024 and May 2025" would keep May 2024, too, and a
    group cannot be half a year long unless it is the same half of each year.
    """
    column = calendar.column
    halves = {period.half for period in named}
    if any(period.day for period in named) or len(halves) > 1:
        return None
    made: list[Filter] = []
    kept = 1
    for grain, key in (
        (Grain.YEAR, "year"), (Grain.QUARTER, "quarter"), (Grain.MONTH, "month"),
    ):  # fmt: skip
        said = {getattr(period, key) for period in named} - {None}
        if said:
            kept *= len(said)
            values = tuple(float(value) for value in sorted(said))
            made.append(Filter(column, Op.IS, values, grain))
    if kept != len({(one.year, one.quarter, one.month) for one in named}):
        return None
    half = halves.pop()
    if half is not None:
        made.append(Filter(column, Op.IS, (1.0, 2.0) if half == 1 else (3.0, 4.0), Grain.QUARTER))
    return made


def weekdays(found: Sequence[Segment], column: str) -> list[Filter]:
    """Filters by day of the week."""
    days: set[int] = set()
    excluded = False
    for at, segment in enumerate(found):
        key = segment.key("weekday")
        if segment.used or key is None or (at and found[at - 1].has("by")):
            continue
        asked = bool(at) and found[at - 1].has("question", "which", "what")
        named = _near(found, at, "only") or _near(found, at, "for")
        if segment.has("grain") and (asked or not named):
            continue
        first, _, last = key.partition("-")
        days |= set(range(int(first), int(last or first) + 1))
        excluded = excluded or _use_back(found, at, ("not",))
        segment.used = True
    if not days:
        return []
    kept = tuple(float(day) for day in sorted(days))
    return [Filter(column, Op.IS_NOT if excluded else Op.IS, kept, Grain.WEEKDAY)]


def _near(found: Sequence[Segment], at: int, section: str) -> bool:
    around = [*found[max(0, at - 2) : at], *found[at + 1 : at + 2]]
    return any(segment.has(section) for segment in around)


def _joined(found: Sequence[Segment], one: Period, other: Period) -> bool:
    """Whether two periods are the ends of one range."""
    between = found[one.end : other.first]
    if len(between) > 3 or not any(segment.has("when", "to") for segment in between):
        return False
    dashed = any(segment.text in "-–" for segment in between)
    opened = any(
        segment.has("op", "between") or segment.has("when", "since")
        for segment in found[max(0, one.first - 2) : one.first]
    )
    plain_and = all(segment.has("and") or segment.has("filler") for segment in between)
    return dashed or opened or not plain_and


def _between(one: Period, other: Period, calendar: Calendar) -> list[Filter]:
    if one.year is None:
        one.year = other.year
    if other.year is None:
        other.year = one.year
    if one.year is None and calendar.first.year == calendar.last.year:
        one.year = other.year = calendar.first.year
    first, last = one.range(), other.range()
    if first is not None and last is not None:
        values = (first[0].isoformat(), last[1].isoformat())
        return [Filter(calendar.column, Op.BETWEEN, values)]
    low, high = _months(one), _months(other)
    months = tuple(float(month) for month in range(low[0], high[-1] + 1))
    return [Filter(calendar.column, Op.IS, months, Grain.MONTH)]


def _months(period: Period) -> tuple[int, ...]:
    if period.month:
        return (period.month,)
    if period.quarter:
        return tuple(range(period.quarter * 3 - 2, period.quarter * 3 + 1))
    return tuple(range(1, 7) if period.half == 1 else range(7, 13))


def _one(found: Sequence[Segment], period: Period, calendar: Calendar) -> Filter:
    column = calendar.column
    if period.year is None and period.days is None and calendar.first.year == calendar.last.year:
        period.year = calendar.first.year
    reach = period.range()
    before = _before(found, period.first)
    if reach is None:
        grain = Grain.QUARTER if period.quarter else Grain.MONTH
        values = (period.quarter,) if period.quarter else _months(period)
        excluded = _use_back(found, period.first, ("not",))
        op = Op.IS_NOT if excluded else Op.IS
        return Filter(column, op, tuple(float(value) for value in values), grain)
    if before is not None:
        when = before.key("when") if before.has("when") else None
        single = reach[0].isoformat(), reach[1].isoformat()
        ops = {
            "since": (Op.AT_LEAST, single[0]), "after": (Op.ABOVE, single[1]),
            "before": (Op.BELOW, single[0]), "until": (Op.AT_MOST, single[1]),
        }  # fmt: skip
        keys = [key for key in ops if before.has("when", key)]
        strict = keys and not (before.has("for") or before.has("of") or before.has("from"))
        if when is not None and keys and (strict or "since" not in keys):
            before.used = True
            return Filter(column, ops[keys[0]][0], (ops[keys[0]][1],))
        if before.has("not") and period.grain is Grain.YEAR:
            before.used = True
            return Filter(column, Op.IS_NOT, (float(period.year or 0),), Grain.YEAR)
        if before.has("not") and period.month and not period.day:
            before.used = True
            return Filter(column, Op.IS_NOT, (float(period.month),), Grain.MONTH)
    return Filter(column, Op.BETWEEN, (reach[0].isoformat(), reach[1].isoformat()))


def _before(found: Sequence[Segment], at: int) -> Segment | None:
    """The word that says how a period restricts the rows, if one stands before it."""
    for index in range(at - 1, max(-1, at - 1 - _BACK), -1):
        segment = found[index]
        if segment.has("when", "since", "after", "before", "until") or segment.has("not"):
            return segment
        if not (segment.has("filler") or segment.has("of") or segment.text in ",("):
            return None
    return None


def _merged(made: Sequence[Filter]) -> list[Filter]:
    """Several single periods of one kind keep the rows of any of them."""
    ranges = [one for one in made if one.op is Op.BETWEEN]
    others = [one for one in made if one.op is not Op.BETWEEN]
    if len(ranges) > 1:
        low = min(str(one.values[0]) for one in ranges)
        high = max(str(one.values[1]) for one in ranges)
        ranges = [Filter(ranges[0].column, Op.BETWEEN, (low, high))]
    grains: dict[Grain | None, Filter] = {}
    for one in others:
        same = grains.get(one.grain)
        if one.grain is not None and same is not None and same.op is one.op:
            values = tuple(sorted({*same.values, *one.values}, key=float))
            grains[one.grain] = Filter(one.column, one.op, values, one.grain)
        elif one.grain is not None:
            grains[one.grain] = one
    return [*ranges, *(one for one in others if one.grain is None), *grains.values()]


def _use(found: Sequence[Segment], first: int, end: int) -> None:
    for segment in found[first:end]:
        segment.used = True


def _use_back(found: Sequence[Segment], at: int, sections: tuple[str, ...]) -> bool:
    """Mark words of some sections shortly before a place as used; whether there was one."""
    there = False
    for segment in found[max(0, at - _BACK) : at]:
        if any(segment.has(section) for section in sections) and not segment.columns:
            segment.used = there = True
    return there
