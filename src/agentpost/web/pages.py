"""The pages: sign in, dashboard, one chat with its files, mail, sign out (design: Signing in)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.http import pipeline
from agentpost.http.application import Route
from agentpost.http.pipeline import Handler, surround
from agentpost.services import accounts, mail, overview, sessions, works
from agentpost.services.context import AppContext
from agentpost.web import templates
from agentpost.web.rendering import HEADERS, Renderer
from agentpost.web.sessions import Cookie, from_own_page

SignedIn = Callable[[Request, str], Awaitable[Response]]


class Pages:
    """Handlers, and what surrounds some; ``account_id``: who the browser is signed in as."""

    def __init__(self, ctx: AppContext, renderer: Renderer) -> None:
        self._ctx = ctx
        self._cookie = Cookie(ctx.settings)
        self._renderer = renderer

    # --- signing in and out -----------------------------------------------------------------------
    async def show_login(self, request: Request) -> Response:
        """A button. Looking spends nothing: chat programs and scanners look at every link."""
        token = request.path_params["token"]
        if not await sessions.can_log_in(self._ctx, token):
            return self._dead_link()
        return self._renderer.page("Sign in", templates.login(self._renderer.base, token))

    async def log_in(self, request: Request) -> Response:
        """The button: the link is spent, this browser has a session."""
        browser = request.headers.get("user-agent", "")
        secret = await sessions.log_in(self._ctx, request.path_params["token"], browser)
        if secret is None:
            return self._dead_link()
        response = self._renderer.redirect("/dashboard")
        self._cookie.set(response, secret)
        return response

    async def log_out(self, request: Request) -> Response:
        """The session ends on the server too."""
        secret = self._cookie.read(request)
        if secret is not None:
            await sessions.log_out(self._ctx, secret)
        response = self._renderer.redirect("/dashboard")
        self._cookie.clear(response)
        return response

    # --- signed in --------------------------------------------------------------------------------
    async def home(self, _: Request) -> Response:
        """The dashboard is the home page."""
        return self._renderer.redirect("/dashboard")

    async def dashboard(self, _: Request, account_id: str) -> Response:
        """The account at a glance."""
        view = await overview.overview(self._ctx, account_id)
        main = templates.dashboard(self._renderer.base, self._ctx.settings.public_url, view)
        return self._renderer.page("Dashboard", main, who=view.name)

    async def chat(self, request: Request, account_id: str) -> Response:
        """One work; raises ``not_found``."""
        view = await overview.chat(self._ctx, account_id, _work_id(request))
        main = templates.chat(self._renderer.base, view)
        return self._renderer.page(view.work.title or "Untitled", main, who=view.account)

    async def show_sessions(self, request: Request, account_id: str) -> Response:
        """The browsers that are signed in."""
        account = await accounts.get(self._ctx, account_id)
        secret = self._cookie.read(request) or ""
        lines = await sessions.of_account(self._ctx, account_id, secret)
        main = templates.sessions(self._renderer.base, lines)
        return self._renderer.page("Sessions", main, who=account.name)

    async def end_sessions(self, _: Request, account_id: str) -> Response:
        """Log out everywhere, here too."""
        await sessions.log_out_everywhere(self._ctx, account_id)
        response = self._renderer.redirect("/dashboard")
        self._cookie.clear(response)
        return response

    async def mail_queue(self, _: Request, account_id: str) -> Response:
        """The mails to the account's owner, for servers that cannot send them."""
        view = await mail.mail_queue(self._ctx, account_id)
        sending = bool(self._ctx.settings.smtp_url.get_secret_value())
        main = templates.mail_queue(self._renderer.base, view, sending=sending)
        return self._renderer.page("Mail to you", main, who=view.account)

    async def download(self, request: Request, account_id: str) -> Response:
        """To a fresh signed link, so that a page left open goes on working; raises
        ``not_found``."""
        file_id = f"{_work_id(request)}/{request.path_params['path']}"
        file = await works.get_file(self._ctx, account_id, file_id)
        return RedirectResponse(self._ctx.links.file(file.file_id, file.revision), 303)

    # --- around the handlers ----------------------------------------------------------------------
    async def signed_in(self, handler: SignedIn, request: Request) -> Response:
        """Only with a session; nothing is looked up for anybody else."""
        secret = self._cookie.read(request)
        account_id = await sessions.account_of(self._ctx, secret) if secret else None
        if account_id is None:
            raise Refusal(ErrorCode.UNAUTHORIZED, "There is no session.")
        return await handler(request, account_id)

    async def own_form(self, handler: Handler, request: Request) -> Response:
        """Only from our own pages: no other site signs anybody in or out."""
        if not from_own_page(request, self._ctx.settings):
            text = "This form came from another site, so nothing was done."
            return self._renderer.notice("Refused", text, 403)
        return await handler(request)

    def _dead_link(self) -> Response:
        text = "This link was used already, or its time is over."
        return self._renderer.sign_in("This link does not work", text, 403)


class PageRoutes:
    """The routes that show pages."""

    def __init__(self, ctx: AppContext) -> None:
        renderer = Renderer(ctx.settings.public_app_url)
        middlewares = (
            partial(pipeline.with_state, ctx.clock),
            partial(pipeline.with_headers, HEADERS),
            partial(pipeline.with_errors, renderer.error),
        )
        self._unknown = surround(_no_such_page, middlewares)
        handlers = _handlers(Pages(ctx, renderer))
        self.routes = [Route(path, methods, middlewares) for path, methods in handlers.items()]

    def unknown(self, scope: Scope) -> Handler | None:
        """The handler for an address that no route has, None when no browser asks: programs get the
        error shape of the API."""
        if scope["method"] not in ("GET", "HEAD") or f"{scope['path']}/".startswith("/v1/"):
            return None
        accepted = Headers(scope=scope).get("accept", "")
        return self._unknown if "text/html" in accepted else None


async def _no_such_page(_: Request) -> Response:
    raise not_found("page")


def _handlers(pages: Pages) -> dict[str, dict[str, Handler]]:
    """The handlers of each path."""

    def signed_in(handler: SignedIn) -> Handler:
        return partial(pages.signed_in, handler)

    def form(handler: Handler) -> Handler:
        return partial(pages.own_form, handler)

    return {
        "/": {"GET": pages.home},
        "/login/{token}": {"GET": pages.show_login, "POST": form(pages.log_in)},
        "/logout": {"POST": form(pages.log_out)},
        "/dashboard": {"GET": signed_in(pages.dashboard)},
        "/mail": {"GET": signed_in(pages.mail_queue)},
        "/sessions": {
            "GET": signed_in(pages.show_sessions),
            "POST": form(signed_in(pages.end_sessions)),
        },
        "/chat/{work_id}": {"GET": signed_in(pages.chat)},
        "/chat/{work_id}/files/{path:path}": {"GET": signed_in(pages.download)},
    }


def _work_id(request: Request) -> str:
    """The work's id in the address; raises ``not_found`` when it cannot be one."""
    work_id: str = request.path_params["work_id"]
    if not ids.is_id(ids.WORK, work_id):
        raise not_found("work")
    return work_id
