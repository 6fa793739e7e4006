"""Periods that are compared: complete, equally long, and what is said where they are not."""

import calendar as calendars
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentpost_offline.frame import Filter, Grain, Op
from agentpost_offline.grammar.material import Calendar
from agentpost_offline.grammar.periods import Period
from agentpost_offline.grammar.reading import Unclear
from agentpost_offline.style import dates
from agentpost_offline.style.languages import language as tongue

Note = tuple[str, dict[str, str]]
_Days = tuple[dt.date, dt.date]
"""The first and the last day of a span."""


@dataclass(slots=True)
class Cut:
    """Two periods as filters: their common part."""

    grain: Grain
    filters: tuple[Filter, ...]
    notes: list[Note] = field(default_factory=list)


def pair_of(periods: Sequence[Period]) -> tuple[Period, Period] | None:
    """The two periods to compare: those named, the ends of a range, or one and the one before."""
    if len(periods) == 1 and (ends := periods[0].ends) is not None:
        return ends
    same_year = in_one_year([one for one in periods if not one.edge])
    if len(same_year) == 2:
        return same_year[0], same_year[1]
    if len(same_year) != 1 or len(periods) != 1 or (before := _before(same_year[0])) is None:
        return None
    return before, same_year[0]


def _before(one: Period) -> Period | None:
    """The period before one of the calendar's."""
    if one.year is None or one.days is not None or one.half:
        return None
    if one.month:
        year, month = (one.year, one.month - 1) if one.month > 1 else (one.year - 1, 12)
        return Period(one.grain, year, month=month)
    if one.quarter:
        year, quarter = (one.year, one.quarter - 1) if one.quarter > 1 else (one.year - 1, 4)
        return Period(one.grain, year, quarter=quarter)
    return Period(one.grain, one.year - 1)


def in_one_year(periods: Sequence[Period]) -> list[Period]:
    """Periods where a year said once is that of all: "May and June 2025"."""
    years = [one.year for one in periods if one.year is not None]
    if len(years) == 1:
        for one in periods:
            if one.days is None:
                one.year = years[0]
    return list(periods)


def only_year(one: Period, calendar: Calendar) -> int | None:
    """The only year in which the data has a month, quarter or half that lacks its year; None where
    it is no such period, or several years have it."""
    if one.days is not None or one.weekdays or not (one.month or one.quarter or one.half):
        return None
    years = []
    for year in range(calendar.first.year, calendar.last.year + 1):
        reach = replace(one, year=year).reach
        if reach is not None and reach[0] <= calendar.last and reach[1] >= calendar.first:
            years.append(year)
    return years[0] if len(years) == 1 else None


def equally_long(pair: tuple[Period, Period], calendar: Calendar, language: str) -> Cut:
    """Both periods, cut to the months that the data covers of both. Raises `Unclear`."""
    one, other = sorted(pair, key=lambda period: period.reach or (dt.date.max, dt.date.max))
    reaches = one.reach, other.reach
    if reaches[0] is None or reaches[1] is None:
        raise Unclear("not_comparable")
    if one.half and one.half == other.half and one.year != other.year:
        one, other = (Period(Grain.YEAR, each.year, half=each.half) for each in (one, other))
        return _of_years(one, other, calendar, language)
    if one.iso is None or other.iso is None:
        return _of_spans(reaches[0], reaches[1], calendar, language)
    if one.iso == other.iso or one.grain is not other.grain:
        raise Unclear("not_comparable")
    filters = (Filter(calendar.column, Op.IS, (one.iso, other.iso)),)
    if one.grain is Grain.DAY:
        return Cut(Grain.DAY, filters)
    if _are_covered(reaches[0], reaches[1], calendar):
        is_whole = calendar.covers(reaches[0][0], reaches[1][1])
        notes = [] if is_whole else [("covered_part", reach_text(calendar, language))]
        return Cut(one.grain, filters, notes)
    both = _common_months(one, other, calendar, language)
    if len(both) == len(one.months):
        return Cut(one.grain, filters)
    if one.grain is not Grain.YEAR:
        raise Unclear("not_comparable")
    return _of_years(one, other, calendar, language)


def _of_spans(one: _Days, other: _Days, calendar: Calendar, language: str) -> Cut:
    """Two spans of as many whole months, or days, that the data covers and that do not overlap."""
    if _length(one) != _length(other) or other[0] <= one[1]:
        raise Unclear("not_comparable")
    if not _are_covered(one, other, calendar):
        raise Unclear("not_covered", (), **reach_text(calendar, language))
    spans = tuple(f"{first.isoformat()}/{last.isoformat()}" for first, last in (one, other))
    return Cut(Grain.SPAN, (Filter(calendar.column, Op.IS, spans),))


_TWELFTH = 12
_QUARTER_DAYS = 80
_HOLIDAYS = dt.timedelta(days=14)


def _are_covered(one: _Days, other: _Days, calendar: Calendar) -> bool:
    """Whether the data covers a span and a later one. A quarter, a half or a year may lack up to a
    twelfth at the data's edges: two weeks of holidays, or three times as long as rows are apart."""
    days, spare = min(one[1] - one[0], other[1] - other[0]), calendar.spare
    if days.days >= _QUARTER_DAYS:
        spare = max(spare, min(days / _TWELFTH, max(_HOLIDAYS, 3 * calendar.gap)))
    return calendar.covers(one[0], other[1], spare)


def _length(days: _Days) -> tuple[int, int]:
    """The whole months of a span, or its days."""
    first, last = days
    if first.day == 1 and last == dates.last_day(last, Grain.MONTH):
        return 12 * (last.year - first.year) + last.month - first.month + 1, 0
    return 0, (last - first).days


def _common_months(one: Period, other: Period, calendar: Calendar, language: str) -> list[int]:
    """The places of the months that the data covers of both. Raises `Unclear` for none."""
    both = [
        at for at, months in enumerate(zip(one.months, other.months, strict=True))
        if _is_covered(one, months[0], calendar) and _is_covered(other, months[1], calendar)
    ]  # fmt: skip
    if not both:
        raise Unclear("not_covered", (), **reach_text(calendar, language))
    return both


def _of_years(one: Period, other: Period, calendar: Calendar, language: str) -> Cut:
    """The same months of two years."""
    both = _common_months(one, other, calendar, language)
    months = tuple(float(one.months[at]) for at in both)
    names = tongue(language).months
    part = tongue(language).range.format(
        first=names[int(months[0]) - 1], last=names[int(months[-1]) - 1]
    ) if len(months) > 1 else names[int(months[0]) - 1]  # fmt: skip
    note = ("part_compared", {"part": part, **reach_text(calendar, language)})
    years = (str(one.year), str(other.year))
    filters = (
        Filter(calendar.column, Op.IS, years), Filter(calendar.column, Op.IS, months, Grain.MONTH)
    )  # fmt: skip
    return Cut(Grain.YEAR, filters, [note])


def _is_covered(period: Period, month: int, calendar: Calendar) -> bool:
    assert period.year is not None
    first = dt.date(period.year, month, 1)
    last = first.replace(day=calendars.monthrange(period.year, month)[1])
    return calendar.covers(first, last)


def reach_text(calendar: Calendar, language: str) -> dict[str, str]:
    """From which day to which the data reaches, in words."""
    return {
        "first": dates.period(calendar.first.isoformat(), Grain.DAY, language),
        "last": dates.period(calendar.last.isoformat(), Grain.DAY, language),
    }


def last_covered(period: Period, calendar: Calendar, language: str) -> str | None:
    """The last period of the same length that the data has, in words; None where the data has
    something of the period itself."""
    reach = period.reach
    if reach is None or (reach[0] <= calendar.last and reach[1] >= calendar.first):
        return None
    grain = (
        period.grain if period.grain in (Grain.MONTH, Grain.QUARTER, Grain.YEAR) else Grain.MONTH
    )
    return dates.period(calendar.last.isoformat(), grain, language)


def coverage_note(period: Period, calendar: Calendar, language: str) -> list[Note]:
    """What is said of a period that the data covers only in part."""
    reach = period.reach
    if reach is None or period.edge or period.grain in (Grain.DAY, Grain.WEEK):
        return []
    if calendar.covers(*reach):
        return []
    return [("covered_part", reach_text(calendar, language))]


def last_years(calendar: Calendar) -> list[tuple[Period, Period]]:
    """The last two years that the data has, if there are two."""
    last = calendar.last.year
    if calendar.first.year == last:
        return []
    return [(Period(Grain.YEAR, last - 1), Period(Grain.YEAR, last))]
