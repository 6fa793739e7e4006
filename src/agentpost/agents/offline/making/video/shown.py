"""The frames of slides and photographs, one after the other: never more than three at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentpost.agents.offline.making import pictures
from agentpost.agents.offline.making.deck import typeset
from agentpost.agents.offline.making.deck.arrange import arranged
from agentpost.agents.offline.making.deck.slides import Outline
from agentpost.agents.offline.making.video import lettering
from agentpost.agents.offline.making.video.film import RATE, STRIP, Film, Kind, Scene

if TYPE_CHECKING:
    from PIL.Image import Image

_FADE = 0.4
_ZOOM = 0.06
_STEP = 2
"""A slow zoom needs a new picture every second frame only."""
_COVERING = 0.74
"""How much of a photograph may remain when it fills the stage."""


def frames(film: Film, outline: Outline | None, files: Sequence[Path]) -> Iterator[Image]:
    """Every frame of a film of slides or photographs."""
    wide, tall = film.size
    strip = round(STRIP * tall / 720 / 2) * 2 if film.captioned else 0
    if film.kind is Kind.PHOTOS and film.captioned:
        strip = max(strip, 64)
    stage = wide, tall - strip
    slides = _slides(outline, stage) if outline is not None else []
    texts = [c.text for scene in film.scenes for c in scene.captions]
    captions = [lettering.caption(text, wide, strip) for text in texts] if strip else []
    strips = iter(lettering.pictures(captions, film.language))
    before: Image | None = None
    for scene in film.scenes:
        source = _source(scene, slides, files, stage)
        animated = film.kind is Kind.PHOTOS
        count = 0
        total = max(1, round(scene.seconds * RATE))
        shown = 0.0
        for caption in scene.captions:
            shown += caption.seconds
            below = lettering.opened(next(strips)).convert("RGB") if strip else None
            still: Image | None = None
            until = min(total, round(shown * RATE))
            if caption is scene.captions[-1]:
                until = total
            while count < until:
                fading = before is not None and count < _FADE * RATE
                if still is None or fading or (animated and not count % _STEP):
                    top = _moved(source, stage, count / total) if animated else source
                    if fading and before is not None:
                        top = _blended(before, top, count / (_FADE * RATE))
                    still = _stacked(top, below, film.size)
                yield still
                count += 1
        before = _moved(source, stage, 1.0) if animated else source


def _slides(outline: Outline, stage: tuple[int, int]) -> list[bytes]:
    """The slides as pictures, laid out for the stage above the captions."""
    height = 960 * stage[1] / stage[0]
    pages = [arranged(slide, at, height) for at, slide in enumerate(outline.slides, start=1)]
    return list(
        typeset.build(
            pages, [], accent=outline.accent, language=outline.language, form="png", wide=stage[0]
        ).pages
    )


def _source(
    scene: Scene, slides: Sequence[bytes], files: Sequence[Path], stage: tuple[int, int]
) -> Image:
    """The picture of a scene, in the size of the stage; a photograph is a little larger."""
    if slides:
        image = lettering.opened(slides[scene.picture]).convert("RGB")
        return image if image.size == stage else image.resize(stage)
    return _photograph(files[scene.picture], stage)


def _photograph(path: Path, stage: tuple[int, int]) -> Image:
    """The photograph on its own blurred colours, whole, with room for a slow zoom."""
    from PIL import Image, ImageFilter

    wide, tall = (round(side * (1 + _ZOOM)) for side in stage)
    photo = pictures.upright(path, path.name, max(wide, tall)).convert("RGB")
    ratio = photo.width / photo.height
    if min(ratio, wide / tall) / max(ratio, wide / tall) >= _COVERING:
        return _covering(photo, (wide, tall))
    small = _covering(photo, (wide // 8, tall // 8)).filter(ImageFilter.GaussianBlur(8))
    sheet = small.resize((wide, tall), Image.Resampling.BICUBIC).point(lambda v: v * 0.6)
    scale = min(wide / photo.width, tall / photo.height)
    size = (max(1, round(photo.width * scale)), max(1, round(photo.height * scale)))
    placed = photo.resize(size, Image.Resampling.LANCZOS)
    sheet.paste(placed, ((wide - size[0]) // 2, (tall - size[1]) // 2))
    return sheet


def _covering(image: Image, size: tuple[int, int]) -> Image:
    from PIL import ImageOps

    return ImageOps.fit(image, size)


def _moved(image: Image, stage: tuple[int, int], part: float) -> Image:
    """The photograph slowly coming nearer."""
    from PIL import Image as Images

    if image.size == stage:
        return image
    inset = part * 0.5
    spare_x, spare_y = image.width - stage[0], image.height - stage[1]
    box = (
        spare_x * inset,
        spare_y * inset,
        image.width - spare_x * inset,
        image.height - spare_y * inset,
    )
    return image.resize(stage, Images.Resampling.BILINEAR, box=box)


def _blended(before: Image, after: Image, part: float) -> Image:
    from PIL import Image as Images

    return Images.blend(before, after, part)


def _stacked(top: Image, below: Image | None, size: tuple[int, int]) -> Image:
    from PIL import Image as Images

    if below is None:
        return top
    frame = Images.new("RGB", size)
    frame.paste(top, (0, 0))
    frame.paste(below, (0, top.height))
    return frame
