"""Puts a slide's contents in their places."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost_offline.making import fit
from agentpost_offline.making.deck.pages import (
    Block,
    Cells,
    Element,
    Page,
    Picture,
    Plot,
    Text,
)
from agentpost_offline.making.deck.slides import Figure, Grid, Layout, Part, Slide

_LEFT = 54.0
_TOP = 126.0
_FOOT = 50.0
_WIDTH = 960.0
_ROOM = _WIDTH - 2 * _LEFT
BODY = (_ROOM, 540.0 - _FOOT - _TOP)
"""Width and height of what stands below a slide's title."""
ROW_PAD = 24.0
"""Around a point, above and below it together."""


def arranged(slide: Slide, number: int, height: float = 540.0) -> Page:
    """A slide with everything in its place; ``height`` is less than 540 above a caption strip."""
    inside = _TOP, height - _FOOT
    dark = slide.layout is Layout.TITLE
    if slide.layout is Layout.TITLE:
        elements = _opening(slide, height)
    else:
        elements = [*_head(slide), *_body(slide, *inside), *_foot(slide, number, height)]
    return Page(slide.layout, tuple(elements), dark, slide.notes, _WIDTH, height)


def _body(slide: Slide, top: float, bottom: float) -> list[Element]:
    match slide.layout:
        case Layout.FIGURES:
            return _figures(slide.figures, slide.points, top, bottom)
        case Layout.STATEMENT:
            return _statement(slide.points, top, bottom)
        case Layout.CHART:
            return _charted(slide, top, bottom)
        case Layout.COLUMNS:
            return _columns(slide.parts, top, bottom)
        case Layout.TABLE:
            return _table(slide.grid, slide.points, top, bottom)
        case Layout.IMAGE:
            return _imaged(slide, top, bottom)
        case Layout.QUOTE:
            return _quote(slide.points, top, bottom)
        case Layout.TIMELINE:
            return _timeline(slide.parts, top, bottom)
        case _:
            box = (_LEFT, top, _ROOM, bottom - top)
            return _rows(slide.points, box, numbered=slide.ordered)


def _head(slide: Slide) -> list[Element]:
    size = fit.largest([slide.title], (_ROOM, 68), (18, 28), bold=True)
    high = fit.height([slide.title], size, _ROOM, bold=True)
    below = 44 + min(high, 68)
    head: list[Element] = [
        Block((_LEFT, 30, 36, 4), "accent"),
        Text((_LEFT, 42, _ROOM, 68), (slide.title,), size, bold=True, holder="title"),
    ]
    if slide.subtitle and below < 94:
        head.append(Text((_LEFT, below + 1, _ROOM, 20), (slide.subtitle,), 14, "muted"))
    return head


def _foot(slide: Slide, number: int, height: float) -> list[Element]:
    top = height - 32
    number_text = Text((_WIDTH - _LEFT - 60, top, 60, 16), (str(number),), 10, "muted", align="end")
    if not slide.source:
        return [number_text]
    return [Text((_LEFT, top, _ROOM - 80, 16), (slide.source,), 10, "muted"), number_text]


def _opening(slide: Slide, height: float) -> list[Element]:
    elements: list[Element] = []
    peak = max(slide.backdrop, default=0)
    if peak > 0 and len(slide.backdrop) > 1:
        step = _WIDTH / len(slide.backdrop)
        for place, value in enumerate(slide.backdrop):
            tall = max(0.0, value / peak) * height * 0.46
            box = (place * step + step * 0.08, height - tall, step * 0.84, tall)
            elements.append(Block(box, "shade"))
    room = 800.0
    size = fit.largest([slide.title], (room, 130), (28, 50), bold=True)
    tall = fit.height([slide.title], size, room, bold=True)
    top = height * 0.26
    elements += [
        Block((_LEFT, top - 22, 64, 6), "bright"),
        Text((_LEFT, top, room, tall + 6), (slide.title,), size, "light", True, holder="title"),
    ]
    if slide.subtitle:
        under = fit.largest([slide.subtitle], (room, 66), (14, 22))
        box = (_LEFT, top + tall + 18, room, 70.0)
        elements.append(Text(box, (slide.subtitle,), under, "pale", holder="body"))
    if slide.source:
        foot = (_LEFT, height - 44, _ROOM, 18.0)
        elements.append(Text(foot, (slide.source,), 12, "pale"))
    return elements


def _rows(
    points: Sequence[str],
    box: tuple[float, float, float, float],
    *,
    numbered: bool = False,
    sizes: tuple[float, float] = (13, 26),
) -> list[Element]:
    """Points under each other, each below a rule, spread over the whole box."""
    if not points:
        return []
    left, top, room, tall = box
    indent = 52.0 if numbered and len(points) > 1 else 0.0
    inner, pad = room - indent, 12.0
    size = sizes[1]
    while size > sizes[0]:
        highs = [fit.height([point], size, inner) + 2 * pad for point in points]
        if sum(highs) <= tall:
            break
        size -= 1
    highs = [fit.height([point], size, inner) + 2 * pad for point in points]
    extra = max(0.0, tall - sum(highs)) / len(points)
    elements: list[Element] = []
    y = top
    for place, (point, high) in enumerate(zip(points, highs, strict=True), start=1):
        row = high + extra
        elements.append(Block((left, y, room, 1), "rule"))
        if indent:
            box_of_number = (left, y + pad, indent - 8, row - 2 * pad)
            elements.append(Text(box_of_number, (str(place),), size, "accent", True, "middle"))
        elements.append(
            Text(
                (left + indent, y + pad, inner, row - 2 * pad),
                (point,),
                size,
                anchor="middle",
            )
        )
        y += row
    return elements


def _figures(
    figures: Sequence[Figure], points: Sequence[str], top: float, bottom: float
) -> list[Element]:
    count = max(1, len(figures))
    gap = 24.0
    wide = (_ROOM - gap * (count - 1)) / count
    alone = not points
    size = (80.0 if count < 3 else 60.0) if alone else 48.0
    while size > 20 and any(fit.width(f.value, size, True) > wide for f in figures):
        size -= 2
    label = 20.0 if alone else 16.0
    high_of_label = max(fit.height([f.label], label, wide) for f in figures) if figures else 0
    notes = max((fit.height([f.note], 12, wide) for f in figures if f.note), default=0.0)
    high = size * 1.2 + high_of_label + notes + 18
    y = top + max(0.0, (bottom - top - high) * 0.42) if alone else top + 6
    elements: list[Element] = []
    for place, figure in enumerate(figures):
        x = _LEFT + place * (wide + gap)
        elements += [
            Block((x, y, wide, 3), "accent"),
            Text((x, y + 8, wide, size * 1.2), (figure.value,), size, "accent", bold=True),
            Text((x, y + 10 + size * 1.2, wide, high_of_label + 2), (figure.label,), label),
        ]
        if figure.note:
            note_box = (x, y + 14 + size * 1.2 + high_of_label, wide, notes + 2)
            elements.append(Text(note_box, (figure.note,), 12, "muted"))
    if points:
        start = y + high + 22
        elements += _rows(points, (_LEFT, start, _ROOM, bottom - start), sizes=(13, 22))
    return elements


def _statement(points: Sequence[str], top: float, bottom: float) -> list[Element]:
    first, rest = points[0], points[1:3]
    share = 1.0 if not rest else 0.55
    tall = (bottom - top) * share
    size = fit.largest([first], (_ROOM - 60, tall - 20), (18, 38))
    high = fit.height([first], size, _ROOM - 60) + 16
    y = top + max(0.0, (tall - high) * 0.4)
    elements: list[Element] = [
        Block((_LEFT, y, 6, high), "accent"),
        Text((_LEFT + 30, y, _ROOM - 60, high), (first,), size, anchor="middle", holder="body"),
    ]
    if rest:
        start = top + tall + 8
        elements += _rows(rest, (_LEFT, start, _ROOM, bottom - start), sizes=(13, 20))
    return elements


def _charted(slide: Slide, top: float, bottom: float) -> list[Element]:
    assert slide.chart is not None
    if len(slide.points) == 1:
        under = _rows(slide.points, (_LEFT, bottom - 62, _ROOM, 62), sizes=(12, 18))
        return [Plot((_LEFT, top - 4, _ROOM, bottom - top - 70), slide.chart), *under]
    aside = 276.0 if slide.points else 0.0
    wide = _ROOM - aside - (28 if aside else 0)
    elements: list[Element] = [Plot((_LEFT, top - 4, wide, bottom - top + 4), slide.chart)]
    if slide.points:
        box = (_LEFT + wide + 28, top + 4, aside, bottom - top - 4)
        elements += _rows(slide.points, box, sizes=(12, 19))
    return elements


def _columns(parts: Sequence[Part], top: float, bottom: float) -> list[Element]:
    gap = 44.0
    wide = (_ROOM - gap * (len(parts) - 1)) / max(1, len(parts))
    start = top + 40
    sizes = [_rows(part.points, (0, 0, wide, bottom - start), sizes=(12, 20)) for part in parts]
    size = min((e.size for rows in sizes for e in rows if isinstance(e, Text)), default=16.0)
    elements: list[Element] = []
    for place, part in enumerate(parts):
        x = _LEFT + place * (wide + gap)
        head = fit.largest([part.heading], (wide, 28), (12, 20), bold=True)
        elements.append(Text((x, top, wide, 30), (part.heading,), head, "accent", True, "middle"))
        box = (x, start, wide, bottom - start)
        elements += _rows(part.points, box, sizes=(size, size))
    return elements


def _table(grid: Grid | None, points: Sequence[str], top: float, bottom: float) -> list[Element]:
    """A table, below what is said before it."""
    assert grid is not None
    elements: list[Element] = []
    for point in points:
        high = fit.height([point], 15, _ROOM)
        elements.append(Text((_LEFT, top, _ROOM, high), (point,), 15))
        top += high + 10
    tall = bottom - top
    size, widths, heights = table_sizes(grid, tall)
    spare = min(1.6, tall / sum(heights)) if sum(heights) < tall else 1.0
    rows = tuple(high * spare for high in heights)
    return [*elements, Cells((_LEFT, top, _ROOM, sum(rows)), grid, size, rows, tuple(widths))]


def table_sizes(
    grid: Grid, tall: float, sizes: tuple[float, float] = (10, 20)
) -> tuple[float, list[float], list[float]]:
    """The largest type at which a table fits, the widths of its columns, the heights of its rows;
    the smallest type when it fits at none."""
    rows = [grid.header, *grid.rows]
    size = sizes[1]
    while True:
        pad = size * 0.8
        natural = [
            max(fit.width(row[at], size, row is grid.header) for row in rows) + 2 * pad
            for at in range(len(grid.header))
        ]
        widths = _shared(natural, grid, size)
        heights = [
            max(fit.lines(cell, size, wide - pad, row is grid.header)
                for cell, wide in zip(row, widths, strict=True)) * size * fit.LINE + 0.75 * size
            for row in rows
        ]  # fmt: skip
        fits = sum(heights) <= tall and all(
            fit.width(word, size) <= wide - pad
            for row in rows for cell, wide in zip(row, widths, strict=True) for word in cell.split()
        )  # fmt: skip
        if fits or size <= sizes[0]:
            return size, widths, heights
        size -= 0.5


def _shared(natural: Sequence[float], grid: Grid, size: float) -> list[float]:
    """The widths of columns in the room there is: numbers whole, texts share what is left."""
    spare = _ROOM - sum(natural)
    if spare >= 0:
        return [wide + spare / len(natural) for wide in natural]
    fixed = sum(wide for at, wide in enumerate(natural) if at in grid.numbers)
    texts = [wide**0.6 if at not in grid.numbers else 0.0 for at, wide in enumerate(natural)]
    if fixed > _ROOM * 0.7 or not any(texts):
        return [wide * _ROOM / sum(natural) for wide in natural]
    return [
        wide if at in grid.numbers else (_ROOM - fixed) * texts[at] / sum(texts)
        for at, wide in enumerate(natural)
    ]


def _quote(points: Sequence[str], top: float, bottom: float) -> list[Element]:
    words, *said_by = points
    room, tall = _ROOM - 90, (bottom - top) * (0.74 if said_by else 0.9)
    size = fit.largest([words], (room, tall), (18, 40))
    high = fit.height([words], size, room)
    y = top + max(0.0, (bottom - top - high - (50 if said_by else 0)) * 0.42)
    elements: list[Element] = [
        Text((_LEFT, y - 18, 80, 110), ("“",), 96, "accent", bold=True),
        Text((_LEFT + 74, y, room, high + 4), (words,), size, holder="body"),
    ]
    if said_by:
        box = (_LEFT + 74, y + high + 18, room, 28.0)
        elements.append(Text(box, (f"— {said_by[0]}",), 18, "muted"))
    return elements


def _timeline(parts: Sequence[Part], top: float, bottom: float) -> list[Element]:
    """Moments from left to right on a line; many of them, or long ones, under each other."""
    gap, count = 22.0, max(1, len(parts))
    wide = (_ROOM - gap * (count - 1)) / count
    texts = [part.points[0] if part.points else "" for part in parts]
    line = top + (bottom - top) * 0.34
    room = bottom - line - 26
    if count > 6 or any(fit.height([text], 13, wide) > room for text in texts):
        return _rows_of_moments(parts, top, bottom)
    size = min(fit.largest([text], (wide, room), (13, 20)) for text in texts)
    head = min(fit.largest([p.heading], (wide, 30), (13, 22), bold=True) for p in parts)
    elements: list[Element] = [Block((_LEFT, line, _ROOM, 3), "rule")]
    for place, (part, text) in enumerate(zip(parts, texts, strict=True)):
        x = _LEFT + place * (wide + gap)
        box = (x, line - 16 - head * fit.LINE, wide, head * fit.LINE)
        elements += [
            Text(box, (part.heading,), head, "accent", bold=True),
            Block((x, line - 5, 13, 13), "accent"),
            Text((x, line + 24, wide, room), (text,), size),
        ]
    return elements


def _rows_of_moments(parts: Sequence[Part], top: float, bottom: float) -> list[Element]:
    first = max(fit.width(part.heading, 15, True) for part in parts) + 24
    first = min(first, _ROOM * 0.35)
    row = (bottom - top) / len(parts)
    inner = _ROOM - first
    size = min(
        fit.largest([p.points[0] if p.points else ""], (inner, row - 8), (9, 18)) for p in parts
    )
    elements: list[Element] = []
    for place, part in enumerate(parts):
        y = top + place * row
        elements += [
            Block((_LEFT, y, _ROOM, 1), "rule"),
            Text((_LEFT, y + 5, first - 16, row - 6), (part.heading,), size, "accent", bold=True),
            Text((_LEFT + first, y + 5, inner, row - 6), part.points[:1], size),
        ]
    return elements


def _imaged(slide: Slide, top: float, bottom: float) -> list[Element]:
    assert slide.image is not None
    if not slide.points:
        return [Picture((_LEFT, top - 14, _ROOM, bottom - top + 14), slide.image, slide.title)]
    wide = _ROOM * 0.6
    box = (_LEFT + wide + 28, top, _ROOM - wide - 28, bottom - top)
    return [
        Picture((_LEFT, top - 4, wide, bottom - top + 4), slide.image, slide.title),
        *_rows(slide.points, box, sizes=(12, 20)),
    ]
