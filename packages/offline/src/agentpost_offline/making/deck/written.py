"""A planned deck as PowerPoint, PDF or pictures."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost_offline.making.deck import pptx_writer, typeset
from agentpost_offline.making.deck.arrange import arranged
from agentpost_offline.making.deck.pages import Page
from agentpost_offline.making.deck.slides import Outline


def pages_of(outline: Outline, height: float = 540.0) -> list[Page]:
    """The slides with everything in its place, ``height`` points high and 960 wide."""
    return [arranged(slide, at, height) for at, slide in enumerate(outline.slides, start=1)]


def pptx(outline: Outline, images: Sequence[bytes]) -> bytes:
    """The .pptx with native charts and tables, speaker notes and a thumbnail."""
    pages = pages_of(outline)
    sheet = typeset.sheet(pages, images, accent=outline.accent, language=outline.language)
    return pptx_writer.build(
        pages, images, accent=outline.accent, title=outline.title, language=outline.language,
        thumbnail=sheet,
    )  # fmt: skip


def pdf(outline: Outline, images: Sequence[bytes]) -> bytes:
    """The PDF, a page for each slide."""
    pages = pages_of(outline)
    return typeset.build(pages, images, accent=outline.accent, language=outline.language).pages[0]


def pictures(outline: Outline, images: Sequence[bytes], size: tuple[int, int]) -> list[bytes]:
    """A PNG of each slide, laid out for ``size`` in pixels."""
    pages = pages_of(outline, 960 * size[1] / size[0])
    return list(
        typeset.build(
            pages, images, accent=outline.accent, language=outline.language, form="png",
            wide=size[0],
        ).pages
    )  # fmt: skip
