"""From the segments of a clause to one query over one table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from agentpost.agents.offline.data.model import Column, Kind, Role
from agentpost.agents.offline.frame import Aggregate, Derived, Grain, Measure
from agentpost.agents.offline.understanding import conditions, dates, periods
from agentpost.agents.offline.understanding.draft import Best, Draft, is_number
from agentpost.agents.offline.understanding.finishing import compares, day_of, finish
from agentpost.agents.offline.understanding.measuring import hinted, measures, names_table
from agentpost.agents.offline.understanding.names import Names
from agentpost.agents.offline.understanding.segments import Segment

_FLIPPED = {"top": True, "bottom": False}


def drafted(found: list[Segment], names: Names, today: str, *, asked: bool) -> Draft:
    """The query of a clause. ``asked``: as a question, not something to make.

    Each pass takes the segments that it understands; what is left over is `Draft.unused`.
    """
    draft = Draft(found, names)
    _name_hints(draft)
    derived = _derived(draft)
    _times(draft, derived, today)
    conditions.missing(draft)
    conditions.numeric(draft)
    _ratio(draft)
    _groups(draft)
    best = _extreme(draft)
    conditions.values(draft)
    _which(draft, best)
    measures(draft, best)
    _rest(draft, asked=asked)
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
        numbered = all(draft.column(c).role is Role.IDENTIFIER for c in segment.columns)
        if segment.columns and numbered and not segment.literal and names_table(plain, key):
            segment.columns = ()
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
    singles = [p for p in named if p.days is None]
    if compared and len(singles) > 1 and len(singles) == len(named):
        _compare_periods(draft, singles, axis)
    else:
        for made in dates.filters(found, named, axis):
            draft.add_filter(made)
    for made in dates.weekdays(found, column):
        draft.add_filter(made)


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
    for segment in said:
        segment.used = True
    draft.set_grain(Grain.YEAR if singles[-1].half else singles[-1].grain)
    draft.time = axis.column


def _calendar(column: Column, today: str) -> periods.Calendar:
    now = dt.date.fromisoformat(today[:10])
    first = day_of(column.first) or now
    last = day_of(column.last) or now
    return periods.Calendar(column.name, first, last, now)


def _ratio(draft: Draft) -> None:
    """As in "Revenue per order" divides one column by another, which no query does."""
    found = draft.found
    for at, segment in enumerate(found[:-1]):
        if not segment.has("ratio") or segment.columns:
            continue
        over = next((s for s in found[at + 1 : at + 3] if not s.has("filler") or s.columns), None)
        before = any(is_number(draft.column(c)) for s in found[:at] for c in s.columns)
        counted = over is not None and any(is_number(draft.column(c)) for c in over.columns)
        if over is not None and counted and before and not segment.has("of"):
            draft.unclear.append(f"{segment.text} {over.text}")


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
                part.used = took = True
            elif part.has("and") or part.text in ",/×x" or part.has("filler") or part.has("by"):
                pass
            else:
                break
            index += 1
        segment.used = segment.used or took
    for at, segment in enumerate(found):
        grain = _grain(segment)
        literal_date = segment.literal and any(
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
    """As in "how many days", "3 weeks": an amount of time, no axis."""
    before = found[at - 1] if at else None
    return before is not None and (before.number is not None or before.has("question", "many"))


def _grain(segment: Segment) -> Grain | None:
    key = segment.key("grain")
    return Grain(key) if key else None


def _extreme(draft: Draft) -> Best | None:
    """The place of "top", whether the largest are meant, and how many."""
    found = draft.found
    for at, segment in enumerate(found):
        key = segment.key("extreme")
        if segment.used or key is None or segment.values or segment.literal:
            continue
        direction, _, concept = key.partition("_")
        count: int | None = None
        around = (at + 1, at - 1, at + 2, at - 2)
        for index in around:
            if 0 <= index < len(found) and not found[index].used:
                number = found[index]
                value = number.number
                if value is None and number.has("number") and not number.has("filler"):
                    value = float(number.key("number") or 0)
                follows_unit = index + 1 < len(found) and found[index + 1].has("unit")
                if value is not None and 1 <= value <= 1000 and not follows_unit:
                    count, number.used = int(value), True
                    break
                if number.columns or number.has("op"):
                    continue
        segment.used = True
        if concept:
            hinted(draft, concept)
        return at, _FLIPPED[direction], count or _counted(found, at)
    return None


def _counted(found: Sequence[Segment], at: int) -> int | None:
    """As in "Which 3 months", "the second best": how many of the best show the answer."""
    for index, segment in enumerate(found):
        before = found[index - 1] if index else None
        asked = before is not None and before.has("question", "which", "what")
        if asked and not segment.used and segment.number is not None and segment.number <= 100:
            segment.used = True
            return int(segment.number)
    before = found[at - 1] if at else None
    place = before.key("ordinal") if before is not None else None
    if before is not None and place and int(place) > 1 and not before.used:
        before.used = True
        return int(place)
    return None


def _which(draft: Draft, best: Best | None) -> None:
    """As in "which region", "who": what is asked for is a group."""
    found = draft.found
    for at, segment in enumerate(found):
        if segment.has("question", "which", "what"):
            for other in found[at + 1 : at + 5]:
                if draft.numeric(other) is not None:
                    break
                column = draft.category(other)
                if column is not None and not other.values:
                    draft.add_group(column)
                    other.used = True
                    break
                if other is found[at + 1] and _group_rows(draft, other):
                    break
        elif segment.has("question", "who") and not draft.groups:
            for name in draft.names.concepts.get("name", ()):
                draft.add_group(name)
                break
    if best is None or draft.groups or draft.time:
        return
    if _place_or_time(draft):
        return
    for segment in found[best[0] :]:
        column = draft.category(segment)
        if column is not None and not segment.values:
            draft.add_group(column)
            segment.used = True
            return
        if segment.has("rows") or segment.has("hint", "name"):
            for name in draft.names.concepts.get("name", ()):
                draft.add_group(name)
                segment.used = True
                return
        if _group_rows(draft, segment):
            return


def _group_rows(draft: Draft, segment: Segment) -> bool:
    """As in "which orders", "the five largest orders" over a table of orders: each row by the
    column that tells rows apart."""
    plain = segment.text.casefold()
    named = segment.has("rows") or names_table(plain, draft.names.words)
    counted = any(one.has("question", "many") for one in draft.found)
    if segment.columns or counted or not named:
        return False
    table = draft.names.table
    for column in table.columns:
        if column.role is Role.IDENTIFIER and column.distinct == table.rows:
            draft.add_group(column.name)
            segment.used = draft.each_row = True
            return True
    return False


_PLACES = ("store", "city", "region", "country")


def _place_or_time(draft: Draft) -> bool:
    """As in "Where did we sell most", "when was it lowest": the group that is asked for."""
    for segment in draft.found:
        if segment.has("question", "where"):
            for concept in _PLACES:
                for name in draft.names.concepts.get(concept, ()):
                    draft.add_group(name)
                    return True
            draft.unclear.append(segment.text)
        if segment.has("question", "when"):
            if draft.dates:
                draft.time = draft.dates[0].name
                draft.named.add("time")
                return True
            draft.unclear.append(segment.text)
    return False


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
