"""The periods that a clause names: dates, months, quarters, halves, years, "last 3 months"."""

from __future__ import annotations

import calendar
import dataclasses
import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentpost.agents.offline.frame import Grain
from agentpost.agents.offline.understanding.segments import Segment


@dataclass
class Period:
    """A stretch of time that was named, between two segments (the second one not included)."""

    first: int
    end: int
    year: int | None = None
    half: int | None = None
    quarter: int | None = None
    month: int | None = None
    day: int | None = None
    days: tuple[dt.date, dt.date] | None = None
    """First and last day of what has no other form: "last 3 months"."""

    @property
    def grain(self) -> Grain:
        """The finest part that was named."""
        if self.day:
            return Grain.DAY
        if self.month:
            return Grain.MONTH
        return Grain.QUARTER if self.quarter or self.half else Grain.YEAR

    def range(self) -> tuple[dt.date, dt.date] | None:
        """Its first and last day; None when its year was not named."""
        if self.days:
            return self.days
        if self.year is None:
            return None
        first, last = 1, 12
        if self.half:
            first, last = (1, 6) if self.half == 1 else (7, 12)
        if self.quarter:
            first, last = self.quarter * 3 - 2, self.quarter * 3
        if self.month:
            first = last = self.month
        if self.day:
            day = min(self.day, calendar.monthrange(self.year, first)[1])
            return dt.date(self.year, first, day), dt.date(self.year, first, day)
        end = calendar.monthrange(self.year, last)[1]
        return dt.date(self.year, first, 1), dt.date(self.year, last, end)


@dataclass(frozen=True)
class Calendar:
    """What a table says about time: its date column, and from when to when it reaches."""

    column: str
    first: dt.date
    last: dt.date
    today: dt.date
    anchored: bool = False
    """Whether "this" and "last" count from where the data ends: today is far behind it."""

    @property
    def anchor(self) -> dt.date:
        """The day from which "this year" and "last year" count: where data ends that today is far
        behind of, its last day was yesterday."""
        if not self.anchored:
            return self.today
        return min(self.today, self.last + dt.timedelta(days=1))


def periods(found: Sequence[Segment], calendar: Calendar) -> list[Period]:
    """The periods that segments name, in order."""
    if not calendar.anchored:
        said = [one for at in range(len(found)) if (one := _relative(found, at, calendar))]
        reaches = [reach for one in said if (reach := one.range())]
        if any(reach[0] > calendar.last or reach[1] < calendar.first for reach in reaches):
            calendar = dataclasses.replace(calendar, anchored=True)
    named: list[Period] = []
    at = 0
    while at < len(found):
        period = _relative(found, at, calendar) or _absolute(found, at)
        if period is None:
            at += 1
            continue
        named.append(period)
        at = period.end
    return named


def _absolute(found: Sequence[Segment], at: int) -> Period | None:
    period = Period(at, at)
    while period.end < len(found):
        size = _part(found, period.end, period)
        if size == 0:
            glue = _glue(found, period.end)
            if period.end == at or not glue:
                break
            probe = Period(at, at)
            if not _part(found, period.end + glue, probe) or _clashes(period, probe):
                break
            period.end += glue
            continue
        period.end += size
    return period if period.end > at else None


def _clashes(period: Period, probe: Period) -> bool:
    named = ("year", "half", "quarter", "month", "day")
    return any(getattr(period, key) and getattr(probe, key) for key in named)


def _glue(found: Sequence[Segment], at: int) -> int:
    """How many small words stand between the parts of one date."""
    size = 0
    while at + size < len(found) and size < 2:
        segment = found[at + size]
        small = segment.has("of") or segment.has("filler") or segment.text in (",", "/", ".")
        if (
            (segment.has("when") and not segment.has("of"))
            or segment.has("and")
            or not small
            or segment.has("question")
        ):
            break
        size += 1
    return size


def _part(found: Sequence[Segment], at: int, period: Period) -> int:
    """Read one part of a date at a place into the period; how many segments it took."""
    if at >= len(found):
        return 0
    segment = found[at]
    following = found[at + 1] if at + 1 < len(found) else None
    if segment.used or segment.values:
        return 0
    if segment.kind == "date" and period.year is None:
        return _written(segment.text, period)
    if segment.kind == "part" and period.quarter is None and period.half is None:
        digit = int(segment.text[1])
        if segment.text[0] in "qQtT":
            period.quarter = digit
        elif digit <= 2:
            period.half = digit
        else:
            return 0
        return 1
    counted = _counted(found, at, period)
    if counted:
        return counted
    if _is_year(found, at) and period.year is None:
        period.year = int(segment.number or 0)
        return 2 if following is not None and following.has("yearmark") else 1
    if segment.has("month") and period.month is None and _means_month(found, at):
        period.month = int(segment.key("month") or 1)
        return 1
    if segment.has("half") and period.half is None:
        period.half = int(segment.key("half") or 1)
        return 1
    day = segment.number
    if day is not None and 1 <= day <= 31 and day == int(day) and period.day is None:
        after = following is not None and following.has("month") and _means_month(found, at + 1)
        if after or (period.month and _glued(found, at) and not _units_follow(following)):
            period.day = int(day)
            return 1
    return 0


def _counted(found: Sequence[Segment], at: int, period: Period) -> int:
    """An ordinal or a number before its unit ("second quarter", "2. Quartal", "3月"), or, in
    Arabic, after it."""
    segment = found[at]
    following = found[at + 1] if at + 1 < len(found) else None
    if following is not None and segment.has("grain", "quarter") and period.quarter is None:
        place = following.key("ordinal")
        if place and 1 <= int(place) <= 4:
            period.quarter = int(place)
            return 2
    index = segment.key("ordinal")
    value = int(index) if index and int(index) > 0 else None
    if value is None and segment.number is not None and segment.number <= 12:
        value = int(segment.number)
    if value is None and segment.has("number"):
        read = float(segment.key("number") or 0)
        value = int(read) if read == int(read) else None
    if value is None:
        return 0
    after = at + 1
    while after < len(found) and (found[after].text == "." or found[after].has("counter")):
        after += 1
    if after >= len(found):
        return 0
    unit = found[after]
    if unit.has("grain", "quarter") and 1 <= value <= 4 and period.quarter is None:
        reported = segment.has("ordinal") or segment.has("number") or after > at + 1
        if not reported and not unit.text.startswith("季"):
            return 0
        period.quarter = value
        return after + 1 - at
    if unit.has("monthmark") and 1 <= value <= 12 and period.month is None:
        period.month = value
        return after + 1 - at
    return 0


def _written(text: str, period: Period) -> int:
    parts = [int(part) for part in re.split(r"[-./]", text)]
    if parts[0] > 31:
        year, month, day = (*parts, 0)[:3]
    else:
        day, month, year = parts
        if month > 12 >= day:
            day, month = month, day
    if not 1 <= month <= 12 or not 0 <= day <= 31:
        return 0
    period.year, period.month, period.day = year, month, day or None
    return 1


def _is_year(found: Sequence[Segment], at: int) -> bool:
    segment = found[at]
    if segment.number is None or not re.fullmatch(r"(?:19|20)\d\d", segment.text):
        return False
    before = next((found[i] for i in range(at - 1, -1, -1) if not found[i].has("filler")), None)
    if before is None or not before.has("op") or before.has("when") or before.has("op", "between"):
        following = found[at + 1] if at + 1 < len(found) else None
        return following is None or not _units_follow(following)
    return False


def _units_follow(following: Segment | None) -> bool:
    return following is not None and (following.has("unit") or following.has("scale"))


def _glued(found: Sequence[Segment], at: int) -> bool:
    return at > 0 and found[at - 1].has("month")


def _means_month(found: Sequence[Segment], at: int) -> bool:
    """As in "may" and "mar" are months next to a date word only."""
    segment = found[at]
    if not segment.has("filler") and len(segment.text) > 3:
        return True
    before = found[at - 1] if at else None
    following = found[at + 1] if at + 1 < len(found) else None
    near = [part for part in (before, following) if part is not None]
    reported = any(
        part.has("when") or part.has("for") or part.has("month") or part.number is not None
        or part.has("op", "between") or part.has("of")
        for part in near
    )  # fmt: skip
    return reported or (segment.text[:1].isupper() and at > 0)


def _relative(found: Sequence[Segment], at: int, calendar: Calendar) -> Period | None:
    """As in "last 3 months", "this year", "last quarter"."""
    segment = found[at]
    following = found[at + 1] if at + 1 < len(found) else None
    grain_first = segment.key("grain")
    if grain_first and following is not None and following.has("period") and not segment.used:
        if found[at - 1].has("by") if at else False:
            return None
        this = following.has("period", "this") and not following.has("period", "last")
        return _whole(at, at + 2, grain_first, this, calendar)
    if not segment.has("period") or segment.used:
        return None
    after = at + 1
    count = 1
    if after < len(found) and (found[after].number is not None or found[after].has("number")):
        count = int(found[after].number or float(found[after].key("number") or 1))
        after += 1
    elif at and found[at - 1].number is not None and segment.has("period", "last"):
        count = int(found[at - 1].number or 1)
    if after < len(found) and found[after].has("counter") and not found[after].has("grain"):
        after += 1
    grain = found[after].key("grain") if after < len(found) else None
    if grain is None and after < len(found) and found[after].has("yearmark"):
        grain = "year"
    if grain is None or grain in ("hour", "weekday") or not 0 < count < 1000:
        return None
    counted = after - at > 1 or count > 1
    this = segment.has("period", "this")
    following = found[after + 1] if after + 1 < len(found) else None
    named = found[after + 2] if after + 2 < len(found) else None
    if (
        not this
        and following is not None
        and following.has("of")
        and named is not None
        and (named.has("month") or named.number is not None or named.kind == "part")
    ):
        return None  # the last week of March is counted from nowhere
    if not counted:
        return _whole(at, after + 1, grain, this, calendar)
    return Period(at, after + 1, days=_reach(grain, count, counted, this, calendar))


def _whole(first: int, end: int, grain: str, this: bool, calendar: Calendar) -> Period | None:
    """This or the last year, quarter, month …, as far as it has a name of its own."""
    if grain in ("hour", "weekday"):
        return None
    days = _reach(grain, 1, False, this, calendar)
    if grain in ("day", "week"):
        return Period(first, end, days=days)
    begin = days[0]
    quarter = (begin.month + 2) // 3 if grain == "quarter" else None
    month = begin.month if grain == "month" else None
    return Period(first, end, year=begin.year, quarter=quarter, month=month)


def _reach(
    grain: str, count: int, counted: bool, this: bool, calendar: Calendar
) -> tuple[dt.date, dt.date]:
    """As in "last year" is the one before today's; "last 3 months" end where the data does."""
    now = min(calendar.today, calendar.last) if counted else calendar.anchor
    if grain == "day":
        return now - dt.timedelta(days=count - 1), now
    if grain == "week":
        monday = now - dt.timedelta(days=now.weekday())
        first = monday if this else monday - dt.timedelta(days=7 * (count - counted))
        last = monday + dt.timedelta(days=6 if this or counted else -1)
        return first, last
    length = {"month": 1, "quarter": 3, "year": 12}[grain]
    index = (now.year * 12 + now.month - 1) // length
    if this:
        first_index, last_index = index, index
    elif counted:
        first_index, last_index = index - count + 1, index
    else:
        first_index = last_index = index - 1
    first = _month_start(first_index * length)
    return first, _month_start((last_index + 1) * length) - dt.timedelta(days=1)


def _month_start(months: int) -> dt.date:
    return dt.date(months // 12, months % 12 + 1, 1)
