"""A deck's slides typeset by Typst: as PDF, or as pictures for films and previews."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from agentpost_offline.content.blocks import Paper
from agentpost_offline.making.chart.rendering import TEMPLATE
from agentpost_offline.making.deck.arrange import Page, Picture, arrange, colours
from agentpost_offline.making.deck.slides import WIDTH, of_paper
from agentpost_offline.making.pictures import picture_name
from agentpost_offline.style.typeset import typeset

_LAYOUT = Path(__file__).with_name("slides.typ")


def pdf(paper: Paper, images: Sequence[bytes]) -> bytes:
    """The PDF, a page for each slide."""
    pages = [arrange(slide, at) for at, slide in enumerate(of_paper(paper), start=1)]
    return build(paper, pages, images, "pdf")[0]


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
        "width": WIDTH,
    }
    return typeset(
        (_LAYOUT, TEMPLATE), data, form=form, code=paper.language, ppi=72 * wide / WIDTH,
        accent=paper.accent, assets={name: images[number] for number, name in names.items()},
    )  # fmt: skip
