"""Pictures of what is in a file: of those inside of documents, as small as a page shows them, and
of the first pages of a PDF file."""

import base64
import io
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PAGES_MAX: Final = 4
_HEIGHT: Final = 560
_GAP: Final = 12
_PIXELS_MAX: Final = 40_000_000
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_QUALITY: Final = 82


def can_draw_pages() -> bool:
    """Whether the packages for `pages` are installed."""
    return find_spec("pypdfium2") is not None and find_spec("PIL") is not None


def pages(path: Path) -> bytes:
    """The first pages of a PDF file side by side, as PNG. Raises what the library raises for a file
    of which no picture can be made."""
    import pypdfium2
    from PIL import Image

    document = pypdfium2.PdfDocument(path)
    pictures = []
    for n in range(min(len(document), PAGES_MAX)):
        page = document[n]
        scale = min(_HEIGHT / max(page.get_height(), 1), 3 * _HEIGHT / max(page.get_width(), 1))
        pictures.append(page.render(scale=scale).to_pil().convert("RGB"))
    width = sum(picture.width for picture in pictures) + _GAP * (len(pictures) - 1)
    strip = Image.new("RGBA", (width, max(each.height for each in pictures)), (0, 0, 0, 0))
    left = 0
    for picture in pictures:
        strip.paste(picture, (left, 0))
        left += picture.width + _GAP
    buffer = io.BytesIO()
    strip.save(buffer, "PNG")
    return buffer.getvalue()


def data_url(content: bytes, side: int, width_min: int = 0) -> str | None:
    """A picture on white as a data URL, no larger than ``side`` pixels; None when it cannot be
    read, is narrower than ``width_min``, or Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(io.BytesIO(content), formats=_FORMATS) as picture:
            if picture.width * picture.height > _PIXELS_MAX or picture.width < width_min:
                return None
            picture.draft("RGB", (side, side))
            small = picture.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    small.thumbnail((side, side))
    flat = Image.new("RGB", small.size, "white")
    flat.paste(small, mask=small)
    buffer = io.BytesIO()
    flat.save(buffer, "JPEG", quality=_QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"
