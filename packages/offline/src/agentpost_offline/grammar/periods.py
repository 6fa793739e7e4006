"""The periods that a request names: years, halves, quarters, months, days, and ranges of them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentpost_offline.frame import Filter, Grain, Op
from agentpost_offline.grammar.material import Calendar
from agentpost_offline.grammar.tagging import END, Term
from agentpost_offline.style import dates

_EDGES = {"since": Op.AT_LEAST, "after": Op.ABOVE, "before": Op.BELOW, "until": Op.AT_MOST}
_DAYS = 32
_YEARLY = dt.timedelta(days=300)
"""Days that lie so far apart are those of years."""
_YEARS = range(1900, 2101)
_MONTHS = {Grain.QUARTER: 3, Grain.MONTH: 1, Grain.YEAR: 12}


@dataclass(slots=True)
class Period:
    """A period by its parts; a month, quarter or half may lack its year."""

    grain: Grain
    year: int | None = None
    half: int | None = None
    quarter: int | None = None
    month: int | None = None
    days: tuple[dt.date, dt.date] | None = None
    """First and last day, of a period that is none of the calendar's."""
    edge: str = ""
    """``since after before until`` when it bounds the rows on one side."""
    weekdays: tuple[int, ...] = ()
    ends: tuple[Period, Period] | None = None
    """Of a range: the periods that it begins and ends with."""
    text: str = ""
    """As it was written."""
    is_relative: bool = False
    """Whether it was counted from the day of the message: "last month"."""

    @property
    def months(self) -> tuple[int, ...]:
        """The numbers of its months in the year."""
        if self.month:
            return (self.month,)
        if self.quarter:
            return tuple(range(3 * self.quarter - 2, 3 * self.quarter + 1))
        if self.half:
            return tuple(range(6 * self.half - 5, 6 * self.half + 1))
        return tuple(range(1, 13))

    @property
    def reach(self) -> tuple[dt.date, dt.date] | None:
        """Its first and last day; None without a year."""
        if self.days is not None:
            return self.days
        if self.year is None:
            return None
        months = self.months
        end = dates.last_day(dt.date(self.year, months[-1], 1), Grain.MONTH)
        return dt.date(self.year, months[0], 1), end

    @property
    def iso(self) -> str | None:
        """As a filter writes it: ``2025``, ``2025-Q2``, ``2025-05``; None for other spans."""
        if self.days is not None and self.days[0] == self.days[1]:
            return self.days[0].isoformat()
        if self.year is None or self.half or self.days is not None:
            return None
        if self.month:
            return f"{self.year}-{self.month:02d}"
        return f"{self.year}-Q{self.quarter}" if self.quarter else str(self.year)

    def filter(self, calendar: Calendar, op: Op = Op.IS) -> Filter:
        """The rows that are in it, or that its edge leaves."""
        column = calendar.column
        if self.weekdays:
            return Filter(column, op, tuple(map(float, self.weekdays)), Grain.WEEKDAY)
        reach = self.reach
        if reach is None:
            return Filter(column, op, tuple(map(float, self.months)), Grain.MONTH)
        first, last = (day.isoformat() for day in reach)
        if self.edge:
            edge = _EDGES[self.edge]
            return Filter(column, edge, (first if edge in (Op.AT_LEAST, Op.BELOW) else last,))
        if op is Op.IS_NOT and (iso := self.iso) is not None:
            return Filter(column, Op.IS_NOT, (iso,))
        return Filter(column, Op.BETWEEN, (first, last))


def read(phrases: Sequence[Term], at: int, calendar: Calendar) -> tuple[Period | None, int]:
    """The period at a place, and how many terms it takes; None and 0 where there is none."""
    edge, width = _edge(phrases, at)
    first, size = _one(phrases, at + width, calendar)
    if first is None:
        return _days(phrases, at, at + width, calendar)
    end = at + width + size
    joint = _joint(phrases, end)
    if joint and (edge in ("", "since", "between")):
        second, more = _one(phrases, end + joint, calendar)
        between = edge == "between" or not phrases[end].has("small.and")
        if second is not None and between and (both := span(first, second, calendar)):
            return both, end + joint + more - at
    if edge in ("", "since") and _goes_on(phrases, end):
        _in_only_year(first, calendar)
        if first.reach is not None and not first.weekdays:
            first.edge = "since"
            return first, end + 1 - at
    if edge and edge != "between":
        _in_only_year(first, calendar)
        only_from = (
            phrases[at].has("small.in") and edge == "since" and calendar.gap < _YEARLY
        )  # of a table of years it is the beginning
        if only_from or first.reach is None:  # "from 2024" may be all of it or its beginning
            return (first, end - at) if only_from else (None, 0)
        first.edge = edge
    _in_only_year(first, calendar)
    return first, end - at


def _at(phrases: Sequence[Term], at: int) -> Term:
    return phrases[at] if at < len(phrases) else END


def _days(
    phrases: Sequence[Term], at: int, start: int, calendar: Calendar
) -> tuple[Period | None, int]:
    """As in "between 10 and 20 March 2026": the month and the year stand behind the second day."""
    day = _at(phrases, start).number
    joint_at = start + 1
    while _at(phrases, joint_at).text == ".":
        joint_at += 1
    joint = _joint(phrases, joint_at)
    if day is None or day % 1 or not 0 < day < _DAYS or not joint:
        return None, 0
    last, size = _read_name(phrases, joint_at + joint, calendar)
    if last is None or last.days is None or last.days[0] != last.days[1]:
        return None, 0
    end = last.days[0]
    if day >= end.day:
        return None, 0
    return Period(Grain.DAY, days=(end.replace(day=int(day)), end)), joint_at + joint + size - at


def _goes_on(phrases: Sequence[Term], at: int) -> bool:
    """Whether "on" ends a clause after a period: "from February on"."""
    term, is_last = _at(phrases, at), _at(phrases, at + 1).kind == "mark"
    return term.has("onward") and (is_last or not term.has("small"))


def _edge(phrases: Sequence[Term], at: int) -> tuple[str, int]:
    term = _at(phrases, at)
    for edge in ("between", "after", "before", "until", "since"):
        if term.has(f"period.{edge}"):
            size = 1
            while _at(phrases, at + size).is_glue:
                size += 1
            begins = edge == "between" and term.has("small.in", "period.since")
            return ("since" if begins else edge), size
    return "", 0


def _joint(phrases: Sequence[Term], at: int) -> int:
    """How many words join two ends of a range: "to", "-", "and the"."""
    if not _at(phrases, at).has("small.to", "small.and", "period.until"):
        return 0
    size = 1
    while (one := _at(phrases, at + size)).is_glue and one.kind != "mark":
        size += 1
    return size


def _one(phrases: Sequence[Term], at: int, calendar: Calendar) -> tuple[Period | None, int]:
    term = _at(phrases, at)
    relative, size = _relative(phrases, at, calendar)
    if relative is not None:
        return relative, size
    if term.kind == "date":
        return _date(term.text), 1
    if term.has("weekday"):
        days = tuple(map(int, term.key("weekday") or ""))
        return Period(Grain.WEEKDAY, weekdays=days), 1
    return _read_name(phrases, at, calendar)


def _read_name(phrases: Sequence[Term], at: int, calendar: Calendar) -> tuple[Period | None, int]:
    """A year, or a day, month, quarter or half with or without its year."""
    result = Period(Grain.YEAR)
    day: int | None = None
    end = at
    while end < len(phrases):
        term = phrases[end]
        number = int(term.number) if term.number is not None and term.number % 1 == 0 else None
        if term.has("month") and not (result.month or result.quarter or result.half):
            result.month, result.grain = int(term.key("month") or 0), Grain.MONTH
        elif (part := _part(term)) and not (result.month or result.quarter or result.half):
            setattr(result, part[0], part[1])
            result.grain = Grain.QUARTER
        elif number in _YEARS and result.year is None and len(term.text) == 4:
            result.year = number
        elif number and number < 32 and day is None and _beside_month(phrases, end, result):
            day = number
        elif not (end > at and _is_inner(phrases, end, result)):
            break
        end += 1
    while end > at and (phrases[end - 1].is_glue or phrases[end - 1].has("small.in")):
        end -= 1
    if day is not None and result.month and result.year is None:
        _in_only_year(result, calendar)
    if day is not None and result.month and result.year:
        try:
            one = dt.date(result.year, result.month, day)
        except ValueError:
            return None, 0
        return Period(Grain.DAY, days=(one, one)), end - at
    unit = result.year or result.month or result.quarter or result.half
    return (None, 0) if day is not None or end == at or not unit else (result, end - at)


def _part(term: Term) -> tuple[str, int] | None:
    key = term.key("period") or ""
    match = re.fullmatch("(half|quarter)([1-4])", key)
    return (match[1], int(match[2])) if match else None


def _beside_month(phrases: Sequence[Term], at: int, period: Period) -> bool:
    if period.month:
        return at > 0 and (phrases[at - 1].has("month") or phrases[at - 1].is_glue)
    following = [term for term in phrases[at + 1 : at + 4] if not term.is_glue]
    return bool(following) and following[0].has("month")


def _is_inner(phrases: Sequence[Term], at: int, period: Period) -> bool:
    """Whether a small word stands between the parts of one date: "May of 2025", "2025年5月"."""
    term = phrases[at]
    inner = term.is_glue or term.has("small.of", "small.in", "grain.year", "grain.month")
    return inner and at + 1 < len(phrases) and not term.has("small.and", "small.to")


def _date(text: str) -> Period | None:
    parts = [int(part) for part in re.split("[-./]", text)]
    try:
        if len(parts) == 2:
            return Period(Grain.MONTH, parts[0], month=parts[1]) if 1 <= parts[1] <= 12 else None
        if len(str(parts[0])) == 4:
            day = dt.date(*parts)
        elif "/" in text and parts[0] != parts[1] and max(parts[:2]) < 13:
            return None  # 3/4/2025 is two days
        else:
            first, second = parts[:2]
            month, number = (first, second) if second > 12 else (second, first)
            day = dt.date(parts[2], month, number)
    except ValueError:
        return None
    return Period(Grain.DAY, days=(day, day))


def _relative(phrases: Sequence[Term], at: int, calendar: Calendar) -> tuple[Period | None, int]:
    """As in "last month", "this year", "last 3 months"; counted from the day of the message."""
    term = _at(phrases, at)
    if not term.has("period.last", "period.this"):
        return None, 0
    size = count = 1
    while not (inner := _at(phrases, at + size)).has("grain"):
        if number := inner.number or inner.key("number"):
            count = int(float(number))
        elif not inner.is_glue:
            return None, 0
        size += 1
    key, is_this = inner.key("grain"), term.has("period.this")
    if size > 3 or key not in ("year", "quarter", "month", "week", "day") or (
        not 0 < count < (2 if is_this else 1000)
    ):  # fmt: skip
        return None, 0
    result = _count_back(Grain(key), count, 0 if is_this else 1, calendar.today)
    if result is not None:
        result.is_relative = True
    return result, size + 1


def _count_back(grain: Grain, count: int, back: int, today: dt.date) -> Period | None:
    if grain in (Grain.DAY, Grain.WEEK):
        step = dt.timedelta(days=7 if grain is Grain.WEEK else 1)
        start = today - dt.timedelta(days=today.weekday()) if grain is Grain.WEEK else today
        first = start - step * (back * count)
        return Period(grain, days=(first, first + step * count - dt.timedelta(days=1)))
    months = _MONTHS[grain]
    now = today.year * 12 + today.month - 1
    start_at = now - now % months - back * months * count
    year, month = divmod(start_at, 12)
    if year < 1:
        return None
    if count == 1:
        result = Period(grain, year)
        if grain is Grain.MONTH:
            result.month = month + 1
        elif grain is Grain.QUARTER:
            result.quarter = month // 3 + 1
        return result
    end_year, end_month = divmod(start_at + months * count - 1, 12)
    end = dates.last_day(dt.date(end_year, end_month + 1, 1), Grain.MONTH)
    return Period(grain, days=(dt.date(year, month + 1, 1), end))


def span(one: Period, other: Period, calendar: Calendar) -> Period | None:
    """From the begin of one to the end of the other; None where they cannot be told."""
    if one.weekdays or other.weekdays:
        return None
    one.year = one.year or (other.year if other.days is None else None)
    if other.year is None and other.days is None and one.year:
        other.year = one.year
    _in_only_year(one, calendar)
    _in_only_year(other, calendar)
    first, last = one.reach, other.reach
    if first is None or last is None or first[0] > last[1]:
        return None
    begin, end = first[0], last[1]
    quarter = (begin.month + 2) // 3
    is_quarter = begin.day == 1 and begin.month % 3 == 1 and begin.year == end.year
    if is_quarter and end == dates.last_day(begin, Grain.QUARTER):
        return Period(Grain.QUARTER, begin.year, quarter=quarter)  # "January to March"
    return Period(one.grain, days=(begin, end), ends=(one, other))


def _in_only_year(one: Period, calendar: Calendar) -> None:
    """A month is that of the year which the data is about, when it is about one alone."""
    if one.days is None and one.year is None and calendar.first.year == calendar.last.year:
        one.year = calendar.first.year
