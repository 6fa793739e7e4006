"""What a file looks like, as one picture: pages, slides, sheets, frames, screens."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pypdfium2
from entries import Entry
from PIL import Image

from agentpost.agents.base import File
from agentpost.previews import apart
from agentpost_offline.frame import Act, Frame, Thing, to_json
from agentpost_offline.making.document import making as documents

_GAP, _PAPER = 16, "#c9d0d8"
_OFFICE = (".pptx", ".docx")
_ROWS = 24


class Unseen(Exception):
    """The program that draws this kind of file is not installed."""


def drawn(files: Sequence[File], entry: Entry, root: Path) -> Image.Image:
    """The main file as a picture. Raises `Unseen`."""
    path = root / files[0].name
    if path.suffix == ".mp4":
        return _sheet(_frames(path, entry.pages), entry.across)
    if path.suffix == ".xlsx":
        path = _printed(path)
    if path.suffix in _OFFICE:
        path = _converted(path)
    if path.suffix == ".pdf":
        return _sheet(_pages(path, entry.pages), entry.across)
    with Image.open(path) as image:
        return image.convert("RGB")


def _sheet(pictures: Sequence[Image.Image], across: int) -> Image.Image:
    across = min(across, len(pictures))
    wide, tall = pictures[0].width + _GAP, max(one.height for one in pictures) + _GAP
    down = -(-len(pictures) // across)
    sheet = Image.new("RGB", (across * wide - _GAP, down * tall - _GAP), _PAPER)
    for at, picture in enumerate(pictures):
        sheet.paste(picture, (at % across * wide, at // across * tall))
    return sheet


def _pages(path: Path, most: int) -> list[Image.Image]:
    with pypdfium2.PdfDocument(path) as document:
        count = min(most, len(document))
        return [document[n].render(scale=1.4).to_pil().convert("RGB") for n in range(count)]


def _frames(path: Path, most: int) -> list[Image.Image]:
    import av

    found: list[Image.Image] = []
    with av.open(str(path)) as film:
        seconds = float((film.duration or 0) / 1_000_000)
        for at in range(most):
            wanted = seconds * (at + 0.6) / most
            film.seek(int(wanted * 1_000_000))
            for frame in film.decode(video=0):
                if (frame.time or 0) + 0.05 >= wanted:
                    break
            found.append(frame.to_image().resize((640, 360)))
    return found


def _printed(path: Path) -> Path:
    """The rows that a server shows of a workbook before it is opened, as a PDF."""

    async def content() -> AsyncIterator[bytes]:
        yield path.read_bytes()

    parts = []
    output = asyncio.run(apart.run(["sheets", path.name], content()))
    for sheet in json.loads(output)["sheets"]:
        rows = [[str(cell).replace("|", "\\|") for cell in row] for row in sheet["rows"][:_ROWS]]
        rows.insert(1, ["---"] * len(rows[0]))
        lines = [f"| {' | '.join(row)} |" for row in rows]
        parts.append("\n".join([f"# {sheet['title']}", "", *lines]))
    frame = to_json(Frame(Act.MAKE, Thing.DOCUMENT, text="\n\n".join(parts)))
    printed = path.with_suffix(".pdf")
    printed.write_bytes(documents.write("pdf", [], frame, []))
    return printed


def _program(*names: str) -> str:
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise Unseen(f"{names[0]} is not installed")
    return found


def _converted(path: Path) -> Path:
    soffice = _program("soffice", "libreoffice")
    subprocess.run(  # noqa: S603
        [soffice, "--headless", f"-env:UserInstallation=file://{path.parent}/office",
         "--convert-to", "pdf", "--outdir", str(path.parent / "pdf"), str(path)],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip
    return path.parent / "pdf" / f"{path.stem}.pdf"
