"""Texts as pictures, typeset once for any script, and the frames of slides with their captions."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentpost.agents.base import JobFailed
from agentpost_offline.content.blocks import Paper
from agentpost_offline.making import fit
from agentpost_offline.making.deck import typeset as slides
from agentpost_offline.making.video.film import RATE, Film
from agentpost_offline.style.typeset import typeset

if TYPE_CHECKING:
    from PIL.Image import Image

_TEMPLATE = Path(__file__).with_name("lettering.typ")
_FADE_FRAMES = 10
_STRIP = 96
"""Height of the captions' own strip, of 720."""


@dataclasses.dataclass(frozen=True, slots=True)
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


def pictures(items: Sequence[Letters], code: str) -> list[Image]:
    """A picture with transparency for each text; raises `JobFailed` when it cannot be typeset."""
    import typst

    if not items:
        return []
    data = {"items": [dataclasses.asdict(one) for one in items]}
    try:
        pages = typeset((_TEMPLATE,), data, form="png", code=code, ppi=72).pages
    except typst.TypstError as error:
        raise JobFailed("The texts of the film could not be typeset.") from error
    return [_open(page, "RGBA") for page in pages]


def _open(content: bytes, mode: str) -> Image:
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        return image.convert(mode)


def _caption(text: str, wide: int, tall: int) -> Letters:
    """A caption in its strip, as large as two lines allow."""
    size = fit.largest([text], (wide * 0.88, tall * 0.86), (12, tall * 0.34))
    pad = round(wide * 0.06)
    return Letters(text, wide, tall, size, "#ffffff", 500, "center", "#101a20", pad)


def frames(film: Film, paper: Paper, images: Sequence[bytes]) -> Iterator[Image]:
    """Every frame of a film of slides, each above the strip of its caption."""
    from PIL import Image as Images

    wide, tall = film.size
    strip = round(_STRIP * tall / 720 / 2) * 2
    pages = slides.pictures(paper, images, (wide, tall - strip))
    words = [one.text for scene in film.scenes for one in scene.captions]
    strips = iter(pictures([_caption(text, wide, strip) for text in words], film.language))

    def frame(slide: Image, below: Image) -> Image:
        whole = Images.new("RGB", film.size)
        whole.paste(slide, (0, 0))
        whole.paste(below, (0, slide.height))
        return whole

    before: Image | None = None
    for scene in film.scenes:
        slide = _open(pages[scene.picture], "RGB").resize((wide, tall - strip))
        count, seconds, total = 0, 0.0, max(1, round(scene.seconds * RATE))
        for caption in scene.captions:
            seconds += caption.seconds
            below = next(strips)
            still = frame(slide, below)
            until = total if caption is scene.captions[-1] else min(total, round(seconds * RATE))
            for at in range(count, until):
                is_fading = before is not None and at < _FADE_FRAMES
                yield (
                    frame(Images.blend(before, slide, at / _FADE_FRAMES), below)
                    if (is_fading and before is not None)
                    else still
                )
            count = max(count, until)
        before = slide
