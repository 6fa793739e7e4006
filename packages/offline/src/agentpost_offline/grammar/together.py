"""Several answers as one: "draw them", "both together"."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from agentpost_offline.frame import Aggregate, Filter, Frame, Grain, Op, Query
from agentpost_offline.style import dates

_WHOLE = (Grain.YEAR, Grain.QUARTER, Grain.MONTH, Grain.DAY)
_SUMS = (Aggregate.SUM, Aggregate.COUNT)


def of(frames: Sequence[Frame], *, is_sum: bool = False) -> Frame | None:
    """The answers as one, side by side, or as one figure with ``is_sum``; None where they differ
    in more than the measure, the values of one column, or the period."""
    queries = [query for frame in frames for query in frame.queries]
    if len(queries) < 2 or len(queries) != len(frames):
        return None
    query = _measures(queries) or _values(queries, is_sum) or _periods(queries, is_sum)
    if query is None or (is_sum and any(one.aggregate not in _SUMS for one in query.measures)):
        return None
    return replace(frames[-1], queries=(query,))


def longest(frames: Sequence[Frame], *, is_sum: bool = False) -> Frame | None:
    """As many of the last answers as are one."""
    joint_frames = (of(frames[at:], is_sum=is_sum) for at in range(len(frames) - 1))
    return next((one for one in joint_frames if one is not None), None)


def _is_alike(queries: Sequence[Query], **blank: object) -> bool:
    """Whether queries are the same but for some of their fields."""
    return len({msgspec.json.encode(replace(one, **blank)) for one in queries}) == 1


def _measures(queries: Sequence[Query]) -> Query | None:
    measures = tuple(dict.fromkeys(one for query in queries for one in query.measures))
    is_alike = _is_alike(queries, measures=())
    return replace(queries[0], measures=measures) if is_alike else None


def _own_filters(queries: Sequence[Query]) -> list[Filter] | None:
    """The filter of each query that the others have not; None unless each has one."""
    common = set(queries[0].filters).intersection(*(set(one.filters) for one in queries))
    own = [[one for one in query.filters if one not in common] for query in queries]
    if not _is_alike(queries, filters=()) or any(len(one) != 1 for one in own):
        return None
    return [one[0] for one in own]


def _join(query: Query, own: Filter, joint: Filter, **fields: object) -> Query | None:
    filters = tuple(joint if one == own else one for one in query.filters)
    result = replace(query, filters=filters, **fields)
    return result if len(result.groups) + (result.time is not None) <= 2 else None


def _values(queries: Sequence[Query], is_sum: bool) -> Query | None:
    own = _own_filters(queries)
    if own is None or len({(one.column, one.op, one.grain) for one in own}) > 1:
        return None
    if own[0].op is not Op.IS or own[0].grain is not None:
        return None
    column = own[0].column
    joint = Filter(column, Op.IS, tuple(dict.fromkeys(v for one in own for v in one.values)))
    groups = queries[0].groups
    if not is_sum and column not in groups:
        groups = (*groups, column)
    return _join(queries[0], own[0], joint, groups=groups)


def _periods(queries: Sequence[Query], is_sum: bool) -> Query | None:
    own = _own_filters(queries)
    if own is None or len({one.column for one in own}) > 1 or queries[0].time is not None:
        return None
    periods = [_period(one) for one in own]
    grains = {one[1] for one in periods if one is not None}
    if None in periods or len(grains) != 1:
        return None
    names = tuple(dict.fromkeys(one[0] for one in periods if one is not None))
    joint = Filter(own[0].column, Op.IS, names)
    if is_sum:
        return _join(queries[0], own[0], joint)
    return _join(queries[0], own[0], joint, time=own[0].column, grain=grains.pop())


def _period(one: Filter) -> tuple[str, Grain] | None:
    """A period of the calendar as filters write it, and its length."""
    if one.op is not Op.BETWEEN or one.grain is not None or len(one.values) != 2:
        return None
    first, last = dates.parse(one.values[0]), dates.parse(one.values[1])
    if first is None or last is None:
        return None
    quarter = (first.month + 2) // 3
    starts = {Grain.YEAR: first.month == 1, Grain.QUARTER: first.month % 3 == 1}
    names = {
        Grain.YEAR: f"{first:%Y}", Grain.QUARTER: f"{first:%Y}-Q{quarter}",
        Grain.MONTH: f"{first:%Y-%m}", Grain.DAY: first.isoformat(),
    }  # fmt: skip
    for grain in _WHOLE:
        begins = grain is Grain.DAY or (first.day == 1 and starts.get(grain, True))
        if begins and dates.last_day(first, grain) == last:
            return names[grain], grain
    return None
