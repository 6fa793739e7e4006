"""Previews of files, made or sent: parts of pages that are loaded when they come into view.

A made web page is shown in a frame that has no rights: no script runs in it, it has no origin, and
it loads nothing from anywhere.
"""

from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from agentpost.context import AppContext
from agentpost.domain.errors import Overloaded, not_found
from agentpost.files import previews, views
from agentpost.files.previews import Look
from agentpost.previews import pictures
from agentpost.previews.contents import sentence
from agentpost.record.records import FileRecord
from agentpost.users.role_rules import Right
from agentpost.web.page import Page, PageView, View, Viewer

_LINES_SHOWN: Final = 40
_TEXT_SHOWN: Final = 6_000
_UNCUT_CHARACTERS: Final = 250
"""A text of no more surely fits."""
_UNCUT_LINES: Final = 8
_MEMBER_CHARACTERS_MAX: Final = 1_000
_FRAMED: Final = {
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:;"
        " media-src data:; frame-ancestors 'self'"
    ),
    "Cache-Control": "private, max-age=300",
}


async def show(ctx: AppContext, _: Request, viewer: Viewer, work_id: str, path: str) -> View:
    """What a file looks like; raises ``not_found``."""
    file = await views.find(ctx, viewer.account_id, f"{work_id}/{path}")
    is_drawn = previews.is_drawn(file)
    contents = await previews.contents_of(ctx, file) if not is_drawn else None
    model: dict[str, Any] = {
        "file": file,
        "table": None,
        "text": "",
        "found": contents,
        "remark": "",
    }
    model["is_drawn"] = is_drawn
    if is_drawn:
        model["look"] = Look.SITE
    elif contents is None:
        model |= await _of_text(ctx, file)
    elif "error" in contents:
        model |= {"look": Look.NONE, "remark": contents["error"]}
    else:
        model |= {"look": previews.look_of(file), "text": contents.get("text", "")}
    text = model["text"]
    model["cut"] = len(text) > _UNCUT_CHARACTERS or text.count("\n") > _UNCUT_LINES
    return PageView("files/preview.html", file.name, model)


async def _of_text(ctx: AppContext, file: FileRecord) -> dict[str, Any]:
    """How a file is shown that is text, or that another address shows."""
    look = previews.look_of(file)
    if previews.is_too_large(file) and look in (Look.PAGES, *previews.APART):
        return {"look": Look.NONE, "remark": "This file is too large for a preview."}
    if look is Look.PAGES:
        possible = pictures.can_draw_pages()
        why = "" if possible else "To preview pages, install agentpost[offline] on the server."
        return {"look": look if possible else Look.NONE, "remark": why}
    if look is Look.SITE:
        fits = file.size <= previews.SITE_BYTES_MAX
        return {
            "look": look if fits else Look.NONE,
            "remark": "" if fits else "This page is too large for a preview.",
        }
    if look in previews.BY_BROWSER:
        return {"look": Look.NONE, "remark": ""}
    head = await previews.read(ctx, file, previews.HEAD_BYTES)
    table = previews.table(file, head)
    if table is not None:
        return {"look": look, "table": table}
    text = head.decode("utf-8-sig", "replace")
    if look is Look.MARKDOWN:
        return {"look": look, "text": text[:_TEXT_SHOWN]}
    if look is Look.JSON:
        text = previews.indent_json(text)
    return {"look": Look.TEXT, "text": "\n".join(text[:_TEXT_SHOWN].splitlines()[:_LINES_SHOWN])}


async def frame(ctx: AppContext, request: Request, viewer: Viewer, work_id: str, path: str) -> View:
    """A made web page, one of a zipped site or a Word document, without rights; raises
    ``not_found``."""
    file = await views.find(ctx, viewer.account_id, f"{work_id}/{path}")
    member = request.query_params.get("page", "")[:_MEMBER_CHARACTERS_MAX]
    try:
        content = await previews.word_page(ctx, file) or await previews.page_of_site(
            ctx, file, member
        )
    except Overloaded as busy:  # the page for that cannot be framed
        text = f"{busy.message} Try again in {busy.retry_after_seconds} s."
        headers = {
            **_FRAMED,
            "Cache-Control": "no-store",
            "Retry-After": f"{busy.retry_after_seconds}",
        }
        return Response(sentence(text), 503, headers, media_type="text/html")
    if not content:
        if previews.look_of(file) is not Look.SITE or file.size > previews.SITE_BYTES_MAX:
            raise not_found("file")
        content = await previews.read(ctx, file, previews.SITE_BYTES_MAX)
    return Response(content, headers=_FRAMED, media_type="text/html")


async def pages(ctx: AppContext, _: Request, viewer: Viewer, work_id: str, path: str) -> View:
    """The first pages of a PDF file as a picture; raises ``not_found``."""
    file = await views.find(ctx, viewer.account_id, f"{work_id}/{path}")
    picture = await previews.picture_of_pages(ctx, file)
    if not picture:  # no error: a browser would write one into its console
        return Response(status_code=204)
    headers = {"Cache-Control": "private, max-age=3600"}
    return Response(picture, headers=headers, media_type="image/png")


PAGES = (
    Page("/chat/{work_id}/preview/{path:path}", get=show, right=Right.READ),
    Page("/chat/{work_id}/frame/{path:path}", get=frame, right=Right.READ),
    Page("/chat/{work_id}/pages/{path:path}", get=pages, right=Right.READ),
)
