"""The browsers that are signed in; signing out here and everywhere."""

from typing import Final
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from agentpost.accounts.actions import digest
from agentpost.context import AppContext
from agentpost.domain.errors import not_found
from agentpost.http import audited
from agentpost.sessions import actions as sessions, oidc, password_pages, sign_in as signing_in
from agentpost.sessions.oidc import Journey, OidcError
from agentpost.users.role_rules import Right
from agentpost.web import forms, sign_in
from agentpost.web.cookies import journey_cookie, session_cookie
from agentpost.web.forms import Form
from agentpost.web.page import Nav, OpenPage, Page, PageView, Redirect, View, Viewer


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The user's sessions, the newest first."""
    model = {"lines": await sessions.of_user(ctx, viewer.user.id), "asking": digest(viewer.session)}
    return PageView("sessions/sessions.html", "Sessions", model)


async def end_all(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Log out everywhere, here too."""
    audited.state(request, viewer.email, session="all")
    await sessions.log_out_everywhere(ctx, viewer.user)
    return Redirect("/login", session="")


async def end(ctx: AppContext, request: Request, viewer: Viewer, session_id: str) -> View:
    """Log out one browser; raises ``not_found``."""
    audited.state(request, viewer.email, session=session_id)
    await sessions.end(ctx, viewer.user.id, session_id)
    return Redirect("/sessions", note="ended")


_SPENT: Final = password_pages.spent_notice(
    "This link has been used or has expired.",
    sign_in=True,
    minutes=sessions.LOGIN_LINK_SECONDS // 60,
)
_WRONG: Final = "The e-mail address or the password is wrong."


async def ask(ctx: AppContext, request: Request) -> View:
    """The form; who is signed in goes on."""
    next_path = request.query_params.get("next", "")
    secret = session_cookie(ctx.settings).read(request)
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


async def show_login(ctx: AppContext, _: Request, token: str) -> View:
    """A button. Looking spends nothing: chat programs and scanners look at every link."""
    email = await sessions.can_log_in(ctx, token)
    if email is None:
        return _SPENT
    return PageView(
        "sessions/login.html", "Sign in", {"token": quote(token, safe=""), "email": email}
    )


async def log_in(ctx: AppContext, request: Request, token: str) -> View:
    """The button: the link is spent, this browser has a session."""
    visitor = sign_in.visitor(ctx, request)
    secret = await sessions.log_in(ctx, token, visitor)
    if secret is None:
        await signing_in.record_failure(ctx, "", visitor, "link")
        return _SPENT
    return Redirect(sign_in.START, session=secret)


async def log_out(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The session ends on the server too."""
    await sessions.log_out(ctx, viewer.session)
    return Redirect("/login", session="")


PATH: Final = "/oidc/callback"


async def leave(ctx: AppContext, request: Request) -> View:
    """To the provider. What has to fit when somebody returns stays in this browser."""
    _require(ctx)
    next_path = sign_in.own_path(request.query_params.get("next", ""))
    try:
        journey, url = await oidc.begin(ctx, _callback(ctx), next_path)
    except OidcError as problem:
        return await _failure_view(ctx, request, problem)
    response = Response(status_code=303, headers={"Location": url})
    journey_cookie(ctx.settings).set(response, journey.text())
    return response


async def arrive(ctx: AppContext, request: Request) -> View:
    """Back with a code: this browser has a new session, invitations to accept, or is told why
    not."""
    _require(ctx)
    cookie = journey_cookie(ctx.settings)
    visitor = sign_in.visitor(ctx, request)
    try:
        journey = Journey.of(cookie.read(request))
        arrival = await oidc.finish(ctx, _callback(ctx), journey, request.query_params, visitor)
    except OidcError as problem:
        await signing_in.record_failure(ctx, "", visitor, "single sign-on")
        return await _failure_view(ctx, request, problem)
    if not isinstance(arrival, str):
        return password_pages.invitations(arrival, Form())
    place = urlsplit(ctx.settings.public_app_url).path.rstrip("/")
    location = place + sign_in.own_path(journey.wanted)
    response = Response(status_code=303, headers={"Location": location})
    cookie.set(response, "")
    session_cookie(ctx.settings).set(response, arrival)
    return response


def _require(ctx: AppContext) -> None:
    if not ctx.settings.oidc_issuer:
        raise not_found("page")


def _callback(ctx: AppContext) -> str:
    return f"{ctx.settings.public_app_url}{PATH}"


async def _failure_view(ctx: AppContext, request: Request, problem: OidcError) -> View:
    await oidc.remember(ctx, problem)
    form = Form()
    form.wrong("form", str(problem))
    return sign_in.page(request, ctx.settings, "", form, status=403)


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
    OpenPage("/login", get=ask, post=with_password),
    OpenPage("/login/{token}", get=show_login, post=log_in),
    Page("/logout", post=log_out, right=Right.SELF, action="sign-out"),
    OpenPage("/oidc", get=leave),
    OpenPage(PATH, get=arrive),
)
