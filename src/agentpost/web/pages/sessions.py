"""The browsers that are signed in; signing out here and everywhere."""

from __future__ import annotations

from starlette.requests import Request

from agentpost.services import sessions
from agentpost.services.context import AppContext
from agentpost.web.page import Nav, Page, Redirect, Shown, View, Viewer


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The sessions of the account, the newest first."""
    lines = await sessions.of_account(ctx, viewer.account_id, viewer.session)
    return Shown("pages/sessions.html", "Sessions", {"lines": lines})


async def end_all(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """Log out everywhere, here too."""
    await sessions.log_out_everywhere(ctx, viewer.account_id)
    return Redirect("/dashboard", session="")


PAGES = (
    Page(
        "/sessions",
        get=show,
        post=end_all,
        nav=Nav("Account", "Sessions", "monitor-smartphone"),
    ),
)
