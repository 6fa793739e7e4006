"""The frames of slides, one after the other: never more than three at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentpost_offline.making.content import Paper
from agentpost_offline.making.deck import typeset
from agentpost_offline.making.video import lettering
from agentpost_offline.making.video.film import RATE, STRIP, Film

if TYPE_CHECKING:
    from PIL.Image import Image

_FADE_FRAMES = 10


def frames(film: Film, paper: Paper, images: Sequence[bytes]) -> Iterator[Image]:
    """Every frame of a film of slides, each above the strip of its caption."""
    from PIL import Image as Images

    wide, tall = film.size
    strip = round(STRIP * tall / 720 / 2) * 2
    slides = typeset.pictures(paper, images, (wide, tall - strip))
    texts = [caption.text for scene in film.scenes for caption in scene.captions]
    strips = iter(
        lettering.pictures([lettering.caption(text, wide, strip) for text in texts], film.language)
    )
    before: Image | None = None
    for scene in film.scenes:
        slide = lettering.opened(slides[scene.picture]).convert("RGB").resize((wide, tall - strip))
        drawn, seconds, total = 0, 0.0, max(1, round(scene.seconds * RATE))
        for caption in scene.captions:
            seconds += caption.seconds
            below = lettering.opened(next(strips)).convert("RGB")
            until = total if caption is scene.captions[-1] else min(total, round(seconds * RATE))
            still = _stacked(slide, below, film.size)
            while drawn < until:
                if before is not None and drawn < _FADE_FRAMES:
                    mixed = Images.blend(before, slide, drawn / _FADE_FRAMES)
                    yield _stacked(mixed, below, film.size)
                else:
                    yield still
                drawn += 1
        before = slide


def _stacked(slide: Image, below: Image, size: tuple[int, int]) -> Image:
    from PIL import Image as Images

    frame = Images.new("RGB", size)
    frame.paste(slide, (0, 0))
    frame.paste(below, (0, slide.height))
    return frame
