"""The pages: sign in, dashboard, one chat with its files, mail, sign out (design: Signing in)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.services import accounts, mail, overview, sessions, works
from agentpost.services.context import AppContext
from agentpost.web import templates
from agentpost.web.door import Handler, LostBrowsers, Page, Sheets
from agentpost.web.sessions import Cookie, from_own_page

SignedIn = Callable[[Request, str], Awaitable[Response]]


class Pages:
    """Handlers; ``account_id`` is the account the browser is signed in to."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self._cookie = Cookie(ctx.settings)
        self._sheets = Sheets(ctx)

    # --- signing in and out -----------------------------------------------------------------------
    async def show_login(self, request: Request) -> Response:
        """A button. Looking spends nothing: chat programs and scanners look at every link."""
        token = request.path_params["token"]
        if not await sessions.can_log_in(self._ctx, token):
            return self._dead_link()
        return self._sheets.page("Sign in", templates.login(self._sheets.base, token))

    async def log_in(self, request: Request) -> Response:
        """The button: the link is spent, this browser has a session."""
        browser = request.headers.get("user-agent", "")
        secret = await sessions.log_in(self._ctx, request.path_params["token"], browser)
        if secret is None:
            return self._dead_link()
        response = self._sheets.to("/dashboard")
        self._cookie.set(response, secret)
        return response

    async def log_out(self, request: Request) -> Response:
        """The session ends on the server too."""
        secret = self._cookie.read(request)
        if secret is not None:
            await sessions.log_out(self._ctx, secret)
        response = self._sheets.to("/dashboard")
        self._cookie.clear(response)
        return response

    # --- signed in --------------------------------------------------------------------------------
    async def home(self, _: Request) -> Response:
        """The dashboard is the home page."""
        return self._sheets.to("/dashboard")

    async def dashboard(self, _: Request, account_id: str) -> Response:
        """The account at a glance."""
        view = await overview.overview(self._ctx, account_id)
        main = templates.dashboard(self._sheets.base, self._ctx.settings.public_url, view)
        return self._sheets.page("Dashboard", main, who=view.name)

    async def chat(self, request: Request, account_id: str) -> Response:
        """One work; raises ``not_found``."""
        view = await overview.chat(self._ctx, account_id, _work_id(request))
        main = templates.chat(self._sheets.base, view)
        return self._sheets.page(view.work.title or "Untitled", main, who=view.account)

    async def show_sessions(self, request: Request, account_id: str) -> Response:
        """The browsers that are signed in."""
        account = await accounts.get(self._ctx, account_id)
        secret = self._cookie.read(request) or ""
        lines = await sessions.of_account(self._ctx, account_id, secret)
        main = templates.sessions(self._sheets.base, lines)
        return self._sheets.page("Sessions", main, who=account.name)

    async def end_sessions(self, _: Request, account_id: str) -> Response:
        """Log out everywhere, here too."""
        await sessions.log_out_everywhere(self._ctx, account_id)
        response = self._sheets.to("/dashboard")
        self._cookie.clear(response)
        return response

    async def mail_queue(self, _: Request, account_id: str) -> Response:
        """The mails to the account's owner, for servers that cannot send them."""
        view = await mail.mail_queue(self._ctx, account_id)
        sending = bool(self._ctx.settings.smtp_url.get_secret_value())
        main = templates.mail_queue(self._sheets.base, view, sending=sending)
        return self._sheets.page("Mail to you", main, who=view.account)

    async def download(self, request: Request, account_id: str) -> Response:
        """To a fresh signed link, so that a page left open goes on working; raises
        ``not_found``."""
        path = request.path_params["path"]
        if "\x00" in path:  # PostgreSQL takes no such text, not even to look for it
            raise not_found("file")
        file_id = f"{_work_id(request)}/{path}"
        file = await works.get_file(self._ctx, account_id, file_id)
        return RedirectResponse(self._ctx.links.file(file.file_id, file.revision), 303)

    # --- around the handlers ----------------------------------------------------------------------
    def signed_in(self, handler: SignedIn) -> Handler:
        """Only with a session; nothing is looked up for anybody else."""

        async def answer(request: Request) -> Response:
            secret = self._cookie.read(request)
            account_id = await sessions.account_of(self._ctx, secret) if secret else None
            if account_id is None:
                text = "This page is for people who are signed in."
                main = templates.how_to_sign_in("Sign in first", text)
                return self._sheets.page("Sign in first", main, 401)
            return await handler(request, account_id)

        return answer

    def own_form(self, handler: Handler) -> Handler:
        """Only from our own pages: no other site signs anybody in or out."""

        async def answer(request: Request) -> Response:
            if not from_own_page(request, self._ctx.settings):
                text = "This form came from another site, so nothing was done."
                main = templates.notice(self._sheets.base, "Refused", text)
                return self._sheets.page("Refused", main, 403)
            return await handler(request)

        return answer

    def _dead_link(self) -> Response:
        text = "This link was used already, or its time is over."
        main = templates.how_to_sign_in("This link does not work", text)
        return self._sheets.page("This link does not work", main, 403)

    def routes(self) -> Sequence[BaseRoute]:
        """Every page; the last route takes lost browsers."""
        login = {"GET": self.show_login, "POST": self.own_form(self.log_in)}
        chat, dashboard = self.signed_in(self.chat), self.signed_in(self.dashboard)
        files = "/chat/{work_id}/files/{path:path}"
        mail_queue = {"GET": self.signed_in(self.mail_queue)}
        everywhere = {
            "GET": self.signed_in(self.show_sessions),
            "POST": self.own_form(self.signed_in(self.end_sessions)),
        }
        return (
            Page(self._sheets, "/", {"GET": self.home}),
            Page(self._sheets, "/login/{token}", login),
            Page(self._sheets, "/logout", {"POST": self.own_form(self.log_out)}),
            Page(self._sheets, "/dashboard", {"GET": dashboard}),
            Page(self._sheets, "/mail", mail_queue),
            Page(self._sheets, "/sessions", everywhere),
            Page(self._sheets, "/chat/{work_id}", {"GET": chat}),
            Page(self._sheets, files, {"GET": self.signed_in(self.download)}),
            LostBrowsers(self._sheets),
        )


def _work_id(request: Request) -> str:
    """The work's id in the address; raises ``not_found`` when it cannot be one."""
    work_id: str = request.path_params["work_id"]
    if not ids.is_id(ids.WORK, work_id):
        raise not_found("work")
    return work_id


def routes(ctx: AppContext) -> Sequence[BaseRoute]:
    """The routes of the web pages, to be tried after all others."""
    return Pages(ctx).routes()
