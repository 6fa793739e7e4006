"""One chat: what was said, the jobs it led to, and where to go on."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse

from agentpost.domain import ids
from agentpost.domain.errors import RateLimited, Refusal, not_found
from agentpost.services import chats, chatting, works
from agentpost.services.chatting import NewText
from agentpost.services.context import AppContext
from agentpost.web import forms
from agentpost.web.forms import Form
from agentpost.web.page import Page, Redirect, Shown, View, Viewer

_TURN_DIGITS_MAX = 9


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A page of the chat, by default its newest; raises ``not_found``."""
    return await _shown(ctx, request, viewer, Form())


async def say(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Send a message into the chat; raises ``not_found``."""
    chat_id = _chat_id(request)
    form = await forms.read(ctx, request)
    uploads = tuple(dict.fromkeys(form.all("upload")))
    try:
        await chatting.say(ctx, viewer.account_id, NewText(form.text("text"), uploads, (), chat_id))
    except (Refusal, RateLimited) as refusal:
        form.wrong("text", refusal.message)
        return await _shown(ctx, request, viewer, form)
    return Redirect(f"/chat/{chat_id}")


async def stop(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Stop what runs or waits in a work of the chat; raises ``not_found``."""
    form = await forms.read(ctx, request)
    await works.stop(ctx, viewer.account_id, form.text("work"))
    return Redirect(f"/chat/{_chat_id(request)}")


async def delete(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Delete results and files; raises ``not_found``."""
    await chatting.delete(ctx, viewer.account_id, _chat_id(request))
    return Redirect("/chat", note="deleted")


async def download(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """To a fresh signed link, so that a page left open still gives its files; raises
    ``not_found``."""
    work_id = _chat_id(request)
    if not ids.is_id(ids.WORK, work_id):
        raise not_found("work")
    file_id = f"{work_id}/{request.path_params['path']}"
    file = await works.get_file(ctx, viewer.account_id, file_id)
    return RedirectResponse(ctx.links.file(file.file_id, file.revision), 303)


async def _shown(ctx: AppContext, request: Request, viewer: Viewer, form: Form) -> Shown:
    before = request.query_params.get("before", "")
    turn = int(before) if before.isdecimal() and len(before) <= _TURN_DIGITS_MAX else None
    chat = await chats.conversation(ctx, viewer.account_id, _chat_id(request), turn)
    beside = await chats.list_(ctx, viewer.account_id)
    model = {
        "view": chat,
        "chat_id": chat.work.id if chat.work else chat.id,
        "own_key": viewer.account_id,
        "beside": beside.lines[:12],
        "form": form,
    }
    return Shown("pages/chat.html", chat.title, model, 422 if form.errors else 200)


def _chat_id(request: Request) -> str:
    """The id in the address; raises ``not_found`` when it cannot be one."""
    chat_id: str = request.path_params["chat_id"]
    if not ids.is_id(ids.WORK, chat_id) and not ids.is_id(ids.CONVERSATION, chat_id):
        raise not_found("chat")
    return chat_id


PAGES = (
    Page("/chat/{chat_id}", get=show, post=say, live=True),
    Page("/chat/{chat_id}/stop", post=stop),
    Page("/chat/{chat_id}/delete", post=delete),
    Page("/chat/{chat_id}/files/{path:path}", get=download),
)
