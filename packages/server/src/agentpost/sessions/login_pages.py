"""Signing in with a password or by a link that works once, and signing out."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.sessions import actions as sessions
from agentpost.sessions import sign_in as signing_in
from agentpost.users.role_rules import Right
from agentpost.web import forms, sign_in
from agentpost.web.cookies import Cookie
from agentpost.web.page import OpenPage, Page, PageView, Redirect, View, Viewer

_SPENT: Final = PageView(
    "layout/notice.html",
    "This link does not work",
    {
        "heading": "This link does not work",
        "text": "This link has been used or has expired.",
        "sign_in": True,
        "minutes": sessions.LOGIN_LINK_SECONDS // 60,
    },
    403,
)
_WRONG: Final = "The e-mail address or the password is wrong."


async def ask(ctx: AppContext, request: Request) -> View:
    """The form; who is signed in goes on."""
    next_path = request.query_params.get("next", "")
    secret = Cookie(ctx.settings).read(request)
    if secret and await sessions.signed_in(ctx, secret):
        return Redirect(sign_in.own_path(next_path))
    return sign_in.page(request, ctx.settings, next_path)


async def with_password(ctx: AppContext, request: Request) -> View:
    """The form: this browser has a new session, and the one it had before is over."""
    form = await forms.read(ctx, request)
    visitor = sign_in.visitor(ctx, request)
    next_path = form.text("next")
    secret = await signing_in.with_password(
        ctx, form.text("email"), form.exact("password"), visitor
    )
    if secret is None:
        form.wrong("form", _WRONG)
        return sign_in.page(request, ctx.settings, next_path, form, status=422)
    return Redirect(sign_in.own_path(next_path), session=secret)


async def show(ctx: AppContext, request: Request) -> View:
    """A button. Looking spends nothing: chat programs and scanners look at every link."""
    token = request.path_params["token"]
    email = await sessions.can_log_in(ctx, token)
    if email is None:
        return _SPENT
    return PageView(
        "sessions/login.html", "Sign in", {"token": quote(token, safe=""), "email": email}
    )


async def log_in(ctx: AppContext, request: Request) -> View:
    """The button: the link is spent, this browser has a session."""
    visitor = sign_in.visitor(ctx, request)
    token = request.path_params["token"]
    secret = await sessions.log_in(ctx, token, visitor.browser, visitor.before, visitor.address)
    if secret is None:
        await signing_in.record_failure(ctx, "", visitor, "link")
        return _SPENT
    return Redirect(sign_in.START, session=secret)


async def log_out(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The session ends on the server too."""
    await sessions.log_out(ctx, viewer.session)
    return Redirect("/login", session="")


PAGES = (
    OpenPage("/login", get=ask, post=with_password),
    OpenPage("/login/{token}", get=show, post=log_in),
    Page("/logout", post=log_out, right=Right.SELF, action="sign-out"),
)
