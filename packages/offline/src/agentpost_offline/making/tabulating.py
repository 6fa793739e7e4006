"""Figures of one or several tables beside each other, with differences and ratios of them.

A request names measures of any tables, the columns to group by, and calculations over the
measures. Groups of different tables are the same when their values are, whatever their case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from agentpost.agents.base import JobFailed
from agentpost_offline.data.model import Cell, Column, Kind, Result, Role, Table
from agentpost_offline.frame import Aggregate, Measure, Order, Query
from agentpost_offline.story import naming, shape
from agentpost_offline.story.tell import source_line
from agentpost_offline.style import languages, numbers

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

_UNMATCHED_NAMED = 5
_RATES = (Aggregate.MEAN, Aggregate.MEDIAN)


class Operation(StrEnum):
    """What is computed from two columns of the result."""

    DIFFERENCE = "difference"
    """The first less the second."""
    RATIO = "ratio"
    """The first divided by the second."""
    PERCENT = "percent"
    """The first in percent of the second."""
    CHANGE = "change"
    """By how many percent the first is above the second."""
    SUM = "sum"
    PRODUCT = "product"


class Part(msgspec.Struct, frozen=True):
    """One measure: a query with exactly one, and what its column is called in the result."""

    query: Query
    name: str


class Calculation(msgspec.Struct, frozen=True):
    """A column computed from two others, by their names in the result."""

    name: str
    operation: Operation
    first: str
    second: str


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table to compute. The parts have equally many groups, in one order."""

    parts: tuple[Part, ...]
    calculations: tuple[Calculation, ...] = ()
    sort_by: str | None = None
    is_descending: bool = True
    top: int | None = None


class Tabulation(msgspec.Struct, frozen=True):
    """The outcome: a result over a table that is in no file, and where it comes from."""

    result: Result
    table: Table
    source: str
    notes: tuple[str, ...] = ()


def tabulate(dataset: Dataset, request: Request, code: str = "en") -> Tabulation:
    """Compute a request; raises `JobFailed` for a query that cannot be run."""
    results = [dataset.run(part.query) for part in request.parts]
    first, tables = results[0], [dataset.table(part.query.table) for part in request.parts]
    names = [_name(part, table, code) for part, table in zip(request.parts, tables, strict=True)]
    if len({*names, *(one.name for one in request.calculations)}) < len(names) + len(
        request.calculations
    ):
        raise JobFailed("Two columns of the result have one name; give each a name.")
    width = len(first.header) - 1
    rows, notes = _joined(results, names, width)
    columns = [_key_column(first, tables[0], at) for at in range(width)]
    for part, table, name in zip(request.parts, tables, names, strict=True):
        measure = part.query.measures[0]
        role = Role.RATE if measure.aggregate in _RATES else Role.AMOUNT
        columns.append(Column(name, name, Kind.NUMBER, role, naming.unit(measure, table)))
    for calculation in request.calculations:
        columns.append(_calculate(calculation, columns, rows))
    rows = _ordered(rows, columns, request)
    query = Query(
        naming.COMPUTED,
        tuple(Measure(one.name, Aggregate.SUM if one.role is Role.AMOUNT else Aggregate.MEAN)
              for one in columns[width:]),
        tuple(one.name for one in columns[: len(first.query.groups)]),
        columns[width - 1].name if first.query.time is not None else None,
        first.query.grain,
        order=Order() if request.sort_by or request.top else None,
    )  # fmt: skip
    used = list({table.id: table for table in tables}.values())
    table = Table(
        naming.COMPUTED, "", " + ".join(one.name for one in used), len(rows), tuple(columns)
    )
    result = Result(query, tuple(one.name for one in columns), tuple(map(tuple, rows)),
                    max(one.counted for one in results))  # fmt: skip
    notes += [note for one in results for note in one.notes]
    return Tabulation(result, table, _source(used, code), tuple(dict.fromkeys(notes)))


def _name(part: Part, table: Table, code: str) -> str:
    return part.name or naming.measure(part.query.measures[0], table, code)


def _source(tables: Sequence[Table], code: str) -> str:
    lines = [source_line(table, code) for table in tables]
    colon = languages.language(code).colon
    return "; ".join([lines[0], *(line.partition(colon)[2] or line for line in lines[1:])])


def _key_column(result: Result, table: Table, at: int) -> Column:
    query = result.query
    name = query.groups[at] if at < len(query.groups) else query.time
    known = naming.column(name, table)
    if known is None:
        return Column(str(name), str(name), Kind.TEXT, Role.CATEGORY)
    return known


def _joined(
    results: Sequence[Result], names: Sequence[str], width: int
) -> tuple[list[list[Cell]], list[str]]:
    """A row for each group of any result, in the order of the first one, and what is missing."""
    rows: dict[tuple[Cell, ...], list[Cell]] = {}
    for at, result in enumerate(results):
        is_additive = shape.is_additive(result.query.measures[0])
        for row in result.rows:
            key, value = tuple(map(_same, row[:width])), _number(row[width])
            line = rows.setdefault(key, [*row[:width], *[None] * len(results)])
            before = _number(line[width + at])
            if before is None or value is None:
                line[width + at] = row[width] if value is not None else line[width + at]
            elif is_additive:
                line[width + at] = before + value
            else:  # the average of two averages is none
                rows[tuple(row[:width])] = own = [*row[:width], *[None] * len(results)]
                own[width + at] = value
    notes = []
    for at, name in enumerate(names):
        absent = [_label(line[:width]) for line in rows.values() if line[width + at] is None]
        if absent and len(results) > 1:
            more = " …" if len(absent) > _UNMATCHED_NAMED else ""
            notes.append(f"{name} has no value for {', '.join(absent[:_UNMATCHED_NAMED])}{more}")
    return list(rows.values()), notes


def _same(cell: Cell) -> Cell:
    return " ".join(cell.split()).casefold() if isinstance(cell, str) else cell


def _label(cells: Sequence[Cell]) -> str:
    return ", ".join("–" if cell is None else str(cell) for cell in cells) or "all"


def _number(cell: Cell) -> float | None:
    is_number = isinstance(cell, (int, float)) and not isinstance(cell, bool)
    return float(cell) if is_number and math.isfinite(cell) else None  # type: ignore[arg-type]


_FORMULAS: Final[dict[Operation, Callable[[float, float], float]]] = {
    Operation.DIFFERENCE: lambda a, b: a - b,
    Operation.RATIO: lambda a, b: a / b,
    Operation.PERCENT: lambda a, b: 100 * a / b,
    Operation.CHANGE: lambda a, b: 100 * (a - b) / abs(b),
    Operation.SUM: lambda a, b: a + b,
    Operation.PRODUCT: lambda a, b: a * b,
}
_ADDED = (Operation.DIFFERENCE, Operation.SUM)


def _calculate(
    calculation: Calculation, columns: Sequence[Column], rows: list[list[Cell]]
) -> Column:
    """Append the column to each row. A division by zero gives no value."""
    places = {column.name: at for at, column in enumerate(columns)}
    for name in (calculation.first, calculation.second):
        if name not in places or columns[places[name]].kind is not Kind.NUMBER:
            known = [one.name for one in columns if one.kind is Kind.NUMBER]
            raise JobFailed(f"There is no figure {name!r} to compute with: {', '.join(known)}.")
    first, second = columns[places[calculation.first]], columns[places[calculation.second]]
    formula = _FORMULAS[calculation.operation]
    for row in rows:
        a, b = _number(row[places[first.name]]), _number(row[places[second.name]])
        value = None
        if a is not None and b is not None:
            try:
                value = formula(a, b)
            except ZeroDivisionError:
                value = None
        row.append(value)
    if calculation.operation in (Operation.PERCENT, Operation.CHANGE):
        unit: str | None = numbers.PERCENT
    else:
        unit = first.unit if first.unit == second.unit and calculation.operation in _ADDED else None
    is_amount = calculation.operation in _ADDED and Role.RATE not in (first.role, second.role)
    return Column(calculation.name, calculation.name, Kind.NUMBER,
                  Role.AMOUNT if is_amount else Role.RATE, unit)  # fmt: skip


def _ordered(
    rows: list[list[Cell]], columns: Sequence[Column], request: Request
) -> list[list[Cell]]:
    if request.sort_by is None:
        return rows[: request.top]
    at = next((n for n, one in enumerate(columns) if one.name == request.sort_by), None)
    if at is None:
        raise JobFailed(
            f"There is no column {request.sort_by!r} to sort by: "
            f"{', '.join(one.name for one in columns)}."
        )

    def key(row: list[Cell]) -> tuple[bool, float, str]:
        value = _number(row[at])
        if value is None:
            return row[at] is None, 0.0, str(row[at] or "")
        return False, -value if request.is_descending else value, ""

    return sorted(rows, key=key)[: request.top]
