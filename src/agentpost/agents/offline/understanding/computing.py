"""Columns that a clause needs and the table has not, computed from those it has: profit from
revenue and cost, a rate from two counts, spending from a bank statement's negative amounts."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.agents.offline.data.computed import MINUS, OVER, TIMES, name_of
from agentpost.agents.offline.data.model import Role
from agentpost.agents.offline.frame import Derived, Filter, Measure, Op
from agentpost.agents.offline.understanding.draft import Draft, default_measure, is_number
from agentpost.agents.offline.understanding.segments import Segment
from agentpost.agents.offline.understanding.words import word_tokens

_AMOUNTS = ("revenue", "amount", "quantity", "visits")


def compute(draft: Draft) -> None:
    """Give segments that name no column the formula that they stand for."""
    for segment in draft.found:
        _spent_by(draft, segment)
        if segment.columns or segment.values or segment.used:
            continue
        made = _named(draft, segment)
        if made is not None:
            segment.columns, segment.literal = (made,), True
        else:
            _flow(draft, segment)
    _zeros(draft)
    _against_target(draft)
    _ratio(draft)
    _columns_compared(draft)


def minus(draft: Draft, derived: Derived | None) -> Derived | None:
    """As in "revenue minus cost" is one figure, not two differences."""
    plain = len(draft.measures) == 2 and all(m.column for m in draft.measures)
    values = any(len(f.values) > 1 and f.op is Op.IS for f in draft.filters)
    if derived is not Derived.DIFFERENCE or not plain or values:
        return derived
    first, second = draft.measures
    assert first.column is not None
    assert second.column is not None
    made = name_of(first.column, MINUS, second.column)
    draft.measures[:] = [Measure(made, first.aggregate)]
    return None


def _amount(draft: Draft, *concepts: str, role: Role = Role.AMOUNT) -> str | None:
    """The only number column of a concept; None when there are several or none."""
    for concept in concepts:
        found = [
            name for name in draft.names.concepts.get(concept, ())
            if is_number(draft.column(name)) and draft.column(name).role is role
        ]  # fmt: skip
        plain = [name for name in found if len(word_tokens(name)) == 1]
        found = plain if len(plain) == 1 else found
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _named(draft: Draft, segment: Segment) -> str | None:
    revenue, cost = _amount(draft, "revenue"), _amount(draft, "cost")
    earned = segment.has("concept", "profit", "margin") and not segment.has("hint")
    if earned and revenue and cost:
        profit = name_of(revenue, MINUS, cost)
        if segment.has("concept", "profit") and not segment.has("concept", "margin"):
            return profit
        return name_of(profit, OVER, revenue, percent=True)
    if segment.has("computed", "conversion"):
        done, visits = _amount(draft, "signups", "orders"), _amount(draft, "visits")
        return name_of(done, OVER, visits, percent=True) if done and visits else None
    if segment.has("computed", "stock_value"):
        stock = _amount(draft, "stock", "quantity")
        each = _amount(draft, "cost", role=Role.RATE) or _amount(draft, "price", role=Role.RATE)
        return name_of(stock, TIMES, each) if stock and each else None
    return None


def _spent_by(draft: Draft, segment: Segment) -> None:
    """What customers spend is revenue; what we spend on them is a cost: it is asked which."""
    revenue, cost = _amount(draft, "revenue"), _amount(draft, "cost")
    customers = any(one.has("concept", "customers") for one in draft.found)
    if segment.has("hint", "spending") and revenue and cost and customers:
        draft.ambiguous.append((segment.text, (revenue, cost)))


def _flow(draft: Draft, segment: Segment) -> None:
    """What was spent or came in, of amounts with a sign."""
    out = segment.has("concept", "cost") or segment.has("hint", "spending")
    if not out and not segment.has("concept", "revenue"):
        return
    cost = _amount(draft, "cost")
    if out and cost:
        segment.columns = (cost,)
        return
    signed = [
        column.name for column in draft.names.table.columns
        if column.role is Role.AMOUNT and is_number(column)
        and isinstance(column.first, float) and column.first < 0
    ]  # fmt: skip
    named = [name for name in signed if name in draft.names.concepts.get("amount", ())]
    column = named[0] if len(named) == 1 else signed[0] if len(signed) == 1 else None
    if column is None:
        return
    segment.columns, segment.literal = (column,), True
    draft.add_filter(Filter(column, Op.BELOW if out else Op.ABOVE, (0.0,)))
    draft.flipped = out


def _against_target(draft: Draft) -> None:
    """As in "missed the target"."""
    for segment in draft.found:
        if segment.used or not segment.has("target"):
            continue
        target = next(
            (n for c in ("target", "budget") for n in draft.names.concepts.get(c, ())), ""
        )
        main = default_measure(draft.names).column
        if not target or main is None or main == target:
            draft.unclear.append(segment.text)
            continue
        op = Op.BELOW if segment.has("target", "below") else Op.AT_LEAST
        draft.add_filter(Filter(name_of(main, MINUS, target), op, (0.0,)))
        segment.used = True


def _ratio(draft: Draft) -> None:
    """As in "revenue per visitor" divides one column by another."""
    found = draft.found
    for at, segment in enumerate(found[:-1]):
        if not segment.has("ratio") or segment.columns or segment.used:
            continue
        after = [s for s in found[at + 1 : at + 3] if not s.has("filler") or s.columns]
        over = _amount_at(draft, after[0]) if after else None
        before = next((s for s in reversed(found[:at]) if _amount_at(draft, s)), None)
        left = _amount_at(draft, before) if before is not None else None
        if over is None or left is None or before is None or segment.has("of") or over == left:
            continue
        before.columns, before.literal = (name_of(left, OVER, over),), True
        segment.used = after[0].used = True


def _amount_at(draft: Draft, segment: Segment) -> str | None:
    if segment.used or segment.values:
        return None
    found = [name for name in segment.columns if is_number(draft.column(name))]
    amounts = [name for name in found if draft.column(name).role is Role.AMOUNT]
    return amounts[0] if len(amounts) == 1 else None


def _columns_compared(draft: Draft) -> None:
    """As in "items below their reorder level": one column against another in each row."""
    found = draft.found
    signs = {"above": Op.ABOVE, "below": Op.BELOW, "at_least": Op.AT_LEAST, "at_most": Op.AT_MOST}
    for at, segment in enumerate(found):
        op = signs.get(segment.key("op") or "")
        if segment.used or op is None or segment.has("compare"):
            continue
        after = next((s for s in found[at + 1 : at + 3] if not s.has("filler") or s.columns), None)
        right = _only_number(draft, after)
        left = next((n for s in reversed(found[:at]) if (n := _only_number(draft, s))), None)
        if left is None and right is not None:
            left = next((n for c in ("stock", *_AMOUNTS) if (n := _amount(draft, c))), None)
        if right is None or left is None or left == right or after is None:
            continue
        draft.add_filter(Filter(name_of(left, MINUS, right), op, (0.0,)))
        segment.used = after.used = True
        _use(found, left)


def _use(found: Sequence[Segment], column: str) -> None:
    for segment in found:
        segment.used = segment.used or segment.columns == (column,)


def _only_number(draft: Draft, segment: Segment | None) -> str | None:
    if segment is None or segment.used or len(segment.columns) != 1:
        return None
    return segment.columns[0] if is_number(draft.column(segment.columns[0])) else None


def _zeros(draft: Draft) -> None:
    """As in "out of stock", "never sold": rows in which a quantity is zero."""
    for segment in draft.found:
        key = segment.key("zero")
        if segment.used or key is None or segment.values:
            continue
        concepts = ("stock", "quantity") if key == "stock" else ("quantity", "orders", "revenue")
        column = next((n for c in concepts if (n := _of_sales(draft, c, key))), None)
        if column is None or draft.column(column).first != 0:
            draft.unclear.append(segment.text)
            continue
        draft.add_filter(Filter(column, Op.IS, (0.0,)))
        segment.used = True


def _of_sales(draft: Draft, concept: str, key: str) -> str | None:
    """The number column of a concept; of several quantities, the one that is not the stock."""
    names = [
        name for name in draft.names.concepts.get(concept, ()) if is_number(draft.column(name))
    ]
    stock = draft.names.concepts.get("stock", ())
    found = [n for n in names if (n in stock) == (key == "stock")] or names
    amounts = [n for n in found if draft.column(n).role is Role.AMOUNT]
    return amounts[0] if len(amounts) == 1 else None
