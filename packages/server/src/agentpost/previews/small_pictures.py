"""Pictures inside of documents, as small as a page shows them."""

import base64
import io
from typing import Final

_PIXELS_MAX: Final = 40_000_000
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_QUALITY: Final = 82


def url(content: bytes, side: int, width_min: int = 0) -> str | None:
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
