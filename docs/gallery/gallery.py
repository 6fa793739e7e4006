"""Render everything the built-in agent makes from real inputs: ``make gallery``.

Writes a picture of each entry to this folder and the page that shows them (README.md). ``ARGS``
are words that the names of the wanted entries contain.
"""

from __future__ import annotations

import asyncio
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypdfium2
from PIL import Image

from agentpost.agents.base import File
from agentpost.agents.offline.frame import Act, Frame
from agentpost.agents.offline.making import catalogue
from agentpost.agents.offline.making.maker import Inputs

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

from entries import ENTRIES, Entry  # noqa: E402

WIDTH, LARGEST = 1000, 150_000


class Bench:
    """A job that runs its steps at once and writes to a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state: dict[str, Any] = {}

    async def step(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> Any:
        """Run a step."""
        return fn(*args)

    async def write(self, path: str, data: Any, /, *args: Any, **_: Any) -> File:
        """Write a file."""
        content = data(*args) if callable(data) else data
        (self.root / path).write_bytes(content)
        return opened(self.root / path)

    async def progress(self, step: str) -> None:
        """Say nothing."""


def opened(path: Path) -> File:
    """A file as a step sees it."""
    return File(path.name, path.name, "", "other", path.stat().st_size, '"1"', "",
                local_path=path)  # fmt: skip


def made(entry: Entry, root: Path) -> Path:
    """The first file that the entry's maker writes."""
    files = tuple(opened(FOLDER / "inputs" / name) for name in entry.inputs)
    frame = Frame(
        Act.MAKE, entry.thing, entry.queries, entry.style, (entry.form,), entry.language,
        tuple(file.id for file in files),
    )  # fmt: skip
    maker = catalogue.maker(entry.thing)
    assert maker is not None
    job: Any = Bench(root)
    result = asyncio.run(maker.make(job, Inputs(frame, files)))
    return result.files[0].local


def picture(path: Path, pages: int) -> Image.Image:
    """What the file looks like: its first pages side by side."""
    if path.suffix != ".pdf":
        return Image.open(path).convert("RGB")
    with pypdfium2.PdfDocument(path) as document:
        shown = [document[n].render(scale=1.4).to_pil() for n in range(min(pages, len(document)))]
    wide = sum(page.width for page in shown) + 16 * (len(shown) - 1)
    sheet = Image.new("RGB", (wide, shown[0].height), "#c9d0d8")
    at = 0
    for page in shown:
        sheet.paste(page, (at, 0))
        at += page.width + 16
    return sheet


def small(image: Image.Image) -> bytes:
    """The picture as a PNG of at most `LARGEST` bytes."""
    for width in (WIDTH, 800, 640):
        scaled = image.copy()
        scaled.thumbnail((width, 4 * width), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        scaled.quantize(128).save(buffer, "PNG", optimize=True)
        if buffer.tell() <= LARGEST:
            break
    return buffer.getvalue()


def main(words: list[str]) -> None:
    """Render the entries whose names contain one of the words; all without words."""
    for entry in ENTRIES:
        if words and not any(word in entry.name for word in words):
            continue
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as root:
            data = small(picture(made(entry, Path(root)), entry.pages))
        (FOLDER / f"{entry.name}.png").write_bytes(data)
        took = time.perf_counter() - began
        sys.stdout.write(f"{entry.name}: {len(data) // 1024} kB, {took:.1f} s\n")
    lines = ["# What the built-in agent makes", "",
             "Rendered from the files in [inputs](inputs) by `make gallery`.", ""]  # fmt: skip
    for entry in ENTRIES:
        if (FOLDER / f"{entry.name}.png").exists():
            source = ", ".join(entry.inputs)
            lines += [f"## {entry.name}", "", f"From {source}.", "",
                      f"![{entry.name}]({entry.name}.png)", ""]  # fmt: skip
    (FOLDER / "README.md").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
