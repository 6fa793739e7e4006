"""From the segments of a clause to one query over one table."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from agentpost.agents.offline.data.model import Column, Kind, Role
from agentpost.agents.offline.frame import (
    Aggregate,
    Derived,
    Filter,
    Grain,
    Measure,
    Op,
    Order,
)
from agentpost.agents.offline.understanding import conditions, periods
from agentpost.agents.offline.understanding.draft import (
    Draft,
    default_aggregate,
    default_measure,
    is_number,
)
from agentpost.agents.offline.understanding.names import Names
from agentpost.agents.offline.understanding.segments import Segment

_TOP = 10
"""How many "top products" are when no number is said."""
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
    _groups(draft)
    best = _extreme(draft)
    conditions.values(draft)
    _which(draft, best)
    _measures(draft, best)
    _rest(draft, asked=asked)
    _finish(draft, derived, best, asked=asked)
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
        if segment.columns and numbered and not segment.literal and _names_table(plain, key):
            segment.columns = ()
        if not segment.columns and not segment.values and not segment.tags:
            segment.used = segment.used or _names_table(plain, key)


def _names_table(plain: str, words: frozenset[str]) -> bool:
    return len(plain) > 2 and any(plain in (word, f"{word}s") for word in words)


def _derived(draft: Draft) -> Derived | None:
    """What is to be computed from the measures, told by its own words."""
    found: Derived | None = None
    for segment in draft.found:
        key = segment.key("derived")
        if key is None or segment.columns or segment.values or segment.text == "%":
            continue
        if found in (None, Derived.DIFFERENCE):
            found = Derived(key)
        segment.used = True
    return found


def _times(draft: Draft, derived: Derived | None, today: str) -> None:
    found = draft.found
    dates = draft.dates
    if not dates:
        return
    column = next(
        (c for s in found for c in s.columns if draft.column(c).kind is Kind.DATE),
        dates[0].name,
    )
    axis = _calendar(draft.column(column), today)
    named = periods.periods(found, axis)
    compared = derived in (Derived.GROWTH, Derived.DIFFERENCE) or _compares(found)
    singles = [p for p in named if p.days is None]
    if compared and len(singles) > 1 and len(singles) == len(named):
        for made in periods.listed(singles, axis):
            draft.add_filter(made)
        for period in singles:
            for segment in found[period.first : period.end]:
                segment.used = True
        draft.set_grain(singles[-1].grain)
        draft.time = column
    else:
        for made in periods.filters(found, named, axis):
            draft.add_filter(made)
    for made in periods.weekdays(found, column):
        draft.add_filter(made)


def _calendar(column: Column, today: str) -> periods.Calendar:
    now = dt.date.fromisoformat(today[:10])
    first = _day(column.first) or now
    last = _day(column.last) or now
    return periods.Calendar(column.name, first, last, now)


def _day(value: object) -> dt.date | None:
    try:
        return dt.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None


def _compares(found: Sequence[Segment]) -> bool:
    return any(
        segment.has("act", "compare") or (segment.has("compare") and not segment.has("and"))
        for segment in found
    )


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
        if segment.number is None and not _counts_time(found, at) and draft.set_grain(grain):
            segment.used = True


def _counts_time(found: Sequence[Segment], at: int) -> bool:
    """ "how many days", "3 weeks": an amount of time, no axis."""
    before = found[at - 1] if at else None
    return before is not None and (before.number is not None or before.has("question", "many"))


def _grain(segment: Segment) -> Grain | None:
    key = segment.key("grain")
    return Grain(key) if key else None


def _extreme(draft: Draft) -> tuple[int, bool, int | None] | None:
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
            _hinted(draft, concept)
        return at, _FLIPPED[direction], count
    return None


def _hinted(draft: Draft, concept: str) -> None:
    if draft.measures:
        return
    for name in draft.names.concepts.get(concept, ()):
        column = draft.column(name)
        if is_number(column):
            draft.measures.append(Measure(name, default_aggregate(column)))
            draft.named.add("measure")
            return


def _which(draft: Draft, best: tuple[int, bool, int | None] | None) -> None:
    """ "which region", "who": what is asked for is a group."""
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
        elif segment.has("question", "who") and best is not None and not draft.groups:
            for name in draft.names.concepts.get("name", ()):
                draft.add_group(name)
                break
    if best is None or draft.groups or draft.time:
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


def _measures(draft: Draft, best: tuple[int, bool, int | None] | None) -> None:
    found = draft.found
    counting = [
        at
        for at, s in enumerate(found)
        if (s.has("question", "many") or s.has("aggregate", "count", "distinct"))
        and not (s.used or s.columns)
    ]
    for at, segment in enumerate(found):
        column = draft.numeric(segment)
        if column is None or (segment.values and not segment.literal):
            continue
        made = Measure(column, _aggregate(draft, at, column))
        if all(one.column != column for one in draft.measures):
            draft.measures.append(made)
            draft.named.add("measure")
        segment.used = True
    summed = any(m.aggregate is Aggregate.SUM for m in draft.measures)
    for segment in found:
        if segment.has("aggregate", "sum") and not segment.columns and (summed or counting):
            segment.used = True
    for at in counting:
        found[at].used = True
        if draft.measures:
            continue
        _count(draft, at)
    if not draft.measures and not counting:
        row_words = [
            s for s in found if (s.has("rows") and not s.columns) or _is_table_name(draft, s)
        ]
        grouped = bool(draft.groups or draft.time) or best is not None
        if row_words and (grouped or draft.filters):
            draft.measures.append(Measure(None, Aggregate.COUNT))
            draft.named.add("measure")
            for segment in row_words:
                segment.used = True


def _is_table_name(draft: Draft, segment: Segment) -> bool:
    return not segment.columns and _names_table(segment.text.casefold(), draft.names.words)


def _count(draft: Draft, at: int) -> None:
    """What "how many" counts: different values of a column, or rows."""
    found = draft.found
    for segment in found[at + 1 :]:
        if segment.used:
            if segment.has("aggregate", "distinct"):
                continue
            if not _is_table_name(draft, segment):
                continue
        column = draft.category(segment)
        if column is not None and not segment.values and not segment.used:
            segment.used = True
            draft.measures.append(Measure(column, Aggregate.DISTINCT))
            draft.named.add("measure")
            _use_distinct(found)
            return
        if (segment.has("rows") and not segment.columns) or _is_table_name(draft, segment):
            segment.used = True
            break
        if not segment.tags and segment.kind in ("word", "han"):
            return
    draft.measures.append(Measure(None, Aggregate.COUNT))
    draft.named.add("measure")


def _use_distinct(found: Sequence[Segment]) -> None:
    for segment in found:
        if segment.has("aggregate", "distinct", "count", "sum"):
            segment.used = True


def _aggregate(draft: Draft, at: int, column: str) -> Aggregate:
    """The aggregate word nearest to a column, else the column's own."""
    found = draft.found
    order = [*range(at - 1, max(-1, at - 6), -1), *range(at + 1, min(len(found), at + 4))]
    for index in order:
        key = found[index].key("aggregate")
        if key is None or key in ("count", "distinct") or found[index].columns:
            continue
        between = found[min(at, index) + 1 : max(at, index)]
        if any(s.columns and not s.used for s in between) and index > at:
            continue
        found[index].used = True
        aggregate = Aggregate(key)
        rate = draft.column(column).role is Role.RATE
        return Aggregate.MEAN if aggregate is Aggregate.SUM and rate else aggregate
    return default_aggregate(draft.column(column))


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


def _finish(
    draft: Draft,
    derived: Derived | None,
    best: tuple[int, bool, int | None] | None,
    *,
    asked: bool,
) -> None:
    trend = any(segment.has("trend") for segment in draft.found)
    values = {f.column: f for f in draft.filters if f.op is Op.IS and f.grain is None}
    several = [c for c, f in values.items() if len(f.values) > 1]
    if asked and _compares(draft.found) and derived in (None, Derived.DIFFERENCE):
        if several and several[0] not in draft.groups:
            draft.groups.append(several[0])
        if several or draft.time:
            derived = Derived.DIFFERENCE
    if (asked or draft.named or trend) and not draft.measures:
        needed = draft.groups or draft.time or best or derived or trend or draft.having
        aggregate = next((s for s in draft.found if s.has("aggregate") and not s.columns), None)
        if needed or aggregate is not None or (asked and draft.filters and _hint(draft)):
            _default(draft)
    if trend and not draft.time and draft.dates and not (best and draft.groups):
        draft.time = draft.dates[0].name
    if derived is not None:
        _apply(draft, derived, values)
    if draft.time and draft.grain is None:
        draft.grain = _fitting_grain(draft)
    _ordered(draft, best, asked=asked)
    if draft.having:
        draft.having = [Filter(f.column, f.op, f.values) for f in draft.having]


def _hint(draft: Draft) -> bool:
    return any(segment.has("hint") for segment in draft.found)


def _default(draft: Draft) -> None:
    made = None
    for segment in draft.found:
        for tag in sorted(segment.tags):
            if tag.section == "hint" and made is None:
                for name in draft.names.concepts.get(tag.key, ()):
                    column = draft.column(name)
                    if is_number(column):
                        made = Measure(name, default_aggregate(column))
    made = made or default_measure(draft.names)
    for segment in draft.found:
        key = segment.key("aggregate")
        if key and not segment.used and made.column and key not in ("count", "distinct"):
            rate = draft.column(made.column).role is Role.RATE
            aggregate = Aggregate(key)
            segment.used = True
            if not (rate and aggregate is Aggregate.SUM):
                made = Measure(made.column, aggregate)
    draft.measures.append(made)


def _apply(draft: Draft, derived: Derived, values: dict[str, Filter]) -> None:
    if not draft.measures:
        return
    if derived in (Derived.SHARE, Derived.RANK) and not draft.groups:
        column = next(iter(values), None)
        if column is not None:
            draft.groups.append(column)
    if derived in (Derived.GROWTH, Derived.CUMULATIVE) and not draft.time and draft.dates:
        draft.time = draft.dates[0].name
        draft.grain = _growth_grain(draft)
    if derived is Derived.DIFFERENCE and not draft.groups and not draft.time:
        return
    draft.derive(derived)


def _growth_grain(draft: Draft) -> Grain:
    column = draft.dates[0]
    first, last = _day(column.first), _day(column.last)
    if first and last and first.year != last.year:
        return Grain.YEAR
    return Grain.MONTH


def _fitting_grain(draft: Draft) -> Grain:
    """The finest grain of at most about 60 points, not finer than the data is."""
    column = draft.column(draft.time or "")
    first, last = _day(column.first), _day(column.last)
    if first is None or last is None:
        return Grain.MONTH
    days = (last - first).days + 1
    if column.distinct and column.distinct <= 60 and days > 62:
        gap = days / column.distinct
        if gap >= 300:
            return Grain.YEAR
        if gap >= 80:
            return Grain.QUARTER
        return Grain.MONTH if gap >= 25 else _by_length(days)
    return _by_length(days)


def _by_length(days: int) -> Grain:
    if days <= 62:
        return Grain.DAY
    if days <= 60 * 31:
        return Grain.MONTH
    return Grain.QUARTER if days <= 60 * 92 else Grain.YEAR


def _ordered(draft: Draft, best: tuple[int, bool, int | None] | None, *, asked: bool) -> None:
    if best is None:
        for segment in draft.found:
            if segment.has("sort") and not segment.columns:
                draft.order = Order(descending=not segment.has("sort", "asc"))
                draft.named.add("order")
        return
    at, descending, count = best
    if draft.groups or draft.time:
        one = asked and count is None and not _plural_top(draft, at)
        draft.order = Order(descending, count if count else 1 if one else _TOP)
        if draft.groups and draft.column(draft.groups[0]).role is Role.TEXT:
            most = Aggregate.MAX if descending else Aggregate.MIN
            draft.measures = [
                Measure(m.column, most, m.derived) if m.aggregate is Aggregate.MEAN else m
                for m in draft.measures
            ]
        draft.named.add("order")
        return
    if count is not None:
        draft.order = Order(descending, count)
        draft.named.add("order")
        return
    if draft.measures and draft.measures[0].column is not None:
        aggregate = Aggregate.MAX if descending else Aggregate.MIN
        draft.measures = [Measure(m.column, aggregate, m.derived) for m in draft.measures]


def _plural_top(draft: Draft, at: int) -> bool:
    """ "top products" asks for several; "best product" for one."""
    return draft.found[at].text.casefold() == "top"
