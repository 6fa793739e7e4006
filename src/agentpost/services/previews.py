"""What a page shows of a file before it is opened: the first rows, the first lines."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Final

from agentpost.domain.errors import not_found
from agentpost.domain.records import FileRecord
from agentpost.services import works
from agentpost.services.context import AppContext
from agentpost.storage.base import BlobMissing

HEAD_BYTES: Final = 64 * 1024
_ROWS: Final = 6
_COLUMNS: Final = 8
_CELL_CHARACTERS: Final = 60
_SEPARATED: Final = ("text/csv", "text/tab-separated-values")


@dataclass(frozen=True, slots=True)
class Table:
    """The first rows of a table; ``more``: there are others."""

    head: list[str]
    rows: list[list[str]]
    more: bool


async def read(
    ctx: AppContext, account_id: str, file_id: str, most: int
) -> tuple[FileRecord, bytes]:
    """A file of the account and its first ``most`` bytes; raises ``not_found``."""
    file = await works.get_file(ctx, account_id, file_id)
    try:
        pieces = [piece async for piece in ctx.storage.open(file.blob, 0, min(file.size, most))]
    except BlobMissing:
        raise not_found("file") from None
    return file, b"".join(pieces)


def table(file: FileRecord, head: bytes) -> Table | None:
    """The first rows, when the file is a table in text."""
    if file.content_type not in _SEPARATED:
        return None
    text = head.decode("utf-8-sig", "replace")
    cut = len(head) < file.size
    lines = text.splitlines(keepends=True)[: -1 if cut else None]
    first = lines[0] if lines else ""
    separator = max(",;\t|", key=first.count)
    found = csv.reader(io.StringIO("".join(lines[: 4 * _ROWS])), delimiter=separator)
    try:
        rows = [[_cell(cell) for cell in row[:_COLUMNS]] for row in found if row]
    except csv.Error:
        return None
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    return Table(rows[0], rows[1 : _ROWS + 1], cut or len(rows) > _ROWS + 1)


def _cell(text: str) -> str:
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 1]}…"
