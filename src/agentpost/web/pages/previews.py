"""Previews of files: parts of pages that are loaded when they come into view.

A made web page is shown in a frame that has no rights: no script runs in it, it has no origin, and
it loads nothing from anywhere.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.extraction import page_pictures
from agentpost.services import previews
from agentpost.services.context import AppContext
from agentpost.web.page import Page, Shown, View, Viewer

_LINES_SHOWN: Final = 14
_TEXT_SHOWN: Final = 3_000
_UNCUT_CHARACTERS: Final = 250
"""A text of no more surely fits."""
_SITE_BYTES_MAX: Final = 5_000_000
_FRAMED: Final = {
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:;"
        " media-src data:; frame-ancestors 'self'"
    ),
    "Cache-Control": "private, max-age=300",
}


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """What a file looks like; raises ``not_found``."""
    file, head = await previews.read(ctx, viewer.account_id, _file_id(request), previews.HEAD_BYTES)
    text = head.decode("utf-8", "replace")
    model: dict[str, Any] = {
        "file": file,
        "table": previews.table(file, head),
        "text": "",
        "kind": "text",
    }
    if model["table"]:
        model["kind"] = "table"
    elif file.content_type == "application/pdf":
        model["kind"] = "pages" if page_pictures.is_possible() else "none"
    elif file.content_type == "text/html":
        model["kind"] = "site" if file.size <= _SITE_BYTES_MAX else "none"
    elif file.name.lower().endswith((".md", ".markdown")) or file.content_type == "text/markdown":
        model.update(kind="markdown", text=text[:_TEXT_SHOWN])
    else:
        model["text"] = "\n".join(text[:_TEXT_SHOWN].splitlines()[:_LINES_SHOWN])
    model["cut"] = len(text) > _UNCUT_CHARACTERS
    return Shown("pages/preview.html", file.name, model)


async def frame(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A made web page, without rights; raises ``not_found``."""
    file, content = await previews.read(
        ctx, viewer.account_id, _file_id(request), _SITE_BYTES_MAX + 1
    )
    if file.content_type != "text/html" or len(content) > _SITE_BYTES_MAX:
        raise not_found("file")
    return Response(content, headers=_FRAMED, media_type="text/html")


async def pages(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """The first pages of a PDF file as a picture; raises ``not_found``."""
    file, content = await previews.read(
        ctx, viewer.account_id, _file_id(request), page_pictures.FILE_BYTES_MAX + 1
    )
    picture = None
    if file.content_type == "application/pdf" and len(content) <= page_pictures.FILE_BYTES_MAX:
        picture = await page_pictures.draw(content)
    if picture is None:  # no error: a browser would write one into its console
        return Response(status_code=204)
    headers = {"Cache-Control": "private, max-age=3600"}
    return Response(picture, headers=headers, media_type="image/png")


def _file_id(request: Request) -> str:
    work_id = request.path_params["work_id"]
    if not ids.is_id(ids.WORK, work_id):
        raise not_found("file")
    return f"{work_id}/{request.path_params['path']}"


PAGES = (
    Page("/chat/{work_id}/preview/{path:path}", get=show),
    Page("/chat/{work_id}/frame/{path:path}", get=frame),
    Page("/chat/{work_id}/pages/{path:path}", get=pages),
)
