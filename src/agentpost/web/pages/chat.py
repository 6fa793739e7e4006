"""One work with its result, question and files."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse

from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.services import overview, works
from agentpost.services.context import AppContext
from agentpost.services.overview import WorkState
from agentpost.web.page import Page, Shown, View, Viewer


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """One work; raises ``not_found``."""
    view = await overview.chat(ctx, viewer.account_id, _work_id(request))
    model = {
        "view": view,
        "running": view.state is WorkState.RUNNING,
        "asking": view.state is WorkState.ASKING,
        "failed": view.state is WorkState.FAILED,
    }
    return Shown("pages/chat.html", view.work.title or "Untitled", model)


async def download(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """To a fresh signed link, so that a page left open still gives its files; raises
    ``not_found``."""
    file_id = f"{_work_id(request)}/{request.path_params['path']}"
    file = await works.get_file(ctx, viewer.account_id, file_id)
    return RedirectResponse(ctx.links.file(file.file_id, file.revision), 303)


def _work_id(request: Request) -> str:
    """The work's id in the address; raises ``not_found`` when it cannot be one."""
    work_id: str = request.path_params["work_id"]
    if not ids.is_id(ids.WORK, work_id):
        raise not_found("work")
    return work_id


PAGES = (
    Page("/chat/{work_id}", get=show, live=True),
    Page("/chat/{work_id}/files/{path:path}", get=download),
)
