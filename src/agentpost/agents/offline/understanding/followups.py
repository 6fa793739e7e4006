"""Follow-ups: a clause over what was made before overwrites only what it names."""

from __future__ import annotations

import calendar
from collections.abc import Sequence

import msgspec

from agentpost.agents.offline.frame import (
    Act,
    Derived,
    Filter,
    Frame,
    Grain,
    Measure,
    Op,
    Query,
    Style,
    Thing,
)
from agentpost.agents.offline.understanding.reading import Reading

DEFAULT_FORMATS = {
    Thing.CHART: ("png",), Thing.REPORT: ("pdf", "docx"), Thing.DECK: ("pptx",),
    Thing.SITE: ("html",), Thing.IMAGE: ("png",), Thing.VIDEO: ("mp4",), Thing.TABLE: ("xlsx",),
    Thing.DOCUMENT: ("pdf",),
}  # fmt: skip
"""What a thing is written as when nothing is said; a maker's own list comes first."""


_WORDED = (Thing.CHART, Thing.REPORT, Thing.DECK, Thing.SITE, Thing.VIDEO, Thing.TABLE)
"""Things whose words are ours, so that they can be said in another language."""


def changed(base: Frame, reading: Reading, *, formats: Sequence[str] = ()) -> Frame | None:
    """The frame with what a clause names, None when it names nothing.

    ``formats``: what the thing is written as when its frame names none, for "as a PDF, too".
    """
    new = reading.frame
    style = _style(base.style, new.style, reading)
    wanted = _formats(base, reading, formats)
    queries = _queries(base, reading)
    made = msgspec.structs.replace(
        base,
        style=style,
        formats=wanted,
        queries=queries,
        language=new.language,
        said=new.said,
        unused=new.unused,
    )
    same = (made.style, made.formats, made.queries) == (base.style, base.formats, base.queries)
    spoken = base.thing in _WORDED and reading.look.language not in (None, base.language)
    return None if same and not spoken else made


def another(base: Frame, reading: Reading) -> Frame:
    """Another thing from what was made before: "now make a report about it"."""
    new = reading.frame
    queries = _queries(base, reading) if new.queries or base.queries else ()
    if base.act is Act.ASK and "measure" not in reading.named:
        queries = tuple(map(_side_by_side, queries))
    return msgspec.structs.replace(
        new,
        act=Act.MAKE,
        files=new.files or base.files,
        text=new.text or base.text,
        queries=queries,
    )


def _side_by_side(query: Query) -> Query:
    """Of a question about a difference, what is compared: that is what there is to see."""
    compared = (Derived.DIFFERENCE, Derived.GROWTH, Derived.AVERAGE)
    measures = tuple(
        Measure(m.column, m.aggregate) if m.derived in compared else m for m in query.measures
    )
    # The only best one is no picture, nor is one value of a comparison.
    order = None if query.order is not None and query.order.count == 1 else query.order
    groups = (query.along, *query.groups) if query.along else query.groups
    return msgspec.structs.replace(
        query, measures=measures, groups=groups, ends=False, along=None, order=order
    )


def _style(old: Style, new: Style, reading: Reading) -> Style:
    named = {
        field: getattr(new, field)
        for field in new.__struct_fields__
        if getattr(new, field) not in (None, (), {})
    }
    if "options" in named:
        named["options"] = {**old.options, **named["options"]}
    if "sections" in named:
        if reading.intent.remove:
            gone = set(named["sections"])
            named["sections"] = tuple(s for s in old.sections if s not in gone)
        else:
            named["sections"] = (*old.sections, *named["sections"])
    if "pages" in named or "seconds" in named:
        named.setdefault("length", None)
    return msgspec.structs.replace(old, **named)


def _formats(base: Frame, reading: Reading, formats: Sequence[str]) -> tuple[str, ...]:
    wanted = reading.frame.formats
    if not wanted:
        return base.formats
    if reading.intent.too or reading.intent.add:
        default = tuple(formats) or (DEFAULT_FORMATS.get(base.thing, ()) if base.thing else ())
        return tuple(dict.fromkeys((*(base.formats or default), *wanted)))
    return wanted


def _queries(base: Frame, reading: Reading) -> tuple[Query, ...]:
    new = reading.frame.queries
    if not new:
        return tuple(
            msgspec.structs.replace(query, measures=_aggregated(query, reading) or query.measures)
            for query in base.queries
        )
    if not base.queries or base.queries[0].table != new[0].table:
        return new
    return (_query(base.queries[0], new[0], reading), *base.queries[1:])


def _query(old: Query, new: Query, reading: Reading) -> Query:
    named = reading.named
    intent = reading.intent
    fields: dict[str, object] = {}
    grouped = bool(named & {"group", "time"})
    if "measure" in named:
        fields["measures"] = _compared_like(old, new.measures)
    elif _aggregated(old, reading):
        fields["measures"] = _aggregated(old, reading)
    elif not old.measures and new.measures:
        fields["measures"] = new.measures
    if grouped:
        fields |= _axes(old, new, adds=intent.split or intent.add or intent.too)
    if "filter" in named:
        fields["filters"] = _filters(old.filters, new.filters)
        fields["having"] = new.having or old.having
    if new.order is not None and "order" in named:
        count = new.order.count or (old.order.count if old.order else None)
        fields["order"] = msgspec.structs.replace(new.order, count=count)
    if not fields and new.order and old.order:
        count = new.order.count or old.order.count
        fields["order"] = msgspec.structs.replace(new.order, count=count)
    elif not fields and (new.order or new.measures):
        fields["order"] = new.order or old.order
    return msgspec.structs.replace(old, **fields)


def _compared_like(old: Query, measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """As in "and orders?" after a growth from the first to the last period: theirs."""
    if not (old.ends or old.along) or any(m.derived for m in measures):
        return measures
    return tuple(Measure(m.column, m.aggregate, old.measures[0].derived) for m in measures)


def _aggregated(old: Query, reading: Reading) -> tuple[Measure, ...]:
    """As in "The average instead": another aggregate of the same columns."""
    said = reading.aggregate
    if said is None:
        return ()
    return tuple(Measure(m.column, said, m.derived) for m in old.measures)


def _axes(old: Query, new: Query, *, adds: bool) -> dict[str, object]:
    if (old.ends or old.along) and new.groups and not (new.time or old.along in new.groups):
        kept = old.groups if adds else ()
        return {"groups": (*kept, *(group for group in new.groups if group not in kept))}
    return {**_placed(old, new, adds=adds), "ends": new.ends, "along": new.along}


def _placed(old: Query, new: Query, *, adds: bool) -> dict[str, object]:
    if adds:
        groups = (*old.groups, *(group for group in new.groups if group not in old.groups))
        return {
            "groups": groups, "time": new.time or old.time, "grain": new.grain or old.grain,
        }  # fmt: skip
    if new.groups and not new.time:
        return {"groups": new.groups, "time": None, "grain": None}
    if new.time and not new.groups:
        keeps = old.groups if old.time else ()
        return {"groups": keeps, "time": new.time, "grain": new.grain}
    return {"groups": new.groups, "time": new.time, "grain": new.grain}


def _filters(old: Sequence[Filter], new: Sequence[Filter]) -> tuple[Filter, ...]:
    """A new condition takes the place of those on the same column; a weekday stands beside a
    date, and "in June" stays in the year that was meant before."""
    dated = [_in_year(one, old) for one in new]
    replaced = {_place(one) for one in dated}
    return (*(one for one in old if _place(one) not in replaced), *dated)


def _place(one: Filter) -> tuple[str, bool]:
    return one.column, one.grain is Grain.WEEKDAY


def _in_year(one: Filter, old: Sequence[Filter]) -> Filter:
    """A month or quarter without a year, in the only year of the filter that it replaces."""
    length = {Grain.MONTH: 1, Grain.QUARTER: 3}.get(one.grain) if one.grain else None
    if length is None or one.op is not Op.IS or len(one.values) != 1:
        return one
    for before in old:
        if before.column != one.column or before.op is not Op.BETWEEN or before.grain is not None:
            continue
        years = {str(value)[:4] for value in before.values}
        if len(years) == 1:
            year, last = int(years.pop()), int(one.values[0]) * length
            days = calendar.monthrange(year, last)[1]
            begin = f"{year}-{last - length + 1:02d}-01"
            return Filter(one.column, Op.BETWEEN, (begin, f"{year}-{last:02d}-{days}"))
    return one
