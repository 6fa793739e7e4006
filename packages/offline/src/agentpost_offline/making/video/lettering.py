"""Texts as pictures, typeset once: any script, while the frames are drawn by pixels."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost.agents.base import JobFailed
from agentpost_offline.making import fit
from agentpost_offline.style.typeset import typeset

if TYPE_CHECKING:
    from PIL.Image import Image

_TEMPLATE = Path(__file__).with_name("lettering.typ")


@dataclass(frozen=True, slots=True)
class Letters:
    """One text: its box in pixels, its type size, its colours."""

    text: str
    width: int
    height: int
    size: float
    colour: str = "#16202b"
    weight: int = 400
    align: str = "left"
    back: str | None = None
    pad: int = 0


def caption(text: str, width: int, height: int) -> Letters:
    """A caption in its strip, as large as two lines allow."""
    room = width * 0.88
    size = fit.largest([text], (room, height * 0.86), (12, height * 0.34))
    return Letters(text, width, height, size, "#ffffff", 500, "center", "#101a20",
                   round(width * 0.06))  # fmt: skip


def pictures(items: Sequence[Letters], code: str) -> list[bytes]:
    """A PNG for each text; raises `JobFailed` when it cannot be typeset."""
    import typst

    if not items:
        return []
    data: dict[str, Any] = {
        "items": [
            {
                "text": one.text, "width": one.width, "height": one.height, "size": one.size,
                "colour": one.colour, "weight": one.weight, "align": one.align, "back": one.back,
                "pad": one.pad,
            }
            for one in items
        ]
    }  # fmt: skip
    try:
        return list(typeset((_TEMPLATE,), data, form="png", code=code, ppi=72).pages)
    except typst.TypstError as error:
        raise JobFailed("The texts of the film could not be typeset.") from error


def opened(content: bytes) -> Image:
    """A picture from its bytes, with its transparency."""
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        return image.convert("RGBA")
