"""Numeric conditions, exclusions and values of a clause, as filters."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.agents.offline.data.model import Kind
from agentpost.agents.offline.frame import Filter, Op
from agentpost.agents.offline.understanding.draft import Draft, is_number
from agentpost.agents.offline.understanding.measuring import names_rows
from agentpost.agents.offline.understanding.segments import Segment

_NEAR = 6
"""How many segments a condition's column may stand away from it."""
_AFTER = 3
_FEW = 12
"""Different numbers of a column that are named one by one, like stars."""
_OPS = {
    "above": Op.ABOVE, "at_least": Op.AT_LEAST, "below": Op.BELOW, "at_most": Op.AT_MOST,
    "is": Op.IS,
}  # fmt: skip


def value_at(found: Sequence[Segment], at: int) -> tuple[float | None, int]:
    """The number at a place ("10k", "twelve") and the place after it."""
    if at >= len(found) or found[at].used:
        return None, at
    segment = found[at]
    value = segment.number
    if value is None and segment.has("number") and not segment.has("filler"):
        value = float(segment.key("number") or 0)
    if value is None:
        return None, at
    after = at + 1
    if after < len(found) and found[after].has("scale") and not found[after].columns:
        value *= float(found[after].key("scale") or 1)
        after += 1
    if after < len(found) and found[after].text in "%€$£¥":
        after += 1
    return value, after


def numeric(draft: Draft) -> None:
    """Filters like "above 500" and "between 10 and 20", with the column they are about."""
    found = draft.found
    for at, segment in enumerate(found):
        if segment.used or not segment.has("op"):
            continue
        start = at + 1
        while start < len(found) and (found[start].has("filler") or found[start].text in "€$£¥"):
            start += 1
        value, after = value_at(found, start)
        key = segment.key("op") or ""
        if value is None:
            value, start, after = _number_before(found, at, key)
        if value is None:
            continue
        values: tuple[float, ...] = (value,)
        op = _OPS.get(key)
        if segment.has("op", "between"):
            other, end = value_at(found, _skip(found, after, ("and", "when")))
            if other is None:
                continue
            values, after, op = (min(value, other), max(value, other)), end, Op.BETWEEN
        where = _column_near(draft, at, after)
        if where is None or op is None:
            continue
        column, place = where
        for used in found[at:after]:
            used.used = True
        _use_negation(found, at)
        condition = Filter(column, op, values)
        if _of_groups(draft, place):
            draft.having.append(condition)
            draft.named.add("filter")
        else:
            draft.add_filter(condition)
            if _only_condition(draft, place):
                for part in found:
                    part.used = part.used or (part.columns == (column,) and not part.values)


def equal(draft: Draft) -> None:
    """As in "5 stars", "gave 5 for satisfaction": a bare number beside a column of few numbers."""
    found = draft.found
    counted = any(s.has("question", "many") or s.has("aggregate", "count") for s in found)
    counted = counted or any(names_rows(draft, s) is not None for s in found)
    for at, segment in enumerate(found):
        if segment.used or segment.number is None or not counted:
            continue
        around = [*range(at + 1, min(len(found), at + 4)), *range(at - 1, max(-1, at - 4), -1)]
        for index in around:
            part = found[index]
            column = _numeric_at(draft, index)
            if column is None and not part.used and (part.has("filler") or part.has("for")):
                continue
            if column is not None and not part.used and draft.column(column).distinct <= _FEW:
                draft.add_filter(Filter(column, Op.IS, (segment.number,)))
                segment.used = part.used = True
            if index > at:
                around = [i for i in around if i < at]
            break


def _number_before(found: Sequence[Segment], at: int, key: str) -> tuple[float | None, int, int]:
    """As in "10 or more"; in Chinese "10以上"."""
    if key in ("at_least", "at_most", "above", "below") and at and found[at - 1].kind == "number":
        value, _ = value_at(found, at - 1)
        if value is not None:
            found[at - 1].used = True
            return value, at - 1, at + 1
    return None, at, at


def _skip(found: Sequence[Segment], at: int, sections: tuple[str, ...]) -> int:
    while at < len(found) and any(found[at].has(section) for section in sections):
        at += 1
    return at


def _column_near(draft: Draft, at: int, after: int) -> tuple[str, int] | None:
    """The number column a condition is about: the one before it, else after, else the only one."""
    found = draft.found
    people = _people_before(draft, at)
    for index in range(at - 1, max(-1, at - 1 - (0 if people else _NEAR)), -1):
        column = _numeric_at(draft, index)
        if column is not None:
            return column, index
        if found[index].kind == "mark" and found[index].text in ",;":
            break
    for index in range(after, min(len(found), after + _AFTER)):
        column = _numeric_at(draft, index)
        if column is not None:
            return column, index
    for index in range(max(0, at - 1), min(len(found), at + 1)):
        for tag in found[index].tags:
            if tag.section == "hint":
                for name in draft.names.concepts.get(tag.key, ()):
                    if is_number(draft.column(name)):
                        return name, index
    if people:
        for name in draft.names.concepts.get("age", ()):
            return name, at
        return None
    named = {c for s in found for c in s.columns if is_number(draft.column(c))}
    if len(named) == 1:
        column = named.pop()
        place = next(i for i, s in enumerate(found) if column in s.columns)
        return column, place
    return _money(draft, at, after)


def _money(draft: Draft, at: int, after: int) -> tuple[str, int] | None:
    """As in "orders above 500 euros", "worth more than 500": of the revenue."""
    found = draft.found
    paid = [i for i in range(max(0, at - 2), min(len(found), after + 1)) if found[i].has("money")]
    signed = any(segment.text in "€$£¥" for segment in found[at : after + 1])
    named = [
        name for concept in ("revenue", "amount")
        for name in draft.names.concepts.get(concept, ()) if is_number(draft.column(name))
    ]  # fmt: skip
    if len(named) == 1 and (paid or signed):
        for index in paid:
            found[index].used = True
        return named[0], at
    return None


def _people_before(draft: Draft, at: int) -> bool:
    """As in "People over 50": what stands before the condition is no column."""
    before = next((s for s in reversed(draft.found[:at]) if not s.has("question", "yes")), None)
    return before is not None and before.has("rows") and not before.literal


def _numeric_at(draft: Draft, index: int) -> str | None:
    return next(
        (name for name in draft.found[index].columns if is_number(draft.column(name))), None
    )


def _of_groups(draft: Draft, place: int) -> bool:
    """Whether a condition is about groups ("which regions made more than"), not about rows."""
    for index, segment in enumerate(draft.found[:place]):
        if not segment.has("question", "which", "what", "who", "many"):
            continue
        for other in draft.found[index + 1 : index + 4]:
            if (other.has("rows") and not other.literal) or names_rows(draft, other) is not None:
                return False
            if any(not is_number(draft.column(name)) for name in other.columns):
                return True
    return False


def _only_condition(draft: Draft, place: int) -> bool:
    """Whether a condition's column is there for the condition alone: something else is measured."""
    others = [
        index
        for index, segment in enumerate(draft.found)
        if index != place and not segment.used and _numeric_at(draft, index) is not None
    ]
    counted = any(
        segment.has("question", "many")
        or segment.has("aggregate", "count")
        or segment.has("derived", "share")
        for segment in draft.found
    )
    rows = any(names_rows(draft, segment) is not None for segment in draft.found[:place])
    return bool(others) or counted or rows


def _use_negation(found: Sequence[Segment], at: int) -> None:
    for segment in found[max(0, at - 2) : at]:
        if segment.has("when") or segment.has("from"):
            segment.used = True


def missing(draft: Draft) -> None:
    """As in "have no agent", "with empty city"."""
    found = draft.found
    for at, segment in enumerate(found):
        if segment.used or not segment.has("not", "missing", "without"):
            continue
        places = [*range(at + 1, min(len(found), at + 4)), *range(at - 1, max(-1, at - 4), -1)]
        if segment.has("not", "without"):
            places = _after_without(found, at)
        for index in places:
            if found[index].columns and not found[index].used:
                draft.add_filter(_empty(draft, found[index].columns[0]))
                found[index].used = segment.used = True
                break


def _after_without(found: Sequence[Segment], at: int) -> list[int]:
    """As in "without a rating"; but "without the region North" is about a value."""
    places = list(range(at + 1, min(len(found), at + 3)))
    if any(found[index].values for index in range(at + 1, min(len(found), at + 5))):
        return []
    return places


def _empty(draft: Draft, name: str) -> Filter:
    """Without a value; of an amount that every row has, "none left" is zero."""
    column = draft.column(name)
    if is_number(column) and not column.missing:
        return Filter(name, Op.IS, (0.0,))
    return Filter(name, Op.MISSING)


def values(draft: Draft) -> None:
    """Filters by the values that are named: kept, or left out after a negation."""
    found = draft.found
    excluding: Segment | None = None
    reach = 0
    for at, segment in enumerate(found):
        if segment.has("not", "not") and not segment.used and _excludes(found, at):
            excluding, reach = segment, 0
            continue
        if segment.used:
            continue
        if segment.values:
            column, value = _value(draft, at)
            op = Op.IS_NOT if excluding is not None else Op.IS
            if draft.column(column).kind is Kind.BOOLEAN:
                draft.add_filter(Filter(column, op, (value,)))
            else:
                draft.add_filter(Filter(column, op, (value,)))
            segment.used = True
            if excluding is not None:
                excluding.used = True
            _use_own_name(draft, at, column)
            reach = 0
        elif excluding is not None:
            reach += 1
            ends = segment.columns or segment.has("by") or segment.text in ",:;"
            if reach > 4 or (ends and excluding.used) or segment.has("thing"):
                excluding = None
    for at, segment in enumerate(found):
        # German and Chinese exclude with a word after the value, too.
        if segment.has("not", "after") and not segment.used and at and found[at - 1].values:
            column, value = _value(draft, at - 1)
            draft.filters = [f for f in draft.filters if value not in f.values]
            draft.add_filter(Filter(column, Op.IS_NOT, (value,)))
            segment.used = True


def _excludes(found: Sequence[Segment], at: int) -> bool:
    return any(segment.values for segment in found[at + 1 : at + 6])


def _value(draft: Draft, at: int) -> tuple[str, str]:
    """The column and value that are meant, where a value stands in several columns."""
    options = draft.found[at].values
    if len(options) == 1:
        return options[0]
    near = draft.found[max(0, at - 2) : at + 3]
    named = {column for segment in near for column in segment.columns}
    for option in options:
        if option[0] in named:
            return option
    said = {column for segment in draft.found for column in segment.columns}
    for option in options:
        if option[0] in said:
            return option
    if len({column for column, _ in options}) > 1:
        columns = tuple(column for column, _ in options)
        draft.ambiguous.append((draft.found[at].text, columns))
    return options[0]


def _use_own_name(draft: Draft, at: int, column: str) -> None:
    """As in "the North region", "status is open": the column's name belongs to its value."""
    found = draft.found
    after, before = at + 1, at - 1
    if after < len(found) and column in found[after].columns and not found[after].used:
        if not (before >= 0 and found[before].has("by")):
            found[after].used = True
        return
    while before >= 0 and (found[before].has("filler") or found[before].has("op", "is")):
        before -= 1
    grouped = before > 0 and (
        found[before - 1].has("by") or found[before - 1].has("question", "which", "what")
    )
    if before >= 0 and found[before].columns == (column,) and not grouped:
        found[before].used = True
