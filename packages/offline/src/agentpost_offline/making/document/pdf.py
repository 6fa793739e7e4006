"""A paper as PDF, typeset by Typst."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost_offline.content.blocks import Block, Paper
from agentpost_offline.making import pictures as pictures_of
from agentpost_offline.making.chart.rendering import TEMPLATE
from agentpost_offline.style.typeset import typeset

_PAGE = Path(__file__).with_name("paper.typ")
TEXT_WIDTH = 459.0
"""Of the text of a page, in points."""


def build(paper: Paper, pictures: Sequence[bytes]) -> bytes:
    """The PDF, with page numbers and an outline of its headings."""
    names = [pictures_of.picture_name(at, content) for at, content in enumerate(pictures)]
    data: Any = {
        **{name: getattr(paper, name) for name in ("title", "subtitle", "has_title")},
        "remarks": list(paper.remarks),
        "remarks_title": paper.remarks_title,
        "footer": paper.subtitle or paper.title,
        "blocks": [_filled(block) for block in paper.blocks],
        "pictures": names,
    }
    return typeset(
        [_PAGE, TEMPLATE], data, form="pdf", code=paper.language, accent=paper.accent,
        assets=dict(zip(names, pictures, strict=True)),
    ).pages[0]  # fmt: skip


def _filled(block: Block) -> dict[str, Any]:
    """A block with every field, as the template reads it."""
    return {
        name: msgspec.to_builtins(getattr(block, name))
        for name in block.__struct_fields__
        if name != "parts"
    }
