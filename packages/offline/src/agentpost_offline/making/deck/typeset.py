"""A deck's slides typeset by Typst: as PDF, or as pictures for films and previews."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from agentpost_offline.content.blocks import Paper
from agentpost_offline.making.chart.rendering import TEMPLATE
from agentpost_offline.making.deck.arrange import Page, Picture, arrange, colours
from agentpost_offline.making.deck.slides import of_paper
from agentpost_offline.making.pictures import picture_name
from agentpost_offline.style.typeset import typeset

_LAYOUT = Path(__file__).with_name("slides.typ")


def pages_of(paper: Paper, height: float = 540.0) -> list[Page]:
    """The slides of a paper, everything in its place, ``height`` points high and 960 wide."""
    return [arrange(slide, at, height) for at, slide in enumerate(of_paper(paper), start=1)]


def pdf(paper: Paper, images: Sequence[bytes]) -> bytes:
    """The PDF, a page for each slide."""
    return build(paper, pages_of(paper), images, "pdf")[0]


def pictures(paper: Paper, images: Sequence[bytes], size: tuple[int, int]) -> Sequence[bytes]:
    """A PNG of each slide, laid out for ``size`` in pixels."""
    pages = pages_of(paper, 960 * size[1] / size[0])
    return build(paper, pages, images, "png", size[0])


def build(
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
    }
    return typeset(
        (_LAYOUT, TEMPLATE), data, form=form, code=paper.language, ppi=72 * wide / pages[0].width,
        accent=paper.accent, assets={name: images[number] for number, name in names.items()},
    ).pages  # fmt: skip
