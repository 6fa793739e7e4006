"""The cookies: the session's secret, and the look that was chosen."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from agentpost.domain.limits import SIGNED_IN_KNOWN_SECONDS
from agentpost.settings import Settings

_NAME = "agentpost_session"
_JOURNEY = "agentpost_oidc"
_JOURNEY_SECONDS = 15 * 60
_DEVICE = "agentpost_device"
_THEME = "agentpost_theme"
_THEME_SECONDS = 400 * 86_400
THEMES: Final = ("system", "light", "dark")


class Cookie:
    """The cookie that carries a session's secret.

    No script reads it, other sites send it with plain links only, and over HTTPS no other host of
    the same domain can plant one (the ``__Host-`` prefix).
    """

    def __init__(self, settings: Settings) -> None:
        self._seconds = int(settings.session_seconds)
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
            max_age=self._seconds if secret else 0,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )


class DeviceCookie:
    """The cookie of a browser in which somebody has signed in before (`sessions.devices`)."""

    def __init__(self, settings: Settings) -> None:
        self._secure = urlsplit(settings.public_app_url).scheme == "https"
        self.name = f"__Host-{_DEVICE}" if self._secure else _DEVICE

    def read(self, request: Request) -> str:
        """The mark, "" for none."""
        return request.cookies.get(self.name, "")

    def set(self, response: Response, mark: str) -> None:
        """Keep the mark for 180 days."""
        response.set_cookie(
            self.name,
            mark,
            max_age=SIGNED_IN_KNOWN_SECONDS,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )


class JourneyCookie:
    """The cookie of somebody who is at the identity provider: what has to fit when they return.

    Nobody else can read or plant it (`Cookie`), so the answer to one browser's request is of no use
    in another one.
    """

    def __init__(self, settings: Settings) -> None:
        self._secure = urlsplit(settings.public_app_url).scheme == "https"
        self.name = f"__Host-{_JOURNEY}" if self._secure else _JOURNEY

    def read(self, request: Request) -> str:
        """What was kept, "" for nothing that can be read."""
        try:
            return urlsafe_b64decode(request.cookies.get(self.name, "")).decode()
        except ValueError:
            return ""

    def set(self, response: Response, text: str) -> None:
        """Keep it for a quarter of an hour; "" takes it back."""
        response.set_cookie(
            self.name,
            urlsafe_b64encode(text.encode()).decode(),
            max_age=_JOURNEY_SECONDS if text else 0,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )


def theme(request: Request) -> str:
    """The look that was chosen: one of `THEMES`, by default that of the system."""
    value = request.cookies.get(_THEME, "")
    return value if value in THEMES else THEMES[0]


def set_theme(response: Response, name: str) -> None:
    """Keep the look; the page's script may read and write this cookie, it is no secret."""
    response.set_cookie(_THEME, name, max_age=_THEME_SECONDS, path="/", samesite="lax")
