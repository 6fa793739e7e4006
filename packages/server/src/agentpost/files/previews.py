"""What a page shows of a file before it is opened: the first rows, the first lines."""

import asyncio
import contextlib
import csv
import io
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from agentpost.context import AppContext
from agentpost.domain.errors import Overloaded, not_found
from agentpost.operations import step_places
from agentpost.previews import apart, word_pages
from agentpost.previews.contents import sentence
from agentpost.record.records import FileRecord
from agentpost.storage.base import BlobMissing

HEAD_BYTES: Final = 64 * 1024
SITE_BYTES_MAX: Final = 5_000_000
_OF_ACCOUNT_MAX: Final = 6
"""How many files of an account are read or wait: as many as a browser asks for at once."""
_ALL_MAX: Final = 20
_RETRY_SECONDS: Final = 10
_ROWS: Final = 100
_COLUMNS: Final = 20
_CELL_CHARACTERS: Final = 60
_FAILED: Final = "No preview of {name} could be made."
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."


class Look(StrEnum):
    """How a file is shown: by its name where the browser does it, else as a part of its own."""

    PICTURE = "picture"
    VIDEO = "video"
    AUDIO = "audio"
    TABLE = "table"
    PAGES = "pages"
    SITE = "site"
    MARKDOWN = "markdown"
    JSON = "json"
    TEXT = "text"
    SHEETS = "sheets"
    DOCUMENT = "document"
    SLIDES = "slides"
    ARCHIVE = "archive"
    NONE = "none"


BY_BROWSER: Final = frozenset({Look.PICTURE, Look.VIDEO, Look.AUDIO, Look.NONE})
APART: Final = frozenset({Look.SHEETS, Look.DOCUMENT, Look.SLIDES, Look.ARCHIVE})
_LOOKS: Final = {
    **dict.fromkeys(
        ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"),
        Look.PICTURE,
    ),
    "text/csv": Look.TABLE,
    "text/tab-separated-values": Look.TABLE,
    "text/html": Look.SITE,
    "text/markdown": Look.MARKDOWN,
    "application/pdf": Look.PAGES,
    "application/json": Look.JSON,
    "application/geo+json": Look.JSON,
    "application/zip": Look.ARCHIVE,
    f"{_OFFICE}spreadsheetml.sheet": Look.SHEETS,
    "application/vnd.ms-excel.sheet.macroenabled.12": Look.SHEETS,
    f"{_OFFICE}wordprocessingml.document": Look.DOCUMENT,
    f"{_OFFICE}presentationml.presentation": Look.SLIDES,
    **dict.fromkeys(
        (
            *("application/javascript", "application/sql", "application/toml", "application/xml"),
            *("application/x-ndjson", "application/x-sh", "application/yaml", "image/svg+xml"),
            *("application/x-subrip", "application/x-ipynb+json"),
        ),
        Look.TEXT,
    ),
}


def look_of(file: FileRecord) -> Look:
    """How the file is shown."""
    kind = file.content_type
    if file.name.lower().endswith((".md", ".markdown")) and kind.startswith("text/"):
        return Look.MARKDOWN
    family = {"video": Look.VIDEO, "audio": Look.AUDIO, "text": Look.TEXT}
    return _LOOKS.get(kind) or family.get(kind.partition("/")[0], Look.NONE)


@dataclass(frozen=True, slots=True)
class Table:
    """The first rows of a table; ``more``: there are others."""

    head: list[str]
    rows: list[list[str]]
    more: bool


async def read(ctx: AppContext, file: FileRecord, most: int) -> bytes:
    """The first ``most`` bytes of a file; raises ``not_found``."""
    return b"".join([piece async for piece in _content(ctx, file, most)])


async def _content(ctx: AppContext, file: FileRecord, most: int) -> AsyncIterator[bytes]:
    try:
        async for piece in ctx.storage.open(file.blob, 0, min(file.size, most)):
            yield piece
    except BlobMissing:
        raise not_found("file") from None


def is_too_large(file: FileRecord) -> bool:
    """Whether a file that has to be read whole is not."""
    return file.size > apart.FILE_BYTES_MAX


async def contents_of(ctx: AppContext, file: FileRecord) -> dict[str, Any] | None:
    """What an Office document or an archive holds, see `previews.contents`; None for other files.
    Raises ``not_found``, `Overloaded`."""
    look = look_of(file)
    if look not in APART or is_too_large(file):
        return None
    output = await _read_apart(ctx, file, look)
    contents: dict[str, Any] = json.loads(output or "{}")
    return contents or {"error": _FAILED.format(name=file.name)}


def is_drawn(file: FileRecord) -> bool:
    """Whether `word_page` shows it, rather than `contents_of`."""
    return look_of(file) is Look.DOCUMENT and word_pages.is_possible() and not is_too_large(file)


async def word_page(ctx: AppContext, file: FileRecord) -> bytes | None:
    """A Word document as a web page, to be framed without rights; None for other files. Raises
    ``not_found``, `Overloaded`."""
    if not is_drawn(file):
        return None
    return await _read_apart(ctx, file, "drawn") or sentence(_FAILED.format(name=file.name))


async def picture_of_pages(ctx: AppContext, file: FileRecord) -> bytes:
    """The first pages of a PDF file as PNG; empty when there is no such picture. Raises
    ``not_found``, `Overloaded`."""
    if look_of(file) is not Look.PAGES or is_too_large(file):
        return b""
    return await _read_apart(ctx, file, "pages")


async def page_of_site(ctx: AppContext, file: FileRecord, member: str) -> bytes:
    """A page of a zipped site as one file; empty when there is none. Raises ``not_found``,
    `Overloaded`."""
    if look_of(file) is not Look.ARCHIVE or is_too_large(file) or not member:
        return b""
    return await _read_apart(ctx, file, "page", member)


async def _read_apart(ctx: AppContext, file: FileRecord, kind: str, *arguments: str) -> bytes:
    async with _turn(file.account_id):
        with step_places.launch(ctx.settings) as launch:
            content = _content(ctx, file, file.size)
            return await apart.run([kind, file.name, *arguments], content, launch)


_waiting: Counter[str] = Counter()
_locks: dict[str, asyncio.Lock] = {}


@contextlib.asynccontextmanager
async def _turn(account_id: str) -> AsyncIterator[None]:
    """Hold the account's turn to have a file read apart: one of its files is read at a time, so
    that others need not wait for all of them. Raises `Overloaded` when too many wait already."""
    if _waiting[account_id] >= _OF_ACCOUNT_MAX or _waiting.total() >= _ALL_MAX:
        raise Overloaded("Many previews are being made right now.", _RETRY_SECONDS)
    _waiting[account_id] += 1
    lock = _locks.setdefault(account_id, asyncio.Lock())
    try:
        async with lock:
            yield
    finally:
        _waiting[account_id] -= 1
        if not _waiting[account_id]:
            del _waiting[account_id], _locks[account_id]


def table(file: FileRecord, head: bytes) -> Table | None:
    """The first rows, when the file is a table in text."""
    if look_of(file) is not Look.TABLE:
        return None
    text = head.decode("utf-8-sig", "replace")
    cut = len(head) < file.size
    lines = text.splitlines(keepends=True)[: -1 if cut else None]
    first = lines[0] if lines else ""
    separator = max(",;\t|", key=first.count)
    reader = csv.reader(io.StringIO("".join(lines[: 4 * _ROWS])), delimiter=separator)
    try:
        rows = [[_cell(cell) for cell in row[:_COLUMNS]] for row in reader if row]
    except csv.Error:
        return None
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    return Table(rows[0], rows[1 : _ROWS + 1], cut or len(rows) > _ROWS + 1)


def indent_json(text: str) -> str:
    """JSON with a line for each value; what is no JSON stays as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _cell(text: str) -> str:
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 1]}…"
