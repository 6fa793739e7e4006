"""Dates and periods as people write them, from the ISO 8601 values of results."""

import re
from datetime import date, timedelta

from agentpost_offline.frame import Cell, Grain
from agentpost_offline.style.languages import language

CYCLES = (Grain.WEEKDAY, Grain.HOUR)
"""Periods that come again and again."""
DISCRETE = (*CYCLES, Grain.SPAN)
"""Periods of which one does not go on where another ends."""
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?:[T ](\d\d))?")
_QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
_WEEK = re.compile(r"(\d{4})-?W(\d\d)")


def parse(value: Cell) -> date | None:
    """The first day of a period; None for what is no date."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return date(int(value), 1, 1) if value == int(value) and 1 <= value <= 9999 else None
    try:
        if match := _QUARTER.fullmatch(value):
            return date(int(match[1]), 3 * int(match[2]) - 2, 1)
        if match := _WEEK.fullmatch(value):
            return date.fromisocalendar(int(match[1]), int(match[2]), 1)
        if match := _DATE.match(value):
            return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None
    return None


def period(value: Cell, grain: Grain | None, code: str = "en", *, short: bool = False) -> str:
    """A period of a result in words: ``September 2025``, ``Q3 2025``, ``3 May 2025``, ``Monday``.
    ``grain``: its length, None for a day; ``short``: names of months and weekdays are short."""
    tongue = language(code)
    if grain is Grain.WEEKDAY:
        names = tongue.weekdays_short if short else tongue.weekdays
        if isinstance(value, (int, float)) and 1 <= value <= 7:
            return names[int(value) - 1]
        return str(value)
    if grain is Grain.HOUR:
        return _hour(value, code)
    if grain is Grain.SPAN:
        return _days(str(value), code)
    day = parse(value)
    if day is None:
        return "" if value is None else str(value)
    month = (tongue.months_short if short else tongue.months)[day.month - 1]
    iso = day.isocalendar()
    pattern = {
        Grain.YEAR: "{year}",
        Grain.QUARTER: tongue.quarter,
        Grain.MONTH: tongue.month,
        Grain.WEEK: tongue.week,
    }.get(grain or Grain.DAY, tongue.day)
    year = iso.year if grain is Grain.WEEK else day.year
    return pattern.format(
        year=year, month=month, day=day.day, week=iso.week, quarter=(day.month + 2) // 3
    )


def _hour(value: Cell, code: str) -> str:
    pattern, match = language(code).hour, _DATE.match(str(value))
    if isinstance(value, (int, float)):
        return pattern.format(hour=int(value))
    if match is None or match[4] is None:
        return str(value)
    day = period(str(value)[:10], Grain.DAY, code, short=True)
    return f"{day}, {pattern.format(hour=int(match[4]))}"


def _days(value: str, code: str) -> str:
    """A span of days as it stands in a filter, by its months where they are whole."""
    first, _, last = value.partition("/")
    begin, end = parse(first), parse(last)
    is_whole = begin and end and begin.day == 1 and end == last_day(end, Grain.MONTH)
    return span(first, last, Grain.MONTH if is_whole else Grain.DAY, code)


def span(first: Cell, last: Cell, grain: Grain | None, code: str = "en") -> str:
    """``January 2024 to December 2025``; the period alone when both are the same."""
    one, other = period(first, grain, code), period(last, grain, code)
    return one if one == other else language(code).range.format(first=one, last=other)


def last_day(start: date, grain: Grain) -> date:
    """The last day of the period that begins at ``start``."""
    if grain is Grain.YEAR:
        return date(start.year, 12, 31)
    if grain is Grain.WEEK:
        return start + timedelta(days=6)
    if grain in (Grain.MONTH, Grain.QUARTER):
        months = start.month + (1 if grain is Grain.MONTH else 3)
        year, month = (start.year + 1, months - 12) if months > 12 else (start.year, months)
        return date(year, month, 1) - timedelta(days=1) if year <= 9999 else date(9999, 12, 31)
    return start


def following(start: date, grain: Grain) -> date:
    """The first day of the next period; raises `OverflowError` at the end of the calendar."""
    return last_day(start, grain) + timedelta(days=1)
