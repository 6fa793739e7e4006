"""Pictures of rows themselves: two numbers against each other, or the distribution of one."""

from __future__ import annotations

import itertools
import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence

from agentpost_offline.data.model import Cell
from agentpost_offline.frame import Aggregate, Measure
from agentpost_offline.making.chart import axes
from agentpost_offline.making.chart.drawing import TEXTS, Wish
from agentpost_offline.making.picture import (
    Axis,
    Drawing,
    Mark,
    Note,
    Picture,
    Series,
    Tick,
)
from agentpost_offline.story import naming
from agentpost_offline.story.model import Claim, ClaimKind
from agentpost_offline.story.shape import number
from agentpost_offline.style import numbers, palette
from agentpost_offline.style.languages import language, words

MOST_DOTS = 1500
_NAMED = 5
_WEAK, _STRONG = 0.2, 0.4


def values_of(rows: Sequence[tuple[Cell, ...]], at: int) -> list[float]:
    """The numbers of a column of rows."""
    return [value for row in rows if (value := number(row[at])) is not None]


def histogram(wish: Wish, column: str, rows: Sequence[tuple[Cell, ...]]) -> Drawing:
    """How the values of a column are distributed; each row is one value."""
    code = wish.code
    values = values_of(rows, 0)
    measure = Measure(column, Aggregate.SUM)
    name = naming.label(column, wish.table)
    unit = naming.unit(measure, wish.table)
    edges = axes.bins(values)
    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[min(len(counts) - 1, max(0, bisect_right(edges, value) - 1))] += 1
    form = numbers.format_for(edges, unit, code)
    rows_form = numbers.format_for([max(counts)], None, code)
    step = edges[1] - edges[0]
    ticks = tuple(Tick(edge, form.tick(edge, step)) for edge in edges)
    median = statistics.median(values)
    claim = _distribution(wish, name, unit, values)
    tongue = words(TEXTS, code)
    marked = [
        n
        for n in range(len(counts))
        if claim is not None and claim[1] <= (edges[n] + edges[n + 1]) / 2 <= claim[2]
    ]
    accent = palette.accent(wish.style.colour)
    heights = tuple(float(count) for count in counts)
    texts = tuple(numbers.full(count, None, code) for count in counts)
    shown = numbers.format_for([median], unit, code).bare(median)
    picture = Picture(
        kind="histogram",
        title=wish.style.title or (claim[0].headline if claim else name),
        subtitle=_below(name, unit, wish),
        source=wish.source,
        series=(Series(name, accent, accent, heights, texts),),
        axis=axes.axis(heights, rows_form, zero=True, title=tongue["rows"]),
        across=Axis(edges[0], edges[-1], ticks, name),
        points=tuple(accent if n in marked else palette.GREY for n in range(len(counts))),
        edges=tuple(edges),
        line=Mark(median, tongue["median"].format(shown)),
    )
    header = (name, tongue["rows"])
    spans = [f"{form.tick(a, step)} – {form.tick(b, step)}" for a, b in itertools.pairwise(edges)]
    table = tuple((span, float(count)) for span, count in zip(spans, counts, strict=True))
    said = claim[0].sentence if claim else ""
    alt = f"{tongue['alt'].format(tongue['kinds']['histogram'], picture.title)}. {said}".strip()
    return Drawing(picture, alt, header, table, (shown,))


def _below(name: str, unit: str | None, wish: Wish) -> str:
    tongue = words(naming.WORDS, wish.code)["subtitle"]
    parts = [name]
    if unit and unit != numbers.PERCENT:
        parts.append(tongue["unit"].format(unit))
    filters = wish.result.query.filters
    parts.extend(naming.condition(f, wish.table, wish.code) for f in filters)
    return language(wish.code).separator.join(parts)


def _distribution(
    wish: Wish, name: str, unit: str | None, values: list[float]
) -> tuple[Claim, float, float] | None:
    """The claim about the middle half, and its ends; the quartiles are found in two ways."""
    if len(values) < 8:
        return None
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    again = [_quantile(sorted(values), part) for part in (0.25, 0.5, 0.75)]
    if not all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
               for a, b in zip((low, median, high), again, strict=True)):  # fmt: skip
        return None
    figures = {"low": low, "high": high, "median": median, "least": min(values),
               "most": max(values)}  # fmt: skip
    form = numbers.format_for(figures.values(), unit, wish.code)
    said = {key: form.text(value) for key, value in figures.items()}
    said |= {"count": numbers.full(len(values), None, wish.code), "measure": name}
    headline, sentence = words(naming.WORDS, wish.code)["claims"]["distribution"]
    claim = Claim(ClaimKind.DISTRIBUTION, headline.format(**said), sentence.format(**said),
                  tuple(figures.items()), 0, 0.6)  # fmt: skip
    return claim, low, high


def _quantile(ordered: list[float], part: float) -> float:
    at = part * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


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
    claim, trend = _correlation(wish, names, [p[0] for p in points], [p[1] for p in points])
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
        title=wish.style.title or (claim.headline if claim else f"{names[1]} – {names[0]}"),
        subtitle=below,
        source=wish.source,
        axis=up,
        across=across,
        dots=tuple((a, b, accent) for a, b, _ in drawn),
        trend=trend,
        notes=_far(drawn),
    )
    said = claim.sentence if claim else ""
    alt = f"{tongue['alt'].format(tongue['kinds']['scatter'], picture.title)}. {said}".strip()
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


def _correlation(
    wish: Wish, names: list[str], xs: list[float], ys: list[float]
) -> tuple[Claim | None, tuple[tuple[float, float], ...]]:
    if len(xs) < 5 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return None, ()
    r = statistics.correlation(xs, ys)
    if not math.isfinite(r) or not math.isclose(r, _pearson(xs, ys), abs_tol=1e-6):
        return None, ()
    pattern = "correlation_none"
    if abs(r) >= _WEAK:
        pattern = "correlation_up" if r > 0 else "correlation_down"
    elif abs(r) >= _STRONG / 4:
        return None, ()
    code = wish.code
    tongue = words(naming.WORDS, code)
    said = {
        "measure": names[1],
        "m": naming.inner(names[1], code),
        "x": naming.inner(names[0], code),
        "r": numbers.plain(r, 2, language(code)),
        "rows": tongue["rows"].format(numbers.full(len(xs), None, code)),
    }
    headline, sentence = tongue["claims"][pattern]
    claim = Claim(ClaimKind.CORRELATION, headline.format(**said), sentence.format(**said),
                  (("r", r), ("count", float(len(xs)))), 0, 0.6)  # fmt: skip
    trend: tuple[tuple[float, float], ...] = ()
    if abs(r) >= _WEAK:
        slope, start = statistics.linear_regression(xs, ys)
        low, high = min(ys), max(ys)
        ends = [(x, start + slope * x) for x in (min(xs), max(xs))]
        if all(low - (high - low) * 0.3 <= y <= high + (high - low) * 0.3 for _, y in ends):
            trend = tuple(ends)
    return claim, trend


def _pearson(xs: list[float], ys: list[float]) -> float:
    """The correlation again, from sums."""
    n = len(xs)
    mx, my = math.fsum(xs) / n, math.fsum(ys) / n
    top = math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    sx, sy = (math.fsum((v - m) ** 2 for v in values) for values, m in ((xs, mx), (ys, my)))
    return top / math.sqrt(sx * sy) if sx and sy else math.nan
