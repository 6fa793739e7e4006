"""What the sheets of a workbook hold, before it is written (pure)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from agentpost_offline.data.computed import Columns
from agentpost_offline.data.model import Column, Kind, Result, Role, Table
from agentpost_offline.data.wording import measure as named
from agentpost_offline.data.wording import unit_of
from agentpost_offline.frame import Aggregate, Cell, Grain, Query
from agentpost_offline.making.tabulating import Tabulated
from agentpost_offline.style import dates
from agentpost_offline.style.numbers import is_currency

_PATTERN = re.compile(r"^\s*[<>=]|[*?~]|^\s*[\d.,+%-]+\s*$|^\s*$")


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column of a sheet: its heading, what its cells are, and what stands below them."""

    heading: str
    kind: Kind
    number_format: str = ""
    total: str | None = None
    """``sum`` or ``average``: the formula below; None for none."""


class Live(msgspec.Struct, frozen=True, omit_defaults=True):
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


class Sheet(msgspec.Struct, frozen=True, omit_defaults=True):
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


def number_format(unit: str | None, *, whole: bool) -> str:
    """The format of Excel for numbers of a unit."""
    digits = "#,##0" if whole else "#,##0.00"
    if unit == "%":
        return '0.0"%"'
    if unit and is_currency(unit):
        sign = f'"{unit}"'
        return f"{sign}{digits}" if unit in "$£¥₹" else f"{digits} {sign}"
    return f'{digits} "{unit}"' if unit and '"' not in unit and len(unit) < 12 else digits


def date_format(grain: Grain | None) -> str:
    """The format of Excel for dates of a grain."""
    return {
        Grain.HOUR: "yyyy-mm-dd hh:mm", Grain.MONTH: "mmm yyyy", Grain.YEAR: "yyyy",
    }.get(grain or Grain.DAY, "yyyy-mm-dd")  # fmt: skip


def field_of(column: Column, rows: list[tuple[Cell, ...]], at: int) -> Field:
    """A column of data as a column of a sheet."""
    if column.kind is Kind.DATE:
        return Field(column.label, Kind.DATE, date_format(column.grain))
    if column.kind is not Kind.NUMBER:
        return Field(column.label, column.kind)
    values = [row[at] for row in rows if isinstance(row[at], float)]
    whole = all(value == int(value) for value in values if isinstance(value, float))
    if column.role is Role.IDENTIFIER:
        return Field(column.label, Kind.NUMBER, "0" if whole else "General")
    total = {Role.AMOUNT: "sum", Role.RATE: "average"}.get(column.role)
    return Field(column.label, Kind.NUMBER, number_format(column.unit, whole=whole), total)


def of_table(table: Table, rows: list[tuple[Cell, ...]], title: str, totals: str) -> Sheet:
    """A table's rows as a sheet, with the totals of its amounts below."""
    fields = tuple(field_of(column, rows, at) for at, column in enumerate(table.columns))
    totalled = totals if any(field.total for field in fields) and len(rows) > 1 else ""
    return Sheet(title, fields, tuple(rows), totalled)


def of_result(table: Table, result: Result, title: str, total: str, language: str) -> Sheet:
    """A result as a sheet: two groups, or a group and a time axis, become rows and columns."""
    query = result.query
    columns = Columns(table)
    keys = [columns[name] for name in query.groups]
    if query.time is not None:
        keys.append(columns[query.time])
    grains = [None] * len(query.groups) + ([query.grain] if query.time else [])
    if len(keys) == 2 and len(query.measures) == 1:
        return _crossed(result, keys, grains, title, total, language, columns)
    fields = []
    for at, (key, grain) in enumerate(zip(keys, grains, strict=True)):
        dated = key.kind is Kind.DATE and not _cyclic(result, at)
        kind = Kind.DATE if dated and grain in (Grain.DAY, Grain.MONTH, Grain.YEAR) else Kind.TEXT
        fields.append(Field(key.label, kind, date_format(grain) if kind is Kind.DATE else ""))
    rows = [
        tuple(_key(cell, columns_kind, grain, language) if at < len(keys) else cell
              for at, (cell, columns_kind, grain) in enumerate(_labelled(row, fields, grains)))
        for row in result.rows
    ]  # fmt: skip
    for at, measure in enumerate(query.measures):
        column = columns.get(measure.column) if measure.column else None
        values = [row[len(keys) + at] for row in result.rows]
        whole = all(v == int(v) for v in values if isinstance(v, float))
        added = measure.derived is None and measure.aggregate in (Aggregate.SUM, Aggregate.COUNT)
        fields.append(
            Field(
                named(measure, column, language)[:80],
                Kind.NUMBER,
                number_format(unit_of(measure, column), whole=whole),
                "sum" if added else None,
            )
        )
    totalled = total if any(f.total for f in fields) and len(rows) > 1 and keys else ""
    return Sheet(title, tuple(fields), tuple(rows), totalled)


def of_tabulated(tabulated: Tabulated, title: str, total: str, code: str) -> Sheet:
    """A computed table as a sheet; only amounts have a total."""
    result, table = tabulated.result, tabulated.table
    time = len(result.query.groups) if result.query.time is not None else -1
    rows = [
        tuple(dates.period(cell, result.query.grain, code) if at == time else cell
              for at, cell in enumerate(row))
        for row in result.rows
    ]  # fmt: skip
    fields = []
    for at, column in enumerate(table.columns):
        field = Field(column.label, Kind.TEXT) if at == time else field_of(column, rows, at)
        is_amount = column.role is Role.AMOUNT and at >= len(result.query.groups)
        fields.append(msgspec.structs.replace(field, total="sum" if is_amount else None))
    keys = len(result.query.groups) + (time >= 0)
    totalled = total if keys and len(rows) > 1 and any(field.total for field in fields) else ""
    return Sheet(title, tuple(fields), tuple(rows), totalled)


_LIVE = {Aggregate.SUM: "SUMIFS", Aggregate.MEAN: "AVERAGEIFS", Aggregate.COUNT: "COUNTIFS"}


def live(sheet: Sheet, query: Query, data: Sheet, table: Table) -> Live | None:
    """How a pivot follows from its data sheet; None where a condition of a formula would not mean
    the same: with filters, dates, empty groups, or names that formulas read as patterns."""
    places = {column.name: at for at, column in enumerate(table.columns)}
    measures, groups = query.measures, query.groups
    if query.filters or query.having or query.order is not None or query.time is not None:
        return None
    if len(measures) != 1 or not 1 <= len(groups) <= 2 or len(data.rows) != table.rows:
        return None
    measure = measures[0]
    counted = measure.column is None
    function = _LIVE.get(measure.aggregate)
    if measure.derived is not None or function is None or any(g not in places for g in groups):
        return None
    if measure.column not in places and not counted:
        return None
    if (measure.aggregate is Aggregate.COUNT) is not counted:
        return None
    down = [row[0] for row in sheet.rows]
    across = [f.heading for f in sheet.fields[1 : len(sheet.fields) - sheet.across]]
    named: list[Sequence[Cell]] = [down, across] if len(groups) == 2 else [down]
    for place, names in zip((places[g] for g in groups), named, strict=True):
        if data.fields[place].kind is not Kind.TEXT or not _literal(names):
            return None
    keys = tuple(places[group] for group in groups)
    value = None if measure.column is None else places[measure.column]
    return Live(function, data.title, len(data.rows), keys, value)


def _literal(names: Sequence[Cell]) -> bool:
    """Whether a formula's condition takes each name as it is, and as no other's."""
    texts = [name for name in names if isinstance(name, str)]
    if len(texts) != len(names) or len({text.casefold() for text in texts}) != len(texts):
        return False
    return not any(_PATTERN.search(text) or len(text) > 200 for text in texts)


def _cyclic(result: Result, at: int) -> bool:
    return any(isinstance(row[at], float) for row in result.rows)


def _labelled(
    row: tuple[Cell, ...], fields: list[Field], grains: list[Grain | None]
) -> list[tuple[Cell, Kind, Grain | None]]:
    made: list[tuple[Cell, Kind, Grain | None]] = []
    for at, cell in enumerate(row):
        known = at < len(fields)
        made.append(
            (cell, fields[at].kind if known else Kind.NUMBER, grains[at] if known else None)
        )
    return made


def _key(cell: Cell, kind: Kind, grain: Grain | None, language: str) -> Cell:
    """A group or a period as it heads its row."""
    if cell is None or kind is Kind.DATE or grain is None:
        return cell
    return dates.period(cell, grain, language)


def _crossed(
    result: Result,
    keys: list[Column],
    grains: list[Grain | None],
    title: str,
    total: str,
    language: str,
    columns: dict[str, Column],
) -> Sheet:
    measure = result.query.measures[0]
    column = columns.get(measure.column) if measure.column else None
    across = list(dict.fromkeys(row[1] for row in result.rows))
    if result.query.time is not None:
        across.sort(key=lambda cell: (cell is None, cell))
    down = list(dict.fromkeys(row[0] for row in result.rows))
    found = {(row[0], row[1]): row[2] for row in result.rows}
    whole = all(v == int(v) for v in found.values() if isinstance(v, float))
    added = measure.derived is None and measure.aggregate in (Aggregate.SUM, Aggregate.COUNT)
    written = number_format(unit_of(measure, column), whole=whole)
    fields = [Field(keys[0].label, Kind.TEXT)]
    for cell in across:
        heading = dates.period(cell, grains[1], language) if grains[1] else str(cell)
        fields.append(Field(heading, Kind.NUMBER, written, "sum" if added else None))
    if added:
        fields.append(Field(total, Kind.NUMBER, written, "sum"))
    rows = tuple((name, *(found.get((name, cell)) for cell in across)) for name in down)
    return Sheet(title, tuple(fields), rows, total if added and len(rows) > 1 else "", added)
