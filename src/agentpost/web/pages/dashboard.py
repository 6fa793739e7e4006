"""The account at a glance."""

from __future__ import annotations

from starlette.requests import Request

from agentpost.services import overview
from agentpost.services.context import AppContext
from agentpost.web.page import Nav, Page, Shown, View, Viewer


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """The account with its newest work and messages."""
    view = await overview.overview(ctx, viewer.account_id)
    model = {"view": view, "api": ctx.settings.public_url, "email": viewer.email}
    return Shown("pages/dashboard.html", "Dashboard", model)


PAGES = (
    Page("/dashboard", get=show, nav=Nav("Dashboard", "Overview", "layout-dashboard"), live=True),
)
