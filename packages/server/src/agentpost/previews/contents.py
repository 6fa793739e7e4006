"""What an Office document or an archive looks like, for a page; made in a process of its own.

Run as a program, this module reads the file from its input and writes to its output, as JSON, what
`look` returns, or ``{"error": …}`` with a sentence for the user. With ``page`` it writes a page of
a zipped site, with its styles and pictures inside it; with ``drawn`` a Word document as one web
page.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agentpost import extras
from agentpost.extraction import Unreadable
from agentpost.extraction.office import Archive, word_lines
from agentpost.extraction.reading import check_installed, only_unreadable
from agentpost.previews import apart

SHEETS_MAX: Final = 5
ROWS_MAX: Final = 50
COLUMNS_MAX: Final = 20
CHARACTERS_MAX: Final = 8_000
MEMBERS_MAX: Final = 100
_CELL_CHARACTERS: Final = 80
_NAME_CHARACTERS: Final = 200
_FAILED: Final = "No preview of {name} could be made."


async def look(
    kind: str, name: str, content: AsyncIterator[bytes], launch: Sequence[str] = ()
) -> dict[str, Any]:
    """What the file holds; ``launch``: see `apart.run`. ``kind`` and the result:

    - ``sheets``: ``sheets``, each with ``title``, ``rows`` and ``more``; ``more_sheets``
    - ``document``: ``text`` in Markdown, ``more``
    - ``slides``: ``slides``, each with ``title``, ``lines``, ``picture`` (a data URL or None) and
      ``charts``; ``more``; ``picture`` of all slides, where the file has one
    - ``archive``: ``members`` (pairs of name and size), ``count``, ``pages`` (of a site, else none)

    Or ``error`` alone, for a file that cannot be shown so.
    """
    output = await apart.run(__name__, [kind, name], content, launch)
    if not output:
        return {"error": _FAILED.format(name=name)}
    contents: dict[str, Any] = json.loads(output)
    return contents


async def page(
    name: str, member: str, content: AsyncIterator[bytes], launch: Sequence[str] = ()
) -> bytes | None:
    """A page of a zipped site, without scripts and with what it needs inside it; None when there
    is no such page."""
    return await apart.run(__name__, ["page", name, member], content, launch) or None


async def word_page(name: str, content: AsyncIterator[bytes], launch: Sequence[str] = ()) -> bytes:
    """A Word document as one web page without scripts, or a page that says why there is none."""
    page = await apart.run(__name__, ["drawn", name], content, launch)
    return page or sentence(_FAILED.format(name=name))


def can_draw(kind: str) -> bool:
    """Whether it is a Word document, and the packages for it are installed."""
    from agentpost.previews import word_pages

    return kind == "document" and word_pages.is_possible()


def sentence(text: str) -> bytes:
    """A web page with only that."""
    from html import escape

    look = "font:15px sans-serif;color:#555;background:#fff;padding:1rem"
    return f'<!doctype html><meta charset=utf-8><p style="{look}">{escape(text)}'.encode()


def _word_page(path: Path, name: str) -> bytes:
    from agentpost.previews import word_pages

    try:
        with only_unreadable(name):
            with Archive(path, name) as archive:
                if "word/document.xml" not in archive.members:
                    raise Unreadable(f"{name} is damaged")
            return word_pages.page(path).encode()
    except Unreadable as unreadable:
        return sentence(f"{unreadable}.")


def _sheets(archive: Archive) -> dict[str, Any]:
    from agentpost.extraction.workbook import Workbook, is_workbook

    if not is_workbook(archive):
        raise Unreadable(f"{archive.name} is not a workbook")
    check_installed(archive.name, "an Excel file")
    workbook = Workbook(archive)
    sheets = []
    for sheet in workbook.sheets[:SHEETS_MAX]:
        rows = workbook.rows(sheet, columns=COLUMNS_MAX, characters=_CELL_CHARACTERS + 1)
        read = [[_cell(value) for value in row] for row in islice(rows, ROWS_MAX + 1)]
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


def _archive(archive: Archive) -> dict[str, Any]:
    from agentpost.previews import sites

    names = sorted(name for name in archive.members if not name.endswith("/"))
    members = [[name[-_NAME_CHARACTERS:], archive.size(name)] for name in names[:MEMBERS_MAX]]
    pages = [] if extras.missing("extraction") else sites.pages(names)
    return {"members": members, "count": len(names), "pages": pages}


def _contents_of(path: Path, kind: str, name: str) -> dict[str, Any]:
    from agentpost.previews import slides

    readers = {
        "sheets": _sheets,
        "document": _document,
        "slides": slides.read,
        "archive": _archive,
    }
    try:
        with only_unreadable(name), Archive(path, name) as archive:
            return readers[kind](archive)
    except Unreadable as unreadable:
        return {"error": f"{unreadable}."}


def _main() -> None:
    apart.limit()
    kind, name = sys.argv[1:3]
    with tempfile.NamedTemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        path = Path(file.name)
        if kind == "drawn":
            sys.stdout.buffer.write(_word_page(path, name))
            return
        if kind != "page":
            sys.stdout.write(json.dumps(_contents_of(path, kind, name)))
            return
        from agentpost.previews import sites

        with only_unreadable(name), Archive(path, name) as archive:
            sys.stdout.buffer.write(sites.page(archive, sys.argv[3]))


if __name__ == "__main__":
    _main()
