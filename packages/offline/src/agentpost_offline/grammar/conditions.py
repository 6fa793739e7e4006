"""Conditions with numbers: "above 100", "between 10 and 20", "stock below reorder level"."""

import dataclasses
from typing import Final

from agentpost_offline.data.cells import conversion_factor
from agentpost_offline.data.formulas import Sign
from agentpost_offline.data.model import Kind
from agentpost_offline.frame import Filter, Op
from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.draft import ROWS, Comparing
from agentpost_offline.grammar.material import reaches
from agentpost_offline.grammar.rows import is_row_word
from agentpost_offline.grammar.tagging import END, Term
from agentpost_offline.grammar.text import name_tokens
from agentpost_offline.grammar.vocabulary import lexicon

_OPS: Final = (Op.AT_LEAST, Op.AT_MOST, Op.ABOVE, Op.BELOW)
_UNIT_NAMES: Final = {
    "s": "s sec secs second seconds sekunde sekunden segundos secondes 秒 ثانية",
    "min": "min mins minute minutes minuten minuto minutos 分钟 دقيقة دقائق",
    "h": "h hr hrs hour hours stunde stunden hora horas heure heures 小时 ساعة ساعات",
    "g": "g gram grams gramm gramos grammes 克",
    "kg": "kg kilo kilos kilogramm kilogramos 公斤",
    "t": "t ton tons tonne tonnes tonnen toneladas 吨",
}
"""What the units of time and of weight are called."""
_UNITS: Final = {name: unit for unit, names in _UNIT_NAMES.items() for name in names.split()}
_COUNTERS: Final = ("分", "岁", "天", "次", "个", "件", "人")
"""What stands between a Chinese number and what is said of it: "60分以下"."""
_SEVERAL: Final = 2
"""So many columns behind an "in" share a number; a single one is a figure of its own."""
_BEFORE: Final = 4
"""How many terms before a condition its column may stand."""


def take_comparison(clause: Clause, at: int) -> int:
    """As in "above 100", "at least 5 units", "between 10 and 20", "over 2k €"."""
    term = clause.terms[at]
    op = next((one for one in _OPS if term.has(f"op.{one}")), None)
    if term.has("op.equal"):
        op = Op.IS
    between = term.has("period.between")
    if op is None and not between:
        return 0
    end = clause.skip(at + 1)
    if op in (Op.ABOVE, Op.BELOW) and _is_year(clause, end) and clause.draft.periods:
        clause.draft.marks |= {"versus", "more"}  # "was 2024 dearer than 2023"
        return 1
    value, end = _figure(clause, end)
    if value is None:
        return _compare_columns(clause, at, end, op)
    values = [value]
    if between:
        joint = clause.term(end)
        if not joint.has("small.and", "small.to"):
            return 0
        second, end = _figure(clause, clause.skip(end + 1))
        if second is None:
            return 0
        values.append(second)
        op = Op.BETWEEN
    assert op is not None
    if op is Op.ABOVE and _spans_time(clause, at, end, value):
        return end + 1 - at
    condition, after = _compare(clause, at, end, op, tuple(values)), clause.term(end)
    name, measured = condition.column, _measured_in(clause, after)
    if is_row_word(clause, end, after):
        condition.column = ROWS
        return end + 1 - at
    condition.has_money = term.has("worth") or any(
        one.has("unit.money") for one in clause.terms[at:end]
    )
    is_unit = after.has("unit", "grain") and name and clause.material.column(name).unit
    factor = _factor(clause, name, after)
    condition.has_unit = bool(condition.has_money or is_unit or measured or factor)
    if factor is not None:  # "over 5 min" of seconds
        condition.values = tuple(value * factor for value in condition.values)
    elif name is None and len(measured) == 1:
        condition.column = measured[0]
    if factor or is_unit or measured:
        return end + 1 - at
    end += _take_own_column(clause, end)
    return end + _take_fields(clause, end) - at


def _is_year(clause: Clause, at: int) -> bool:
    """Whether a number is one of the years of the table's dates."""
    term, calendar = clause.term(at), clause.calendar
    number = term.number
    return calendar is not None and number in range(calendar.first.year, calendar.last.year + 1)


def _take_fields(clause: Clause, at: int) -> int:
    """How many terms name the several columns that a number is of: "under 50 in maths and
    physics"."""
    condition, place = clause.draft.comparing[-1], at
    joint = clause.term(at)
    if condition.column is not None or not joint.has("small.in"):
        return 0
    names: list[str] = []
    while joint.has("small.in") if not names else joint.has("small.and"):
        term = clause.term(clause.skip(place + 1))
        column = clause.column(term) if clause.is_measure(term) else None
        if column is None or column.kind is not Kind.NUMBER:
            break
        names.append(column.name)
        place = clause.skip(place + 1) + 1
        joint = clause.term(place)
    others = sum(one.has(*(f"op.{op}" for op in _OPS)) for one in clause.terms) - 1
    if len(names) < _SEVERAL and not others:
        return 0
    condition.column = names[0]
    clause.draft.comparing += [dataclasses.replace(condition, column=name) for name in names[1:]]
    return place - at


def _take_own_column(clause: Clause, at: int) -> int:
    """Take the column that stands right behind a number, as in "orders over 3 units"; another one
    counts only where it names no rows."""
    term, condition = clause.term(at), clause.draft.comparing[-1]
    column = clause.column(term) if not term.values else None
    if column is None or column.kind is not Kind.NUMBER:
        return 0
    name = condition.column
    if name is not None and not clause.material.is_row([name]):
        # "Missed more than 10 sessions", of all sessions.
        asks_rows = clause.draft.asks & {"who", "which", "many", "list"}
        is_alone = condition.measure_at is not None and len(clause.draft.measures) == 1
        return int(bool(asks_rows) and is_alone)
    condition.column, condition.measure_at = column.name, None
    return 1


def take_postfix(clause: Clause, at: int) -> int:
    """As in "100 or more"."""
    value, end = _figure(clause, at)
    term = clause.term(end)
    if value is None:
        return 0
    column = clause.column(term)
    measured = _measured_in(clause, term)
    if len(measured) == 1 and clause.term(end + 1) is not END:  # "missed 2 days or more"
        column = clause.material.column(measured[0])
    is_beside = column is not None and column.kind is Kind.NUMBER and not term.values
    if is_beside:
        term = clause.term(end + 1)
    ops = _OPS if clause.language == "zh" else _OPS[:2]  # "60以下"
    op = next((one for one in ops if term.has(f"op.{one}")), None)
    end += 1 + is_beside
    if op is None or clause.number(clause.term(clause.skip(end))) is not None:
        return 0
    _compare(clause, at, end, op, (value,))
    if is_beside and column is not None:  # "10 days absent or more"
        clause.draft.comparing[-1].column = column.name
        return end - at
    return end + _take_own_column(clause, end) - at


def take_exact(clause: Clause, at: int) -> int:
    """As in "bookings with 6 players" and "flats that have 2 bedrooms"."""
    value = clause.number(clause.terms[at])
    term, before = clause.term(at + 1), clause.term(at - 1)
    column = clause.column(term) if not term.values else None
    if value is None or column is None or not before.has("having", "have"):
        return 0
    is_there = column.kind is Kind.NUMBER and all(
        reaches(column, op, value) for op in (Op.AT_LEAST, Op.AT_MOST)
    )
    is_other = clause.is_measure(clause.term(at + 2))  # "with 20 seats sold"
    if not is_there or clause.pending is not None or is_other:
        return 0
    clause.draft.filters.append(Filter(column.name, Op.IS, (value,)))
    return 2


def _compare_columns(clause: Clause, at: int, place: int, op: Op | None) -> int:
    """As in "stock below reorder level", of the two figures of each row."""
    is_beside = clause.skip(clause.last_measure_at + 1, "small.verb") == at
    name = clause.formula_of(clause.term(clause.last_measure_at), Sign.MINUS, clause.term(place))
    if op is None or name is None or not (clause.draft.measures and is_beside):
        return 0
    clause.draft.measures.pop()
    clause.draft.filters.append(Filter(name, op, (0.0,)))
    return place + 1 - at


def _factor(clause: Clause, name: str | None, unit: Term) -> float | None:
    """How many of a column's unit one of the unit behind a number is; None where it has none, or
    they measure other things."""
    if name is None:
        return None
    own = _UNITS.get(clause.material.column(name).unit or "")
    other = _UNITS.get(unit.text.casefold())
    return conversion_factor(other, own) if own and other else None


def _spans_time(clause: Clause, at: int, end: int, value: float) -> bool:
    """Whether "over the two years" says how long, and compares nothing: all of the table, or
    what is not understood."""
    grain = clause.term(end)
    if not grain.has("grain") or clause.skip(at + 1) == at + 1:
        return False
    calendar = clause.calendar
    years = calendar.last.year - calendar.first.year + 1 if calendar is not None else 0
    if not (grain.has("grain.year") and value == years):
        clause.draft.unknown.append(clause.text[clause.terms[at].start : grain.end])
    return True


def _measured_in(clause: Clause, term: Term) -> list[str]:
    """The columns that a unit belongs to, as the kilos of "over 10 kilos" to a weight in kg, and
    the days of "over 100 days" to "Waiting time days"."""
    if term.kind != "word" or term.values or term.is_literal:
        return []
    key, unit = lexicon(clause.language).key, _UNITS.get(term.text.casefold())
    same = [
        one.name for one in clause.material.numbers if unit and _UNITS.get(one.unit or "") == unit
    ]
    return same or [
        one.name for one in clause.material.numbers
        if key(term.text) in map(key, name_tokens(one.name)) and len(name_tokens(one.name)) > 1
    ]  # fmt: skip


def _figure(clause: Clause, at: int) -> tuple[float | None, int]:
    """A number with its scale and currency, and the place behind it."""
    if (term := clause.term(at)).has("unit.money"):
        at += 1
    value = clause.number(clause.term(at))
    if value is None:
        return None, at
    at += 1
    if (term := clause.term(at)).has("scale"):
        value *= float(term.key("scale") or 1)
        at += 1
    if (term := clause.term(at)).has("unit.money") or term.text in ("%", *_COUNTERS):
        at += 1
    return value, at


def _compare(clause: Clause, at: int, end: int, op: Op, values: tuple[float, ...]) -> Comparing:
    text = clause.text[clause.terms[at].start : clause.terms[end - 1].end]
    result = Comparing(op, values, text=text)
    if clause.draft.measures and at - clause.last_measure_at <= _BEFORE and all(
        term.is_glue or term.has("small", "only") or term.text == "%"
        for term in clause.terms[clause.last_measure_at + 1 : at]
    ):  # fmt: skip
        result.column = clause.draft.measures[-1].column
        result.measure_at = len(clause.draft.measures) - 1
    clause.draft.comparing.append(result)
    return result
