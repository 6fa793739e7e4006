"""Figures of one or several tables beside each other, with differences and ratios of them. Groups
of different tables are the same when their values are, whatever their case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from agentpost.agents.base import JobFailed
from agentpost_offline.data.model import Column, Kind, Result, Role, Table
from agentpost_offline.data.sql import axes
from agentpost_offline.frame import Aggregate, Cell, Measure, Order, Query
from agentpost_offline.story import naming, shape
from agentpost_offline.style import numbers

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

_UNMATCHED_NAMED = 5
_RATES = (Aggregate.MEAN, Aggregate.MEDIAN, Aggregate.DEVIATION)


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
    measures = [part.query.measures[0] for part in request.parts]
    names = [
        part.name or naming.measure(measure, table, code)
        for part, measure, table in zip(request.parts, measures, tables, strict=True)
    ]
    every = [*names, *(one.name for one in request.calculations)]
    if len({*every}) < len(every):
        raise JobFailed("Two columns of the result have one name; give each a name.")
    query, width = first.query, axes(first.query)
    rows, notes = _join(results, names, width)
    columns = [
        naming.column(str(name), tables[0])
        or Column(str(name), str(name), Kind.TEXT, Role.CATEGORY)
        for name in [*query.groups, query.time][:width]
    ]
    for measure, table, name in zip(measures, tables, names, strict=True):
        role = Role.RATE if measure.aggregate in _RATES else Role.AMOUNT
        columns.append(Column(name, name, Kind.NUMBER, role, naming.unit(measure, table)))
    for calculation in request.calculations:
        columns.append(_calculate(calculation, columns, rows))
    rows = _in_order(rows, columns, request)
    query = Query(
        naming.COMPUTED,
        tuple(
            Measure(one.name, Aggregate.SUM if one.role is Role.AMOUNT else Aggregate.MEAN)
            for one in columns[width:]
        ),
        tuple(one.name for one in columns[: len(query.groups)]),
        columns[width - 1].name if query.time is not None else None,
        query.grain,
        order=Order() if request.sort_by or request.top else None,
    )
    used = list({table.id: table for table in tables}.values())
    title = " + ".join(one.name for one in used)
    table = Table(naming.COMPUTED, "", title, len(rows), tuple(columns))
    result = Result(query, tuple(map(tuple, rows)), max(one.counted for one in results))
    notes += [note for one in results for note in one.notes]
    return Tabulation(result, table, naming.source_line(used, code), tuple(dict.fromkeys(notes)))


def _join(
    results: Sequence[Result], names: Sequence[str], width: int
) -> tuple[list[list[Cell]], list[str]]:
    """A row for each group of any result, in the order of the first one, and what is missing."""
    rows: dict[tuple[Cell, ...], list[Cell]] = {}
    for at, result in enumerate(results, width):
        is_additive = shape.is_additive(result.query.measures[0])
        for row in result.rows:
            key, value = tuple(map(_same, row[:width])), shape.number(row[width])
            empty: list[Cell] = [*row[:width], *[None] * len(results)]
            line = rows.setdefault(key, empty)
            before = shape.number(line[at])
            if value is None:
                continue
            if before is not None and not is_additive:  # the average of two averages is none
                line = rows[tuple(row[:width])] = empty
                before = None
            line[at] = row[width] if before is None else before + value
    notes = []
    for at, name in enumerate(names, width):
        absent = [
            ", ".join("–" if cell is None else str(cell) for cell in line[:width]) or "all"
            for line in rows.values()
            if line[at] is None
        ]
        if absent and len(results) > 1:
            more = " …" if len(absent) > _UNMATCHED_NAMED else ""
            notes.append(f"{name} has no value for {', '.join(absent[:_UNMATCHED_NAMED])}{more}")
    return list(rows.values()), notes


def _same(cell: Cell) -> Cell:
    return " ".join(cell.split()).casefold() if isinstance(cell, str) else cell


_FORMULAS: Final[dict[Operation, Callable[[float, float], float]]] = {
    Operation.DIFFERENCE: lambda a, b: a - b,
    Operation.RATIO: lambda a, b: a / b,
    Operation.PERCENT: lambda a, b: 100 * a / b,
    Operation.CHANGE: lambda a, b: 100 * (a - b) / abs(b),
    Operation.SUM: lambda a, b: a + b,
    Operation.PRODUCT: lambda a, b: a * b,
}
_SUMS = (Operation.DIFFERENCE, Operation.SUM)


def _calculate(
    calculation: Calculation, columns: Sequence[Column], rows: list[list[Cell]]
) -> Column:
    """Append the column to each row. A division by zero gives no value."""
    figures = {one.name: at for at, one in enumerate(columns) if one.kind is Kind.NUMBER}
    for name in (calculation.first, calculation.second):
        if name not in figures:
            raise JobFailed(f"There is no figure {name!r} to compute with: {', '.join(figures)}.")
    places = figures[calculation.first], figures[calculation.second]
    first, second = (columns[at] for at in places)
    operation = calculation.operation
    for row in rows:
        a, b = (shape.number(row[at]) for at in places)
        try:
            row.append(None if a is None or b is None else _FORMULAS[operation](a, b))
        except ZeroDivisionError:
            row.append(None)
    is_sum = operation in _SUMS
    unit = first.unit if first.unit == second.unit and is_sum else None
    if operation in (Operation.PERCENT, Operation.CHANGE):
        unit = numbers.PERCENT
    is_amount = is_sum and Role.RATE not in (first.role, second.role)
    role = Role.AMOUNT if is_amount else Role.RATE
    return Column(calculation.name, calculation.name, Kind.NUMBER, role, unit)


def _in_order(
    rows: list[list[Cell]], columns: Sequence[Column], request: Request
) -> list[list[Cell]]:
    names = [one.name for one in columns]
    if request.sort_by is None:
        return rows[: request.top]
    if request.sort_by not in names:
        raise JobFailed(f"There is no column {request.sort_by!r} to sort by: {', '.join(names)}.")
    at = names.index(request.sort_by)

    def key(row: list[Cell]) -> tuple[bool, float, str]:
        value = shape.number(row[at])
        if value is None:
            return row[at] is None, 0.0, str(row[at] or "")
        return False, -value if request.is_descending else value, ""

    return sorted(rows, key=key)[: request.top]
