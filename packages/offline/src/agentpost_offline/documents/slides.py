"""Presentations as blocks: the title of each slide, its text, its tables and its notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentpost.extraction import Unreadable, limits
from agentpost.extraction.office import Archive
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import Block, BlockKind

_XML_BYTES = 12 * 2**20
"""What the parts of a presentation may have together as XML: it is held in memory as trees."""
_MEDIA_BYTES = 64 * 2**20
"""By how much a presentation may unpack to more than its file has: its pictures hardly do."""


def blocks(archive: Archive, path: Path) -> Iterator[Block]:
    """The blocks of a presentation, slide by slide; raises `Unreadable`."""
    from pptx import Presentation
    from pptx.enum.shapes import PP_PLACEHOLDER
    from pptx.exc import PythonPptxError

    sizes = {one: archive.size(one) for one in archive.members}
    trees = sum(size for one, size in sizes.items() if one.endswith((".xml", ".rels")))
    if trees > _XML_BYTES or sum(sizes.values()) > path.stat().st_size + _MEDIA_BYTES:
        raise Unreadable(f"{archive.name} unpacks to more than is read of a presentation")
    edges = (PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER)
    try:
        slides: Iterable[Any] = Presentation(str(path)).slides
    except (AttributeError, KeyError, SyntaxError, ValueError, PythonPptxError) as error:
        raise Unreadable(f"{archive.name} is damaged") from error
    for number, slide in enumerate(islice(slides, limits.MAX_PAGES), 1):
        place = f"slide {number}"
        for shape in _shapes(slide.shapes):
            if shape.is_placeholder and shape.placeholder_format.type in edges:
                continue
            is_title = shape == slide.shapes.title
            for block in _of_shape(shape, is_title=is_title):
                yield replace(block, place=place)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            for text in slide.notes_slide.notes_text_frame.text.split("\n"):
                if text.strip():
                    yield replace(content.paragraph(text.strip()), place=f"{place}, notes")


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """The shapes of a slide, with those that are grouped."""
    for shape in shapes:
        yield from _shapes(shape.shapes) if hasattr(shape, "shapes") else (shape,)


def _of_shape(shape: Any, *, is_title: bool) -> Iterator[Block]:
    if shape.has_table:
        header, *rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
        yield Block(BlockKind.TABLE, grid=content.grid(header, rows))
    elif shape.has_text_frame:
        for paragraph in shape.text_frame.paragraphs:
            text = " ".join(paragraph.text.split())
            if text:
                yield content.heading(text) if is_title else content.paragraph(text)
