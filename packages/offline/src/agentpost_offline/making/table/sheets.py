"""What the sheets of a workbook hold, before it is written (pure)."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from agentpost_offline.data.formulas import by_name
from agentpost_offline.data.model import Column, Kind, Result, Role, Table
from agentpost_offline.frame import Aggregate, Cell, Grain, Query
from agentpost_offline.story import naming
from agentpost_offline.story.shape import Grid, grid, is_additive
from agentpost_offline.style import dates
from agentpost_offline.style.numbers import is_currency

_PATTERN = re.compile(r"^\s*[<>=]|[*?~]|^\s*[\d.,+%-]+\s*$|^\s*$")
_LONGEST = 200
_DATES = {Grain.HOUR: "yyyy-mm-dd hh:mm", Grain.MONTH: "mmm yyyy", Grain.YEAR: "yyyy"}
_LIVE = {Aggregate.SUM: "SUMIFS", Aggregate.MEAN: "AVERAGEIFS", Aggregate.COUNT: "COUNTIFS"}


class Field(Struct, frozen=True, omit_defaults=True):
    """A column of a sheet: its heading, what its cells are, and what stands below them."""

    heading: str
    kind: Kind
    number_format: str = ""
    has_total: bool = False
    """Whether the sum stands below: of rates there is none, and an average is no total."""


class Live(Struct, frozen=True, omit_defaults=True):
    """How the figures of a pivot are computed from another sheet of the workbook."""

    function: str
    """``SUMIFS``, ``AVERAGEIFS`` or ``COUNTIFS``."""
    data: str
    """The title of the sheet with the rows."""
    rows: int
    keys: tuple[int, ...]
    """The places of the groups' columns in it."""
    value: int | None = None
    """The place of the measure's column; None counts rows."""


class Sheet(Struct, frozen=True, omit_defaults=True):
    """A sheet: its columns and rows."""

    title: str
    fields: tuple[Field, ...]
    rows: tuple[tuple[Cell, ...], ...]
    totals: str = ""
    """What the line of totals is called; empty for none."""
    across: bool = False
    """Whether a last column adds up each row."""
    live: Live | None = None
    """How its figures follow from the data, where formulas can say it."""


def _sheet(title: str, fields: Sequence[Field], rows: Iterable[tuple[Cell, ...]], total: str,
           *, across: bool = False) -> Sheet:  # fmt: skip
    """A sheet with a line of totals where it has several rows and something to add up."""
    lines = tuple(rows)
    has_totals = len(lines) > 1 and any(field.has_total for field in fields)
    return Sheet(title, tuple(fields), lines, total if has_totals else "", across)


def number_format(unit: str | None, values: Iterable[Cell]) -> str:
    """The format of Excel for numbers of a unit, with decimals where a value has some."""
    is_whole = all(value == int(value) for value in values if isinstance(value, float))
    digits = "#,##0" if is_whole else "#,##0.00"
    if unit == "%":
        return '0.0"%"'
    if unit and is_currency(unit):
        sign = f'"{unit}"'
        return f"{sign}{digits}" if unit in "$£¥₹" else f"{digits} {sign}"
    return f'{digits} "{unit}"' if unit and '"' not in unit and len(unit) < 12 else digits


def field_of(column: Column, values: Sequence[Cell]) -> Field:
    """A column of data as a column of a sheet."""
    if column.kind is Kind.DATE:
        return Field(column.label, Kind.DATE, _DATES.get(column.grain or Grain.DAY, "yyyy-mm-dd"))
    if column.kind is not Kind.NUMBER:
        return Field(column.label, column.kind)
    form = number_format(column.unit, values)
    if column.role is Role.IDENTIFIER:
        return Field(column.label, Kind.NUMBER, "General" if "." in form else "0")
    return Field(column.label, Kind.NUMBER, form, has_total=column.role is Role.AMOUNT)


def of_table(table: Table, rows: Sequence[tuple[Cell, ...]], title: str, totals: str) -> Sheet:
    """A table's rows as a sheet, with the totals of its amounts below."""
    fields = [field_of(column, [row[at] for row in rows])
              for at, column in enumerate(table.columns)]  # fmt: skip
    return _sheet(title, fields, rows, totals)


def of_result(
    table: Table, result: Result, title: str, total: str, code: str, *, is_pivot: bool = True
) -> Sheet:
    """A result as a sheet. Of a pivot two groups, or a group and a time axis, become rows and
    columns."""
    query, columns = result.query, by_name(table)
    keys = [columns[name] for name in (*query.groups, query.time) if name is not None]
    grain = query.grain if query.time is not None else None
    measures = []
    for at, measure in enumerate(query.measures, len(keys)):
        form = number_format(naming.unit(measure, table), [row[at] for row in result.rows])
        is_sum = measure.derived is None and is_additive(measure)
        name = naming.measure(measure, table, code)[:80]
        measures.append(Field(name, Kind.NUMBER, form, is_sum))
    if is_pivot and len(keys) == 2 and len(measures) == 1:
        return _cross(grid(result, table, code), keys[0], measures[0], (title, total))
    fields = [Field(key.label, Kind.TEXT) for key in keys]
    at_time = len(keys) - 1 if grain is not None else -1
    is_date = (
        grain in (Grain.DAY, Grain.MONTH, Grain.YEAR) and keys[-1].kind is Kind.DATE
        and not any(isinstance(row[at_time], float) for row in result.rows)
    )  # fmt: skip
    if is_date and grain is not None:
        form = _DATES.get(grain, "yyyy-mm-dd")
        fields[-1] = replace(fields[-1], kind=Kind.DATE, number_format=form)
    rows = [
        tuple(dates.period(cell, grain, code) if at == at_time and not is_date and cell is not None
              else cell for at, cell in enumerate(row))
        for row in result.rows
    ]  # fmt: skip
    return _sheet(title, [*fields, *measures], rows, total if keys else "")


def _cross(matrix: Grid, key: Column, field: Field, titles: tuple[str, str]) -> Sheet:
    """One key down, the other across, with sums where the figures add up."""
    title, total = titles
    if matrix.is_timed:
        headings = list(matrix.labels)
        rows = [(line.key, *line.values) for line in matrix.lines]
    else:
        headings = [str(line.key) for line in matrix.lines]
        columns = [line.values for line in matrix.lines]
        rows = list(zip(matrix.keys, *columns, strict=True))
    fields = [Field(key.label, Kind.TEXT), *(replace(field, heading=one) for one in headings)]
    if field.has_total:
        fields.append(replace(field, heading=total))
    return _sheet(title, fields, rows, total, across=field.has_total)


def live(sheet: Sheet, query: Query, data: Sheet, table: Table) -> Live | None:
    """How a pivot follows from its data sheet; None where a condition of a formula would not mean
    the same: with filters, dates, empty groups, or names that formulas read as patterns."""
    places = {column.name: at for at, column in enumerate(table.columns)}
    if (
        query.filters or query.having or query.order is not None or query.time is not None
        or len(query.measures) != 1 or not 1 <= len(query.groups) <= 2
        or len(data.rows) != table.rows or not places.keys() >= set(query.groups)
    ):  # fmt: skip
        return None
    measure, function = query.measures[0], _LIVE.get(query.measures[0].aggregate)
    is_count = measure.aggregate is Aggregate.COUNT
    if (
        measure.derived is not None or function is None or is_count != (measure.column is None)
        or not (is_count or measure.column in places)
    ):  # fmt: skip
        return None
    keys = tuple(places[group] for group in query.groups)
    across: list[Cell] = [one.heading for one in sheet.fields[1 : len(sheet.fields) - sheet.across]]
    for place, names in zip(keys, ([row[0] for row in sheet.rows], across), strict=False):
        if data.fields[place].kind is not Kind.TEXT or not _are_literal(names):
            return None
    value = None if measure.column is None else places[measure.column]
    return Live(function, data.title, len(data.rows), keys, value)


def _are_literal(names: Sequence[Cell]) -> bool:
    """Whether a formula's condition takes each name as it is, and as no other's."""
    texts = [name for name in names if isinstance(name, str)]
    is_clear = len({text.casefold() for text in texts}) == len(names)
    return is_clear and not any(_PATTERN.search(one) or len(one) > _LONGEST for one in texts)
