"""The browsers that are signed in; signing out here and everywhere."""

from __future__ import annotations

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.http import audited
from agentpost.sessions import actions as sessions
from agentpost.users.role_rules import Right
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The user's sessions, the newest first."""
    lines = await sessions.of_user(ctx, viewer.user.id, viewer.session)
    return PageView("sessions/sessions.html", "Sessions", {"lines": lines})


async def end_all(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Log out everywhere, here too."""
    audited.state(request, viewer.email, session="all")
    await sessions.log_out_everywhere(ctx, viewer.user.id)
    return Redirect("/login", session="")


async def end(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Log out one browser; raises ``not_found``."""
    audited.state(request, viewer.email, session=request.path_params["session_id"])
    await sessions.end(ctx, viewer.user.id, request.path_params["session_id"])
    return Redirect("/sessions", note="ended")


PAGES = (
    Page(
        "/sessions",
        get=show,
        post=end_all,
        action="sessions end",
        nav=Nav("Account", "Sessions", "monitor-smartphone"),
        right=Right.SELF,
        notes={"ended": "Session logged out."},
    ),
    Page("/sessions/{session_id}/end", post=end, right=Right.SELF, action="sessions end"),
)
