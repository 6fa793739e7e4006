"""Responses for browsers: pages, redirects and error pages, and the headers of all of them."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import ErrorCode, Overloaded, Refusal
from agentpost.http.application import MethodNotAllowed
from agentpost.http.request_state import state_of
from agentpost.web import templates
from agentpost.web.markup import Html

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


class Renderer:
    """Makes the responses. ``base`` is the path of the app's public URL."""

    def __init__(self, app_url: str) -> None:
        self.base = urlsplit(app_url).path.rstrip("/")

    def page(
        self, title: str, main: Html, status: int = 200, *, who: str | None = None
    ) -> Response:
        """A page; ``who`` is the account signed in."""
        content = templates.layout(self.base, title, main, who=who)
        return Response(content, status, media_type="text/html")

    def notice(self, title: str, text: str, status: int) -> Response:
        """A page with one sentence, and the way to the dashboard."""
        return self.page(title, templates.notice(self.base, title, text), status)

    def sign_in(self, title: str, text: str, status: int) -> Response:
        """A page with one sentence, and how to sign in."""
        return self.page(title, templates.how_to_sign_in(title, text), status)

    def redirect(self, path: str) -> Response:
        """Redirect to another page with GET."""
        return RedirectResponse(self.base + path, 303)

    def error(self, request: Request, refusal: Refusal) -> Response:
        """The page for a request that was refused or failed."""
        status = CATALOGUE[refusal.code].status
        match refusal.code:
            case ErrorCode.UNAUTHORIZED:
                text = "This page is for people who are signed in."
                return self.sign_in("Sign in first", text, status)
            case ErrorCode.NOT_FOUND:  # foreign, unknown and deleted look the same
                text = "There is nothing at this address, or nothing this account may see."
                return self.notice("Not found", text, status)
            case ErrorCode.METHOD_NOT_ALLOWED:
                text = f"This address does not take {request.method}."
                response = self.notice("Not possible", text, status)
            case ErrorCode.INTERNAL | ErrorCode.UNAVAILABLE:
                more = f"The log has more under {state_of(request.scope).id}."
                text = f"Something went wrong on our side. {more}"
                response = self.notice("Error", text, status)
            case _:
                return self.notice("Not possible", refusal.message, status)
        if isinstance(refusal, MethodNotAllowed):
            response.headers["Allow"] = refusal.allowed
        if isinstance(refusal, Overloaded):
            response.headers["Retry-After"] = str(refusal.retry_after_seconds)
        return response
