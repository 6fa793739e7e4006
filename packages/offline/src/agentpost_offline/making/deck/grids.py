"""Results as tables of a slide: one number format for each column, sums where they are true."""

from __future__ import annotations

import math
from collections.abc import Sequence

from agentpost_offline.data.model import Result, Table
from agentpost_offline.making.deck.slides import Grid
from agentpost_offline.story import naming, shape
from agentpost_offline.style import numbers
from agentpost_offline.style.languages import words

_MOST_ROWS = 9
_MOST_COLUMNS = 7
_PERIODS_ACROSS = 4


def grid_of(result: Result, table: Table, code: str) -> tuple[Grid, tuple[int, int]] | None:
    """A result as a table, and how many of how many rows it shows; None when it makes none."""
    laid = shape.grid(result, table, code)
    tongue = words(naming.WORDS, code)
    if laid.timed and len(laid.lines) > 1 and len(laid.keys) <= _PERIODS_ACROSS:
        return _across(laid, result, table, code)
    if len(laid.keys) < 2 or not 0 < len(laid.lines) < _MOST_COLUMNS:
        return None
    places = list(range(len(laid.keys)))
    if not laid.timed and result.query.order is None:
        places.sort(key=lambda at: -(laid.lines[0].values[at] or 0))
    places = places[-_MOST_ROWS:] if laid.timed else places[:_MOST_ROWS]
    whole = laid.additive and len(places) == len(laid.keys) and result.query.order is None
    columns = [[line.values[at] for at in places] for line in laid.lines]
    sums = [math.fsum(shape.present(column)) for column in columns]
    forms = [_form([*column, total], line.unit, code) for column, total, line in zip(
        columns, sums, laid.lines, strict=True)]  # fmt: skip
    rows = [
        [laid.labels[at], *(_written(c[n], form) for c, form in zip(columns, forms, strict=True))]
        for n, at in enumerate(places)
    ]
    header = [_group(result, table, timed=laid.timed), *(line.name for line in laid.lines)]
    if whole:
        rows.append(
            [tongue["total"], *(form.text(total) for total, form in zip(sums, forms, strict=True))]
        )
        if len(columns) == 1 and not laid.timed and sums[0] > 0:
            header.append(numbers.PERCENT)
            shares = [100 * (value or 0) / sums[0] for value in [*columns[0], sums[0]]]
            for row, share in zip(rows, shares, strict=True):
                row.append(numbers.percent(share, code))
    return _made(header, rows, whole), (len(places), len(laid.keys))


def _across(
    laid: shape.Grid, result: Result, table: Table, code: str
) -> tuple[Grid, tuple[int, int]] | None:
    """Groups down, a few periods across, and the change between the last two."""
    if len(laid.lines) > _MOST_ROWS:
        return None
    tongue = words(naming.WORDS, code)
    series = [list(line.values) for line in laid.lines]
    total = laid.additive and result.query.order is None
    names = [line.name for line in laid.lines]
    if total:
        series.append([math.fsum(v[at] or 0 for v in series) for at in range(len(laid.keys))])
        names.append(tongue["total"])
    form = _form([value for values in series for value in values], laid.lines[0].unit, code)
    header = [_group(result, table, timed=False), *laid.labels]
    rows = [[n, *(_written(v, form) for v in vs)] for n, vs in zip(names, series, strict=True)]
    if laid.additive and len(laid.keys) > 1:
        header.append(tongue["change"])
        for row, values in zip(rows, series, strict=True):
            row.append(_change(values[-2], values[-1], code))
    count = len(laid.lines)
    return _made(header, rows, total), (count, count)


def _made(header: Sequence[str], rows: Sequence[Sequence[str]], total: bool) -> Grid:
    numeric = tuple(range(1, len(header)))
    return Grid(tuple(header), tuple(tuple(row) for row in rows), numeric, total)


def _change(before: float | None, after: float | None, code: str) -> str:
    if before is None or after is None or before <= 0:
        return "–"
    return numbers.percent(100 * (after - before) / before, code, signed=True)


def _group(result: Result, table: Table, *, timed: bool) -> str:
    query = result.query
    if timed:
        return naming.label(query.time, table)
    return naming.label(query.groups[0], table) if query.groups else ""


def _form(values: Sequence[float | None], unit: str | None, code: str) -> numbers.NumberFormat:
    """One format for a column: no decimals where there are thousands."""
    known = shape.present(values)
    largest = max((abs(value) for value in known), default=0.0)
    whole = largest >= 1000 or all(value == int(value) for value in known)
    digits = 0 if whole else 1 if largest >= 100 else 2
    return numbers.NumberFormat(code, unit or "", digits=digits)


def _written(value: float | None, form: numbers.NumberFormat) -> str:
    return "–" if value is None else form.text(value)
