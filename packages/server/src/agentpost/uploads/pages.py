"""Uploads of the composer: the browser posts a file straight to where uploads go.

These two answer in JSON, since the page's script calls them; what is refused says ``error``, with
200, for a browser writes other answers into its console. The services are those of the API.
"""

import re

from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse

from agentpost.context import AppContext
from agentpost.domain.errors import Refusal, not_found
from agentpost.domain.file_names import content_disposition
from agentpost.files import views
from agentpost.storage.base import BlobMissing, open_checked
from agentpost.uploads import actions as uploads
from agentpost.uploads.actions import NewUpload
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.page import Page, View, Viewer

_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,80}/[A-Za-z0-9!#$&^_.+-]{1,120}")
_DIGITS_MAX = 15


async def announce(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A place for one file: the upload's id, and the form to post it with."""
    form = await forms.read(ctx, request)
    size, kind = form.text("size"), form.text("type")
    if not size.isdecimal() or len(size) > _DIGITS_MAX or int(size) < 1:
        return JSONResponse({"error": "An empty file cannot be sent."})
    new = NewUpload(form.text("name"), int(size), kind if _TYPE.fullmatch(kind) else None)
    try:
        upload, post = await uploads.create(ctx, viewer.account_id, new)
    except Refusal as refusal:
        return JSONResponse({"error": refusal.message})
    return JSONResponse({"id": upload.id, "url": post.url, "fields": dict(post.fields)})


async def complete(ctx: AppContext, _: Request, viewer: Viewer, upload_id: str) -> View:
    """The file was posted: check it."""
    try:
        ready = await uploads.complete(ctx, viewer.account_id, upload_id)
    except Refusal as refusal:
        return JSONResponse({"error": refusal.message})
    return JSONResponse({"id": ready.id})


async def download(ctx: AppContext, _: Request, viewer: Viewer, message_id: str, n: str) -> View:
    """Its bytes, never shown within a page of ours; raises ``not_found``."""
    file = await views.find(ctx, viewer.account_id, f"{message_id}/{n}")
    try:
        pieces = await open_checked(ctx.storage, file.blob, 0, file.size)
    except BlobMissing:
        raise not_found("file") from None
    headers = {
        "Content-Length": str(file.size),
        "Content-Disposition": content_disposition(file.name),
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cache-Control": "private, no-store",
    }
    return StreamingResponse(pieces, headers=headers, media_type="application/octet-stream")


PAGES = (
    Page("/chat/uploads", post=announce, right=Right.WORK),
    Page("/chat/uploads/{upload_id}/complete", post=complete, right=Right.WORK),
    Page(
        "/dashboard/messages/{message_id}/attachments/{n}",
        get=download,
        right=Right.READ,
    ),
)
