"""A file that came with a message, to be saved: it belongs to no chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request
from starlette.responses import StreamingResponse

from agentpost.context import AppContext
from agentpost.domain.errors import not_found
from agentpost.domain.file_names import content_disposition
from agentpost.record import reading
from agentpost.storage.base import BlobMissing
from agentpost.users.role_rules import Right
from agentpost.web.page import Page, View, Viewer

_NUMBER_DIGITS_MAX: Final = 4


async def download(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Its bytes, never shown within a page of ours; raises ``not_found``."""
    number = request.path_params["n"]
    if not (number.isascii() and number.isdecimal() and len(number) <= _NUMBER_DIGITS_MAX):
        raise not_found("file")
    message_id = request.path_params["message_id"]
    file = await reading.attachment(ctx, viewer.account_id, message_id, int(number))
    assert file.blob is not None, "only stored ones are found"
    pieces = ctx.storage.open(file.blob, 0, file.size)
    try:
        first = await anext(pieces, b"")  # found out before the answer begins
    except BlobMissing:
        raise not_found("file") from None
    headers = {
        "Content-Length": str(file.size),
        "Content-Disposition": content_disposition(file.name),
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "private, no-store",
    }
    return StreamingResponse(
        _all(first, pieces), headers=headers, media_type="application/octet-stream"
    )


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


PAGES = (
    Page(
        "/dashboard/messages/{message_id}/attachments/{n}",
        get=download,
        right=Right.READ,
    ),
)
