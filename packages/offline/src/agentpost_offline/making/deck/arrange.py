"""Slides with everything in its place: what both the PowerPoint and the PDF writer draw.

All lengths are points, from the top left corner. Type sizes are chosen here, so that a slide is
neither mostly empty nor too full, whichever program shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from agentpost_offline.content.blocks import Figure, Grid, Part, plain
from agentpost_offline.content.picture import Drawing
from agentpost_offline.making import fit
from agentpost_offline.making.deck.slides import (
    ASIDE,
    FOOT,
    LEFT,
    ROOM,
    TOP,
    WIDTH,
    Layout,
    Slide,
    table_sizes,
)
from agentpost_offline.style import palette

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width, height."""


class Text(msgspec.Struct, frozen=True, omit_defaults=True, tag="text"):
    """Paragraphs in one type size."""

    box: Box
    paragraphs: tuple[str, ...]
    size: float
    colour: str = "ink"
    bold: bool = False
    anchor: str = "top"
    align: str = "start"
    gap: float = 0.0
    """Between paragraphs, in type sizes."""
    holder: str = ""
    """The layout's placeholder it belongs in."""


class Block(msgspec.Struct, frozen=True, omit_defaults=True, tag="block"):
    """A filled rectangle."""

    box: Box
    colour: str


class Plot(msgspec.Struct, frozen=True, omit_defaults=True, tag="plot"):
    """A chart."""

    box: Box
    drawing: Drawing


class Cells(msgspec.Struct, frozen=True, omit_defaults=True, tag="cells"):
    """A table; ``widths`` are those of its columns, ``heights`` those of its rows."""

    box: Box
    rows: tuple[tuple[str, ...], ...]
    """The header first."""
    numbers: tuple[int, ...]
    total: bool
    size: float
    heights: tuple[float, ...]
    widths: tuple[float, ...]


class Picture(msgspec.Struct, frozen=True, omit_defaults=True, tag="picture"):
    """An image, as large as fits its box."""

    box: Box
    image: int
    alt: str = ""


Element: TypeAlias = Text | Block | Plot | Cells | Picture


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """One slide, placed."""

    layout: str
    elements: tuple[Element, ...]
    dark: bool = False
    notes: str = ""
    width: float = 960
    height: float = 540


def colours(wish: str | None) -> dict[str, str]:
    """Every colour of a deck by its role, from the accent that was asked for (``#rrggbb``)."""
    accent = palette.accent(wish)
    return {
        "ink": palette.INK,
        "muted": palette.SOFT,
        "rule": palette.HAIR,
        "grey": palette.GREY,
        "accent": palette.legible(accent, least=3.6),
        "dark": palette.mixed(accent, "#07151d", 0.72),
        "shade": palette.mixed(accent, "#07151d", 0.5),
        "bright": palette.mixed(accent, "#ffffff", 0.45),
        "light": palette.PAPER,
        "pale": "#c7d3d9",
    }


def arrange(slide: Slide, number: int, height: float = 540.0) -> Page:
    """A slide with everything in its place; ``height`` is less than 540 above a caption strip."""
    inside = TOP, height - FOOT
    dark = slide.layout is Layout.TITLE
    if slide.layout is Layout.TITLE:
        elements = _opening(slide, height)
    else:
        elements = [*_head(slide), *_body(slide, *inside), *_foot(slide, number, height)]
    return Page(slide.layout, tuple(elements), dark, slide.notes, WIDTH, height)


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
            box = (LEFT, top, ROOM, bottom - top)
            return _rows(slide.points, box, numbered=slide.is_ordered)


def _head(slide: Slide) -> list[Element]:
    size = fit.largest([slide.title], (ROOM, 68), (18, 28), bold=True)
    high = fit.height([slide.title], size, ROOM, bold=True)
    below = 44 + min(high, 68)
    head: list[Element] = [
        Block((LEFT, 30, 36, 4), "accent"),
        Text((LEFT, 42, ROOM, 68), (slide.title,), size, bold=True, holder="title"),
    ]
    if slide.subtitle and below < 94:
        head.append(Text((LEFT, below + 1, ROOM, 20), (slide.subtitle,), 14, "muted"))
    return head


def _foot(slide: Slide, number: int, height: float) -> list[Element]:
    top = height - 32
    number_text = Text((WIDTH - LEFT - 60, top, 60, 16), (str(number),), 10, "muted", align="end")
    if not slide.source:
        return [number_text]
    return [Text((LEFT, top, ROOM - 80, 16), (slide.source,), 10, "muted"), number_text]


def _opening(slide: Slide, height: float) -> list[Element]:
    elements: list[Element] = []
    peak = max(slide.backdrop, default=0)
    step = WIDTH / max(1, len(slide.backdrop))
    for place, value in enumerate(slide.backdrop):
        tall = value / peak * height * 0.46 if peak else 0.0
        box = (place * step + step * 0.08, height - tall, step * 0.84, tall)
        elements.append(Block(box, "shade"))
    room = 800.0
    size = fit.largest([slide.title], (room, 130), (28, 50), bold=True)
    tall = fit.height([slide.title], size, room, bold=True)
    top = height * 0.26
    elements += [
        Block((LEFT, top - 22, 64, 6), "bright"),
        Text((LEFT, top, room, tall + 6), (slide.title,), size, "light", True, holder="title"),
    ]
    if slide.subtitle:
        under = fit.largest([slide.subtitle], (room, 66), (14, 22))
        place_ = (LEFT, top + tall + 18, room, 70.0)
        elements.append(Text(place_, (slide.subtitle,), under, "pale", holder="body"))
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
    """Figures side by side; four that stand alone in two rows."""
    is_alone, gap = not points, 24.0
    across = 2 if is_alone and len(figures) == 4 else max(1, len(figures))
    rows = -(-len(figures) // across)
    wide = (ROOM - gap * (across - 1)) / across
    size = (80.0 if across < 3 else 60.0) if is_alone else 48.0
    while size > 20 and any(fit.width(f.value, size, True) > wide for f in figures):
        size -= 2
    label = 20.0 if is_alone else 16.0
    high_of_label = max(fit.height([f.label], label, wide) for f in figures) if figures else 0
    high = size * 1.2 + high_of_label + 18
    spare = max(0.0, (bottom - top) / rows - high) if is_alone else 0.0
    start = top + (spare * 0.42 if rows == 1 else 0.0) + (0 if is_alone else 6)
    elements: list[Element] = []
    for place, figure in enumerate(figures):
        x = LEFT + place % across * (wide + gap)
        y = start + place // across * (high + spare)
        elements += [
            Block((x, y, wide, 3), "accent"),
            Text((x, y + 8, wide, size * 1.2), (figure.value,), size, "accent", bold=True),
            Text((x, y + 10 + size * 1.2, wide, high_of_label + 2), (figure.label,), label),
        ]
    if points:
        under = start + high + 22
        elements += _rows(points, (LEFT, under, ROOM, bottom - under), sizes=(13, 22))
    return elements


def _statement(points: Sequence[str], top: float, bottom: float) -> list[Element]:
    first, rest = points[0], points[1:3]
    share = 1.0 if not rest else 0.55
    tall = (bottom - top) * share
    size = fit.largest([first], (ROOM - 60, tall - 20), (18, 38))
    high = fit.height([first], size, ROOM - 60) + 16
    y = top + max(0.0, (tall - high) * 0.4)
    elements: list[Element] = [
        Block((LEFT, y, 6, high), "accent"),
        Text((LEFT + 30, y, ROOM - 60, high), (first,), size, anchor="middle", holder="body"),
    ]
    if rest:
        start = top + tall + 8
        elements += _rows(rest, (LEFT, start, ROOM, bottom - start), sizes=(13, 20))
    return elements


def _charted(slide: Slide, top: float, bottom: float) -> list[Element]:
    assert slide.drawing is not None
    if len(slide.points) == 1:
        under = _rows(slide.points, (LEFT, bottom - 62, ROOM, 62), sizes=(12, 18))
        return [Plot((LEFT, top - 4, ROOM, bottom - top - 70), slide.drawing), *under]
    aside = ASIDE if slide.points else 0.0
    wide = ROOM - aside - (28 if aside else 0)
    elements: list[Element] = [Plot((LEFT, top - 4, wide, bottom - top + 4), slide.drawing)]
    if slide.points:
        box = (LEFT + wide + 28, top + 4, aside, bottom - top - 4)
        elements += _rows(slide.points, box, sizes=(12, 19))
    return elements


def _columns(parts: Sequence[Part], top: float, bottom: float) -> list[Element]:
    gap = 44.0
    wide = (ROOM - gap * (len(parts) - 1)) / max(1, len(parts))
    start = top + 40
    points = [tuple(plain(runs) for runs in part.points) for part in parts]
    sizes = [_rows(one, (0, 0, wide, bottom - start), sizes=(12, 20)) for one in points]
    size = min((e.size for rows in sizes for e in rows if isinstance(e, Text)), default=16.0)
    elements: list[Element] = []
    for place, part in enumerate(parts):
        x = LEFT + place * (wide + gap)
        head = fit.largest([part.title], (wide, 28), (12, 20), bold=True)
        elements.append(Text((x, top, wide, 30), (part.title,), head, "accent", True, "middle"))
        box = (x, start, wide, bottom - start)
        elements += _rows(points[place], box, sizes=(size, size))
    return elements


def _table(grid: Grid | None, points: Sequence[str], top: float, bottom: float) -> list[Element]:
    """A table, below what is said before it."""
    assert grid is not None
    elements: list[Element] = []
    for point in points:
        high = fit.height([point], 15, ROOM)
        elements.append(Text((LEFT, top, ROOM, high), (point,), 15))
        top += high + 10
    tall = bottom - top
    size, widths, heights = table_sizes(grid, tall)
    spare = min(1.6, tall / sum(heights)) if sum(heights) < tall else 1.0
    rows = tuple(high * spare for high in heights)
    texts = tuple(tuple(map(plain, row)) for row in (grid.header, *grid.rows))
    box = (LEFT, top, ROOM, sum(rows))
    return [*elements, Cells(box, texts, grid.numbers, grid.total, size, rows, tuple(widths))]


def _quote(points: Sequence[str], top: float, bottom: float) -> list[Element]:
    words, *said_by = points
    room, tall = ROOM - 90, (bottom - top) * (0.74 if said_by else 0.9)
    size = fit.largest([words], (room, tall), (18, 40))
    high = fit.height([words], size, room)
    y = top + max(0.0, (bottom - top - high - (50 if said_by else 0)) * 0.42)
    elements: list[Element] = [
        Text((LEFT, y - 18, 80, 110), ("“",), 96, "accent", bold=True),
        Text((LEFT + 74, y, room, high + 4), (words,), size, holder="body"),
    ]
    if said_by:
        box = (LEFT + 74, y + high + 18, room, 28.0)
        elements.append(Text(box, (f"— {said_by[0]}",), 18, "muted"))
    return elements


def _timeline(parts: Sequence[Part], top: float, bottom: float) -> list[Element]:
    """Moments from left to right on a line; many of them, or long ones, under each other."""
    gap, count = 22.0, max(1, len(parts))
    wide = (ROOM - gap * (count - 1)) / count
    texts = [plain(part.points[0]) if part.points else "" for part in parts]
    line = top + (bottom - top) * 0.34
    room = bottom - line - 26
    if count > 6 or any(fit.height([text], 13, wide) > room for text in texts):
        return _rows_of_moments(parts, top, bottom)
    size = min(fit.largest([text], (wide, room), (13, 20)) for text in texts)
    head = min(fit.largest([p.title], (wide, 30), (13, 22), bold=True) for p in parts)
    elements: list[Element] = [Block((LEFT, line, ROOM, 3), "rule")]
    for place, (part, text) in enumerate(zip(parts, texts, strict=True)):
        x = LEFT + place * (wide + gap)
        box = (x, line - 16 - head * fit.LINE, wide, head * fit.LINE)
        elements += [
            Text(box, (part.title,), head, "accent", bold=True),
            Block((x, line - 5, 13, 13), "accent"),
            Text((x, line + 24, wide, room), (text,), size),
        ]
    return elements


def _rows_of_moments(parts: Sequence[Part], top: float, bottom: float) -> list[Element]:
    first = max(fit.width(part.title, 15, True) for part in parts) + 24
    first = min(first, ROOM * 0.35)
    row = (bottom - top) / len(parts)
    inner = ROOM - first
    size = min(
        fit.largest([plain(p.points[0]) if p.points else ""], (inner, row - 8), (9, 18))
        for p in parts
    )
    elements: list[Element] = []
    for place, part in enumerate(parts):
        y = top + place * row
        elements += [
            Block((LEFT, y, ROOM, 1), "rule"),
            Text((LEFT, y + 5, first - 16, row - 6), (part.title,), size, "accent", bold=True),
            Text((LEFT + first, y + 5, inner, row - 6), (plain(part.points[0]),), size),
        ]
    return elements


def _imaged(slide: Slide, top: float, bottom: float) -> list[Element]:
    assert slide.image is not None
    if not slide.points:
        return [Picture((LEFT, top - 14, ROOM, bottom - top + 14), slide.image, slide.title)]
    wide = ROOM * 0.6
    box = (LEFT + wide + 28, top, ROOM - wide - 28, bottom - top)
    return [
        Picture((LEFT, top - 4, wide, bottom - top + 4), slide.image, slide.title),
        *_rows(slide.points, box, sizes=(12, 20)),
    ]
