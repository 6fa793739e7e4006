"""A document as PDF, typeset by Typst."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentpost.agents.base import File, JobFailed
from agentpost.agents.offline.document import Block, Document

_LAYOUT = Path(__file__).with_name("report.typ")


def build(document: Document) -> bytes:
    """Return the PDF.

    The layout is ours and fixed; the document goes in as data. Typst sees a folder with nothing
    but the figures, and no packages, so it neither reads other files nor uses the network.
    """
    import typst

    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        packages = root / "packages"
        packages.mkdir()
        source = root / "report.typ"
        source.write_bytes(_LAYOUT.read_bytes())
        value = {
            "title": document.title,
            "subtitle": document.subtitle,
            "blocks": _placed(document.blocks, root),
        }
        try:
            result = typst.compile(
                source,
                root=root,
                sys_inputs={"doc": json.dumps(value, ensure_ascii=False)},
                package_path=packages,
                package_cache_path=packages,
            )
        except typst.TypstError as error:
            raise JobFailed("The PDF could not be typeset.") from error
    assert isinstance(result, bytes)
    return result


def _placed(blocks: Sequence[Block], root: Path) -> list[Block]:
    """The blocks with their figures written beside the layout."""
    placed: list[Block] = []
    for number, block in enumerate(blocks):
        if block["type"] == "figure":
            name = f"figure-{number}.png"
            (root / name).write_bytes(block["png"])
            block = {"type": "figure", "file": name, "alt": block["alt"]}
        placed.append(block)
    return placed


def check(file: File, title: str) -> dict[str, Any]:
    """Open a written PDF again; raises `JobFailed` unless it has pages and its title on them.

    Returns the number of ``pages``.
    """
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(file.local) as document:
            pages = len(document)
            first = document[0].get_textpage().get_text_range() if pages else ""
    except pypdfium2.PdfiumError as error:
        raise JobFailed("The PDF came out damaged.") from error
    if not pages or not first.strip():
        raise JobFailed("The PDF came out empty.")
    # Line breaks, hyphens and right-to-left order change the text; its letters stay.
    letters = set(title) - set(first)
    if sum(char.isascii() and char.isalnum() for char in letters):
        raise JobFailed("The PDF came out without its title.")
    return {"pages": pages}
