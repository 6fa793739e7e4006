"""Scatter plots: two numbers of each row, or of each group, against each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from agentpost_offline.data.model import Cell
from agentpost_offline.frame import Aggregate, Measure
from agentpost_offline.making.chart import axes
from agentpost_offline.making.chart.drawing import TEXTS, Wish
from agentpost_offline.making.picture import Drawing, Note, Picture
from agentpost_offline.story import naming
from agentpost_offline.story.shape import number
from agentpost_offline.style import numbers, palette
from agentpost_offline.style.languages import language, words

MOST_DOTS = 1500
_NAMED = 5
_WEAK = 0.2
"""A line is drawn through points whose correlation is at least this."""


def scatter(wish: Wish, columns: tuple[str, str], rows: Sequence[tuple[Cell, ...]]) -> Drawing:
    """Two columns against each other; each row is a point: across, up, and what it is called
    where that is known."""
    code = wish.code
    points = [
        (a, b, str(row[2] or "") if len(row) > 2 else "")
        for row in rows
        if (a := number(row[0])) is not None and (b := number(row[1])) is not None
    ]
    every = max(1, math.ceil(len(points) / MOST_DOTS))
    drawn = points[::every]
    tongue = words(TEXTS, code)
    notes = []
    if every > 1:
        counts = [numbers.full(n, None, code) for n in (len(drawn), len(points))]
        notes.append(tongue["notes"]["sample"].format(*counts))
    names = [naming.label(column, wish.table) for column in columns]
    units = [naming.unit(Measure(column, Aggregate.SUM), wish.table) for column in columns]
    forms = [
        numbers.format_for([p[0] for p in points], units[0], code),
        numbers.format_for([p[1] for p in points], units[1], code),
    ]
    titles = [
        f"{name} ({unit})" if unit and unit != numbers.PERCENT else name
        for name, unit in zip(names, units, strict=True)
    ]
    accent = palette.accent(wish.style.colour)
    across = axes.axis([p[0] for p in points], forms[0], zero=False, title=titles[0], near=0.15)
    up = axes.axis([p[1] for p in points], forms[1], zero=False, title=titles[1], near=0.15)
    below = language(code).separator.join(
        [
            titles[1],
            titles[0],
            *(naming.condition(f, wish.table, code) for f in wish.result.query.filters),
        ]
    )
    picture = Picture(
        kind="scatter",
        title=wish.style.title or f"{names[1]} – {names[0]}",
        subtitle=below,
        source=wish.source,
        axis=up,
        across=across,
        dots=tuple((a, b, accent) for a, b, _ in drawn),
        trend=_trend([p[0] for p in points], [p[1] for p in points]),
        notes=_far(drawn),
    )
    alt = f"{tongue['alt'].format(tongue['kinds']['scatter'], picture.title)}."
    table = tuple((a, b) for a, b, _ in drawn)
    return Drawing(picture, alt, (names[0], names[1]), table, (), tuple(notes))


def _far(points: Sequence[tuple[float, float, str]]) -> tuple[Note, ...]:
    """Names for the points farthest from the middle, or for all when they are few."""
    named = [point for point in points if point[2]]
    if len(named) < 2:
        return ()
    xs, ys = [p[0] for p in named], [p[1] for p in named]
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    x, y = statistics.median(xs), statistics.median(ys)

    def distance(point: tuple[float, float, str]) -> float:
        return math.hypot((point[0] - x) / wide, (point[1] - y) / high)

    most = len(named) if len(named) <= 25 else _NAMED
    named.sort(key=distance, reverse=True)
    return tuple(Note(a, b, name) for a, b, name in named[:most])


def _trend(xs: Sequence[float], ys: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """The ends of the line through the points; empty where there is none to speak of."""
    if len(xs) < 5 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return ()
    if not abs(statistics.correlation(xs, ys)) >= _WEAK:
        return ()
    slope, start = statistics.linear_regression(xs, ys)
    spare = (max(ys) - min(ys)) * 0.3
    ends = tuple((x, start + slope * x) for x in (min(xs), max(xs)))
    is_inside = all(min(ys) - spare <= y <= max(ys) + spare for _, y in ends)
    return ends if is_inside else ()
