"""Slides with everything in its place: what the PowerPoint and the PDF writer draw. Lengths are
points from the top left corner; type is as large as fits, whichever program shows it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from agentpost_offline.content.blocks import Paper, plain
from agentpost_offline.content.picture import Drawing
from agentpost_offline.making import fit
from agentpost_offline.making.chart.rendering import TEMPLATE
from agentpost_offline.making.deck.slides import (
    ASIDE,
    FOOT,
    LEFT,
    ROOM,
    TOP,
    WIDTH,
    Layout,
    Slide,
    of_paper,
    table_sizes,
)
from agentpost_offline.making.pictures import picture_name
from agentpost_offline.style import palette
from agentpost_offline.style.typeset import typeset

_LAYOUT = Path(__file__).with_name("slides.typ")
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width, height."""


class Text(msgspec.Struct, frozen=True, omit_defaults=True, tag="text"):
    """Lines in one type size."""

    box: Box
    text: str
    size: float
    colour: str = "ink"
    bold: bool = False
    anchor: str = "top"
    align: str = "start"
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
    notes: str = ""
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
        "dark": palette.mix(accent, "#07151d", 0.72),
        "shade": palette.mix(accent, "#07151d", 0.5),
        "bright": palette.mix(accent, "#ffffff", 0.45),
        "light": palette.PAPER,
        "pale": "#c7d3d9",
    }


def arrange(slide: Slide, number: int, height: float = 540.0) -> Page:
    """A slide with everything in its place; ``height`` is less than 540 above a caption strip."""
    if slide.layout is Layout.TITLE:
        elements = _opening(slide, height)
    else:
        body = _BODIES.get(slide.layout, _points)(slide, TOP, height - FOOT)
        elements = [*_head(slide), *body, *_foot(slide, number, height)]
    return Page(slide.layout, tuple(elements), slide.notes, height)


def _head(slide: Slide) -> list[Element]:
    size = fit.largest([slide.title], (ROOM, 68), (18, 28), bold=True)
    below = 44 + min(fit.height([slide.title], size, ROOM, bold=True), 68)
    head: list[Element] = [
        Block((LEFT, 30, 36, 4), "accent"),
        Text((LEFT, 42, ROOM, 68), slide.title, size, bold=True, holder="title"),
    ]
    if slide.subtitle and below < 94:
        head.append(Text((LEFT, below + 1, ROOM, 20), slide.subtitle, 14, "muted"))
    return head


def _foot(slide: Slide, number: int, height: float) -> list[Element]:
    top = height - 32
    foot: list[Element] = [Text((LEFT, top, ROOM - 80, 16), slide.source, 10, "muted")]
    page = Text((WIDTH - LEFT - 60, top, 60, 16), str(number), 10, "muted", align="end")
    return [*(foot if slide.source else []), page]


def _opening(slide: Slide, height: float) -> list[Element]:
    """The title, before the silhouette of a chart."""
    elements: list[Element] = []
    peak, step, room = max(slide.backdrop, default=0), WIDTH / max(1, len(slide.backdrop)), 800.0
    for place, value in enumerate(slide.backdrop):
        tall = value / peak * height * 0.46 if peak else 0.0
        box = (place * step + step * 0.08, height - tall, step * 0.84, tall)
        elements.append(Block(box, "shade"))
    size = fit.largest([slide.title], (room, 130), (28, 50), bold=True)
    tall = fit.height([slide.title], size, room, bold=True)
    top = height * 0.26
    elements += [
        Block((LEFT, top - 22, 64, 6), "bright"),
        Text((LEFT, top, room, tall + 6), slide.title, size, "light", True, holder="title"),
    ]
    if slide.subtitle:
        under = fit.largest([slide.subtitle], (room, 66), (14, 22))
        place_ = (LEFT, top + tall + 18, room, 70.0)
        elements.append(Text(place_, slide.subtitle, under, "pale", holder="body"))
    return elements


def _points(slide: Slide, top: float, bottom: float) -> list[Element]:
    box = (LEFT, top, ROOM, bottom - top)
    return _rows(slide.points, box, is_numbered=slide.is_ordered)


def _rows(
    points: Sequence[str], box: Box, *, is_numbered: bool = False,
    sizes: tuple[float, float] = (13, 26),
) -> list[Element]:  # fmt: skip
    """Points under each other, each below a rule, spread over the whole box."""
    left, top, room, tall = box
    indent = 52.0 if is_numbered and len(points) > 1 else 0.0
    inner, pad, size = room - indent, 12.0, sizes[1]
    while True:
        heights = [fit.height([point], size, inner) + 2 * pad for point in points]
        if size <= sizes[0] or sum(heights) <= tall:
            break
        size -= 1
    extra = max(0.0, tall - sum(heights)) / max(1, len(points))
    elements: list[Element] = []
    for place, (point, high) in enumerate(zip(points, heights, strict=True), start=1):
        inside = high + extra - 2 * pad
        elements.append(Block((left, top, room, 1), "rule"))
        if indent:
            number = (left, top + pad, indent - 8, inside)
            elements.append(Text(number, str(place), size, "accent", True, "middle"))
        elements.append(Text((left + indent, top + pad, inner, inside), point, size,
                             anchor="middle"))  # fmt: skip
        top += high + extra
    return elements


def _figures(slide: Slide, top: float, bottom: float) -> list[Element]:
    """Figures side by side; four that stand alone in two rows."""
    figures, is_alone, gap = slide.figures, not slide.points, 24.0
    across = 2 if is_alone and len(figures) == 4 else max(1, len(figures))
    rows = -(-len(figures) // across)
    wide = (ROOM - gap * (across - 1)) / across
    size = (80.0 if across < 3 else 60.0) if is_alone else 48.0
    while size > 20 and any(fit.width(one.value, size, True) > wide for one in figures):
        size -= 2
    label = 20.0 if is_alone else 16.0
    label_high = max((fit.height([one.label], label, wide) for one in figures), default=0.0)
    high = size * 1.2 + label_high + 18
    spare = max(0.0, (bottom - top) / rows - high) if is_alone else 0.0
    start = top + (0 if is_alone else 6) + (spare * 0.42 if rows == 1 else 0.0)
    elements: list[Element] = []
    for place, one in enumerate(figures):
        x = LEFT + place % across * (wide + gap)
        y = start + place // across * (high + spare)
        elements += [
            Block((x, y, wide, 3), "accent"),
            Text((x, y + 8, wide, size * 1.2), one.value, size, "accent", bold=True),
            Text((x, y + 10 + size * 1.2, wide, label_high + 2), one.label, label),
        ]
    under = start + high + 22
    return [*elements, *_rows(slide.points, (LEFT, under, ROOM, bottom - under), sizes=(13, 22))]


def _statement(slide: Slide, top: float, bottom: float) -> list[Element]:
    first, rest = slide.points[0], slide.points[1:3]
    tall, room = (bottom - top) * (0.55 if rest else 1.0), ROOM - 60
    size = fit.largest([first], (room, tall - 20), (18, 38))
    high = fit.height([first], size, room) + 16
    y, start = top + max(0.0, (tall - high) * 0.4), top + tall + 8
    return [
        Block((LEFT, y, 6, high), "accent"),
        Text((LEFT + 30, y, room, high), first, size, anchor="middle", holder="body"),
        *_rows(rest, (LEFT, start, ROOM, bottom - start), sizes=(13, 20)),
    ]


def _shown(slide: Slide, top: float, bottom: float) -> list[Element]:
    """A chart or an image with its points beside it, or its only one below."""
    wide, tall, points = ROOM, bottom - top + 4, (LEFT, bottom - 62, ROOM, 62.0)
    if len(slide.points) == 1:
        tall = bottom - top - 70
    elif slide.points:
        wide = ROOM - ASIDE - 28
        points = (LEFT + wide + 28, top + 4, ASIDE, bottom - top - 4)
    box, rows = (LEFT, top - 4, wide, tall), _rows(slide.points, points, sizes=(12, 19))
    if slide.drawing is not None:
        return [Plot(box, slide.drawing), *rows]
    assert slide.image is not None, "else it is an image"
    return [Picture(box, slide.image, slide.title), *rows]


def _columns(slide: Slide, top: float, bottom: float) -> list[Element]:
    """Columns side by side, the points of all in one size."""
    gap, start = 44.0, top + 40
    wide = (ROOM - gap * (len(slide.parts) - 1)) / max(1, len(slide.parts))
    points = [tuple(plain(runs) for runs in part.points) for part in slide.parts]
    rows = [_rows(one, (0, 0, wide, bottom - start), sizes=(12, 20)) for one in points]
    size = min((e.size for one in rows for e in one if isinstance(e, Text)), default=16.0)
    elements: list[Element] = []
    for place, part in enumerate(slide.parts):
        x = LEFT + place * (wide + gap)
        head = fit.largest([part.title], (wide, 28), (12, 20), bold=True)
        elements.append(Text((x, top, wide, 30), part.title, head, "accent", True, "middle"))
        elements += _rows(points[place], (x, start, wide, bottom - start), sizes=(size, size))
    return elements


def _table(slide: Slide, top: float, bottom: float) -> list[Element]:
    """A table, below what is said before it."""
    grid = slide.grid
    assert grid is not None
    elements: list[Element] = []
    for point in slide.points:
        high = fit.height([point], 15, ROOM)
        elements.append(Text((LEFT, top, ROOM, high), point, 15))
        top += high + 10
    size, widths, heights = table_sizes(grid, bottom - top)
    stretch = max(1.0, min(1.6, (bottom - top) / sum(heights)))
    rows = tuple(high * stretch for high in heights)
    texts = tuple(tuple(map(plain, row)) for row in (grid.header, *grid.rows))
    box = (LEFT, top, ROOM, sum(rows))
    return [*elements, Cells(box, texts, grid.numbers, grid.total, size, rows, tuple(widths))]


def _quote(slide: Slide, top: float, bottom: float) -> list[Element]:
    words, *authors = slide.points
    room, tall = ROOM - 90, (bottom - top) * (0.74 if authors else 0.9)
    size = fit.largest([words], (room, tall), (18, 40))
    high = fit.height([words], size, room)
    y = top + max(0.0, (bottom - top - high - (50 if authors else 0)) * 0.42)
    return [
        Text((LEFT, y - 18, 80, 110), "“", 96, "accent", bold=True),
        Text((LEFT + 74, y, room, high + 4), words, size, holder="body"),
        *(Text((LEFT + 74, y + high + 18, room, 28.0), f"— {one}", 18, "muted")
          for one in authors[:1]),
    ]  # fmt: skip


def _timeline(slide: Slide, top: float, bottom: float) -> list[Element]:
    """Moments from left to right on a line; many of them, or long ones, under each other."""
    parts, gap = slide.parts, 22.0
    wide = (ROOM - gap * (len(parts) - 1)) / max(1, len(parts))
    texts = [plain(part.points[0]) if part.points else "" for part in parts]
    line = top + (bottom - top) * 0.34
    room = bottom - line - 26
    if len(parts) > 6 or any(fit.height([text], 13, wide) > room for text in texts):
        moments = [f"{part.title}: {text}" for part, text in zip(parts, texts, strict=True)]
        return _rows(moments, (LEFT, top, ROOM, bottom - top), sizes=(9, 18))
    size = min(fit.largest([text], (wide, room), (13, 20)) for text in texts)
    head = min(fit.largest([p.title], (wide, 30), (13, 22), bold=True) for p in parts)
    elements: list[Element] = [Block((LEFT, line, ROOM, 3), "rule")]
    for place, (part, text) in enumerate(zip(parts, texts, strict=True)):
        x = LEFT + place * (wide + gap)
        box = (x, line - 16 - head * fit.LINE, wide, head * fit.LINE)
        elements += [
            Text(box, part.title, head, "accent", bold=True),
            Block((x, line - 5, 13, 13), "accent"),
            Text((x, line + 24, wide, room), text, size),
        ]
    return elements


_BODIES: dict[Layout, Callable[[Slide, float, float], list[Element]]] = {
    Layout.FIGURES: _figures, Layout.STATEMENT: _statement, Layout.CHART: _shown,
    Layout.COLUMNS: _columns, Layout.TABLE: _table, Layout.IMAGE: _shown, Layout.QUOTE: _quote,
    Layout.TIMELINE: _timeline,
}  # fmt: skip


def pdf(paper: Paper, images: Sequence[bytes]) -> bytes:
    """The PDF, a page for each slide."""
    pages = [arrange(slide, at) for at, slide in enumerate(of_paper(paper), start=1)]
    return typeset_pages(paper, pages, images, "pdf")[0]


def typeset_pages(
    paper: Paper, pages: Sequence[Page], images: Sequence[bytes], form: Literal["pdf", "png"],
    wide: int = 1280,
) -> Sequence[bytes]:  # fmt: skip
    """The pages typeset: one PDF, or for ``form="png"`` one picture each, ``wide`` pixels wide."""
    numbers = {e.image for page in pages for e in page.elements if isinstance(e, Picture)}
    names = {number: picture_name(number, images[number]) for number in sorted(numbers)}
    data = {
        "pages": msgspec.to_builtins(pages),
        "images": {str(number): name for number, name in names.items()},
        "colours": colours(paper.accent),
        "width": WIDTH,
    }
    return typeset(
        (_LAYOUT, TEMPLATE), data, form=form, code=paper.language, ppi=72 * wide / WIDTH,
        accent=paper.accent, assets={name: images[number] for number, name in names.items()},
    )  # fmt: skip
