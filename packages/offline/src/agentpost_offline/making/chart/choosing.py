"""Which kind of picture shows a result best, and how much of it fits into one."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from agentpost_offline.frame import Grain, Query
from agentpost_offline.story.shape import Grid, Line, is_additive, present, sum_lines
from agentpost_offline.style import dates
from agentpost_offline.style.languages import language

MOST_POINTS = 366
"""The days of a year, which a line shows."""
MOST_BARS = 22
MOST_LINES = 7
_MOST_ROWS = 16
_MOST_GROUPS = {"donut": 6, "heatmap": 30, "column": 12}
_COARSER = {
    Grain.HOUR: Grain.DAY, Grain.DAY: Grain.WEEK, Grain.WEEK: Grain.MONTH,
    Grain.MONTH: Grain.QUARTER, Grain.QUARTER: Grain.YEAR,
}  # fmt: skip
REST = "\u0000rest"
"""The key of what was added up: equal to no group's."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A kind of picture. ``kind`` is a template's; ``why`` names the note that says why it is not
    the kind that was asked for."""

    kind: str
    is_stacked: bool = False
    why: str | None = None


def coarser(query: Query, points: int) -> Query | None:
    """The query with longer periods, when there are more than a picture can show."""
    if points <= MOST_POINTS or query.time is None or query.grain not in _COARSER:
        return None
    return replace(query, grain=_COARSER[query.grain])


def choose(grid: Grid, wish: str | None, *, is_lying: bool = False) -> Choice:
    """The kind of picture for a result laid out: the one asked for where it can show it;
    ``is_lying``: columns as bars that lie."""
    choice = _of_kind(grid, wish)
    return (
        dataclasses.replace(choice, kind="bar") if is_lying and choice.kind == "column" else choice
    )


def _of_kind(grid: Grid, wish: str | None) -> Choice:
    is_split, best = len(grid.lines) > 1, _best(grid)
    upright = "column" if grid.is_timed or not _is_long(grid) else "bar"
    match wish:
        case "bar" if best.kind in ("bar", "column"):
            return best
        case "bar":
            return Choice("column" if grid.is_timed else "bar")
        case "column" if is_split or len(grid.keys) <= _MOST_GROUPS["column"]:
            return Choice("column")
        case "column":
            return best
        case "grouped" if is_split:
            return Choice(upright)
        case "stacked" if not is_split:
            return Choice(best.kind, why="stacked_one")
        case "stacked" if not _are_parts(grid, is_demanded=True):
            return Choice("column" if grid.is_timed else "bar", why="stacked_parts")
        case "stacked":
            return Choice(upright, is_stacked=True)
        case "line":
            return Choice("line") if len(grid.keys) > 1 else Choice(best.kind, why="line_one")
        case "donut":
            why = _no_ring(grid)
            return Choice(best.kind, why=why) if why else Choice("donut")
        case "heatmap" if is_split or len(grid.keys) > 1:
            return Choice("heatmap")
    return best


def _best(grid: Grid) -> Choice:
    lines, keys = len(grid.lines), len(grid.keys)
    if lines > MOST_LINES:
        return Choice("heatmap")
    if grid.is_timed:
        is_column = keys < 3 or (
            lines < 2 and (grid.grain in dates.DISCRETE or (grid.additive and keys <= 24))
        )
        return Choice("column" if is_column else "line")
    if lines < 2:
        return Choice("column" if grid.calendar else "bar")
    if keys * lines > 12 or _is_long(grid):
        return Choice("bar", is_stacked=_are_parts(grid) and keys > 6)
    return Choice("column")


def _no_ring(grid: Grid) -> str:
    """Why a ring cannot show the values; empty where it can."""
    values = [value for line in grid.lines for value in present(line.values)]
    if len(grid.lines) > 1:
        return "donut_several"
    if any(value < 0 for value in values) or not sum(values) > 0:
        return "donut_negative"
    return "" if grid.additive else "donut_parts"


def _are_parts(grid: Grid, *, is_demanded: bool = False) -> bool:
    """Whether the series are parts of a whole: those of several columns where that is asked for."""
    is_one = len({line.measure for line in grid.lines}) == 1
    are_alike = len({line.unit for line in grid.lines}) == 1  # adults, children and seniors
    return grid.additive and (is_one or (is_demanded and are_alike)) and all(
        value >= 0 for line in grid.lines for value in present(line.values)
    )  # fmt: skip


def _is_long(grid: Grid) -> bool:
    """Whether the labels are too long to stand below columns."""
    longest = max(map(len, grid.labels), default=0)
    return longest > 16 or len(grid.keys) * longest > 110 or len(grid.keys) > 12


def fit_in(grid: Grid, choice: Choice, rest: str, most_bars: int = MOST_BARS) -> tuple[Grid, int]:
    """The grid with as many groups and series as the picture can show, and how many were left out
    or added up to ``rest`` (a name that takes their number)."""
    grid, series = _fewer_lines(grid, choice, rest)
    bars = most_bars // (2 if len(grid.lines) > 1 else 1)
    most = min(_MOST_GROUPS[choice.kind], most_bars) if choice.kind == "column" else (
        _MOST_GROUPS.get(choice.kind, bars)
    )  # fmt: skip
    if grid.is_timed or len(grid.keys) <= most:
        return grid, series
    most -= 1 if grid.additive else 0
    sizes = [math.fsum(abs(line.values[at] or 0.0) for line in grid.lines)
             for at in range(len(grid.keys))]  # fmt: skip
    order = sorted(range(len(sizes)), key=lambda at: -sizes[at])
    first, others = sorted(order[:most]), order[most:]
    # A bar of what is left that is longer than the longest would hide what matters.
    is_small = math.fsum(sizes[at] for at in others) <= sizes[order[0]]
    is_sum = grid.additive and (choice.kind == "donut" or is_small)
    lines = []
    for line in grid.lines:
        values = [line.values[at] for at in first]
        values += [math.fsum(present([line.values[at] for at in others]))] if is_sum else []
        lines.append(dataclasses.replace(line, values=tuple(values)))
    keys = [grid.keys[at] for at in first] + ([REST] if is_sum else [])
    labels = [grid.labels[at] for at in first] + ([rest.format(len(others))] if is_sum else [])
    return Grid(tuple(keys), tuple(labels), tuple(lines), is_timed=False, grain=None), len(others)


def _fewer_lines(grid: Grid, choice: Choice, rest: str) -> tuple[Grid, int]:
    most = _MOST_ROWS if choice.kind == "heatmap" else MOST_LINES
    if len(grid.lines) <= most:
        return grid, 0
    one = grid.lines[0]
    is_sum = choice.is_stacked and {line.measure for line in grid.lines} == {one.measure} and (
        is_additive(one.measure)
    )  # fmt: skip
    order = sorted(grid.lines, key=lambda line: -math.fsum(map(abs, present(line.values))))
    first, others = order[: most - is_sum], order[most - is_sum :]
    lines = [line for line in grid.lines if any(line is each for each in first)]
    if is_sum:
        sums = sum_lines(others)
        lines.append(Line(rest.format(len(others)), REST, one.measure, one.unit, sums))
    return dataclasses.replace(grid, lines=tuple(lines)), len(others)


def time_labels(grid: Grid, code: str) -> tuple[Sequence[str], Sequence[tuple[int, str]]]:
    """Short labels for periods, and the years that stand below them."""
    tongue = language(code)
    days = [day for key in grid.keys if (day := dates.parse(key)) is not None]
    if grid.grain in dates.DISCRETE or len(days) < len(grid.keys):
        return [dates.period(key, grid.grain, code, short=True) for key in grid.keys], ()
    if grid.grain is Grain.YEAR:
        return [f"{day.year}" for day in days], ()
    is_crowded = grid.grain is Grain.MONTH and len(days) > 16
    months = tongue.months_narrow if is_crowded else tongue.months_short
    pattern = {Grain.MONTH: "{month}", Grain.QUARTER: tongue.quarter_short}.get(
        grid.grain or Grain.DAY, tongue.day_short
    )
    labels = [pattern.format(day=day.day, month=months[day.month - 1],
                             quarter=(day.month + 2) // 3) for day in days]  # fmt: skip
    years = [(at, str(day.year)) for at, day in enumerate(days)
             if at == 0 or day.year != days[at - 1].year]  # fmt: skip
    return labels, years
