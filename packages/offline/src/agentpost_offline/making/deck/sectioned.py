"""Slides of what a caller wrote: the layout follows from what a section has.

Nothing is cut. What does not fit one slide goes on, on the next one with the same title.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from agentpost.agents.base import File
from agentpost_offline.frame import Frame
from agentpost_offline.making import content, fit, papers, pictures
from agentpost_offline.making.chart import computing
from agentpost_offline.making.chart.computing import Computed
from agentpost_offline.making.content import Block, BlockKind, Paper, plain
from agentpost_offline.making.deck import arrange
from agentpost_offline.making.deck.plotted import chart_of
from agentpost_offline.making.deck.slides import Figure, Grid, Layout, Outline, Part, Slide
from agentpost_offline.making.sections import Section

_BESIDE_POINTS = 4
_BESIDE_LONGEST = 170
_UNDER_LONGEST = 220
_MOMENTS = 8
_STATEMENT_LONGEST = 320
_FIGURES = 4
_TEXT_SIZE = 15.0
"""Points are made as large as fits; a slide gets as many as fit at this size."""


def of_paper(paper: Paper) -> Outline:
    """A deck with a slide for each heading of a paper, and for more where they do not fit."""
    heads = [at for at, one in enumerate(paper.blocks) if one.kind is BlockKind.HEADING]
    before = paper.blocks[: heads[0]] if heads else paper.blocks
    slides: list[Slide] = []
    if paper.has_title:
        is_line = len(before) == 1 and before[0].kind is BlockKind.PARAGRAPH
        if is_line and len(before[0].text) <= _UNDER_LONGEST:
            slides, before = [Slide(Layout.TITLE, paper.title, before[0].text)], ()
        else:
            slides = [Slide(Layout.TITLE, paper.title, paper.subtitle)]
    slides += _filled(paper.title, before)
    for start, end in pairwise([*heads, len(paper.blocks)]):
        head, rest = paper.blocks[start], paper.blocks[start + 1 : end]
        slides += _filled(head.text, rest) or [Slide(Layout.TITLE, head.text)]
    return Outline(paper.title, tuple(slides), paper.language, paper.accent)


def _filled(title: str, blocks: Sequence[Block]) -> list[Slide]:
    """The slides of one heading: text first gathers, tables and pictures stand where they stand."""
    slides: list[Slide] = []
    text: list[Block] = []

    def take(most: int, longest: int) -> tuple[str, ...]:
        """The text so far, when it is short enough to stand beside what comes; else it gets its
        slides first."""
        points = _texts(text)
        is_beside = _is_short(points, most, longest)
        if not is_beside:
            is_ordered = all(one.number is not None and not one.level for one in text)
            if is_ordered:
                points = [one.text for one in text]
            slides.extend(pointed(title, points, is_ordered=is_ordered))
        text.clear()
        return tuple(points) if is_beside else ()

    for block in blocks:
        if block.kind is BlockKind.TABLE:
            assert block.grid is not None
            slides += _tables(title, _grid(block.grid), take(2, _UNDER_LONGEST))
        elif block.kind is BlockKind.PICTURE:
            beside = take(_BESIDE_POINTS, _BESIDE_LONGEST)
            slides.append(Slide(Layout.IMAGE, title, points=beside, image=block.picture))
        elif block.kind is BlockKind.QUOTE and len(block.text) <= _STATEMENT_LONGEST:
            take(0, 0)
            slides.append(Slide(Layout.QUOTE, title, points=(block.text,)))
        elif block.kind is not BlockKind.RULE:
            text.append(block)
    take(0, 0)
    return slides


def _texts(blocks: Sequence[Block]) -> list[str]:
    marks = [
        "" if one.kind is not BlockKind.ITEM
        else f"{one.number}. " if one.number is not None
        else "– " if one.level else ""
        for one in blocks
    ]  # fmt: skip
    return [f"{mark}{one.text}" for mark, one in zip(marks, blocks, strict=True)]


def _is_short(points: Sequence[str], most: int, longest: int) -> bool:
    return 0 < len(points) <= most and all(len(point) <= longest for point in points)


def _grid(grid: content.Grid) -> Grid:
    return Grid(
        tuple(plain(cell) for cell in grid.header),
        tuple(tuple(plain(cell) for cell in row) for row in grid.rows), grid.numbers, grid.total,
    )  # fmt: skip


def pointed(
    title: str, points: Sequence[str], *, is_ordered: bool = False, notes: str = ""
) -> list[Slide]:
    """Points on as few slides as they fit, spread evenly over them."""
    pieces = [piece for point in points for piece in _pieces(point)]
    if not pieces:
        return []
    if len(pieces) == 1:
        return [Slide(Layout.STATEMENT, title, points=(pieces[0],), notes=notes)]
    heights = [_height(piece) for piece in pieces]
    count = math.ceil(sum(heights) / arrange.BODY[1])
    share = sum(heights) / count
    groups: list[list[str]] = [[]]
    filled = whole = 0.0
    for piece, high in zip(pieces, heights, strict=True):
        is_full = filled + high > arrange.BODY[1] or whole + high / 2 > share * len(groups)
        if groups[-1] and is_full:
            groups.append([])
            filled = 0.0
        groups[-1].append(piece)
        filled += high
        whole += high
    return [
        Slide(Layout.POINTS if len(group) > 1 else Layout.STATEMENT, title,
              points=tuple(group), ordered=is_ordered and len(group) > 1, notes=notes)
        for group in groups
    ]  # fmt: skip


def _height(text: str) -> float:
    return fit.height(text.split("\n"), _TEXT_SIZE, arrange.BODY[0] - 52) + arrange.ROW_PAD


def _pieces(text: str) -> Iterator[str]:
    """A text, in parts that fit a slide each: broken between lines, sentences, words."""
    if _height(text) <= arrange.BODY[1]:
        yield text
        return
    for mark in ("\n", ". ", "。", " "):
        places = [at + len(mark) for at in range(len(text)) if text.startswith(mark, at)]
        inner = [at for at in places if len(text) * 0.2 < at < len(text) * 0.8]
        if inner:
            cut = min(inner, key=lambda at: abs(at - len(text) / 2))
            break
    else:
        cut = len(text) // 2
    yield from _pieces(text[:cut].strip())
    yield from _pieces(text[cut:].strip())


def _tables(title: str, grid: Grid, under: Sequence[str] = (), notes: str = "") -> list[Slide]:
    """A table on as many slides as it needs, its header on each."""
    room = arrange.BODY[1] - sum(_height(point) + 14 for point in under)
    _, _, heights = arrange.table_sizes(grid, room, (12, 18))
    head, *rows = heights
    groups: list[list[int]] = [[]]
    filled = head
    for at, high in enumerate(rows):
        if groups[-1] and filled + high > room:
            groups.append([])
            filled = head
        groups[-1].append(at)
        filled += high
    return [
        Slide(
            Layout.TABLE, title, points=tuple(under) if number == 0 else (),
            grid=msgspec.structs.replace(
                grid, rows=tuple(grid.rows[at] for at in group),
                total=grid.total and number == len(groups) - 1,
            ),
            notes=notes,
        )
        for number, group in enumerate(groups)
    ]  # fmt: skip


def of_sections(
    files: Sequence[File], parts: Sequence[Section], frame: Frame
) -> tuple[Outline, list[bytes]]:
    """The deck of a caller's sections, and its pictures; raises `JobFailed`.

    A title slide is put in front unless the first section is nothing but a title.
    """
    computed = computing.compute(files, parts, frame.language, frame.style.colour)
    images: list[bytes] = []
    slides: list[Slide] = []
    notes: list[str] = []
    title = frame.style.title or parts[0].title
    first = parts[0]
    is_opening = msgspec.structs.replace(first, title="", text="", notes="") == Section()
    if not is_opening or first.title != title or len(first.text) > _STATEMENT_LONGEST:
        slides.append(Slide(Layout.TITLE, title))
    for at, (part, figures) in enumerate(zip(parts, computed, strict=True)):
        image = None
        if part.picture is not None:
            file = files[part.picture]
            images.append(pictures.as_file(file.local, name=file.name,
                                           most=papers.LARGEST_PICTURE)[0])  # fmt: skip
            image = len(images) - 1
        if figures is not None:
            notes += figures.tabulated.notes
        slides += _section(part, figures, image, frame.language, is_first=at == 0 and not slides)
    outline = Outline(
        title, tuple(slides), frame.language, frame.style.colour,
        remarks=tuple(dict.fromkeys(notes)), used=tuple(file.name for file in files),
    )  # fmt: skip
    return outline, images


def _section(
    part: Section, figures: Computed | None, image: int | None, code: str, *, is_first: bool
) -> list[Slide]:
    """The slides of a section: one, unless its contents cannot stand together."""
    points = _points(part)
    title, notes = part.title, part.notes
    slides: list[Slide] = []
    if is_first and len(points) <= 1:
        return [Slide(Layout.TITLE, title, points[0] if points else "", notes=notes)]
    if figures is not None:
        beside = points if _is_short(points, _BESIDE_POINTS, _BESIDE_LONGEST) else []
        made = _figured(part, figures, beside, code)
        if beside and any(slide.points for slide in made):
            points = []
        slides += made
    if part.header:
        width = len(part.header)
        rows = tuple((*row, *[""] * (width - len(row)))[:width] for row in part.rows)
        under = points if _is_short(points, 2, _UNDER_LONGEST) else []
        points = [] if under else points
        grid = Grid(part.header, rows, content.number_columns(rows, width))
        slides += _tables(title, grid, under, notes)
    if image is not None:
        beside = points if _is_short(points, _BESIDE_POINTS, _BESIDE_LONGEST) else []
        points = [] if beside else points
        slides.append(Slide(Layout.IMAGE, title, points=tuple(beside), image=image, notes=notes))
    if part.figures:
        shown = tuple(Figure(one.value, one.label) for one in part.figures)
        for at in range(0, len(shown), _FIGURES):
            under = points if _is_short(points, 3, _UNDER_LONGEST) else []
            points = [] if under else points
            slides.append(Slide(Layout.FIGURES, title, figures=shown[at : at + _FIGURES],
                                points=tuple(under), notes=notes))  # fmt: skip
    if part.columns:
        slides.append(Slide(
            Layout.COLUMNS, title, notes=notes,
            parts=tuple(Part(one.title, one.bullets) for one in part.columns),
        ))  # fmt: skip
    if part.timeline:
        moments = [Part(one.when, (one.what,)) for one in part.timeline]
        slides += [
            Slide(Layout.TIMELINE, title, parts=tuple(moments[at : at + _MOMENTS]), notes=notes)
            for at in range(0, len(moments), _MOMENTS)
        ]
    if part.quote:
        said = (part.quote, part.quoted_from) if part.quoted_from else (part.quote,)
        slides.append(Slide(Layout.QUOTE, title, points=said, notes=notes))
    text = pointed(title, points, notes=notes)
    return [*text, *slides] or [Slide(Layout.TITLE, title, notes=notes)]


def _points(part: Section) -> list[str]:
    """The words of a section, a paragraph or bullet each."""
    blocks = papers.words_of(Section(text=part.text, bullets=part.bullets), [])
    return [block.text for block in blocks if block.text]


def _figured(part: Section, figures: Computed, beside: Sequence[str], code: str) -> list[Slide]:
    slides: list[Slide] = []
    result, table = figures.tabulated.result, figures.tabulated.table
    below, source = computing.subtitle(figures, code), figures.tabulated.source
    chart = chart_of(result, table, code, kind=part.chart) if part.show != "table" else None
    if chart is not None:
        slides.append(Slide(
            Layout.CHART, part.title, below, points=tuple(beside), chart=chart, source=source,
            notes="\n".join(filter(None, [part.notes, chart.alt])),
        ))  # fmt: skip
    if part.show != "chart" or chart is None:
        grid = _grid(figures.grid)
        slides += [
            msgspec.structs.replace(slide, source=source)
            for slide in _tables(part.title, grid, () if slides else beside[:2], part.notes)
        ]
    return slides
