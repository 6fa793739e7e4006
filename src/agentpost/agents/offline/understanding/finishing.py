"""What the parts of a clause make together: comparisons, derived figures, axes, order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from agentpost.agents.offline.data.model import Role
from agentpost.agents.offline.frame import (
    Aggregate,
    Derived,
    Filter,
    Grain,
    Measure,
    Op,
    Order,
)
from agentpost.agents.offline.style import dates
from agentpost.agents.offline.understanding.draft import (
    Best,
    Draft,
    default_measure,
    is_number,
    is_sure,
)
from agentpost.agents.offline.understanding.measuring import default, has_hint
from agentpost.agents.offline.understanding.segments import Segment

_TOP = 10
"""How many "top products" are when no number is said."""


def finish(
    draft: Draft,
    derived: Derived | None,
    best: Best | None,
    *,
    asked: bool,
) -> None:
    """Complete a draft whose parts were all taken."""
    how = {measure.aggregate.value for measure in draft.measures}
    for segment in draft.found:
        segment.used = segment.used or (not segment.columns and segment.key("aggregate") in how)
    trend = any(segment.has("trend") for segment in draft.found)
    values = {f.column: f for f in draft.filters if f.op is Op.IS and f.grain is None}
    several = [c for c, f in values.items() if len(f.values) > 1]
    compared = compares(draft.found) or derived is Derived.DIFFERENCE
    if compared and derived in (None, Derived.DIFFERENCE):
        if several and several[0] not in draft.groups:
            draft.groups.append(several[0])
        periods = {f.grain for f in draft.filters if f.column == draft.time and f.op is Op.IS}
        finer = bool(periods) and draft.grain not in periods  # as in "2024 against 2025 by month"
        beside = finer or (bool(several) and not periods)
        if asked and draft.time and derived is None and beside:
            _use_comparison(draft.found)  # their values by period stand side by side
        elif asked and (several or draft.time):
            derived = Derived.DIFFERENCE
            _use_comparison(draft.found)
        elif (
            asked
            and not draft.groups
            and any(draft.column(f.column) in draft.dates for f in draft.filters if f.column)
        ):
            # As in "orders vs previous month": one side is not said.
            draft.unclear += [s.text for s in draft.found if s.has("compare") and not s.used][:1]
    if (asked or draft.named or trend) and not draft.measures:
        needed = draft.groups or draft.time or best or derived or trend or draft.having
        aggregate = next((s for s in draft.found if s.has("aggregate") and not s.columns), None)
        only_listed = (
            asked and (draft.groups or draft.time) and aggregate is None and not has_hint(draft)
            and not (best or derived or trend or draft.having or compared or draft.each_row)
        )  # fmt: skip
        who = next((s for s in draft.found if s.has("question", "who")), None)
        if only_listed and who is not None and not draft.filters and not who.has("of"):
            draft.unclear.append(who.text)
        if only_listed:
            draft.measures.append(Measure(None, Aggregate.COUNT))
        elif needed or aggregate is not None or (asked and draft.filters and has_hint(draft)):
            if asked and best and not has_hint(draft) and not is_sure(draft.names):
                _judged(draft, best)
            else:
                default(draft)
        elif asked and draft.filters and _one_number(draft):
            default(draft)
    if trend and not draft.time and draft.dates and not (best and draft.groups):
        draft.time = draft.dates[0].name
    if trend and draft.asked and not draft.time and derived is None and not best:
        derived = _developed(draft)
    derived = _nested(draft, derived)
    if derived is not None:
        _apply(draft, derived, values, best)
    if draft.time and draft.grain is None and not draft.ends:
        draft.grain = _fitting_grain(draft)
    _ordered(draft, _directed(draft, best, derived), asked=asked)


def _nested(draft: Draft, derived: Derived | None) -> Derived | None:
    """As in "average revenue per month" is the average of the months' totals; "by weekday" it is
    that of each weekday's rows."""
    if derived is not None or draft.time is None or draft.grain in (Grain.WEEKDAY, Grain.HOUR):
        return derived
    said = next((s for s in draft.found if s.has("aggregate", "mean")), None)
    if said is None or not _per_period(draft):
        return derived
    amounts = all(
        m.column is None or draft.column(m.column).role is not Role.RATE for m in draft.measures
    )
    how = {m.aggregate for m in draft.measures}
    if not amounts or not how <= {Aggregate.MEAN, Aggregate.COUNT, Aggregate.SUM}:
        return derived
    if not draft.asked or draft.groups:
        length = next((s.text for s in draft.found if s.has("grain")), "")
        draft.unclear.append(f"{said.text} … {length}")
        return derived
    said.used = True
    draft.measures = [
        Measure(m.column, Aggregate.SUM if m.column else Aggregate.COUNT) for m in draft.measures
    ]
    return Derived.AVERAGE


def _per_period(draft: Draft) -> bool:
    """As in "per month", "monthly"; not "by month"."""
    for at, segment in enumerate(draft.found):
        dated = all(draft.column(name) in draft.dates for name in segment.columns)
        if segment.has("grain") and dated:
            before = draft.found[at - 1] if at else None
            return before is None or before.has("ratio") or not before.has("by")
    return False


def _apply(draft: Draft, derived: Derived, values: dict[str, Filter], best: Best | None) -> None:
    if not draft.measures:
        return
    if derived in (Derived.SHARE, Derived.RANK) and not draft.groups and not draft.time:
        column = next(iter(values), None)
        if column is None and derived is Derived.SHARE and _of_condition(draft):
            draft.derive(derived)
            return
        if column is None:
            said = next((s.text for s in draft.found if s.has("derived")), derived.value)
            draft.unclear.append(said)
            return
        draft.groups.append(column)
    if derived is Derived.SHARE and "measure" not in draft.named and not has_hint(draft):
        counted = default_measure(draft.names)
        if counted.aggregate is not Aggregate.SUM:
            draft.measures = [Measure(None, Aggregate.COUNT)]
    if derived in (Derived.GROWTH, Derived.CUMULATIVE) and not draft.time and draft.dates:
        draft.time = draft.dates[0].name
        draft.ends = draft.asked and derived is Derived.GROWTH and bool(draft.groups or not best)
        draft.grain = None if draft.ends else _growth_grain(draft)
    if derived in (Derived.GROWTH, Derived.CUMULATIVE):
        _follow(draft, derived, best)
    if draft.asked and derived in (Derived.GROWTH, Derived.DIFFERENCE) and _one_period(draft):
        draft.ends = True
    if derived is Derived.DIFFERENCE and not draft.groups and not draft.time:
        return
    amount = derived is Derived.GROWTH and any(s.has("direction", "amount") for s in draft.found)
    draft.derive(Derived.DIFFERENCE if amount else derived)


def _developed(draft: Draft) -> Derived | None:
    """In a table without dates, a development is shown along its month names or the like; without
    any, it is a growth that cannot be known."""
    ordered = [column.name for column in draft.sequences]
    if not ordered:
        return Derived.GROWTH
    if not set(ordered) & set(draft.groups):
        draft.groups.append(ordered[0])
    return None


def _follow(draft: Draft, derived: Derived, best: Best | None) -> None:
    """In a table without dates, a growth is along its month names or the like."""
    ordered = [column.name for column in draft.sequences]
    if draft.time or not ordered or set(ordered) & set(draft.groups):
        return
    if draft.asked and derived is Derived.GROWTH and (draft.groups or not best):
        draft.along = ordered[0]
    else:
        draft.groups.insert(0, ordered[0])


def _one_period(draft: Draft) -> bool:
    """As in "revenue last quarter against the quarter before": the one before is compared."""
    dated = [f for f in draft.filters if f.column == draft.time]
    if draft.ends or len(dated) != 1 or dated[0].op is not Op.BETWEEN:
        return False
    low, high = dated[0].values
    return draft.grain is not None and dates.whole(str(low), str(high)) is draft.grain


def _judged(draft: Draft, best: Best) -> None:
    """As in "the best class": by its rating or score; what else could be meant is not guessed."""
    for name in draft.names.concepts.get("satisfaction", ()):
        if is_number(draft.column(name)):
            draft.measures.append(Measure(name, Aggregate.MEAN))
            return
    default(draft)
    draft.unclear.append(draft.found[best[0]].text)


def _one_number(draft: Draft) -> bool:
    """As in "hydro in Norway in 2024" over a table with one column of numbers."""
    numbers = sum(is_number(column) for column in draft.names.table.columns)
    return numbers == 1 and not any(s.has("question", "many", "who") for s in draft.found)


def _of_condition(draft: Draft) -> bool:
    """As in "what percent of the scores are above 90": of the rows."""
    numeric = [f for f in draft.filters if f.column and is_number(draft.column(f.column))]
    if not numeric:
        return False
    about = {f.column for f in numeric}
    counted = "measure" not in draft.named
    if counted or all(m.column is None or m.column in about for m in draft.measures):
        draft.measures = [Measure(None, Aggregate.COUNT)]
    return all(m.aggregate in (Aggregate.SUM, Aggregate.COUNT) for m in draft.measures)


def _growth_grain(draft: Draft) -> Grain:
    column = draft.dates[0]
    first, last = day_of(column.first), day_of(column.last)
    if first and last and first.year != last.year:
        return Grain.YEAR
    return Grain.MONTH


def _fitting_grain(draft: Draft) -> Grain:
    """The finest grain of at most about 60 points, not finer than the data is."""
    column = draft.column(draft.time or "")
    if column.grain is Grain.YEAR:
        return Grain.YEAR
    first, last = day_of(column.first), day_of(column.last)
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


def _directed(draft: Draft, best: Best | None, derived: Derived | None) -> Best | None:
    """As in "the biggest drop" is the lowest growth."""
    if best is None or derived is not Derived.GROWTH:
        return best
    at, descending, count = best
    falls = any(segment.has("direction", "fall") for segment in draft.found)
    return at, descending != falls, count


def _ordered(draft: Draft, best: Best | None, *, asked: bool) -> None:
    if best is None:
        for segment in draft.found:
            if segment.has("sort") and not segment.columns and not segment.corrected:
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
    if asked and "measure" not in draft.named:
        draft.named.add("order")
        draft.order = Order(descending)  # as in "and the least?", after "which … the most?"
    if draft.measures and draft.measures[0].column is not None:
        aggregate = Aggregate.MAX if descending else Aggregate.MIN
        draft.measures = [Measure(m.column, aggregate, m.derived) for m in draft.measures]


def _plural_top(draft: Draft, at: int) -> bool:
    """As in "top products" asks for several; "best product" for one."""
    return draft.found[at].text.casefold() == "top"


def compares(found: Sequence[Segment]) -> bool:
    """Whether groups or periods are to be compared: "cancelled or returned" are not, but "more in
    Spain or in Italy" are."""
    comparative = any(
        segment.has("comparative") or segment.has("question", "which") for segment in found
    )
    return any(
        segment.has("act", "compare")
        or (segment.has("compare", "compare") and not segment.has("and"))
        or (segment.has("compare", "or") and comparative)
        or (segment.has("op", "above", "below") and _without_number(found, at))
        for at, segment in enumerate(found)
    )


def _without_number(found: Sequence[Segment], at: int) -> bool:
    """As in "does Germany make more than France": a value follows, no number."""
    values = [bool(s.values) for s in found[at + 1 : at + 3]]
    asks = any(s.has("question", "yes") for s in found[:2])
    return asks and any(values) and all(s.number is None for s in found[at + 1 : at + 4])


def _use_comparison(found: Sequence[Segment]) -> None:
    for at, segment in enumerate(found):
        after = found[at + 1] if at + 1 < len(found) else None
        counted = after is not None and after.number is not None and not after.used
        bound = segment.has("op", "above", "below", "between") and not counted
        if bound or segment.has("comparative") or segment.has("compare"):
            segment.used = True


def day_of(value: object) -> dt.date | None:
    """The day of an ISO 8601 date or time."""
    try:
        return dt.date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
