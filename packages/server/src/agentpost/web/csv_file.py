"""Tables as CSV files to download, written as they are read."""

import csv
import io
import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

from starlette.responses import Response, StreamingResponse

from agentpost.domain.file_names import content_disposition

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def response(
    name: str, columns: Sequence[str], rows: AsyncIterator[Sequence[Sequence[object]]]
) -> Response:
    """A download.

    Args:
        name: of the file, in plain ASCII.
        columns: the first line.
        rows: some at a time; None is an empty field.
    """
    headers = {
        "Content-Disposition": content_disposition(name),
        "Cache-Control": "no-store",
    }
    return StreamingResponse(_lines(columns, rows), headers=headers, media_type="text/csv")


async def _lines(
    columns: Sequence[str], rows: AsyncIterator[Sequence[Sequence[object]]]
) -> AsyncIterator[str]:
    yield _text([columns])
    async for some in rows:
        yield _text([[_harmless(value) for value in row] for row in some])


def _text(rows: Sequence[Sequence[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()


def _harmless(value: object) -> object:
    """A text that a spreadsheet would run as a formula begins with an apostrophe instead."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value) or not value.startswith(_FORMULA):
        return value
    return f"'{value}"
