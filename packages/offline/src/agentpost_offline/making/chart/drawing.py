"""A result as a picture: kind, colours, axis, labels, title, data and alternative text."""

import math
import statistics
from collections.abc import Sequence

from msgspec.structs import replace

from agentpost_offline.content.picture import Axis, Drawing, Group, Note, Picture, Series, Tick
from agentpost_offline.data.model import Result, Table
from agentpost_offline.data.sql import axes
from agentpost_offline.frame import Aggregate, Cell, Measure, Query, Style
from agentpost_offline.making.chart import choosing
from agentpost_offline.story import naming
from agentpost_offline.story.shape import Grid, Line, grid, number, one_scale, present
from agentpost_offline.story.tell import Claim, ClaimKind
from agentpost_offline.style import dates, numbers, palette
from agentpost_offline.style.languages import language, texts
from agentpost_offline.style.numbers import NumberFormat

MOST_DOTS = 1500
_TITLE = 160
_ALT_VALUES = 12
_LIGHTEST_GREY = 0.72
"""Of the way to white; beyond it a part cannot be told from the paper."""
_TICKS_FROM = 13
"""From so many columns on, an axis with lines replaces the number on each column."""
_FEW_DOTS, _FAR_DOTS = 25, 5
_WEAK = 0.2
"""A line is drawn through points whose correlation is at least this."""
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def draw(
    result: Result, table: Table, source: str, claims: Sequence[Claim], style: Style, code: str,
    most_bars: int = choosing.MOST_BARS,
) -> Drawing:  # fmt: skip
    """The picture of a result. One without rows is a picture with no bars: ask before.

    Args:
        source: the line below: ``Source: orders.csv, 600 rows``.
        claims: what the result says, most important first: the title and what is highlighted.
        most_bars: so many groups are drawn; the others are added up or left out.
    """
    phrases = texts("chart", code)
    whole = grid(result, table, code)
    notes: list[str] = []
    scale = one_scale(whole)
    if len(scale.lines) < len(whole.lines):
        others = [line.name for line in whole.lines if line not in scale.lines][:6]
        notes.append(phrases["notes"]["other_scale"].format(language(code).join(others)))
    choice = choosing.choose(scale, style.chart, is_lying=bool(style.options.get("horizontal")))
    if choice.why:
        notes.append(phrases["notes"][choice.why])
    part, count = choosing.fit_in(scale, choice, phrases["rest"], most_bars)
    if count:
        is_sum = choosing.REST in (*part.keys, *(line.key for line in part.lines))
        notes.append(phrases["notes"]["groups_added" if is_sum else "cut"].format(count))
    claim = _claim_for(claims, part)
    is_plain = style.title or (style.colour and len(part.lines) == 1)  # all bars in green
    marks = set(claim.marks) if claim is not None and not is_plain else set()
    below = naming.subtitle(result.query, table, code, span=_span(scale, code))
    title = style.title or (claim.headline if claim is not None else below)
    title = title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"
    picture = _picture(part, choice, marks, palette.accent(style.colour), code)
    picture = replace(picture, title=title, subtitle="" if below == title else below, source=source)
    rows = tuple((label, *(line.values[at] for line in scale.lines))
                 for at, label in enumerate(scale.labels))  # fmt: skip
    header = ("", *(line.name for line in scale.lines))
    return Drawing(picture, _alt(picture, claim, code), header, rows, tuple(notes))


def _claim_for(claims: Sequence[Claim], part: Grid) -> Claim | None:
    """The claim that the picture shows best: with several series not one about their sum."""
    names = {str(line.key) for line in part.lines if line.key is not None}
    peaks = (ClaimKind.HIGHEST, ClaimKind.LOWEST) if part.is_timed else ()

    def rank(one: Claim) -> tuple[bool, bool]:
        is_of_all = names.isdisjoint(one.marks)
        return is_of_all, is_of_all and one.kind in peaks

    return min(claims, key=rank, default=None) if len(part.lines) > 1 else next(iter(claims), None)


def _span(whole: Grid, code: str) -> str:
    """From when to when the picture reaches."""
    if not whole.is_timed or not whole.keys or whole.grain in dates.DISCRETE:
        return ""
    return dates.span(whole.keys[0], whole.keys[-1], whole.grain, code)


def _picture(
    part: Grid, choice: choosing.Choice, marks: set[str], accent: str, code: str
) -> Picture:
    kind = choice.kind
    values = [value for line in part.lines for value in present(line.values)]
    unit = part.lines[0].unit if part.lines else None
    form = numbers.format_for(values, unit, code, compact=kind == "heatmap")
    names = {str(line.key) for line in part.lines} & marks
    colours = _colours(part, accent, names, is_line=kind == "line")
    series = tuple(
        _series(line, colour, form, strong=not names or str(line.key) in names)
        for line, colour in zip(part.lines, colours, strict=True)
    )
    labels, years = choosing.time_labels(part, code) if part.is_timed else (part.labels, ())
    base = Picture(
        kind, "", "", "", tuple(labels), series, is_stacked=choice.is_stacked,
        is_timed=part.is_timed, groups=tuple(Group(at, text) for at, text in years),
        number_format=form.excel(),
        marks=tuple(at for at, key in enumerate(part.keys) if str(key) in marks),
    )  # fmt: skip
    return {"line": _line, "heatmap": _heat, "donut": _ring}.get(kind, _bars)(
        base, part, form, accent
    )


def _colours(part: Grid, accent: str, names: set[str], *, is_line: bool) -> list[str]:
    count = len(part.lines)
    if count == 1 or (is_line and names and count > 4):
        other = palette.SOFT if count == 1 else palette.GREY
        return [accent if not names or str(line.key) in names else other for line in part.lines]
    colours = palette.series(count, accent)
    if names:  # the accent belongs to what the title speaks of
        first = next(at for at, line in enumerate(part.lines) if str(line.key) in names)
        colours.insert(first, colours.pop(0))
    return colours


def _series(line: Line, colour: str, form: NumberFormat, *, strong: bool) -> Series:
    words = tuple("" if value is None else form.bare(value) for value in line.values)
    last = next((text for text in reversed(words) if text), "")
    ink = palette.SOFT if colour == palette.GREY else palette.legible(colour)
    return Series(line.name, colour, ink, line.values, words, last, strong)


def _values(base: Picture) -> list[float]:
    return [value for series in base.series for value in present(series.values)]


def _bars(base: Picture, part: Grid, form: NumberFormat, accent: str) -> Picture:
    count = len(part.keys)
    sums = [math.fsum(present([one.values[at] for one in base.series])) for at in range(count)]
    heights = sums if base.is_stacked else _values(base)
    bars = count * (1 if base.is_stacked else len(base.series))
    is_crowded = base.kind == "column" and bars >= _TICKS_FROM
    low, high = min([0.0, *heights]), max([0.0, *heights])
    exact = Axis(low, high if high > low else low + 1.0)  # each value is written
    axis = axis_of(heights, form, from_zero=True) if is_crowded else exact
    points = tuple(accent if not base.marks or at in base.marks else palette.GREY
                   for at in range(count))  # fmt: skip
    return replace(base, axis=axis, points=points if len(base.series) == 1 else (),
                   totals=tuple(map(form.bare, sums)) if base.is_stacked else ())  # fmt: skip


def _line(base: Picture, part: Grid, form: NumberFormat, accent: str) -> Picture:
    axis = axis_of(_values(base), form)
    notes: list[Note] = []
    for at in base.marks if len(base.series) == 1 else ():
        value = base.series[0].values[at]
        if value is not None:
            is_up = at == 0 or value >= (axis.low + axis.high) / 2
            notes.append(Note(at, value, base.series[0].texts[at], is_up))
    return replace(base, axis=axis, notes=tuple(notes))


def _heat(base: Picture, part: Grid, form: NumberFormat, accent: str) -> Picture:
    values = _values(base)
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = 0.0 if 0 <= low < high * 0.5 else low
    pale = palette.mix(accent, "#ffffff", 0.93)

    def colour(value: float | None) -> str | None:
        if value is None:
            return None
        if low < 0 < high:
            end = accent if value >= 0 else palette.LOSS
            return palette.mix("#f6f7f8", end, abs(value) / max(-low, high))
        return palette.mix(pale, accent, (value - low) / ((high - low) or 1.0))

    series = tuple(replace(one, cells=tuple(map(colour, one.values))) for one in base.series)
    return replace(base, series=series)


def _ring(base: Picture, part: Grid, form: NumberFormat, accent: str) -> Picture:
    """The parts from the largest on, what is left at the end."""
    line = base.series[0]
    values = [value or 0.0 for value in line.values]
    whole = math.fsum(values)
    order = sorted(range(len(values)), key=lambda at: (part.keys[at] == choosing.REST, -values[at]))
    words = [line.texts[at] for at in order]
    if form.unit != numbers.PERCENT:
        shares = [numbers.percent(100 * values[at] / whole, form.code) for at in order]
        words = [f"{share}  ({text})" for share, text in zip(shares, words, strict=True)]
    colours = palette.series(len(order), accent)
    if base.marks:
        step = min(0.12, _LIGHTEST_GREY / len(order))
        colours = [accent if at in base.marks else palette.mix(palette.GREY, "#ffffff", step * n)
                   for n, at in enumerate(order)]  # fmt: skip
    one = replace(line, values=tuple(values[at] for at in order), texts=tuple(words))
    labels = tuple(base.labels[at] for at in order)
    return replace(base, labels=labels, series=(one,), points=tuple(colours),
                   centre=(form.bare(whole), line.name))  # fmt: skip


def axis_of(
    values: Sequence[float], form: NumberFormat, *, from_zero: bool = False, title: str = "",
    near: float = 0.5,
) -> Axis:  # fmt: skip
    """An axis over all values, with about five lines at round numbers.

    Args:
        from_zero: whether it must begin at zero, as lengths and areas need.
        near: it does all the same when the smallest value is below this part of the largest.
    """
    low, high = min(values, default=0.0), max(values, default=1.0)
    if from_zero or 0 < low < high * near or 0 > high > low * near:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        spare = abs(low) * 0.1 or 1.0
        low, high = (low, low + 1.0) if from_zero else (low - spare, high + spare)
    size = 10.0 ** math.floor(math.log10((high - low) / 5))
    step = next((one * size for one in _STEPS if one * size >= (high - low) / 5 * 0.999), 10 * size)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(Tick(n * step, form.tick(n * step, step)) for n in range(first, last + 1))
    return Axis(first * step, last * step, ticks, title, form.excel(step))


def _alt(picture: Picture, claim: Claim | None, code: str) -> str:
    phrases = texts("chart", code)
    kind = phrases["kinds"][picture.kind]
    parts = [phrases["alt"].format(kind, picture.title), picture.subtitle]
    if claim is not None:
        parts.append(claim.sentence)
    first = picture.series[0] if len(picture.series) == 1 else None
    if first is not None and len(first.texts) <= _ALT_VALUES:
        pairs = zip(picture.labels, first.texts, strict=False)
        parts.append(language(code).separator.join(f"{a} {b}" for a, b in pairs))
    return " ".join(part if part.endswith((".", "。")) else f"{part}." for part in parts if part)


def is_empty(result: Result) -> bool:
    """Whether there is nothing to draw."""
    figures = (cell for row in result.rows for cell in row[axes(result.query) :])
    return not any(number(cell) is not None for cell in figures)


def scatter(
    query: Query, table: Table, columns: tuple[str, str], rows: Sequence[tuple[Cell, ...]],
    style: Style, code: str,
) -> Drawing:  # fmt: skip
    """Two columns against each other; each row is a point: across, up, and what it is called
    where that is known. The query has the conditions on them."""
    phrases = texts("chart", code)
    points = [
        (across, up, str(row[2] or "") if len(row) > 2 else "")
        for row in rows
        if (across := number(row[0])) is not None and (up := number(row[1])) is not None
    ]
    dots = points[:: max(1, math.ceil(len(points) / MOST_DOTS))]
    notes = []
    if len(dots) < len(points):
        counts = [numbers.full(len(one), None, code) for one in (dots, points)]
        notes.append(phrases["notes"]["sample"].format(*counts))
    names, titles, axes = [], [], []
    for at, column in enumerate(columns):
        name = naming.label(column, table)
        unit = naming.unit(Measure(column, Aggregate.SUM), table)
        values = [float(point[at]) for point in points]
        names.append(name)
        titles.append(f"{name} ({unit})" if unit and unit != numbers.PERCENT else name)
        form = numbers.format_for(values, unit, code)
        axes.append(axis_of(values, form, title=titles[-1], near=0.15))
    conditions = [naming.condition(one, table, code) for one in query.filters]
    accent = palette.accent(style.colour)
    picture = Picture(
        "scatter", style.title or f"{names[1]} – {names[0]}",
        language(code).separator.join([titles[1], titles[0], *conditions]),
        naming.source_line([table], code),
        axis=axes[1], across=axes[0], dots=tuple((a, b, accent) for a, b, _ in dots),
        trend=_trend([a for a, _, _ in points], [b for _, b, _ in points]), notes=_named(dots),
    )  # fmt: skip
    alt = f"{phrases['alt'].format(phrases['kinds']['scatter'], picture.title)}."
    cells = tuple((a, b) for a, b, _ in dots)
    return Drawing(picture, alt, (names[0], names[1]), cells, tuple(notes))


def _named(points: Sequence[tuple[float, float, str]]) -> tuple[Note, ...]:
    """Names for the points farthest from the middle, or for all when they are few."""
    named = [point for point in points if point[2]]
    if len(named) > _FEW_DOTS:
        columns = [[float(point[at]) for point in named] for at in (0, 1)]
        scales = [(statistics.median(one), (max(one) - min(one)) or 1.0) for one in columns]
        named.sort(key=lambda point: -math.hypot(*(
            (float(point[at]) - middle) / size for at, (middle, size) in enumerate(scales)
        )))  # fmt: skip
        named = named[:_FAR_DOTS]
    return tuple(Note(*point) for point in named)


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
