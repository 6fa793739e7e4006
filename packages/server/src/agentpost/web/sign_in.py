"""The page on which people sign in: at its own address, and in place of a page that asks for it."""

from urllib.parse import quote, urlsplit

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.http.client_address import client_address, untrusted_proxy
from agentpost.sessions import devices
from agentpost.sessions.actions import LOGIN_LINK_SECONDS, Visitor
from agentpost.settings import Settings
from agentpost.web.cookies import device_cookie, session_cookie
from agentpost.web.forms import Form
from agentpost.web.page import PageView

START = "/dashboard"


def page(
    request: Request,
    settings: Settings,
    next_path: str = "",
    form: Form | None = None,
    *,
    status: int = 200,
) -> PageView:
    """The page; ``next_path``: an address of ours to go to afterwards, "" for the dashboard."""
    model = {
        "form": form or Form(),
        "wanted": next_path,
        "provider": settings.oidc_name if settings.oidc_issuer else "",
        "begin": f"/oidc?next={quote(next_path, safe='')}" if next_path else "/oidc",
        "minutes": LOGIN_LINK_SECONDS // 60,
        "untrusted_proxy": untrusted_proxy(request, settings),
    }
    return PageView("layout/sign_in.html", "Sign in", model, status)


def own_path(address: str) -> str:
    """Where to go after signing in: a path of ours, whatever a link or form said."""
    if not address.startswith("/") or not address.isprintable():
        return START
    try:
        parts = urlsplit(address.replace("\\", "/"))
    except ValueError:  # "//[" begins an IPv6 address that does not end
        return START
    if parts.scheme or parts.netloc:
        return START
    path = "/" + parts.path.lstrip("/")
    return path + (f"?{parts.query}" if parts.query else "")


def visitor(ctx: AppContext, request: Request) -> Visitor:
    """The browser that sends the request."""
    settings = ctx.settings
    return Visitor(
        client_address(request, settings),
        request.headers.get("user-agent", ""),
        session_cookie(settings).read(request) or None,
        devices.user_of(ctx, device_cookie(settings).read(request)),
    )
