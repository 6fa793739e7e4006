"""The figures of sections: computed from tables, as tables that people read and as drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentpost.agents.base import CannotSucceed, File
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import Grid
from agentpost_offline.content.picture import Drawing
from agentpost_offline.data.model import Result, Table
from agentpost_offline.data.sql import axes
from agentpost_offline.frame import Style
from agentpost_offline.making.chart.drawing import draw, is_empty
from agentpost_offline.making.content import Section
from agentpost_offline.making.tabulating import tabulate
from agentpost_offline.story import naming, shape
from agentpost_offline.story.tell import Claim
from agentpost_offline.style import dates, numbers
from agentpost_offline.style.languages import language, texts

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

GRID_ROWS = 200
"""Rows of a computed table that are shown."""
_ACROSS = 6
"""So many periods or groups stand beside each other in a table of two keys."""
_SLIDE_BARS = 12


@dataclass(frozen=True, slots=True)
class Figures:
    """What is computed for a section: as a table and, where it can be drawn, as a drawing."""

    grid: Grid
    drawing: Drawing | None
    subtitle: str
    """What they are: "Budget and actual by department"."""
    source: str
    notes: tuple[str, ...] = ()


def compute(
    files: Sequence[File], sections: Sequence[Section], code: str, accent: str | None = None
) -> list[Figures | None]:
    """The figures that each section asks for; None for those that ask for none. Raises
    `JobFailed`."""
    from agentpost_offline.data.dataset import open_tables

    if not any(section.request for section in sections):
        return [None] * len(sections)
    with open_tables(files, "", code) as dataset:
        return [_figures_of_section(dataset, section, code, accent) for section in sections]


def _figures_of_section(
    dataset: Dataset, section: Section, code: str, accent: str | None
) -> Figures | None:
    if section.request is None:
        return None
    table = tabulate(dataset, section.request, code)
    if is_empty(table.result):
        raise CannotSucceed(f"The figures of “{section.title}” are empty: no row fits the request.")
    style = Style(chart=section.chart, colour=accent, title=section.title or None)
    drawing = None
    if axes(table.result.query) and section.show != "table":
        drawing = draw(table.result, table.table, table.source, (), style, code)
    grid = grid_of(table.result, table.table, code)
    subtitle = naming.subtitle(table.result.query, table.table, code)
    return Figures(grid, drawing, subtitle, table.source, table.notes)


def of_result(
    result: Result, table: Table, claims: Sequence[Claim], style: Style, code: str
) -> Figures:
    """The figures of a result, drawn with what its claims speak of marked."""
    source = naming.source_line([table], code)
    grid = grid_of(result, table, code, is_summed=True)
    drawing = draw(result, table, source, claims, style, code, _SLIDE_BARS)
    subtitle = naming.subtitle(result.query, table, code)
    return Figures(grid, drawing, subtitle, source, drawing.notes)


def grid_of(result: Result, table: Table, code: str, *, is_summed: bool = False) -> Grid:
    """A result as people read it: units in the header, one number of decimals a column.
    ``is_summed``: a few periods or groups stand side by side, with sums and shares of what adds
    up."""
    query, keys = result.query, axes(result.query)
    if is_summed and keys == 2 and len(query.measures) == 1:
        matrix = shape.grid(result, table, code)
        if len(matrix.keys) <= _ACROSS:
            return _cross(matrix, result, table, code)
    rows = result.rows[:GRID_ROWS]
    header = [naming.label(name, table) for name in (*query.groups, query.time) if name is not None]
    columns = [
        [dates.period(row[at], query.grain, code) if at == len(query.groups)
         else shape.key_text(row[at], code) for row in rows]
        for at in range(keys)
    ]  # fmt: skip
    can_add = is_summed and len(rows) > 1 and keys > 0 and len(rows) == len(result.rows) and not (
        query.having or (query.order is not None and query.order.count)
    )  # fmt: skip
    is_total = can_add and any(map(shape.is_additive, query.measures))
    for at, measure in enumerate(query.measures, keys):
        unit, name = naming.unit(measure, table), naming.measure(measure, table, code)
        has_unit = unit is None or unit == numbers.PERCENT or unit in name
        header.append(name if has_unit else f"{name} ({unit})")
        values = [shape.number(row[at]) for row in rows]
        if can_add and shape.is_additive(measure):
            values.append(math.fsum(shape.present(values)))
        columns.append(_column(values, unit, code))
        total = values[-1] or 0.0
        if is_total and keys == 1 and len(query.measures) == 1 and query.time is None and total > 0:
            header.append(numbers.PERCENT)
            columns.append([numbers.percent(100 * (value or 0) / total, code)
                            for value in values])  # fmt: skip
    if is_total:
        columns[0].append(texts("story", code)["total"])
        columns = [[*column, *[""] * (len(rows) + 1 - len(column))] for column in columns]
    lines = list(zip(*columns, strict=True))
    return content.grid(header, lines, numbers=range(keys, len(header)), total=is_total)


def _cross(matrix: shape.Grid, result: Result, table: Table, code: str) -> Grid:
    """One key down, the other across; of periods the change from the last but one to the last."""
    phrases, query = texts("story", code), result.query
    lines = list(matrix.lines[:GRID_ROWS])
    is_total = matrix.additive and len(lines) > 1 and query.order is None
    names = [line.name for line in lines]
    series = [list(line.values) for line in lines]
    if is_total:
        names.append(phrases["total"])
        series.append([math.fsum(shape.present(column)) for column in zip(*series, strict=True)])
    unit = lines[0].unit if lines else None
    columns = [_column(values, unit, code) for values in zip(*series, strict=True)]
    header = [naming.label(query.groups[0 if matrix.is_timed else 1], table), *matrix.labels]
    is_whole = not any(str(key)[:10] in result.partial for key in matrix.keys[-2:])
    if matrix.is_timed and len(matrix.keys) > 1 and is_whole:
        header.append(phrases["rate"])
        columns.append([_change(values[-2], values[-1], code) for values in series])
    rows = list(zip(names, *columns, strict=True))
    return content.grid(header, rows, numbers=range(1, len(header)), total=is_total)


def _change(before: float | None, after: float | None, code: str) -> str:
    if before is None or after is None or before <= 0:
        return "–"
    return numbers.percent(100 * (after / before - 1), code, signed=True)


def _column(values: Sequence[float | None], unit: str | None, code: str) -> list[str]:
    """The cells of a column, all with as many decimals: none for whole or large numbers."""
    present = shape.present(values)
    largest = max(map(abs, present), default=0.0)
    is_whole = largest >= 1000 or all(value == round(value) for value in present)
    digits = 0 if is_whole else 1 if largest >= 10 else 2
    tongue = language(code)
    pattern = tongue.percent if unit == numbers.PERCENT else "{}"
    return ["–" if value is None else pattern.format(numbers.plain(value, digits, tongue))
            for value in values]  # fmt: skip
