"""The mails to the account's owner, for servers that cannot send them."""

from __future__ import annotations

from starlette.requests import Request

from agentpost.services import mail
from agentpost.services.context import AppContext
from agentpost.web.page import Nav, Page, Shown, View, Viewer


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The newest mails, newest first."""
    view = await mail.mail_queue(ctx, viewer.account_id)
    sending = bool(ctx.settings.smtp_url.get_secret_value())
    return Shown("pages/mail.html", "Mail to you", {"mails": view.mails, "sending": sending})


PAGES = (Page("/mail", get=show, nav=Nav("Account", "Mail to you", "mail")),)
