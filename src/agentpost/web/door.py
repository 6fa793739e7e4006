"""Common handling of each page: the methods of a route, one look for every failure, the headers."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from agentpost.clock import new_id
from agentpost.domain import ids
from agentpost.domain.errors import Refusal
from agentpost.services.context import AppContext
from agentpost.web import templates
from agentpost.web.markup import Html

log = structlog.get_logger(__name__)

HEADERS: Final = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{templates.STYLE_HASH}'; img-src 'self';"
        " form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Other sites learn nothing. Not "no-referrer": that would blank the Origin of our own forms,
    # by which they are told from foreign ones where browsers send no Sec-Fetch-Site (plain HTTP).
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

Handler = Callable[[Request], Awaitable[Response]]


class Sheets:
    """Makes answers: pages and redirects within the app."""

    def __init__(self, ctx: AppContext) -> None:
        self._ctx = ctx
        self.base = urlsplit(ctx.settings.public_app_url).path.rstrip("/")

    def page(
        self, title: str, main: Html, status: int = 200, *, who: str | None = None
    ) -> Response:
        """A page; ``who`` is the account signed in."""
        content = templates.layout(self.base, title, main, who=who)
        return Response(content, status, media_type="text/html")

    def to(self, path: str) -> Response:
        """Redirect to another page with GET."""
        return RedirectResponse(self.base + path, 303)

    def not_found(self) -> Response:
        """The one 404: foreign, unknown and deleted look the same (design: Keys and ids)."""
        text = "There is nothing at this address, or nothing this account may see."
        return self.page("Not found", templates.notice(self.base, "Not found", text), 404)

    async def answer(self, handler: Handler, scope: Scope, receive: Receive, send: Send) -> None:
        """Run a handler and send its response, or an error page when it raises."""
        request_id = new_id(ids.REQUEST, self._ctx.clock.now())
        try:
            response = await handler(Request(scope, receive, send))
        except Refusal:
            response = self.not_found()
        except ClientDisconnect:
            return
        except Exception as error:
            # The path may hold a login token and variables may hold a session, so neither is
            # logged: the traceback goes as plain text, which shows no variables.
            trace = "".join(traceback.format_exception(error))
            log.error("page_failed", request_id=request_id, method=scope["method"], exception=trace)
            text = f"Something went wrong on our side. The log has more under {request_id}."
            response = self.page("Error", templates.notice(self.base, "Error", text), 500)
        response.headers.update({**HEADERS, "Request-Id": request_id})
        await response(scope, receive, send)


class Page(Route):
    """A route with a handler for each method; HEAD is answered as GET."""

    def __init__(self, sheets: Sheets, path: str, handlers: Mapping[str, Handler]) -> None:
        super().__init__(path, _Methods(sheets, handlers))


class LostBrowsers(Route):
    """The last route: a page for a browser at an unknown address outside the API.

    Programs get the error shape of the API from the router.
    """

    def __init__(self, sheets: Sheets) -> None:
        async def lost(_: Request) -> Response:
            return sheets.not_found()

        super().__init__("/{path:path}", _Methods(sheets, {"GET": lost}))

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """See `BaseRoute.matches`."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            return Match.NONE, {}
        accepted = Request(scope).headers.get("accept", "")
        if f"{scope['path']}/".startswith("/v1/") or "text/html" not in accepted:
            return Match.NONE, {}
        return super().matches(scope)


class _Methods:
    def __init__(self, sheets: Sheets, handlers: Mapping[str, Handler]) -> None:
        self._sheets = sheets
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        handler = self._handlers.get(method, self._wrong_method)
        await self._sheets.answer(handler, scope, receive, send)

    async def _wrong_method(self, request: Request) -> Response:
        text = f"This address does not take {request.method}."
        main = templates.notice(self._sheets.base, "Not possible", text)
        response = self._sheets.page("Not possible", main, 405)
        response.headers["Allow"] = ", ".join(sorted(self._handlers))
        return response
