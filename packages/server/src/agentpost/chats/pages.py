"""The chats of the account, and where a new one begins."""

import base64
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request

from agentpost.chats import actions as chatting, lists
from agentpost.context import AppContext
from agentpost.domain.errors import RateLimited, Refusal, not_found
from agentpost.messages.new_messages import NewMessage
from agentpost.uploads.attachments import InlineFile
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.forms import Form
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer

_EXAMPLES_MAX: Final = 6
_SALES: Final = "month,region,revenue\n" + "".join(
    f"2026-{month:02},{region},{revenue + step * (month - 1) + (month * 37 % 5) * 40}\n"
    for month in range(1, 13)
    for region, revenue, step in (("North", 4200, 130), ("South", 3600, 210), ("West", 5100, -60))
)


@dataclass(frozen=True, slots=True)
class Example:
    """A first message that works at once."""

    text: str
    shows: str = ""
    icon: str = "message-square"


WITH_TABLE: Final = (
    Example("Chart revenue by month", "A picture, drawn from a table", "activity"),
    Example("Which region has the highest revenue?", "An answer, computed from the rows", "search"),
    Example("Write a report", "A document in PDF and Word", "file-text"),
)


async def show(
    ctx: AppContext, request: Request, viewer: Viewer, form: Form | None = None
) -> PageView:
    """The list, newest first, or what a search finds."""
    form = form or Form()
    search = request.query_params.get("q", "").strip()[:200]
    before = request.query_params.get("before", "")[:64]
    lines, older = await lists.list_(ctx, viewer.account_id, search, before)
    query = {name: text for name, text in (("q", search), ("before", older or "")) if text}
    model = {
        "chats": lines,
        "older": f"/chat?{urlencode(query)}" if older else None,
        "search": search,
        "me": viewer.user.id,
        "is_first": not search and not before and not lines,
        "examples": _examples(ctx),
        "has_table": ctx.examples is None,
        "form": form,
    }
    return PageView("chats/chats.html", "Chat", model, form.status)


async def begin(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Send the first message of a new chat."""
    form = await forms.read(ctx, request)
    uploads = tuple(dict.fromkeys(form.all("upload")))
    new = NewMessage(form.text("text"), upload_ids=uploads, user_id=viewer.user.id)
    return await _begin(ctx, request, viewer, form, new)


async def begin_example(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Send one of the examples, with the table when the agent takes one."""
    form = await forms.read(ctx, request)
    number, examples = form.text("example"), _examples(ctx)
    if not number.isdecimal() or int(number) >= len(examples):
        raise not_found("example")
    content = base64.b64encode(_SALES.encode()).decode()
    table = InlineFile("sales.csv", None, content, "text/csv")
    files = (table,) if ctx.examples is None else ()
    new = NewMessage(examples[int(number)].text, files=files, user_id=viewer.user.id)
    return await _begin(ctx, request, viewer, form, new)


async def _begin(
    ctx: AppContext, request: Request, viewer: Viewer, form: Form, new: NewMessage
) -> View:
    try:
        conversation_id = await chatting.say(ctx, viewer.account_id, new)
    except (Refusal, RateLimited) as refusal:
        form.wrong("text", refusal.message)
        return await show(ctx, request, viewer, form)
    return Redirect(f"/chat/{conversation_id}")


def _examples(ctx: AppContext) -> tuple[Example, ...]:
    if ctx.examples is None:
        return WITH_TABLE
    return tuple(Example(text) for text in ctx.examples[:_EXAMPLES_MAX])


PAGES = (
    Page(
        "/chat",
        get=show,
        post=begin,
        nav=Nav("Chat", "Chats", "message-square"),
        live=True,
        right=Right.READ,
        post_right=Right.WORK,
        notes={"deleted": "Chat and files deleted."},
    ),
    Page("/chat/examples", post=begin_example, right=Right.WORK),
)
