"""The cookies: the session's secret, and the look that was chosen."""

from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from agentpost.domain.limits import SIGNED_IN_KNOWN_SECONDS
from agentpost.settings import Settings

_JOURNEY_SECONDS = 15 * 60
THEME: Final = "agentpost_theme"
THEME_SECONDS: Final = 400 * 86_400
THEMES: Final = ("system", "light", "dark")


class Cookie:
    """A cookie that is kept for so long. No script reads it, other sites send it with plain links
    only, and over HTTPS no other host of the same domain can plant one (the ``__Host-`` prefix)."""

    def __init__(self, settings: Settings, name: str, seconds: int) -> None:
        self._seconds = seconds
        self._secure = urlsplit(settings.public_app_url).scheme == "https"
        self.name = f"__Host-{name}" if self._secure else name

    def read(self, request: Request) -> str:
        """What the browser sent, "" for nothing."""
        return request.cookies.get(self.name, "")

    def set(self, response: Response, text: str) -> None:
        """Have the browser keep it; "" takes back what it has."""
        response.set_cookie(
            self.name,
            text,
            max_age=self._seconds if text else 0,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )


def session_cookie(settings: Settings) -> Cookie:
    """The cookie that carries a session's secret."""
    return Cookie(settings, "agentpost_session", int(settings.session_seconds))


def device_cookie(settings: Settings) -> Cookie:
    """The mark of a browser in which somebody has signed in before (`sessions.devices`)."""
    return Cookie(settings, "agentpost_device", SIGNED_IN_KNOWN_SECONDS)


def journey_cookie(settings: Settings) -> Cookie:
    """The cookie of somebody who is at the identity provider (`sessions.oidc.Journey`). Nobody else
    can read or plant it, so the answer to one browser's request is of no use in another one."""
    return Cookie(settings, "agentpost_oidc", _JOURNEY_SECONDS)


def theme(request: Request) -> str:
    """The look that was chosen: one of `THEMES`, by default that of the system."""
    value = request.cookies.get(THEME, "")
    return value if value in THEMES else THEMES[0]
