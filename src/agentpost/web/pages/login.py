"""Signing in by a link that works once, and signing out."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from starlette.requests import Request

from agentpost.services import sessions
from agentpost.services.context import AppContext
from agentpost.web.page import OpenPage, Page, Redirect, Shown, View, Viewer

_SPENT: Final = Shown(
    "layout/notice.html",
    "This link does not work",
    {
        "heading": "This link does not work",
        "text": "This link was used already, or its time is over.",
        "sign_in": True,
        "minutes": sessions.LOGIN_LINK_SECONDS // 60,
    },
    403,
)


async def show(ctx: AppContext, request: Request) -> View:
    """A button. Looking spends nothing: chat programs and scanners look at every link."""
    token = request.path_params["token"]
    if not await sessions.can_log_in(ctx, token):
        return _SPENT
    return Shown("pages/login.html", "Sign in", {"token": quote(token, safe="")})


async def log_in(ctx: AppContext, request: Request) -> View:
    """The button: the link is spent, this browser has a session."""
    browser = request.headers.get("user-agent", "")
    secret = await sessions.log_in(ctx, request.path_params["token"], browser)
    return Redirect("/dashboard", session=secret) if secret is not None else _SPENT


async def log_out(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The session ends on the server too."""
    await sessions.log_out(ctx, viewer.session)
    return Redirect("/dashboard", session="")


PAGES = (
    OpenPage("/login/{token}", get=show, post=log_in),
    Page("/logout", post=log_out),
)
