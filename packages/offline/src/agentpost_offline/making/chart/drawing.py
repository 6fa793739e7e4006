"""A result as a picture: kind, colours, axis, labels, title, data and alternative text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from agentpost_offline.data.model import Cell, Result, Table
from agentpost_offline.frame import Style
from agentpost_offline.making.chart import axes, choosing
from agentpost_offline.making.picture import (
    Drawing,
    Group,
    Note,
    Picture,
    Series,
)
from agentpost_offline.story import naming
from agentpost_offline.story.model import Claim, ClaimKind
from agentpost_offline.story.shape import Grid, Line, grid, present
from agentpost_offline.style import dates, numbers, palette
from agentpost_offline.style.languages import language, words
from agentpost_offline.style.numbers import NumberFormat

TEXTS = Path(__file__).with_name("texts")
_TITLE = 160
_ALT_VALUES = 12
_SAME_SCALE = 20.0
_NAMED = 3
_LIGHTEST_GREY = 0.72  # of the way to white; beyond it a part cannot be told from the paper
"""Of more marked columns the numbers are not written."""
_TICKS_FROM = 13
"""From so many columns on, an axis with lines replaces the number on each column."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is drawn and how.

    Args:
        result: what was computed.
        table: of the result, for labels and units.
        source: the line below: ``Source: orders.csv, 600 rows``.
        claims: what the result says, most important first: the title and what is highlighted.
        style: kind, colour, title.
        code: the language.
        most_bars: so many groups are drawn; the others are added up or left out.
    """

    result: Result
    table: Table
    source: str
    claims: Sequence[Claim] = ()
    style: Style = field(default_factory=Style)
    code: str = "en"
    most_bars: int = choosing.MOST_BARS


def draw(wish: Wish) -> Drawing:
    """The picture of a result. One without rows is a picture with no bars: ask before."""
    full = grid(wish.result, wish.table, wish.code)
    notes: list[str] = []
    tongue = words(TEXTS, wish.code)
    full = _one_scale(full, notes, tongue["notes"]["other_scale"], wish)
    choice = choosing.choose(full, wish.style.chart)
    if choice.why:
        notes.append(str(tongue["notes"][choice.why]))
    shown, groups, series = choosing.fit_in(full, choice, tongue["rest"], wish.most_bars)
    if groups or series:
        added = choosing.REST in shown.keys or any(li.key == choosing.REST for li in shown.lines)
        key = "groups_added" if added else "cut"
        notes.append(tongue["notes"][key].format(groups or series))
    claim = chosen_claim(wish.claims, shown)
    marks = set(claim.marks) if claim is not None and not wish.style.title else set()
    picture = _picture(wish, shown, choice, marks)
    picture = _titled(picture, wish, full, claim)
    header, rows = data_of(full)
    return Drawing(
        picture,
        _alt(picture, wish, claim),
        header,
        rows,
        _figures(picture),
        tuple(notes),
    )


def chosen_claim(claims: Sequence[Claim], shown: Grid) -> Claim | None:
    """The claim that the picture shows best: with several series not one about their sum."""
    named = {str(line.key) for line in shown.lines if line.key is not None}
    speaking = [c for c in claims if len(shown.lines) > 1 and set(c.marks) & named]
    fitting = [
        claim
        for claim in claims
        if len(shown.lines) < 2
        or not shown.timed
        or claim.kind not in (ClaimKind.HIGHEST, ClaimKind.LOWEST)
    ]
    return next(iter([*speaking, *fitting, *claims]), None)


def _one_scale(full: Grid, notes: list[str], note: str, wish: Wish) -> Grid:
    """Only what shares the first measure's unit and size: one axis cannot show both."""
    if len(full.lines) < 2 or len({line.measure for line in full.lines}) == 1:
        return full
    first = full.lines[0]
    size = _largest(first)
    fitting = tuple(
        line
        for line in full.lines
        if line.unit == first.unit
        and size / _SAME_SCALE <= (_largest(line) or size) <= size * _SAME_SCALE
    )
    left = [line.name for line in full.lines if line not in fitting]
    if left:
        notes.append(note.format(language(wish.code).listed(left[:6])))
    return Grid(full.keys, full.labels, fitting, full.timed, full.grain)


def _largest(line: Line) -> float:
    return max((abs(v) for v in present(line.values)), default=0.0)


def _picture(wish: Wish, shown: Grid, choice: choosing.Choice, marks: set[str]) -> Picture:
    values = [value for line in shown.lines for value in present(line.values)]
    unit = shown.lines[0].unit if shown.lines else None
    form = numbers.format_for(values, unit, wish.code, compact=choice.kind == "heatmap")
    marked = tuple(n for n, key in enumerate(shown.keys) if str(key) in marks)
    named = {str(line.key) for line in shown.lines} & marks
    labels, years = (
        choosing.time_labels(shown, wish.code) if shown.timed else (list(shown.labels), [])
    )
    accent = palette.accent(wish.style.colour)
    kind = choice.kind
    colours = _colours(kind, shown, accent, named, choice)
    series = tuple(
        _series(line, colour, form, strong=not named or str(line.key) in named)
        for line, colour in zip(shown.lines, colours, strict=True)
    )
    base = Picture(
        kind=kind,
        title="",
        subtitle="",
        source=wish.source,
        labels=tuple(labels),
        groups=tuple(Group(n, text) for n, text in years),
        marked=marked,
        stacked=choice.stacked,
        timed=shown.timed,
        number_format=form.excel(),
    )
    maker = {"line": _lines, "heatmap": _heat, "donut": _ring}.get(kind, _bars)
    return maker(base, shown, series, form, accent)


def _colours(
    kind: str, shown: Grid, accent: str, named: set[str], choice: choosing.Choice
) -> list[str]:
    count = len(shown.lines)
    if count == 1:
        return [
            accent if not named or str(line.key) in named else palette.SOFT for line in shown.lines
        ]
    if kind == "line" and named and count > 4:
        return [accent if str(line.key) in named else palette.GREY for line in shown.lines]
    own = palette.series(count, accent)
    if named:  # the accent belongs to what the title speaks of
        first = next(n for n, line in enumerate(shown.lines) if str(line.key) in named)
        own.insert(first, own.pop(0))
    return own


def _series(line: Line, colour: str, form: NumberFormat, *, strong: bool) -> Series:
    texts = tuple("" if v is None else form.bare(v) for v in line.values)
    last = next((text for text in reversed(texts) if text), "")
    ink = palette.SOFT if colour == palette.GREY else palette.legible(colour)
    return Series(line.name, colour, ink, line.values, texts, last, strong)


def _points(base: Picture, count: int, accent: str) -> tuple[str, ...]:
    if not base.marked:
        return (accent,) * count
    return tuple(accent if n in base.marked else palette.GREY for n in range(count))


def _bars(
    base: Picture, shown: Grid, series: tuple[Series, ...], form: NumberFormat, accent: str
) -> Picture:
    count = len(shown.keys)
    sums = [math.fsum(present([s.values[n] for s in series])) for n in range(count)]
    heights = sums if base.stacked else [v for s in series for v in present(s.values)]
    many = base.kind == "column" and count * (1 if base.stacked else len(series)) >= _TICKS_FROM
    length = axes.axis(heights, form, zero=True) if many else axes.exact(heights or [0.0])
    return msgspec.structs.replace(
        base,
        series=series,
        axis=length,
        points=_points(base, count, accent) if len(series) == 1 else (),
        totals=tuple(form.bare(v) for v in sums) if base.stacked else (),
    )


def _lines(
    base: Picture, shown: Grid, series: tuple[Series, ...], form: NumberFormat, accent: str
) -> Picture:
    values = [v for s in series for v in present(s.values)]
    axis = axes.axis(values, form, zero=False)
    notes: tuple[Note, ...] = ()
    if len(series) == 1:
        line = series[0]
        middle = (axis.low + axis.high) / 2
        notes = tuple(
            Note(n, value, line.texts[n], up=value >= middle or n == 0)
            for n in base.marked
            if (value := line.values[n]) is not None
        )
    return msgspec.structs.replace(base, series=series, axis=axis, notes=notes)


def _heat(
    base: Picture, shown: Grid, series: tuple[Series, ...], form: NumberFormat, accent: str
) -> Picture:
    values = [v for s in series for v in present(s.values)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low >= 0 and low < high * 0.5:
        low = 0.0
    width = (high - low) or 1.0
    pale = palette.mixed(accent, "#ffffff", 0.93)

    def cell(value: float | None) -> str | None:
        if value is None:
            return None
        if low < 0 < high:
            far = max(-low, high)
            end = accent if value >= 0 else palette.LOSS
            return palette.mixed("#f6f7f8", end, abs(value) / far)
        return palette.mixed(pale, accent, (value - low) / width)

    filled = tuple(
        msgspec.structs.replace(s, cells=tuple(cell(v) for v in s.values)) for s in series
    )
    return msgspec.structs.replace(base, series=filled)


def _ring(
    base: Picture, shown: Grid, series: tuple[Series, ...], form: NumberFormat, accent: str
) -> Picture:
    line = series[0]
    values = [value or 0.0 for value in line.values]
    whole = math.fsum(values)
    order = sorted(range(len(values)), key=lambda n: (shown.keys[n] == choosing.REST, -values[n]))
    code = form.code
    share = [numbers.percent(100 * values[n] / whole, code) for n in order]
    texts = [f"{part}  ({line.texts[n]})" for part, n in zip(share, order, strict=True)]
    if form.unit == numbers.PERCENT:
        texts = [line.texts[n] for n in order]
    marked = [shown.keys[n] in [shown.keys[m] for m in base.marked] for n in order]
    if any(marked):
        step = min(0.12, _LIGHTEST_GREY / len(order))
        shades = [palette.mixed(palette.GREY, "#ffffff", step * n) for n in range(len(order))]
        colours = [accent if m else shades[n] for n, m in enumerate(marked)]
    else:
        colours = palette.series(len(order), accent)
    one = msgspec.structs.replace(line, values=tuple(values[n] for n in order), texts=tuple(texts))
    return msgspec.structs.replace(
        base,
        labels=tuple(base.labels[n] for n in order),
        series=(one,),
        points=tuple(colours),
        centre=(form.bare(whole), line.name),
    )


def _titled(picture: Picture, wish: Wish, full: Grid, claim: Claim | None) -> Picture:
    span = ""
    if full.timed and full.keys and full.grain not in choosing.CYCLES:
        span = dates.span(full.keys[0], full.keys[-1], full.grain, wish.code)
    below = naming.subtitle(wish.result.query, wish.table, wish.code, span=span)
    below = below[:1].upper() + below[1:]
    title = wish.style.title or (claim.headline if claim is not None else below)
    title = title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"
    return msgspec.structs.replace(picture, title=title, subtitle="" if below == title else below)


def data_of(full: Grid) -> tuple[tuple[str, ...], tuple[tuple[str | float | None, ...], ...]]:
    """What a picture shows as a table: the labels, then a column for each series."""
    header = ("", *(line.name for line in full.lines))
    rows = tuple(
        (label, *(line.values[n] for line in full.lines)) for n, label in enumerate(full.labels)
    )
    return header, rows


def _alt(picture: Picture, wish: Wish, claim: Claim | None) -> str:
    tongue = words(TEXTS, wish.code)
    said = [tongue["alt"].format(tongue["kinds"][picture.kind], picture.title)]
    if picture.subtitle:
        said.append(picture.subtitle)
    if claim is not None:
        said.append(claim.sentence)
    first = picture.series[0] if picture.series else None
    if first is not None and len(picture.series) == 1 and len(first.texts) <= _ALT_VALUES:
        pairs = zip(picture.labels, first.texts, strict=False)
        said.append(language(wish.code).separator.join(f"{a} {b}" for a, b in pairs))
    return " ".join(part if part.endswith((".", "。")) else f"{part}." for part in said)


def _figures(picture: Picture) -> tuple[str, ...]:
    """Numbers that stand in the picture whatever its size: of bars each, of lines the last."""
    if picture.kind == "donut":
        return tuple(text.split("  ")[0] for text in picture.series[0].texts)
    if picture.kind == "bar" and not picture.stacked:
        return tuple(text for s in picture.series for text in s.texts if text)
    if picture.kind == "line":
        return tuple(s.end for s in picture.series if s.end)
    if picture.kind == "column" and len(picture.series) == 1 and len(picture.marked) <= _NAMED:
        return tuple(picture.series[0].texts[n] for n in picture.marked)
    return tuple(picture.totals)


def is_empty(result: Result) -> bool:
    """Whether there is nothing to draw."""
    keys = len(result.query.groups) + (result.query.time is not None)
    return not any(_is_number(cell) for row in result.rows for cell in row[keys:])


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool) and math.isfinite(cell)
