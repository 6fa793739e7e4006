"""What a clause measures: columns with their aggregates, counts of rows, the usual measure."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.agents.offline.data.model import Role
from agentpost.agents.offline.frame import Aggregate, Filter, Grain, Measure, Op
from agentpost.agents.offline.understanding.draft import (
    Best,
    Draft,
    default_aggregate,
    default_measure,
    is_number,
)
from agentpost.agents.offline.understanding.segments import Segment


def measures(draft: Draft, best: Best | None) -> None:
    """Take the columns that are measured, and what is counted."""
    found = draft.found
    counting = [
        at
        for at, s in enumerate(found)
        if (s.has("question", "many") or s.has("aggregate", "count", "distinct"))
        and not (s.used or s.columns or _percent(found, at))
        and not (s.has("question", "much") and (has_hint(draft) or _much(draft)))
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
            if draft.having and not draft.groups:
                _list_counted(draft, at)
            continue
        _count(draft, at)
    valued = any(
        s.has("aggregate", "mean", "median", "min", "max") and not (s.used or s.columns)
        for s in found
    )  # fmt: skip
    if not (draft.measures or counting or draft.each_row or valued):
        row_words = [
            s for s in found
            if (s.has("rows") and not s.columns) or _is_table_name(draft, s)
            or (not s.used and names_rows(draft, s) == Measure(None, Aggregate.COUNT))
        ]  # fmt: skip
        grouped = bool(draft.groups or draft.time) or best is not None
        if row_words and (grouped or draft.filters):
            draft.measures.append(Measure(None, Aggregate.COUNT))
            draft.named.add("measure")
            for segment in row_words:
                segment.used = True


def _percent(found: Sequence[Segment], at: int) -> bool:
    """As in "by how many percent did North grow": nothing is counted."""
    after = found[at + 1] if at + 1 < len(found) else None
    grows = any(s.has("derived", "growth") for s in found)
    asked = grows and after is not None and after.has("derived", "share")
    found[at].used = found[at].used or asked
    return asked


def _much(draft: Draft) -> bool:
    """Whether there is an amount that "how much" can mean: rows are counted by "how many"."""
    return any(draft.numeric(segment) is not None for segment in draft.found)


def _is_table_name(draft: Draft, segment: Segment) -> bool:
    return not segment.columns and names_table(segment.text.casefold(), draft.names.words)


def names_table(plain: str, words: frozenset[str]) -> bool:
    """Whether a word is one of a table's own name, or its plural."""
    return len(plain) > 2 and any(plain in (word, f"{word}s") for word in words)


def _list_counted(draft: Draft, at: int) -> None:
    """As in "How many months had more than …" is answered with those months."""
    for segment in draft.found[at + 1 :]:
        column = draft.category(segment)
        if column is not None and not segment.values:
            draft.add_group(column)
            grain = segment.key("grain")
            if grain and draft.time == column:
                draft.grain = Grain(grain)
            segment.used = True
            return


def _count(draft: Draft, at: int) -> None:
    """What "how many" counts: different values of a column, or rows."""
    found = draft.found
    if _count_periods(draft, at):
        return
    for segment in found[at + 1 :]:
        if segment.used:
            if segment.has("aggregate", "distinct"):
                continue
            if not _is_table_name(draft, segment):
                continue
        column = draft.category(segment)
        if column is not None and segment.has("rows") and not segment.literal:
            segment.used = True
            break
        if column is not None and not segment.values and not segment.used:
            segment.used = True
            if not any(s.has("aggregate", "distinct") for s in found) and _answered_yes(
                draft, column
            ):
                break
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
    for segment in found:
        segment.used = segment.used or (segment.has("rows") and not segment.columns)


def _count_periods(draft: Draft, at: int) -> bool:
    """As in "how many hours was it above 5", "in how many months were sales below 1,000"."""
    noun = next((s for s in draft.found[at + 1 : at + 3] if s.has("grain")), None)
    if noun is None or not draft.dates or draft.groups:
        return False
    grain, column = Grain(noun.key("grain") or ""), draft.dates[0]
    amounts = [
        f for f in draft.filters
        if f.grain is None and is_number(draft.column(f.column)) and f.op is not Op.IS
    ]  # fmt: skip
    if not amounts or grain is Grain.WEEKDAY:
        return False
    noun.used = True
    draft.time = draft.grain = None
    if column.grain is grain and column.distinct == draft.names.table.rows:
        draft.measures.append(Measure(None, Aggregate.COUNT))
    else:
        draft.filters = [f for f in draft.filters if f not in amounts]
        draft.having += amounts
        draft.time, draft.grain = column.name, grain
        draft.measures.append(
            Measure(amounts[0].column, default_aggregate(draft.column(amounts[0].column)))
        )
        draft.named.add("time")
    draft.named.add("measure")
    return True


def _answered_yes(draft: Draft, column: str) -> bool:
    """As in "how many would recommend us": rows with a yes (or, "would not", a no)."""
    denied = next((s for s in draft.found if s.has("not", "not") and not s.used), None)
    wanted = draft.names.meant.get("no" if denied is not None else "yes", ())
    value = next((value for name, value in wanted if name == column), None)
    if value is None or any(f.column == column for f in draft.filters):
        return any(f.column == column for f in draft.filters)
    draft.add_filter(Filter(column, Op.IS, (value,)))
    if denied is not None:
        denied.used = True
    return True


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
        if aggregate is Aggregate.SUM and not _may_be_summed(draft, column):
            draft.unclear.append(found[index].text)
            return default_aggregate(draft.column(column))
        return aggregate
    return default_aggregate(draft.column(column))


_NEVER_SUMMED = ("price", "age", "margin", "satisfaction", "temperature", "discount")


def _may_be_summed(draft: Draft, column: str) -> bool:
    """Salaries may be added up when someone asks for it; prices and ages never."""
    if draft.column(column).role is not Role.RATE:
        return True
    about = {key for key, listed in draft.names.concepts.items() if column in listed}
    return bool(about) and not about & set(_NEVER_SUMMED)


def names_rows(draft: Draft, segment: Segment) -> Measure | None:
    """How the rows that a word names are counted ("orders" over a table of orders), if it does:
    by the column that tells them apart where several rows are one order."""
    numbered = [
        name for name in segment.columns
        if draft.column(name).role is Role.IDENTIFIER and len(segment.columns) == 1
    ]  # fmt: skip
    if numbered and draft.column(numbered[0]).distinct < draft.names.table.rows:
        return Measure(numbered[0], Aggregate.DISTINCT)
    if numbered or _is_table_name(draft, segment) or (segment.has("rows") and not segment.columns):
        return Measure(None, Aggregate.COUNT)
    return None


def hinted(draft: Draft, concept: str) -> bool:
    """Measure the column of a concept, as "oldest" means ages; False when there is none."""
    if draft.measures:
        return True
    if concept == "rows":
        known = ("orders", "visits", "quantity")
        names = [n for key in known for n in draft.names.concepts.get(key, ())]
        amounts = [n for n in names if draft.column(n).role is Role.AMOUNT]
        made = Measure(amounts[0], Aggregate.SUM) if amounts else Measure(None, Aggregate.COUNT)
        draft.measures.append(made)
        draft.named.add("measure")
        return True
    named = any(draft.numeric(segment) for segment in draft.found)
    listed = draft.names.concepts
    prices = [n for n in listed.get("cost", ()) if draft.column(n).role is Role.RATE]
    for name in listed.get(concept) or (prices if concept == "price" else ()):
        column = draft.column(name)
        if is_number(column):
            how = Aggregate.MEAN if concept == "hours" else default_aggregate(column)
            draft.measures.append(Measure(name, how))
            draft.named.add("measure")
            return True
    return named


def has_hint(draft: Draft) -> bool:
    """Whether a verb like "earn" says what is measured."""
    amounts = ("revenue", "quantity", "salary", "price", "age")
    return any(segment.has("hint", *amounts) for segment in draft.found)


def default(draft: Draft) -> None:
    """Measure what is usually asked for, where nothing was named."""
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
