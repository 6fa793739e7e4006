"""Receive posted uploads when this server stores the files itself, by the rules of S3's POST.

No API key: the form's signed policy is the permission. Pages of any origin may post, so preflights
are answered. Errors have S3's XML shape, so that clients need not care which store they talk to.
The file goes to the disk as it arrives, in pieces of bounded size, and counts once it is whole.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping

import structlog
from starlette.requests import Request
from starlette.responses import Response

from agentpost.api.post_form import PostedForm, malformed_error, one_file
from agentpost.blobs import space
from agentpost.context import AppContext
from agentpost.domain.ids import UPLOAD, is_id
from agentpost.domain.limits import POST_FORM_BYTES_MAX, UPLOAD_BYTES_MAX
from agentpost.http import any_origin
from agentpost.http.bodies import TooSlow, chunks, declared_length
from agentpost.http.pipeline import Handler
from agentpost.storage.incoming import TARGET_PATH, Receiver
from agentpost.storage.post_policy import Allowance, PostRefused, too_large

log = structlog.get_logger(__name__)
_PARSED_BYTES = 8 * 1024
"""Given to the parser of forms at once: a byte may take it 0.3 microseconds."""
_WRITE_BYTES = 1024 * 1024
"""Held in memory of one upload at the most, besides what is on its way."""


def handlers(ctx: AppContext, receiver: Receiver) -> Mapping[str, Handler]:
    """The handlers of the route by method."""

    async def post(request: Request) -> Response:
        try:
            return await _post(ctx, receiver, request)
        except TooSlow as problem:
            return _refusal_response(PostRefused(400, "RequestTimeout", f"Timed out: {problem}."))
        except PostRefused as refusal:
            return _refusal_response(refusal)
        except OSError:  # a full disk, most often
            log.exception("upload_not_stored")
            return _refusal_response(
                PostRefused(500, "InternalError", "We could not store the file.")
            )

    return {"POST": post, "OPTIONS": any_origin.preflight("POST")}


async def _post(ctx: AppContext, receiver: Receiver, request: Request) -> Response:
    """Take one file in; raises `PostRefused`."""
    length = _length(request)
    form = PostedForm(request.headers.get("content-type", ""))
    arriving = _slices(chunks(request, ctx.settings.body_idle_seconds))
    first: list[bytes] = []
    while not form.file_began:
        chunk = await anext(arriving, None)
        if chunk is None:
            raise one_file() if form.ended else malformed_error("The form ends early.")
        first = form.feed(chunk)
    allowed = receiver.policies.check(form.fields, ctx.clock.now())
    if not is_id(UPLOAD, allowed.upload_id):
        raise PostRefused(403, "AccessDenied", "Access Denied")
    if length > allowed.most_bytes + 2 * POST_FORM_BYTES_MAX:  # no need to see it all
        raise too_large(length, allowed.most_bytes)
    if space.is_short(ctx):
        raise PostRefused(503, "SlowDown", "There is no space for files; try again later.")
    contents = _contents(form, allowed, first, arriving)
    stored_file = await receiver.receive(allowed.upload_id, contents)
    location = f"{ctx.settings.public_upload_url}{TARGET_PATH}/{allowed.upload_id}"
    headers = {"ETag": f'"{stored_file.version}"', "Location": location}
    return Response(status_code=204, headers=headers)


async def _slices(arriving: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body in pieces of `_PARSED_BYTES`, between which others have their turn."""
    async for chunk in arriving:
        for at in range(0, len(chunk), _PARSED_BYTES):
            yield chunk[at : at + _PARSED_BYTES]
            await asyncio.sleep(0)


async def _contents(
    form: PostedForm, allowed: Allowance, pieces: list[bytes], arriving: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The file, in parts that are worth a write; ends when the form has ended well and the size is
    right."""
    size, waiting = 0, bytearray()
    while True:
        for piece in pieces:
            size += len(piece)
            waiting += piece
        if size > allowed.most_bytes:
            raise too_large(size, allowed.most_bytes)
        if len(waiting) >= _WRITE_BYTES:
            yield bytes(waiting)
            waiting.clear()
        chunk = await anext(arriving, None)
        if chunk is None:
            break
        pieces = form.feed(chunk)
    if not form.ended:
        raise malformed_error("The form ends early.")
    allowed.check_size(size)
    yield bytes(waiting)


def _length(request: Request) -> int:
    """The body's length, which must be declared and not exceed that of any upload."""
    length = declared_length(request)
    if length is None or "transfer-encoding" in request.headers:
        raise PostRefused(
            411, "MissingContentLength", "You must provide the Content-Length HTTP header."
        )
    if length > UPLOAD_BYTES_MAX + 2 * POST_FORM_BYTES_MAX:
        raise too_large(length, UPLOAD_BYTES_MAX)
    return length


def _refusal_response(refusal: PostRefused) -> Response:
    """S3's error document."""
    from xml.sax.saxutils import escape  # takes urllib.request along

    details = "".join(f"<{n}>{escape(v)}</{n}>" for n, v in refusal.details.items())
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{refusal.code}</Code>"
        f"<Message>{escape(refusal.message)}</Message>{details}</Error>"
    )
    return Response(body, refusal.status, media_type="application/xml")
