"""The cookies: the session's secret, and the look that was chosen."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from agentpost.services.sessions import SESSION_SECONDS
from agentpost.settings import Settings

_NAME = "agentpost_session"
_THEME = "agentpost_theme"
_THEME_SECONDS = 400 * 86_400
THEMES: Final = ("system", "light", "dark")


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
        """Hand a new session to the browser; "" takes it back."""
        response.set_cookie(
            self.name,
            secret,
            max_age=SESSION_SECONDS if secret else 0,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )


def theme(request: Request) -> str:
    """The look that was chosen: one of `THEMES`, by default that of the system."""
    chosen = request.cookies.get(_THEME, "")
    return chosen if chosen in THEMES else THEMES[0]


def set_theme(response: Response, chosen: str) -> None:
    """Keep the look; the page's script may read and write this cookie, it is no secret."""
    response.set_cookie(_THEME, chosen, max_age=_THEME_SECONDS, path="/", samesite="lax")
