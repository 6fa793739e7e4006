"""A placed deck typeset by Typst: as PDF, or as pictures for films and previews."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from agentpost.agents.base import JobFailed
from agentpost_offline.making.deck.pages import Page, Picture, Plot, colours, series
from agentpost_offline.making.pictures import picture_name
from agentpost_offline.style.typeset import Typeset, typeset

_SHEET_SLIDES = 12
_SHEET_SLIDE_WIDTH = 640
_GAP = 12
_LAYOUT = Path(__file__).with_name("slides.typ")


def build(
    pages: Sequence[Page],
    images: Sequence[bytes],
    *,
    accent: str | None,
    language: str,
    form: Literal["pdf", "png"] = "pdf",
    wide: int = 1280,
) -> Typeset:
    """The pages typeset: one PDF, or for ``form="png"`` one picture each, ``wide`` pixels wide."""
    import typst

    assets = _assets(images, pages)
    counts = {
        len(element.chart.series)
        for page in pages
        for element in page.elements
        if isinstance(element, Plot)
    }
    data = {
        "pages": msgspec.to_builtins(pages),
        "images": {str(number): name for number, (name, _) in assets.items()},
        "colours": colours(accent),
        "series": {str(count): series(count, accent) for count in counts},
    }
    try:
        return typeset(
            (_LAYOUT,),
            data,
            form=form,
            code=language,
            ppi=72 * wide / pages[0].width,
            accent=accent,
            assets=dict(assets.values()),
        )
    except typst.TypstError as error:
        raise JobFailed("The slides could not be typeset.") from error


def sheet(
    pages: Sequence[Page], images: Sequence[bytes], *, accent: str | None, language: str
) -> bytes:
    """The first slides in two columns, as one JPEG: the deck's thumbnail, which previews show."""
    from PIL import Image

    shown = pages[:_SHEET_SLIDES]
    typeset_pages = build(
        shown, images, accent=accent, language=language, form="png", wide=_SHEET_SLIDE_WIDTH
    ).pages
    slides = [Image.open(io.BytesIO(page)).convert("RGB") for page in typeset_pages]
    wide, tall = slides[0].size
    columns = min(2, len(slides))
    rows = -(-len(slides) // columns)
    size = (columns * (wide + _GAP) - _GAP, rows * (tall + _GAP) - _GAP)
    picture = Image.new("RGB", size, "#d7dbde")
    for number, slide in enumerate(slides):
        row, column = divmod(number, columns)
        picture.paste(slide, (column * (wide + _GAP), row * (tall + _GAP)))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def _assets(images: Sequence[bytes], pages: Sequence[Page]) -> dict[int, tuple[str, bytes]]:
    shown = {e.image for page in pages for e in page.elements if isinstance(e, Picture)}
    return {
        number: (picture_name(number, images[number]), images[number]) for number in sorted(shown)
    }
