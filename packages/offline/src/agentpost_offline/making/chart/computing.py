"""The figures of sections: computed from the files, as tables and as drawings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentpost.agents.base import CannotSucceed, File
from agentpost_offline.frame import Style
from agentpost_offline.making import content
from agentpost_offline.making.chart.drawing import Wish, draw, empty
from agentpost_offline.making.content import Grid
from agentpost_offline.making.picture import Drawing
from agentpost_offline.making.sections import Section
from agentpost_offline.making.tabulating import Tabulated, tabulate
from agentpost_offline.story import naming, shape
from agentpost_offline.style import dates, numbers
from agentpost_offline.style.languages import language

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

GRID_ROWS = 200
"""Rows of a computed table that are shown."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A section's figures: as a table and, where they can be drawn, as a drawing."""

    tabulated: Tabulated
    grid: Grid
    drawing: Drawing | None


def compute(
    files: Sequence[File], sections: Sequence[Section], code: str, accent: str | None = None
) -> list[Computed | None]:
    """What each section shows of the tables in the files; None for those that ask for nothing.

    Raises `JobFailed` for a request that cannot be computed.
    """
    from agentpost_offline.data.dataset import opened

    if not any(section.request for section in sections):
        return [None] * len(sections)
    with opened(files, "", code) as dataset:
        return [_computed(dataset, section, code, accent) for section in sections]


def _computed(dataset: Dataset, section: Section, code: str, accent: str | None) -> Computed | None:
    if section.request is None:
        return None
    tabulated = tabulate(dataset, section.request, code)
    if empty(tabulated.result):
        raise CannotSucceed(f"The figures of “{section.title}” are empty: no row fits the request.")
    drawing = None
    keys = len(tabulated.result.query.groups) + (tabulated.result.query.time is not None)
    if keys and section.show != "table":
        style = Style(chart=section.chart, colour=accent, title=section.title or None)
        drawing = draw(Wish(tabulated.result, tabulated.table, tabulated.source, (), style, code))
    return Computed(tabulated, grid_of(tabulated, code), drawing)


def grid_of(tabulated: Tabulated, code: str) -> Grid:
    """A computed table as people read it: units in the header, one number of decimals a column."""
    result, table = tabulated.result, tabulated.table
    keys = len(result.query.groups) + (result.query.time is not None)
    columns = list(table.columns)
    rows: list[list[str]] = [[] for _ in result.rows[:GRID_ROWS]]
    for at, column in enumerate(columns):
        cells = [row[at] for row in result.rows]
        if at < keys:
            is_time = at == keys - 1 and result.query.time is not None
            for row, cell in zip(rows, cells, strict=False):
                row.append(_period(cell, tabulated, code) if is_time else shape.shown(cell, code))
            continue
        values = [value for cell in cells if (value := shape.number(cell)) is not None]
        digits = _digits(values)
        for row, cell in zip(rows, cells, strict=False):
            row.append(_written(shape.number(cell), digits, column.unit, code))
    header = [_head(column.label, column.unit, at >= keys) for at, column in enumerate(columns)]
    return content.grid(header, rows, numbers=range(keys, len(columns)))


def _period(cell: object, tabulated: Tabulated, code: str) -> str:
    query = tabulated.result.query
    return dates.period(cell, query.grain, code)  # type: ignore[arg-type]


def _head(label: str, unit: str | None, is_figure: bool) -> str:
    known = unit is None or unit == numbers.PERCENT or unit in label
    return label if known or not is_figure else f"{label} ({unit})"


def _digits(values: Sequence[float]) -> int:
    """Decimals of a column: none for whole or large numbers, at most two."""
    if all(value == round(value) for value in values) or max(map(abs, values)) >= 1000:
        return 0
    return 1 if max(map(abs, values)) >= 10 else 2


def _written(value: float | None, digits: int, unit: str | None, code: str) -> str:
    if value is None:
        return "–"
    text = numbers.plain(value, digits, language(code))
    return language(code).percent.format(text) if unit == numbers.PERCENT else text


def subtitle(computed: Computed, code: str) -> str:
    """What a computed table shows: "Budget and actual by department"."""
    text = naming.subtitle(computed.tabulated.result.query, computed.tabulated.table, code)
    return text[:1].upper() + text[1:]
