"""Which kind of picture shows a result best, and how much of it fits into one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from agentpost_offline.frame import Grain, Query
from agentpost_offline.story.shape import Grid, Line, is_additive, present
from agentpost_offline.style import dates

MOST_POINTS = 60
CYCLES = (Grain.WEEKDAY, Grain.HOUR)
MOST_BARS = 22
MOST_COLUMNS = 12
MOST_SLICES = 6
MOST_LINES = 7
MOST_ROWS = 16
_COARSER = {
    Grain.HOUR: Grain.DAY,
    Grain.DAY: Grain.WEEK,
    Grain.WEEK: Grain.MONTH,
    Grain.MONTH: Grain.QUARTER,
    Grain.QUARTER: Grain.YEAR,
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A kind of picture. ``kind`` is a template's; ``why`` names the note that says why it is not
    the kind that was asked for."""

    kind: str
    stacked: bool = False
    why: str | None = None


def coarser(query: Query, points: int) -> Query | None:
    """The query with longer periods, when there are more than a picture can show."""
    if points <= MOST_POINTS or query.time is None or query.grain not in _COARSER:
        return None
    return msgspec.structs.replace(query, grain=_COARSER[query.grain])


def choose(grid: Grid, wish: str | None) -> Choice:
    """The kind of picture for a result laid out: the one asked for where it can show it."""
    return (_as_asked(grid, wish) if wish else None) or _best(grid)


def _best(grid: Grid) -> Choice:
    several = len(grid.lines) > 1
    if not grid.timed:
        if not several:
            return Choice("column" if grid.calendar else "bar")
        if len(grid.lines) > MOST_LINES:
            return Choice("heatmap")
        return (
            Choice("bar", stacked=_parts(grid) and len(grid.keys) > 6)
            if (len(grid.keys) * len(grid.lines) > 12 or _long(grid))
            else Choice("column")
        )
    if several:
        if len(grid.lines) > MOST_LINES:
            return Choice("heatmap")
        return Choice("line") if len(grid.keys) > 2 else Choice("column")
    by_part = grid.grain in (Grain.WEEKDAY, Grain.HOUR)
    if by_part or (grid.additive and len(grid.keys) <= 24) or len(grid.keys) < 3:
        return Choice("column")
    return Choice("line")


def _as_asked(grid: Grid, wish: str) -> Choice | None:
    several = len(grid.lines) > 1
    if wish in ("bar", "column"):
        best = _best(grid)
        if best.kind in ("bar", "column") and not (best.stacked and wish == "column"):
            return best
        return Choice("column" if grid.timed else "bar")
    if wish == "grouped":
        return Choice("column" if grid.timed or not _long(grid) else "bar") if several else None
    if wish == "stacked":
        if not several:
            return Choice(_best(grid).kind, why="stacked_one")
        if not _parts(grid):
            return Choice("column" if grid.timed else "bar", why="stacked_parts")
        return Choice("column" if grid.timed or not _long(grid) else "bar", stacked=True)
    if wish == "line":
        return Choice("line") if len(grid.keys) > 1 else Choice(_best(grid).kind, why="line_one")
    if wish in ("donut", "pie"):
        return _ring(grid)
    if wish == "heatmap":
        return Choice("heatmap") if several or len(grid.keys) > 1 else None
    return None


def _ring(grid: Grid) -> Choice:
    values = [value for line in grid.lines for value in present(line.values)]
    if len(grid.lines) > 1:
        return Choice(_best(grid).kind, why="donut_several")
    if any(value < 0 for value in values) or not sum(values) > 0:
        return Choice(_best(grid).kind, why="donut_negative")
    if not grid.additive:
        return Choice(_best(grid).kind, why="donut_parts")
    return Choice("donut")


def _parts(grid: Grid) -> bool:
    """Whether the series are parts of a whole."""
    measures = {line.measure for line in grid.lines}
    positive = all(v >= 0 for line in grid.lines for v in present(line.values))
    return grid.additive and len(measures) == 1 and positive


def _long(grid: Grid) -> bool:
    """Whether the labels are too long to stand below columns."""
    longest = max((len(label) for label in grid.labels), default=0)
    return longest > 16 or len(grid.keys) * longest > 110 or len(grid.keys) > 12


def fit_in(
    grid: Grid, choice: Choice, rest: str, most_bars: int = MOST_BARS
) -> tuple[Grid, int, int]:
    """The grid with as many groups and series as the picture can show, and how many of each were
    left out or added up to ``rest`` (a name that takes their number)."""
    grid, series = _fewer_lines(grid, choice, rest)
    if grid.timed:
        return grid, 0, series
    by_kind = {"donut": MOST_SLICES, "heatmap": 30, "column": min(MOST_COLUMNS, most_bars)}
    most = by_kind.get(choice.kind, most_bars // (2 if len(grid.lines) > 1 else 1))
    left = len(grid.keys) - most
    if left <= 0:
        return grid, 0, series
    most -= 1 if grid.additive else 0
    by_size = sorted(range(len(grid.keys)), key=lambda n: -_size(grid, n))
    kept, gone = sorted(by_size[:most]), by_size[most:]
    # A bar of what is left that is longer than the longest would hide what matters.
    left_over = math.fsum(_size(grid, n) for n in gone)
    added = grid.additive and (choice.kind == "donut" or left_over <= _size(grid, by_size[0]))
    lines = tuple(
        _shortened(line, [line.values[n] for n in kept], [line.values[n] for n in gone], added)
        for line in grid.lines
    )
    keys = tuple(grid.keys[n] for n in kept)
    labels = tuple(grid.labels[n] for n in kept)
    if added:
        keys, labels = (*keys, REST), (*labels, rest.format(len(gone)))
    return Grid(keys, labels, lines, timed=False, grain=None), len(gone), series


REST = "\u0000rest"
"""The key of what was added up: equal to no group's."""


def _size(grid: Grid, n: int) -> float:
    return math.fsum(abs(line.values[n] or 0.0) for line in grid.lines)


def _shortened(line: Line, kept: list[float | None], gone: list[float | None], added: bool) -> Line:
    """A series with some of its values, and the sum of the others where that means something."""
    values = [*kept, math.fsum(present(gone))] if added else kept
    return Line(line.name, line.key, line.measure, line.unit, tuple(values))


def _fewer_lines(grid: Grid, choice: Choice, rest: str) -> tuple[Grid, int]:
    most = MOST_ROWS if choice.kind == "heatmap" else MOST_LINES
    left = len(grid.lines) - most
    if left <= 0:
        return grid, 0
    same = len({line.measure for line in grid.lines}) == 1 and is_additive(grid.lines[0].measure)
    add = same and choice.stacked
    ordered = sorted(grid.lines, key=lambda li: -math.fsum(abs(v) for v in present(li.values)))
    kept = ordered[: most - 1] if add else ordered[:most]
    gone = ordered[len(kept) :]
    names = {id(line) for line in kept}
    lines = [line for line in grid.lines if id(line) in names]
    if add:
        sums = [
            math.fsum(present(column)) if present(column) else None
            for column in zip(*(line.values for line in gone), strict=True)
        ]
        first = grid.lines[0]
        name = rest.format(len(gone))
        lines.append(Line(name, REST, first.measure, first.unit, tuple(sums)))
    return Grid(grid.keys, grid.labels, tuple(lines), grid.timed, grid.grain), len(gone)


def time_labels(grid: Grid, code: str) -> tuple[list[str], list[tuple[int, str]]]:
    """Short labels for periods, and the years that stand below them."""
    from agentpost_offline.style.languages import language

    tongue = language(code)
    days = [dates.parsed(key) for key in grid.keys]
    if grid.grain in (Grain.WEEKDAY, Grain.HOUR) or any(day is None for day in days):
        return [dates.period(key, grid.grain, code, short=True) for key in grid.keys], []
    known = [day for day in days if day is not None]
    if grid.grain is Grain.YEAR:
        return [f"{day.year}" for day in known], []
    labels: list[str] = []
    for day in known:
        month = tongue.months_short[day.month - 1]
        if grid.grain is Grain.MONTH:
            labels.append(tongue.months_narrow[day.month - 1] if len(known) > 16 else month)
        elif grid.grain is Grain.QUARTER:
            labels.append(tongue.quarter_short.format(quarter=(day.month + 2) // 3))
        else:
            labels.append(tongue.day_short.format(day=day.day, month=month))
    years = [
        (n, str(day.year)) for n, day in enumerate(known) if n == 0 or day.year != known[n - 1].year
    ]
    return labels, years
