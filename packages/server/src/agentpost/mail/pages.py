"""The mails to the account's owner, for servers that cannot send them."""

from typing import Final

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.mail import actions as mail
from agentpost.users.role_rules import Right
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer

_PATH: Final = "/dashboard/mail"


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The newest mails, newest first."""
    mails = await mail.mail_queue(ctx, viewer.account_id)
    sending = bool(ctx.settings.smtp_url.get_secret_value())
    return PageView("mail/mail.html", "Mail", {"mails": mails, "sending": sending})


async def redirect_old_address(_: AppContext, __: Request, ___: Viewer) -> View:
    """Where the page was before."""
    return Redirect(_PATH)


PAGES = (
    Page(_PATH, get=show, nav=Nav("Dashboard", "Mail", "mail"), right=Right.READ),
    Page("/mail", get=redirect_old_address, right=Right.READ),
)
