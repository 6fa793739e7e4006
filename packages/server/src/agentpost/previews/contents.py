"""What a page shows of an Office document, an archive or a PDF file; made in a process of its own.

`apart.run` runs this module as a program. It is told a kind and the file's name, reads the file
from its input and writes to its output:

- ``sheets``, as JSON: ``sheets``, each with ``title``, ``rows`` and ``more``; ``more_sheets``
- ``document``, as JSON: ``text`` in Markdown, ``more``
- ``slides``, as JSON: ``slides``, each with ``title``, ``lines``, ``picture`` (a data URL or None)
  and ``charts``; ``more``; ``picture`` of all slides, where the file has one
- ``archive``, as JSON: ``members`` (pairs of name and size), ``count``, ``pages`` (of a site)
- ``page``, with a member's name: that page of a zipped site, without scripts and with its styles
  and pictures inside it
- ``drawn``: a Word document as one web page without scripts
- ``pages``: the first pages of a PDF file as a PNG picture

Of a file that cannot be shown the JSON has ``error`` alone, a sentence for the user; a drawn page
says the same, and else nothing is written.
"""

import json
import shutil
import sys
import tempfile
from datetime import datetime
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agentpost import extras
from agentpost.extraction import Unreadable
from agentpost.extraction.office import (
    Archive,
    related_parts,
    slide_members,
    slide_texts,
    word_lines,
)
from agentpost.extraction.reading import check_installed, only_unreadable
from agentpost.previews import apart, pictures, sites, word_pages

SHEETS_MAX: Final = 5
ROWS_MAX: Final = 50
COLUMNS_MAX: Final = 20
CHARACTERS_MAX: Final = 8_000
MEMBERS_MAX: Final = 100
SLIDES_MAX: Final = 12
LINES_MAX: Final = 8
_LINE_CHARACTERS: Final = 160
_PICTURE_BYTES_MAX: Final = 10_000_000
_SIDE: Final = 480
_SHEET_WIDTH_MIN: Final = 640
"""A narrower thumbnail is the icon of the first slide that PowerPoint leaves."""
_SHEET_SIDE: Final = 2_400
_THUMBNAIL: Final = "docProps/thumbnail.jpeg"
_CELL_CHARACTERS: Final = 80
_NAME_CHARACTERS: Final = 200


def sentence(text: str) -> bytes:
    """A web page with only that."""
    look = "font:15px sans-serif;color:#555;background:#fff;padding:1rem"
    return f'<!doctype html><meta charset=utf-8><p style="{look}">{escape(text)}'.encode()


def _sheets(archive: Archive) -> dict[str, Any]:
    from agentpost.extraction.workbook import Rows, Workbook, is_workbook

    if not is_workbook(archive):
        raise Unreadable(f"{archive.name} is not a workbook")
    check_installed(archive.name, "an Excel file")
    workbook = Workbook(archive)
    sheets = []
    for sheet in workbook.sheets[:SHEETS_MAX]:
        rows = Rows(workbook, sheet, columns=COLUMNS_MAX, characters=_CELL_CHARACTERS + 1)
        read = [[_cell(value) for value in row] for _, row in islice(rows, ROWS_MAX + 1)]
        visible_rows = read[:ROWS_MAX]
        width = max((len(row) for row in visible_rows), default=0)
        visible_rows = [row + [""] * (width - len(row)) for row in visible_rows]
        title = sheet.title[:_NAME_CHARACTERS]
        sheets.append({"title": title, "rows": visible_rows, "more": len(read) > ROWS_MAX})
    return {"sheets": sheets, "more_sheets": max(0, len(workbook.sheets) - SHEETS_MAX)}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value:,.4f}".rstrip("0").rstrip(".")
    if isinstance(value, datetime):
        return str(value).removesuffix(" 00:00:00")
    text = str(value)
    return text if len(text) <= _CELL_CHARACTERS else f"{text[:_CELL_CHARACTERS]}…"


def _document(archive: Archive) -> dict[str, Any]:
    lines: list[str] = []
    length = 0
    in_table = False
    for line in word_lines(archive):
        lines.append(line)
        if line.startswith("| ") and not in_table:  # Markdown wants a line below the first row
            lines.append("|---" * (line.count(" | ") + 1) + "|")
        in_table = line.startswith("| ")
        length += len(line) + 1
        if length > CHARACTERS_MAX:
            break
    if not any(line.strip() for line in lines):
        raise Unreadable(f"{archive.name} has no text in it")
    return {"text": "\n".join(lines)[:CHARACTERS_MAX], "more": length > CHARACTERS_MAX}


def _slides(archive: Archive) -> dict[str, Any]:
    members = slide_members(archive)
    slides = []
    for member in members[:SLIDES_MAX]:
        lines = [line[:_LINE_CHARACTERS] for line in slide_texts(archive, member) if line]
        images = related_parts(archive, member, "image")
        slides.append(
            {
                "title": lines[0] if lines else "",
                "lines": lines[1 : LINES_MAX + 1],
                "picture": next(
                    (picture for each in images[:3] if (picture := _small(archive, each))), None
                ),
                "charts": len(related_parts(archive, member, "chart")),
            }
        )
    sheet = None
    if _THUMBNAIL in archive.members:
        sheet = _small(archive, _THUMBNAIL, _SHEET_SIDE, _SHEET_WIDTH_MIN)
    return {"slides": slides, "more": max(0, len(members) - SLIDES_MAX), "picture": sheet}


def _small(archive: Archive, member: str, side: int = _SIDE, width_min: int = 0) -> str | None:
    """A picture as a data URL; None when it cannot be shown."""
    content = archive.read(member, _PICTURE_BYTES_MAX)
    return None if content is None else pictures.data_url(content, side, width_min)


def _archive(archive: Archive) -> dict[str, Any]:
    names = sorted(name for name in archive.members if not name.endswith("/"))
    members = [[name[-_NAME_CHARACTERS:], archive.size(name)] for name in names[:MEMBERS_MAX]]
    pages = [] if extras.missing("extraction") else sites.pages(names)
    return {"members": members, "count": len(names), "pages": pages}


_READERS: Final = {
    "sheets": _sheets,
    "document": _document,
    "slides": _slides,
    "archive": _archive,
}


def _look(path: Path, kind: str, name: str, arguments: list[str]) -> bytes:
    if kind == "pages":
        return pictures.pages(path)
    try:
        with only_unreadable(name):
            with Archive(path, name) as archive:
                if kind == "page":
                    return sites.page(archive, *arguments)
                if kind in _READERS:
                    return json.dumps(_READERS[kind](archive)).encode()
                if "word/document.xml" not in archive.members:
                    raise Unreadable(f"{name} is damaged")
            return word_pages.page(path).encode()
    except Unreadable as unreadable:
        if kind == "page":
            return b""
        text = f"{unreadable}."
        return sentence(text) if kind == "drawn" else json.dumps({"error": text}).encode()


def _main() -> None:
    apart.limit()
    kind, name, *arguments = sys.argv[1:]
    with tempfile.NamedTemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        sys.stdout.buffer.write(_look(Path(file.name), kind, name, arguments))


if __name__ == "__main__":
    _main()
