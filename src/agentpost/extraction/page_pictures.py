"""The first pages of a PDF file as one picture, in a process of its own.

The library that draws them is large and written in C, and the file may come from anybody: what it
breaks is this process, which has limits and is killed when it takes too long. Run as a program,
this module reads the file from its input and writes a PNG picture to its output.
"""

from __future__ import annotations

import asyncio
import io
import sys
from importlib.util import find_spec
from typing import Final

PAGES_MAX: Final = 4
FILE_BYTES_MAX: Final = 20_000_000
_HEIGHT: Final = 560
_GAP: Final = 12
_SECONDS_MAX: Final = 20.0
_CPU_SECONDS_MAX: Final = 15
_MEMORY_BYTES_MAX: Final = 1_500_000_000
_AT_ONCE: Final = asyncio.Semaphore(2)


def is_possible() -> bool:
    """Whether the packages for it are installed."""
    return find_spec("pypdfium2") is not None and find_spec("PIL") is not None


async def draw(content: bytes) -> bytes | None:
    """The pages side by side, as PNG; None for a file of which no picture can be made."""
    async with _AT_ONCE:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-m", __name__),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={},
        )
        try:
            async with asyncio.timeout(_SECONDS_MAX):
                picture, _ = await process.communicate(content)
        except TimeoutError:
            picture = b""
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return picture or None


def _main() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS_MAX, _CPU_SECONDS_MAX))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES_MAX, _MEMORY_BYTES_MAX))
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
    made = io.BytesIO()
    strip.save(made, "PNG")
    sys.stdout.buffer.write(made.getvalue())


if __name__ == "__main__":
    _main()
