"""One chat: what was said, the jobs it led to, and where to go on."""

from typing import Final

from starlette.requests import Request

from agentpost.chats import actions as chatting, lists
from agentpost.context import AppContext
from agentpost.domain.errors import InvalidRequest, RateLimited, Refusal
from agentpost.jobs import recovery, works
from agentpost.jobs.recovery_rules import RecoveryState
from agentpost.messages import lists as message_lists
from agentpost.messages.new_messages import NewMessage
from agentpost.questions import forms as answer_form
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.forms import Form
from agentpost.web.page import Page, PageView, Redirect, View, Viewer

_TURN_DIGITS_MAX = 9
RECOVERED: Final = {
    RecoveryState.RECOVERING.value: "The job is still running. Its result appears here.",
    RecoveryState.WATCHING.value: "The job is running. Its result appears here.",
    RecoveryState.EXHAUSTED.value: "The maximum number of recoveries is reached.",
    RecoveryState.SETTLED.value: "The result is shown below.",
}
"""What a page says once after a recover."""


async def show(
    ctx: AppContext, request: Request, viewer: Viewer, chat_id: str, form: Form | None = None
) -> PageView:
    """A page of the chat, by default its newest; raises ``not_found``."""
    form = form or Form()
    before = request.query_params.get("before", "")
    turn = int(before) if before.isdecimal() and len(before) <= _TURN_DIGITS_MAX else None
    chat = await lists.conversation(ctx, viewer.account_id, chat_id, turn)
    beside, _ = await lists.list_(ctx, viewer.account_id)
    model = {
        "view": chat,
        "chat_id": chat.work.id if chat.work else chat.id,
        "own_key": viewer.account_id,
        "me": viewer.user.id,
        "beside": beside[:12],
        "form": form,
        "answer_fields": answer_form.fields(chat.asking[1]) if chat.asking else None,
        "may_delete": chat.can_be_deleted and chatting.may_delete(viewer.user, chat.begun_by),
    }
    return PageView("chats/chat.html", chat.title, model, form.status)


async def say(ctx: AppContext, request: Request, viewer: Viewer, chat_id: str) -> View:
    """Send a message into the chat; raises ``not_found``."""
    form = await forms.read(ctx, request)
    if form.has("answer_to"):
        return await _answer(ctx, request, viewer, chat_id, form)
    uploads = tuple(dict.fromkeys(form.all("upload")))
    try:
        new = NewMessage(form.text("text"), upload_ids=uploads, user_id=viewer.user.id)
        await chatting.say(ctx, viewer.account_id, new, chat_id)
    except (Refusal, RateLimited) as refusal:
        form.wrong("text", refusal.message)
        return await show(ctx, request, viewer, chat_id, form)
    return Redirect(f"/chat/{chat_id}")


async def _answer(
    ctx: AppContext, request: Request, viewer: Viewer, chat_id: str, form: Form
) -> View:
    """Answer the typed question of the chat."""
    chat = await lists.conversation(ctx, viewer.account_id, chat_id)
    if chat.asking is None or chat.asking[0] != form.text("answer_to"):
        return Redirect(f"/chat/{chat_id}")  # somebody was faster: the page shows what was said
    message_id, answer_format = chat.asking
    try:
        value = answer_form.value_of(answer_format, form)
        new = NewMessage(answer_to=message_id, answer=value, user_id=viewer.user.id)
        await chatting.say(ctx, viewer.account_id, new, chat_id)
    except InvalidRequest as refusal:
        problem = refusal.problems[0].problem
        form.wrong("answer", f"{problem[:1].upper()}{problem[1:]}.")
    except (Refusal, RateLimited, ValueError) as refusal:
        form.wrong("answer", str(refusal))
    if form.errors:
        return await show(ctx, request, viewer, chat_id, form)
    return Redirect(f"/chat/{chat_id}")


async def stop(ctx: AppContext, request: Request, viewer: Viewer, chat_id: str) -> View:
    """Stop what runs or waits in a work of the chat, or a message with all it led to; raises
    ``not_found``."""
    form = await forms.read(ctx, request)
    if form.text("message"):
        await message_lists.cancel_for(ctx, viewer.account_id, form.text("message"))
    else:
        await works.stop(ctx, viewer.account_id, form.text("work"))
    return Redirect(f"/chat/{chat_id}")


async def recover(ctx: AppContext, request: Request, viewer: Viewer, chat_id: str) -> View:
    """Look for the result of a message that expired, or watch it again; raises ``not_found``."""
    form = await forms.read(ctx, request)
    state = await recovery.recover_for(ctx, viewer.account_id, form.text("message"))
    return Redirect(f"/chat/{chat_id}", note=state.value)


async def delete(ctx: AppContext, _: Request, viewer: Viewer, chat_id: str) -> View:
    """Delete results and files; raises ``not_found``."""
    await chatting.delete(ctx, viewer.account_id, chat_id, viewer.user)
    return Redirect("/chat", note="deleted")


PAGES = (
    Page(
        "/chat/{chat_id}",
        get=show,
        post=say,
        live=True,
        right=Right.READ,
        post_right=Right.WORK,
        notes=RECOVERED,
    ),
    Page("/chat/{chat_id}/stop", post=stop, right=Right.WORK),
    Page("/chat/{chat_id}/recover", post=recover, right=Right.WORK),
    Page("/chat/{chat_id}/delete", post=delete, right=Right.WORK, action="chats delete"),
)
