"""A chart of a presentation as SVG: columns, bars, lines and shares of its first plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from agentpost.extraction.slide_styles import A, Theme

_WIDE: Final = 480.0
_CATEGORIES_MAX: Final = 60
_SERIES_MAX: Final = 12
_LABELS_MAX: Final = 14
_LABEL_CHARACTERS: Final = 18
_TOP, _BOTTOM, _SIDE = 20.0, 26.0, 12.0
_BARS_SIDE: Final = 110.0
_SIZE: Final = 12


def draw(chart: Any, theme: Theme, proportion: float) -> str:
    """The chart as an ``svg`` element; ``proportion``: its height by its width. Raises what the
    library raises for a chart it cannot read."""
    plot = chart.plots[0]
    tall = _WIDE * min(max(proportion, 0.1), 5.0)
    names = [str(each) if each is not None else "" for each in plot.categories][:_CATEGORIES_MAX]
    series = []
    for at, each in enumerate(list(plot.series)[:_SERIES_MAX]):
        values = [_finite(value) for value in each.values][: len(names) or _CATEGORIES_MAX]
        series.append((values, _colours(each, at, len(values), theme)))
    kind = type(plot).__name__
    if not series or not any(values for values, _ in series):
        inside = _label(_WIDE / 2, tall / 2, "Chart", "middle")
    elif kind in ("PiePlot", "DoughnutPlot"):
        inside = _shares(*series[0], names, theme, tall, kind == "DoughnutPlot")
    elif kind in ("LinePlot", "AreaPlot", "XyPlot", "RadarPlot"):
        inside = _lines(series, names, tall)
    elif kind == "BarPlot" and _direction(plot) == "bar":
        inside = _bars(series, names, tall)
    else:
        inside = _columns(series, names, tall)
    return f'<svg viewBox="0 0 {_WIDE:.0f} {tall:.0f}" role="img" aria-label="Chart">{inside}</svg>'


Values = Sequence[float]
Series = tuple[Values, list[str]]


def _finite(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0


def _direction(plot: Any) -> str:
    found = [e for e in plot._element if str(e.tag).endswith("}barDir")]
    return str(found[0].get("val", "col")) if found else "col"


def _colours(series: Any, at: int, count: int, theme: Theme) -> list[str]:
    """A colour for each value: the point's own, else that of the series."""
    element = series._element
    name = element.tag.partition("}")[0] + "}"
    properties = element.find(f"{name}spPr")
    line = properties.find(f"{A}ln") if properties is not None else None
    own = theme.fill(properties) or theme.fill(line) or theme.accent(at)
    found = [own] * count
    for point in element.iterfind(f"{name}dPt"):
        number = point.find(f"{name}idx")
        index = int(number.get("val", "0")) if number is not None else count
        fill = theme.fill(point.find(f"{name}spPr"))
        if 0 <= index < count and fill:
            found[index] = fill
    return found


def _range(series: Sequence[Series]) -> tuple[float, float]:
    values = [value for each, _ in series for value in each]
    low, high = min(0.0, *values), max(0.0, *values)
    return low, high if high > low else low + 1.0


def _columns(series: Sequence[Series], names: Sequence[str], tall: float) -> str:
    low, high = _range(series)
    height = tall - _TOP - _BOTTOM
    step = (_WIDE - 2 * _SIDE) / max(len(values) for values, _ in series)
    one = step * 0.72 / len(series)
    zero = _TOP + height * high / (high - low)
    made = []
    for at, (values, colours) in enumerate(series):
        for n, value in enumerate(values):
            left = _SIDE + n * step + step * 0.14 + at * one
            long = abs(value) / (high - low) * height
            top = zero - long if value >= 0 else zero
            made.append(_box(left, top, one, long, colours[n]))
            if len(series) == 1 and len(values) <= _LABELS_MAX and value >= 0:
                made.append(_label(left + one / 2, top - 4, f"{value:,.6g}", "middle"))
    return "".join(made) + _axis(zero) + _names(names, step, tall)


def _bars(series: Sequence[Series], names: Sequence[str], tall: float) -> str:
    low, high = _range(series)
    count = max(len(values) for values, _ in series)
    step = (tall - 2 * _TOP) / count
    one = step * 0.72 / len(series)
    length = _WIDE - _BARS_SIDE - _SIDE
    zero = _BARS_SIDE - low / (high - low) * length
    made = []
    for at, (values, colours) in enumerate(series):
        for n, value in enumerate(values):
            top = (
                tall - _TOP - (n + 1) * step + step * 0.14 + at * one
            )  # the first is at the bottom
            long = abs(value) / (high - low) * length
            made.append(_box(zero if value >= 0 else zero - long, top, long, one, colours[n]))
    every = math.ceil(len(names) / _LABELS_MAX) or 1
    for n, name in enumerate(names):
        if n % every == 0:
            middle = tall - _TOP - (n + 0.5) * step + _SIZE / 3
            made.append(_label(_BARS_SIDE - 8, middle, name, "end"))
    return "".join(made)


def _lines(series: Sequence[Series], names: Sequence[str], tall: float) -> str:
    low, high = _range(series)
    height = tall - _TOP - _BOTTOM
    count = max(len(values) for values, _ in series)
    step = (_WIDE - 2 * _SIDE) / count
    made = []
    for values, colours in series:
        places = (
            f"{_SIDE + (n + 0.5) * step:.1f},{_TOP + height * (high - value) / (high - low):.1f}"
            for n, value in enumerate(values)
        )
        colour = escape(colours[0]) if colours else "currentColor"
        style = f'fill="none" stroke="{colour}" stroke-width="2.5"'
        made.append(f'<polyline points="{" ".join(places)}" {style}/>')
    return "".join(made) + _axis(_TOP + height * high / (high - low)) + _names(names, step, tall)


def _shares(
    values: Values, colours: list[str], names: Sequence[str], theme: Theme, tall: float, ring: bool
) -> str:
    total = sum(abs(value) for value in values) or 1.0
    if len(set(colours)) == 1:
        colours = [theme.accent(n) for n in range(len(values))]
    radius = min(_WIDE * 0.5, tall) * 0.45
    middle_x, middle_y = radius + _SIDE, tall / 2
    made, begun = [], 0.0
    for n, value in enumerate(values):
        part = abs(value) / total
        end = begun + min(part, 0.9999)
        (x1, y1), (x2, y2) = (
            (middle_x + radius * math.sin(turn), middle_y - radius * math.cos(turn))
            for turn in (begun * math.tau, end * math.tau)
        )
        large = int(part > 0.5)
        path = (
            f"M{middle_x:.1f} {middle_y:.1f}L{x1:.1f} {y1:.1f}"
            f"A{radius:.1f} {radius:.1f} 0 {large} 1 {x2:.1f} {y2:.1f}Z"
        )
        made.append(f'<path d="{path}" fill="{escape(colours[n])}" stroke="#fff"/>')
        begun += part
        if n < _LABELS_MAX and n < len(names):
            top = middle_y - min(len(names), _LABELS_MAX) * 9 + n * 18
            left = middle_x + radius + 24
            made.append(_box(left, top, 10, 10, colours[n]))
            made.append(_label(left + 16, top + 9, f"{names[n]} {part:.0%}", "start"))
    if ring:
        style = f'r="{radius * 0.55:.1f}" fill="#fff"'
        made.append(f'<circle cx="{middle_x:.1f}" cy="{middle_y:.1f}" {style}/>')
    return "".join(made)


def _box(left: float, top: float, wide: float, tall: float, colour: str) -> str:
    size = f'width="{max(wide, 0.5):.1f}" height="{max(tall, 0.5):.1f}"'
    return f'<rect x="{left:.1f}" y="{top:.1f}" {size} fill="{escape(colour)}"/>'


def _axis(height: float) -> str:
    ends = f'x1="{_SIDE}" x2="{_WIDE - _SIDE}" y1="{height:.1f}" y2="{height:.1f}"'
    return f'<line {ends} stroke="#888"/>'


def _names(names: Sequence[str], step: float, tall: float) -> str:
    every = math.ceil(len(names) / _LABELS_MAX) or 1
    return "".join(
        _label(_SIDE + (n + 0.5) * step, tall - 9, name, "middle")
        for n, name in enumerate(names)
        if n % every == 0
    )


def _label(left: float, top: float, text: str, anchor: str) -> str:
    short = text if len(text) <= _LABEL_CHARACTERS else f"{text[: _LABEL_CHARACTERS - 1]}…"
    place = f'x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}" font-size="{_SIZE}"'
    return f'<text {place} fill="#555">{escape(short)}</text>'
