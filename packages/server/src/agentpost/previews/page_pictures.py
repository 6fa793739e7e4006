"""The first pages of a PDF file as one picture, in a process of its own.

The library that draws them is large and written in C. Run as a program, this module reads the file
from its input and writes a PNG picture to its output.
"""

import io
import sys
from collections.abc import AsyncIterator, Sequence
from importlib.util import find_spec
from typing import Final

from agentpost.previews import apart

PAGES_MAX: Final = 4
_HEIGHT: Final = 560
_GAP: Final = 12


def is_possible() -> bool:
    """Whether the packages for it are installed."""
    return find_spec("pypdfium2") is not None and find_spec("PIL") is not None


async def draw(content: AsyncIterator[bytes], launch: Sequence[str] = ()) -> bytes | None:
    """The pages side by side, as PNG; None for a file of which no picture can be made."""
    return await apart.run(__name__, [], content, launch) or None


def _main() -> None:
    apart.limit()
    import pypdfium2
    from PIL import Image

    document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    pages = []
    for n in range(min(len(document), PAGES_MAX)):
        page = document[n]
        scale = min(_HEIGHT / max(page.get_height(), 1), 3 * _HEIGHT / max(page.get_width(), 1))
        pages.append(page.render(scale=scale).to_pil().convert("RGB"))
    width = sum(page.width for page in pages) + _GAP * (len(pages) - 1)
    strip = Image.new("RGBA", (width, max(page.height for page in pages)), (0, 0, 0, 0))
    left = 0
    for page in pages:
        strip.paste(page, (left, 0))
        left += page.width + _GAP
    buffer = io.BytesIO()
    strip.save(buffer, "PNG")
    sys.stdout.buffer.write(buffer.getvalue())


if __name__ == "__main__":
    _main()
