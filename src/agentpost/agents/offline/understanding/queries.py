"""From the segments of a clause to one query over one table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from agentpost.agents.offline.data.model import Column, Kind, Role
from agentpost.agents.offline.frame import Aggregate, Derived, Grain, Measure
from agentpost.agents.offline.understanding import conditions, dates, periods
from agentpost.agents.offline.understanding.computing import compute, minus
from agentpost.agents.offline.understanding.draft import Draft
from agentpost.agents.offline.understanding.extremes import extreme, which
from agentpost.agents.offline.understanding.finishing import compares, day_of, finish
from agentpost.agents.offline.understanding.measuring import measures, names_rows, names_table
from agentpost.agents.offline.understanding.names import Names
from agentpost.agents.offline.understanding.segments import Segment
from agentpost.agents.offline.understanding.words import Tag


def drafted(found: list[Segment], names: Names, today: str, *, asked: bool) -> Draft:
    """The query of a clause. ``asked``: as a question, not something to make.

    Each pass takes the segments that it understands; what is left over is `Draft.unused`.
    """
    draft = Draft(found, names, asked=asked)
    _name_hints(draft)
    derived = _derived(draft)
    # A table says how much something changed, not why.
    draft.unclear += [s.text for s in found if derived and s.has("question", "why")]
    _times(draft, derived, today)
    conditions.missing(draft)
    compute(draft)
    conditions.numeric(draft)
    _groups(draft)
    conditions.equal(draft)
    best = extreme(draft)
    conditions.values(draft)
    which(draft, best)
    measures(draft, best)
    _rest(draft, asked=asked)
    derived = minus(draft, derived)
    finish(draft, derived, best, asked=asked)
    return draft


def _name_hints(draft: Draft) -> None:
    """The table's own name, and words for its rows, are known; "by hour" is no "hours" column."""
    key = draft.names.words
    for at, segment in enumerate(draft.found):
        before = draft.found[at - 1] if at else None
        timed = before is not None and (before.has("by") or before.has("question", "what", "which"))
        if timed and segment.has("grain") and segment.columns and not segment.literal:
            segment.columns = ()
        plain = segment.text.casefold()
        numbered = all(
            draft.column(c).role is Role.IDENTIFIER or draft.column(c).kind is Kind.DATE
            for c in segment.columns
        )
        if segment.columns and numbered and not segment.literal:
            if names_table(plain, key):
                segment.columns, segment.used = (), True
            elif names_rows(draft, segment) == Measure(None, Aggregate.COUNT):
                segment.columns, segment.tags = (), segment.tags | {Tag("rows", "rows")}
                segment.used = True
        if not segment.columns and not segment.values and not segment.tags:
            segment.used = segment.used or names_table(plain, key)


def _derived(draft: Draft) -> Derived | None:
    """What is to be computed from the measures, reported by its own words."""
    found: Derived | None = None
    for segment in draft.found:
        key = segment.key("derived")
        if key is None or segment.columns or segment.values or segment.text == "%":
            continue
        # "Percentage growth" is a growth.
        if found in (None, Derived.DIFFERENCE) or key == Derived.GROWTH:
            found = Derived(key)
        segment.used = True
    return found


def _times(draft: Draft, derived: Derived | None, today: str) -> None:
    found = draft.found
    axes = draft.dates
    if not axes:
        return
    column = next(
        (c for s in found for c in s.columns if draft.column(c).kind is Kind.DATE),
        axes[0].name,
    )
    axis = _calendar(draft.column(column), today)
    named = periods.periods(found, axis)
    compared = derived in (Derived.GROWTH, Derived.DIFFERENCE) or compares(found)
    _refuse_finer(draft, draft.column(column), named)
    singles = [p for p in named if p.days is None]
    several = len({period.range() or period.grain for period in singles}) > 1
    several = several or any(period.year is None for period in singles)
    if compared and several and len(singles) > 1 and len(singles) == len(named):
        _compare_periods(draft, singles, axis)
    else:
        for made in dates.filters(found, named, axis):
            draft.add_filter(made)
    for made in dates.weekdays(found, column):
        draft.add_filter(made)


_FINE = (Grain.YEAR, Grain.QUARTER, Grain.MONTH, Grain.DAY)


def _refuse_finer(draft: Draft, column: Column, named: Sequence[periods.Period]) -> None:
    """As in "May 2025" over a column of years: its rows cannot be told apart so finely."""
    if column.grain not in _FINE[:3]:
        return
    finest = _FINE.index(column.grain)
    for period in named:
        grain = Grain.MONTH if period.days else period.grain
        if _FINE.index(grain) > finest:
            said = draft.found[period.first : period.end]
            draft.unclear.append(" ".join(segment.text for segment in said))
    for segment in draft.found:
        key = segment.key("grain")
        finer = key in ("hour", "day", "week", "weekday") or (key in _FINE and _FINE.index(
            Grain(key)) > finest)  # fmt: skip
        if finer and not segment.columns and not segment.has("weekday"):
            draft.unclear.append(segment.text)


def _compare_periods(
    draft: Draft, singles: Sequence[periods.Period], axis: periods.Calendar
) -> None:
    """As in "2024 against 2025", "H1 2025 vs H1 2024": each period is a group."""
    said = [s for period in singles for s in draft.found[period.first : period.end]]
    kept = dates.listed(singles, axis)
    if kept is None:
        draft.unclear.append(" ".join(segment.text for segment in said))
        return
    for made in kept:
        draft.add_filter(made)
    for segment in (*said, *draft.found[max(0, singles[0].first - 2) : singles[0].first]):
        segment.used = segment.used or segment in said or segment.has("op", "between")
    draft.set_grain(Grain.YEAR if singles[-1].half else singles[-1].grain)
    draft.time = axis.column


def _calendar(column: Column, today: str) -> periods.Calendar:
    now = dt.date.fromisoformat(today[:10])
    first = day_of(column.first) or now
    last = day_of(column.last) or now
    return periods.Calendar(column.name, first, last, now)


def _groups(draft: Draft) -> None:
    """What follows "by", "per", "each": columns and lengths of time."""
    found = draft.found
    for at, segment in enumerate(found):
        if segment.used or not segment.has("by") or segment.columns:
            continue
        index = at + 1
        took = False
        while index < len(found):
            part = found[index]
            grain = _grain(part)
            if not part.used and grain and not part.literal and draft.set_grain(grain):
                part.used = took = True
            elif draft.category(part) is not None and not part.values:
                draft.add_group(
                    part.columns[0] if len(part.columns) == 1 else draft.category(part) or ""
                )
                if grain and draft.time in part.columns and draft.grain is not None:
                    draft.grain = grain
                part.used = took = True
            elif part.has("and") or part.text in ",/×x" or part.has("filler") or part.has("by"):
                pass
            else:
                break
            index += 1
        segment.used = segment.used or took
    for at, segment in enumerate(found):
        grain = _grain(segment)
        literal_date = bool(segment.columns) and all(
            draft.column(c).kind is Kind.DATE for c in segment.columns
        )
        if segment.used or grain is None or (segment.columns and not literal_date):
            continue
        if _of_a_date(found, at, grain):
            segment.used = True
            continue
        if segment.number is None and not _counts_time(found, at) and draft.set_grain(grain):
            segment.used = True


def _of_a_date(found: Sequence[Segment], at: int, grain: Grain) -> bool:
    """As in "The year 2025", "the month of May": the word belongs to the date beside it."""
    for part in (*found[max(0, at - 1) : at], *found[at + 1 : at + 3]):
        if grain is Grain.YEAR and part.used and len(part.text) == 4 and part.text.isdigit():
            return True
        if grain is Grain.MONTH and part.used and part.has("month"):
            return True
    return False


def _counts_time(found: Sequence[Segment], at: int) -> bool:
    """As in "how many days", "3 weeks": an amount of time, no axis; "top 3 weeks" is one."""
    before = found[at - 1] if at else None
    if before is None:
        return False
    if before.number is None:
        return before.has("question", "many")
    return at < 2 or not (found[at - 2].has("extreme") or found[at - 2].has("question", "which"))


def _grain(segment: Segment) -> Grain | None:
    key = segment.key("grain")
    return Grain(key) if key else None


def _rest(draft: Draft, *, asked: bool) -> None:
    """Columns that are named without a word that says what for."""
    for segment in draft.found:
        column = draft.category(segment)
        if column is None or segment.values:
            continue
        role = draft.column(column).role
        if role in (Role.CATEGORY, Role.TIME) or draft.column(column).kind is Kind.DATE:
            if draft.column(column).kind is Kind.DATE and (asked or draft.time):
                segment.used = True
                continue
            draft.add_group(column)
            segment.used = True
        elif role is Role.IDENTIFIER and not draft.measures:
            draft.measures.append(Measure(column, Aggregate.DISTINCT))
            segment.used = True
        elif role in (Role.TEXT, Role.IDENTIFIER):
            draft.add_group(column)
            segment.used = True
