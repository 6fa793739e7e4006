"""Results in words: what was computed, of which rows, in the reader's language."""

import calendar
from collections.abc import Sequence
from datetime import date
from typing import Any

from agentpost_offline.data import formulas, words as table_words
from agentpost_offline.data.formulas import Sign, by_name
from agentpost_offline.data.model import Column, Kind, Note, Result, Table
from agentpost_offline.frame import (
    COMPARED,
    Aggregate,
    Cell,
    Derivation,
    Filter,
    Grain,
    Measure,
    Op,
    Query,
)
from agentpost_offline.style import dates, languages, numbers

_SIGNS = {Op.IS: "=", Op.IS_NOT: "≠", Op.AT_LEAST: "≥", Op.ABOVE: ">", Op.AT_MOST: "≤",
          Op.BELOW: "<"}  # fmt: skip
_EDGES = {Op.AT_LEAST: "from", Op.ABOVE: "after", Op.AT_MOST: "until", Op.BELOW: "before"}
_SHOWN = 6


def texts(language: str) -> dict[str, Any]:
    """The texts about results in a language."""
    return languages.texts("data", language)


def plural(words: dict[str, Any], key: str, count: int, *values: str) -> str:
    """A text that counts something."""
    form = words[f"{key}_one" if count == 1 else f"{key}_many"]
    return str(form).format(*values, count=f"{count:,}")


def note(one: Note, language: str) -> str:
    """A note in words; with a ``count`` of one in the singular, where that has its own text."""
    key, values = one
    phrases: dict[str, str] = texts(language)["notes"]
    form = phrases.get(f"{key}_one", "") if values.get("count") == 1 else ""
    places = {k: f"{v:,}" if isinstance(v, int) else v for k, v in values.items()}
    return (form or phrases[key]).format(**places)


def unit_of(measure: Measure, column: Column | None) -> str | None:
    """The unit of what a measure computes."""
    if measure.derived in (Derivation.SHARE, Derivation.RATE, Derivation.GROWTH):
        return "%"
    counts = measure.aggregate in (Aggregate.COUNT, Aggregate.DISTINCT)
    return None if column is None or counts else column.unit


def measure(one: Measure, column: Column | None, language: str) -> str:
    """What a measure computes: ``average Price``."""
    words = texts(language)
    if column is None:
        phrase = words["rows_measure"]
    elif column.kind is Kind.DATE and one.aggregate in (Aggregate.MIN, Aggregate.MAX):
        phrase = words["earliest" if one.aggregate is Aggregate.MIN else "latest"]
    elif one.aggregate is Aggregate.SUM and column.label.casefold() in table_words.every("totals"):
        phrase = "{}"  # a column "Total" is a total already
    else:
        phrase = words[str(one.aggregate)]
    text = phrase.format(column.label if column else "")
    if column is not None and formulas.is_of_totals(one, column):
        joint = f" {column.formula[1]} "
        text = joint.join(map(str(words["sum"]).format, column.label.split(joint, 1)))
    return str(words[str(one.derived)]).format(text) if one.derived else str(text)


def filter_text(one: Filter, column: Column, language: str, joint: str = "or") -> str:
    """A condition in words: ``Country = Spain``, ``Q2 2025``. ``joint``: ``and`` where its values
    are compared."""
    words = texts(language)
    label = column.label
    if one.op in (Op.MISSING, Op.PRESENT):
        return str(words[str(one.op)]).format(label)
    if one.op is Op.CONTAINS:
        return str(words["contains"]).format(label, _any(one.values, words))
    if column.kind is Kind.DATE:
        return _date_text(one, language, joint)
    if Sign.MINUS in column.formula and one.values == (0.0,):  # two columns of each row
        return label.replace(Sign.MINUS, _SIGNS[one.op], 1)
    return _comparison_text(one, label, column.unit, language, joint)


def group_filter_text(one: Filter, column: Column | None, language: str) -> str:
    """A condition on groups in words: ``total Revenue > 1,000``."""
    rows = str(texts(language)["rows_measure"])
    label, unit = (column.label, column.unit) if column is not None else (rows, None)
    return _comparison_text(one, label, unit, language, "or")


def _comparison_text(one: Filter, label: str, unit: str | None, language: str, joint: str) -> str:
    words = texts(language)
    parts = [
        numbers.full(value, unit, language) if isinstance(value, (int, float)) else value
        for value in one.values
    ]
    if one.op is Op.BETWEEN and len(parts) == 2:
        return str(words["from_to"]).format(label, *parts)
    return f"{label} {_SIGNS.get(one.op, '=')} {_any(parts, words, joint)}"


def _any(values: Sequence[Any], words: dict[str, Any], joint: str = "or") -> str:
    parts = [str(value) for value in values]
    if len(parts) > _SHOWN:
        parts = [*parts[:_SHOWN], f"… ({len(parts)})"]
    return str(words[joint]).join(parts)


def _date_text(one: Filter, language: str, joint: str) -> str:
    words = texts(language)
    if one.grain is not None:
        parts = [_part(value, one.grain, language) for value in one.values]
        if one.op is Op.BETWEEN and len(parts) == 2:
            return languages.language(language).range.format(first=parts[0], last=parts[1])
    elif one.op is Op.BETWEEN and len(one.values) == 2:
        return _range(str(one.values[0]), str(one.values[1]), language)
    else:
        parts = [_span(str(value), language) for value in one.values]
    phrase = _any(parts, words, joint)
    if one.op in _EDGES:
        return str(words[_EDGES[one.op]]).format(phrase)
    return str(words["not"]).format(phrase) if one.op is Op.IS_NOT else phrase


def _part(value: str | float, grain: Grain, language: str) -> str:
    tongue, number = languages.language(language), int(float(value))
    if grain is Grain.MONTH:
        return tongue.months[number - 1]
    if grain is Grain.QUARTER:
        return tongue.quarter_short.format(quarter=number)
    if grain is Grain.WEEK:
        return tongue.week_short.format(week=number)
    if grain in (Grain.WEEKDAY, Grain.HOUR):
        return dates.period(float(number), grain, language)
    return str(number)


def _span(text: str, language: str) -> str:
    """A day, month, quarter or year in ISO spelling, or a span of days, in words."""
    if "/" in text:
        return dates.period(text, Grain.SPAN, language)
    if "Q" in text:
        return dates.period(text, Grain.QUARTER, language)
    grain = {4: Grain.YEAR, 7: Grain.MONTH}.get(len(text), Grain.DAY)
    return dates.period(text, grain, language)


def _range(first: str, last: str, language: str) -> str:
    """Two days in words: as a quarter, a half, a month or a year where that is what they span."""
    low, high = sorted((first, last))
    begin, end = dates.parse(low), dates.parse(high)
    if begin is None or end is None or len(low) != 10 or len(high) != 10:
        return dates.span(low, high, {4: Grain.YEAR, 7: Grain.MONTH}.get(len(low)), language)
    closes = end.day == calendar.monthrange(end.year, end.month)[1]
    if begin.day == 1 and closes:
        return _months(begin, end, language)
    return dates.span(low, high, Grain.DAY, language)


def _months(begin: date, end: date, language: str) -> str:
    months = (end.year - begin.year) * 12 + end.month - begin.month + 1
    whole = {1: Grain.MONTH, 3: Grain.QUARTER, 12: Grain.YEAR}.get(months)
    if whole is Grain.MONTH or (whole and begin.month % months == 1):
        return dates.period(begin.isoformat(), whole, language)
    if months == 6 and begin.month in (1, 7):
        half = 1 if begin.month == 1 else 2
        return str(texts(language)["half"]).format(half, begin.year)
    if months % 12 == 0 and begin.month == 1:
        return dates.span(begin.isoformat(), end.isoformat(), Grain.YEAR, language)
    return dates.span(begin.isoformat(), end.isoformat(), Grain.MONTH, language)


def periods(grain: Grain, time: str, table: Table, language: str) -> str:
    """As in "month", or "month (Paid on)" where a table has several columns of dates."""
    word = str(texts(language)[str(grain)])
    count = sum(one.kind is Kind.DATE for one in table.columns)
    return f"{word} ({by_name(table)[time].label})" if count > 1 else word


def reading(table: Table, result: Result, language: str) -> str:
    """How a question was understood: ``total Margin, Country = Spain, Q2 2025, 41 rows``."""
    words = texts(language)
    query = result.query
    columns = by_name(table)
    phrases = [measure(one, columns.find(one.column), language) for one in query.measures]
    groups = [columns[name].label for name in query.groups]
    if query.time is not None and query.grain is not None:
        groups.append(periods(query.grain, query.time, table, language))
    text = ", ".join(phrases)
    if groups:
        text += " " + str(words["by"]).format(str(words["and"]).join(groups))
    parts = [text]
    is_comparison = any(m.derived in COMPARED for m in query.measures)
    joint = "and" if is_comparison else "or"
    parts += [filter_text(one, columns[one.column], language, joint) for one in query.filters]
    parts += [group_filter_text(one, columns.find(one.column), language) for one in query.having]
    parts.append(plural(words, "rows", result.counted))
    return (", " if language != "zh" else "，").join(parts)


class TableWords:
    """What the measures, groups, periods and values of one table are called in a language."""

    def __init__(self, table: Table, language: str) -> None:
        self._language, self._tongue = language, languages.language(language)
        self._columns = by_name(table)
        self._words = texts(language)

    def _say(self, key: str, *values: object, **places: object) -> str:
        return str(self._words[key]).format(*values, **places)

    def _column(self, measure: Measure) -> Column | None:
        return self._columns.find(measure.column)

    def _subject(self, one: Measure) -> str:
        return measure(one, self._column(one), self._language)

    def _value(self, value: Cell, measure: Measure) -> str:
        column = self._column(measure)
        if isinstance(value, float):
            return numbers.full(value, unit_of(measure, column), self._language)
        if value is not None and column is not None and column.kind is Kind.DATE:
            return dates.period(value, column.grain, self._language)
        return "–" if value is None else str(value)

    def _key(self, value: Cell, name: str, grain: Grain | None = None) -> str:
        column = self._columns[name]
        if value is not None and column.kind is Kind.DATE:
            return dates.period(value, grain or column.grain, self._language)
        if isinstance(value, float):
            return numbers.full(value, column.unit, self._language)
        return "–" if value is None else str(value)

    def _period(self, query: Query, value: Cell) -> str:
        assert query.time is not None
        return self._key(value, query.time, query.grain)

    def _name(self, query: Query, row: Sequence[Cell]) -> str:
        """A group of a result, by the cells of its groups and of its period."""
        names = list(map(self._key, row, query.groups))
        names += [self._period(query, value) for value in row[len(query.groups) :]]
        return ", ".join(names)

    def _with_next(self, text: str, others: list[str]) -> str:
        """A text with the ones that come next, where there are some."""
        if not others:
            return text
        return f"{text} {str(self._words['next']).format(self._tongue.join(others))}"


def upper(text: str) -> str:
    """With a capital."""
    return text[:1].upper() + text[1:]
