"""The home page leads to the dashboard; the look is chosen on every page."""

from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse

from agentpost.context import AppContext
from agentpost.web import cookies, forms
from agentpost.web.page import OpenPage, Redirect, View


async def show(_: AppContext, __: Request) -> View:
    """To the dashboard."""
    return Redirect("/dashboard")


async def choose_theme(ctx: AppContext, request: Request) -> View:
    """Keep the look that was chosen, and return to the page it was chosen on."""
    form = await forms.read(ctx, request)
    theme = form.text("theme")
    # Only a path of ours can be there: the form is from our own page, and the host is left out.
    came_from = urlsplit(request.headers.get("referer", ""))
    path = "/" + came_from.path.lstrip("/\\")
    response = RedirectResponse(path + (f"?{came_from.query}" if came_from.query else ""), 303)
    if theme in cookies.THEMES:  # no secret: the page's script may read and write this cookie
        seconds = cookies.THEME_SECONDS
        response.set_cookie(cookies.THEME, theme, max_age=seconds, path="/", samesite="lax")
    return response


PAGES = (
    OpenPage("/", get=show),
    OpenPage("/theme", post=choose_theme),
)
