"""The frames of a film of slides: each slide above a strip with its caption. Who writes a film
imports this module with its library."""

import io
from collections.abc import Iterator

from msgspec.structs import replace
from PIL import Image

from agentpost_offline.making import fit
from agentpost_offline.making.deck.arrange import Block, Page, Text, arrange, typeset_pages
from agentpost_offline.making.deck.slides import WIDTH, of_paper
from agentpost_offline.making.video.film import RATE, Film

_FADE_FRAMES = 10
_STRIP = 0.133
"""The strip's part of the height."""


def frames(film: Film) -> Iterator[Image.Image]:
    """Every frame, faded where the slide changes."""
    paper = film.paper
    assert paper is not None, "else it is a race"
    slides = of_paper(paper)
    tall = WIDTH * film.size[1] / film.size[0]
    pages = []
    for scene in film.scenes:
        page = arrange(slides[scene.picture], scene.picture + 1, tall * (1 - _STRIP))
        pages.append(_with_caption(page, scene.text, tall))
    pictures = typeset_pages(paper, pages, film.images, "png", film.size[0])
    before: Image.Image | None = None
    end, count, last = 0.0, 0, -1
    for scene, png in zip(film.scenes, pictures, strict=True):
        with Image.open(io.BytesIO(png)) as stream:
            image = stream.convert("RGB").resize(film.size)
        end += scene.seconds
        old = before if scene.picture != last else None
        for at in range(max(1, round(end * RATE) - count)):
            is_fading = at < _FADE_FRAMES
            yield Image.blend(old, image, at / _FADE_FRAMES) if old and is_fading else image
            count += 1
        before, last = image, scene.picture


def _with_caption(page: Page, text: str, tall: float) -> Page:
    """A page with a text in a dark strip below it, as large as two lines allow."""
    strip = (0.0, page.height, WIDTH, tall - page.height)
    room = (WIDTH * 0.88, strip[3] * 0.86)
    box = (WIDTH * 0.06, page.height, room[0], strip[3])
    size = fit.largest([text], room, (9, strip[3] * 0.34))
    caption = Text(box, text, size, "light", anchor="middle", align="centre")
    return replace(page, elements=(*page.elements, Block(strip, "ink"), caption), height=tall)
