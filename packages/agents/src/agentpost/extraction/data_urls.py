"""Pictures of a document as data URLs, no larger than a page shows them."""

from __future__ import annotations

import base64
import io
from typing import Final

_SUM_BYTES_MAX: Final = 6_000_000
_PIXELS_MAX: Final = 40_000_000
_SIDE: Final = 960
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")


class Pictures:
    """The pictures of one document, up to a sum of bytes."""

    def __init__(self) -> None:
        self._bytes = 0

    def url(self, content: bytes) -> str | None:
        """No larger than it is shown; None when it cannot be read, or there were too many."""
        from PIL import Image

        if self._bytes > _SUM_BYTES_MAX:
            return None
        try:
            with Image.open(io.BytesIO(content), formats=_FORMATS) as picture:
                if picture.width * picture.height > _PIXELS_MAX:
                    return None
                small = picture.convert("RGBA")
                small.thumbnail((_SIDE, _SIDE))
                buffer = io.BytesIO()
                small.save(buffer, "WEBP", quality=82)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None
        self._bytes += buffer.tell()
        return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
