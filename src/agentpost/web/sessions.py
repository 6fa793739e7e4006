"""The session cookie, and whether a form came from our own page."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from agentpost.services.sessions import SESSION_SECONDS
from agentpost.settings import Settings

_NAME = "agentpost_session"


class Cookie:
    """The cookie that carries a session's secret.

    No script reads it, other sites send it with plain links only, and over HTTPS no other host of
    the same domain can plant one (the ``__Host-`` prefix).
    """

    def __init__(self, settings: Settings) -> None:
        self._secure = urlsplit(settings.public_app_url).scheme == "https"
        self.name = f"__Host-{_NAME}" if self._secure else _NAME

    def read(self, request: Request) -> str | None:
        """The secret the browser sent."""
        return request.cookies.get(self.name) or None

    def set(self, response: Response, secret: str) -> None:
        """Hand a new session to the browser."""
        self._put(response, secret, SESSION_SECONDS)

    def clear(self, response: Response) -> None:
        """Take it back."""
        self._put(response, "", 0)

    def _put(self, response: Response, secret: str, seconds: int) -> None:
        response.set_cookie(
            self.name,
            secret,
            max_age=seconds,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )


def from_own_page(request: Request, settings: Settings) -> bool:
    """Whether no other site can have sent this form.

    ``Sec-Fetch-Site`` tells; browsers send it to HTTPS and local addresses. Elsewhere ``Origin``
    does. A request with neither comes from no browser of today, so no site can have caused it.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    if origin is None:
        return True
    app = urlsplit(settings.public_app_url)
    sent = urlsplit(origin)
    # Behind a proxy the Host header may be another than the one in the address bar.
    return bool(sent.netloc) and (
        sent.netloc == request.headers.get("host") or sent[:2] == (app.scheme, app.netloc)
    )
