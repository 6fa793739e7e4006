"""Results as charts: which kind, in what order, and the one number format of each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from agentpost_offline.data.model import Result, Role, Table
from agentpost_offline.frame import Grain
from agentpost_offline.making.deck.slides import Chart, Series
from agentpost_offline.story import naming, shape
from agentpost_offline.style import dates, numbers
from agentpost_offline.style.languages import language

_MOST_BARS = 10
_MOST_SERIES = 5
_LONG_AXIS = 14
_WISHED = {"line": "line", "area": "line", "grouped": "column"}
_YEAR = re.compile(r"(?<!\d)(?:19|20)(\d\d)(?!\d)")
_UPRIGHT = 36
"""More points than this are drawn as a line."""


def chart_of(
    result: Result, table: Table, code: str, marks: Sequence[str] = (), kind: str | None = None
) -> Chart | None:
    """A chart of a result; None when it has fewer than two labels or nothing to draw.

    ``kind`` is one of a frame's charts; where PowerPoint's charts of a deck know no such one, the
    data decides.
    """
    grid = shape.grid(result, table, code)
    units = {line.unit for line in grid.lines}
    lines = grid.lines if len(units) == 1 else grid.lines[:1]
    lines = lines[:_MOST_SERIES]
    known = [v for line in lines for v in line.values if v is not None]
    if len(grid.keys) < 2 or len(known) < 2:
        return None
    if len(lines) > 1 and grid.timed and len(grid.keys) == 2:
        return _turned(grid, lines, code)
    places = list(range(len(grid.keys)))
    if not grid.timed:
        if result.query.order is None and not _ordered(grid):
            places.sort(key=lambda at: -(lines[0].values[at] or 0))
        places = places[:_MOST_BARS]
    labels = tuple(_short(grid, at, code) for at in places)
    marked = tuple(
        n
        for n, at in enumerate(places)
        if {str(grid.keys[at]), grid.labels[at], labels[n]} & set(marks)
    )
    series = tuple(Series(line.name, tuple(line.values[at] for at in places)) for line in lines)
    wished = _WISHED.get(kind or "")
    form = wished or _kind(grid, labels, len(lines), _is_rate(result, table))
    chart = _chart(form, labels, series, lines[0].unit, code, marked)
    return msgspec.structs.replace(chart, years=_years(grid, code))


def _is_rate(result: Result, table: Table) -> bool:
    """Whether the measure is a price or a share, which a line shows better than bars."""
    measures = result.query.measures
    found = naming.column(measures[0].column, table) if measures else None
    return found is not None and found.role is Role.RATE


def _ordered(grid: shape.Grid) -> bool:
    """Whether the order of the groups is their own: ages, classes."""
    return all(isinstance(key, (int, float)) for key in grid.keys)


def _short(grid: shape.Grid, at: int, code: str) -> str:
    if grid.timed:
        period = dates.period(grid.keys[at], grid.grain, code, short=True)
        long = len(grid.keys) > _LONG_AXIS and grid.grain is not Grain.YEAR
        return _YEAR.sub(r"\1", period) if long else period
    label = grid.labels[at]
    return label if len(label) <= 34 else label[:33].rstrip() + "…"


def _years(grid: shape.Grid, code: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The months or quarters of a long axis by year, as short as they are told apart in order."""
    if (
        grid.grain not in (Grain.MONTH, Grain.QUARTER)
        or not _LONG_AXIS < len(grid.keys) <= _UPRIGHT
    ):
        return ()
    tongue = language(code)
    years: dict[str, list[str]] = {}
    for key in grid.keys:
        day = dates.parsed(key)
        if day is None:
            return ()
        name = tongue.months_narrow[day.month - 1]
        if grid.grain is Grain.QUARTER:
            name = tongue.quarter_short.format(quarter=(day.month + 2) // 3)
        years.setdefault(dates.period(key, Grain.YEAR, code), []).append(name)
    return tuple((year, tuple(names)) for year, names in years.items())


def _kind(grid: shape.Grid, labels: Sequence[str], lines: int, rate: bool) -> str:
    if grid.timed:
        many = len(labels) > (_UPRIGHT if lines == 1 else 8)
        return "line" if many or (rate and len(labels) > 5) else "column"
    return "column" if len(labels) <= 6 and max(map(len, labels)) <= 14 else "bar"


def _turned(grid: shape.Grid, lines: Sequence[shape.Line], code: str) -> Chart:
    """Groups along the axis and the two periods as colours: what changed is seen at once."""
    labels = tuple(line.name for line in lines)
    series = tuple(
        Series(_short(grid, at, code), tuple(line.values[at] for line in lines)) for at in (0, 1)
    )
    return _chart("column", labels, series, lines[0].unit, code, ())


def _chart(
    kind: str,
    labels: tuple[str, ...],
    series: tuple[Series, ...],
    unit: str | None,
    code: str,
    marks: tuple[int, ...],
) -> Chart:
    values = [v for one in series for v in one.values if v is not None]
    form = numbers.format_for(values, unit, code)
    shown = tuple(tuple("" if v is None else form.bare(v) for v in one.values) for one in series)
    ticks = _ticks(values, form)
    step = (ticks[1][0] - ticks[0][0]) / form.divisor
    digits = next((d for d in range(4) if abs(step * 10**d - round(step * 10**d)) < 1e-6), 4)
    return Chart(
        kind, labels, series, marks, shown, ticks, excel_format(form),
        excel_format(replace(form, digits=digits)), alt=_alt(labels, series, shown),
    )  # fmt: skip


def _ticks(values: Sequence[float], form: numbers.NumberFormat) -> tuple[tuple[float, str], ...]:
    top, low = max(0.0, *values), min(0.0, *values)
    raw = max(top - low, 1e-6) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * next(s for s in (1, 2, 2.5, 5, 10) if raw / power <= s * 1.000001)
    first, last = math.floor(low / step), math.ceil(top / step)
    return tuple((at * step, form.tick(at * step, step)) for at in range(first, last + 1))


def _alt(labels: Sequence[str], series: Sequence[Series], shown: Sequence[Sequence[str]]) -> str:
    parts = [
        f"{one.name}: " + ", ".join(f"{a} {b}" for a, b in zip(labels, texts, strict=True))
        for one, texts in zip(series, shown, strict=True)
    ]
    return "; ".join(parts)[:900]


def excel_format(form: numbers.NumberFormat) -> str:
    """The same format as a spreadsheet writes it, as far as it can."""
    thousands = math.log(form.divisor, 1000) if form.divisor > 1 else 0.0
    if abs(thousands - round(thousands)) > 1e-9:
        return "#,##0"
    digits = "." + "0" * form.digits if form.digits else ""
    suffix = form.suffix + ("%" if form.unit == numbers.PERCENT else "")
    quoted = f'"{suffix}"' if suffix else ""
    return f"#,##0{digits}{',' * round(thousands)}{quoted}"
