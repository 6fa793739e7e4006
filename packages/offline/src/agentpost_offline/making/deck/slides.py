"""A paper as slides: one for each heading, laid out by what stands under it. What does not fit one
slide goes on, on the next one with the same title."""

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from agentpost_offline.content.blocks import Block, BlockKind, Figure, Grid, Paper, Part, plain
from agentpost_offline.content.picture import Drawing
from agentpost_offline.making import fit

LEFT, TOP, FOOT, WIDTH = 54.0, 126.0, 50.0, 960.0
"""The margins of a slide, and its width, in points."""
ROOM = WIDTH - 2 * LEFT
BODY = 540.0 - FOOT - TOP
"""The height of what stands below a slide's title."""
ASIDE = 276.0
"""The width of the points beside a chart or a picture."""
ROW_PAD = 24.0
"""Around a point, above and below it together."""
_TEXT_SIZE = 15.0
"""Points are made as large as fits; a slide gets as many as fit at this size."""
_BESIDE_SIZE = 13.0
_BESIDE_MOST = 4
_UNDER_LONGEST = 220
_MOMENTS = 8
_QUOTE_LONGEST = 320
_FIGURES = 4


class Layout(StrEnum):
    """The arrangements a slide may have; the names are those of the template."""

    TITLE = "Title"
    FIGURES = "Key figures"
    STATEMENT = "Statement"
    POINTS = "Points"
    CHART = "Chart and takeaways"
    COLUMNS = "Two columns"
    TABLE = "Table"
    IMAGE = "Image"
    QUOTE = "Quote"
    TIMELINE = "Timeline"


class Slide(msgspec.Struct, frozen=True, omit_defaults=True):
    """One slide. Which fields count is the layout's matter."""

    layout: Layout
    title: str
    subtitle: str = ""
    points: tuple[str, ...] = ()
    """Of a quote: its words, then who said them."""
    is_ordered: bool = False
    """Whether the points are numbered."""
    parts: tuple[Part, ...] = ()
    figures: tuple[Figure, ...] = ()
    drawing: Drawing | None = None
    grid: Grid | None = None
    image: int | None = None
    """Which of the paper's pictures."""
    backdrop: tuple[float, ...] = ()
    """Of a title: the course of the first figure, drawn as a silhouette."""
    source: str = ""
    notes: str = ""
    """What the speaker says."""


def of_paper(paper: Paper) -> list[Slide]:
    """A title slide, then one for each heading, and more where its contents do not fit."""
    heads = [at for at, one in enumerate(paper.blocks) if one.kind is BlockKind.HEADING]
    before = paper.blocks[: heads[0]] if heads else paper.blocks
    slides: list[Slide] = []
    if paper.has_title and paper.title:
        slides = [Slide(Layout.TITLE, paper.title, paper.subtitle, backdrop=_course(paper.blocks))]
        if _is_line(before):
            slides, before = [Slide(Layout.TITLE, paper.title, before[0].text)], ()
    slides += _under(Block(BlockKind.HEADING), before, paper.title)
    for start, end in pairwise([*heads, len(paper.blocks)]):
        head = paper.blocks[start]
        slides += _under(head, paper.blocks[start + 1 : end], head.text) or [
            Slide(Layout.TITLE, head.text, notes=head.notes)
        ]
    return slides


def _course(blocks: Sequence[Block]) -> tuple[float, ...]:
    """The values of the first chart of one figure over time; empty where there is none."""
    for block in blocks:
        picture = block.drawing.picture if block.drawing is not None else None
        if picture is not None and picture.is_timed and len(picture.series) == 1:
            values = [value for value in picture.series[0].values if value is not None]
            if 5 < len(values) <= 60 and min(values) >= 0:
                return tuple(values)
    return ()


def _is_line(blocks: Sequence[Block]) -> bool:
    """Whether this can stand below a title."""
    is_one = len(blocks) == 1 and blocks[0].kind is BlockKind.PARAGRAPH
    return is_one and len(blocks[0].text) <= _UNDER_LONGEST


def _under(head: Block, blocks: Sequence[Block], title: str) -> list[Slide]:
    """The slides of one heading: text first gathers, all else stands where it stands."""
    slides: list[Slide] = []
    text: list[Block] = []

    def take(most: int = 0) -> tuple[str, ...]:
        """The text so far, when it is short enough to stand with what comes; else it gets its
        slides first. ``most``: points above it, or `_BESIDE_MOST` beside it."""
        points = [_item_text(one) for one in text]
        can_stay = 0 < len(points) <= most and (
            sum(fit.height([one], _BESIDE_SIZE, ASIDE) + ROW_PAD for one in points) <= BODY
            if most == _BESIDE_MOST else max(map(len, points)) <= _UNDER_LONGEST
        )  # fmt: skip
        if not can_stay:
            is_ordered = all(one.number is not None and not one.level for one in text)
            words = [one.text for one in text] if is_ordered else points
            slides.extend(_point_slides(title, words, is_ordered=is_ordered))
        text.clear()
        return tuple(points) if can_stay else ()

    for block in blocks:
        match block.kind:
            case BlockKind.TABLE if block.grid is not None:
                slides += _tables(title, block.grid, take(2), block.source)
            case BlockKind.CHART if block.drawing is not None:
                points = take(_BESIDE_MOST)
                slides.append(Slide(Layout.CHART, title, plain(block.runs), points,
                                    drawing=block.drawing, source=block.source))  # fmt: skip
            case BlockKind.PICTURE:
                points = take(_BESIDE_MOST)
                slides.append(Slide(Layout.IMAGE, title, points=points, image=block.picture))
            case BlockKind.FIGURES:
                for at in range(0, len(block.figures), _FIGURES):
                    slides.append(Slide(Layout.FIGURES, title, points=take(3),
                                        figures=block.figures[at : at + _FIGURES]))  # fmt: skip
            case BlockKind.COLUMNS:
                take()
                slides.append(Slide(Layout.COLUMNS, title, parts=block.parts))
            case BlockKind.TIMELINE:
                take()
                slides += [Slide(Layout.TIMELINE, title, parts=block.parts[at : at + _MOMENTS])
                           for at in range(0, len(block.parts), _MOMENTS)]  # fmt: skip
            case BlockKind.QUOTE if len(block.text) <= _QUOTE_LONGEST:
                take()
                words, _, by = block.text.rpartition("\n") if block.runs[-1].italic else ("",) * 3
                points = (words, by) if words and by else (block.text,)
                slides.append(Slide(Layout.QUOTE, title, points=points))
            case BlockKind.RULE:
                pass
            case _:
                text.append(block)
    take()
    return [replace(slide, notes=head.notes) for slide in slides]


def _item_text(block: Block) -> str:
    """The text of a block, with the mark of an item that has one on a slide."""
    mark = "" if block.number is None else f"{block.number}. "
    if block.number is None and block.kind is BlockKind.ITEM and block.level:
        mark = "– "
    return f"{mark}{block.text}"


def _point_slides(title: str, points: Sequence[str], *, is_ordered: bool) -> list[Slide]:
    """Points on as few slides as they fit, spread evenly over them."""
    pieces = [piece for point in points
              for piece in fit.pieces(point, lambda text: _height(text) <= BODY)]  # fmt: skip
    heights = [_height(piece) for piece in pieces]
    share = sum(heights) / max(1, math.ceil(sum(heights) / BODY))
    groups = _groups(heights, BODY, share)
    return [
        Slide(Layout.POINTS if len(group) > 1 else Layout.STATEMENT, title,
              points=tuple(pieces[at] for at in group), is_ordered=is_ordered and len(group) > 1)
        for group in groups
    ]  # fmt: skip


def _groups(heights: Sequence[float], room: float, share: float = math.inf) -> list[list[int]]:
    """The places of things with these heights, in groups that fit the room; ``share``: the height
    after which a group is full enough, so that all are about as high."""
    groups: list[list[int]] = []
    full = whole = 0.0
    for at, high in enumerate(heights):
        if not groups or full + high > room or whole + high / 2 > share * len(groups):
            groups.append([])
            full = 0.0
        groups[-1].append(at)
        full += high
        whole += high
    return groups


def _height(text: str) -> float:
    return fit.height(text.split("\n"), _TEXT_SIZE, ROOM - 52) + ROW_PAD


def _tables(title: str, grid: Grid, under: Sequence[str], source: str) -> list[Slide]:
    """A table on as many slides as it needs, its header on each."""
    room = BODY - sum(_height(point) + 14 for point in under)
    head, *rows = table_sizes(grid, room, (12, 18))[2]
    groups = _groups(rows, room - head) or [[]]
    return [
        Slide(
            Layout.TABLE, title, points=() if number else tuple(under), source=source,
            grid=replace(
                grid, rows=tuple(grid.rows[at] for at in group),
                total=grid.total and number == len(groups) - 1,
            ),
        )
        for number, group in enumerate(groups)
    ]  # fmt: skip


def table_sizes(
    grid: Grid, tall: float, sizes: tuple[float, float] = (10, 20)
) -> tuple[float, list[float], list[float]]:
    """The largest type at which a table fits, the widths of its columns, the heights of its rows;
    the smallest type when it fits at none."""
    rows = [[plain(cell) for cell in row] for row in (grid.header, *grid.rows)]
    size = sizes[1]
    while True:
        pad = size * 0.8
        natural = [
            max(fit.width(row[at], size, row is rows[0]) for row in rows) + 2 * pad
            for at in range(len(grid.header))
        ]
        widths = _shared(natural, grid)
        heights = [
            max(fit.lines(cell, size, wide - pad, row is rows[0])
                for cell, wide in zip(row, widths, strict=True)) * size * fit.LINE + 0.75 * size
            for row in rows
        ]  # fmt: skip
        is_whole = sum(heights) <= tall and all(
            fit.width(word, size) <= wide - pad
            for row in rows for cell, wide in zip(row, widths, strict=True) for word in cell.split()
        )  # fmt: skip
        if is_whole or size <= sizes[0]:
            return size, widths, heights
        size -= 0.5


def _shared(natural: Sequence[float], grid: Grid) -> list[float]:
    """The widths of columns in the room there is: numbers whole, texts share what is left."""
    spare = ROOM - sum(natural)
    if spare >= 0:
        return [wide + spare / len(natural) for wide in natural]
    figures = sum(wide for at, wide in enumerate(natural) if at in grid.numbers)
    texts = [wide**0.6 if at not in grid.numbers else 0.0 for at, wide in enumerate(natural)]
    if figures > ROOM * 0.7 or not any(texts):
        return [wide * ROOM / sum(natural) for wide in natural]
    return [
        wide if at in grid.numbers else (ROOM - figures) * texts[at] / sum(texts)
        for at, wide in enumerate(natural)
    ]
