"""The account at a glance."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

from agentpost.domain.roles import Right
from agentpost.services import accounts, overview
from agentpost.services.context import AppContext
from agentpost.web import chart
from agentpost.web.page import Nav, Page, PageView, View, Viewer

_LOOK_SECONDS: Final = 5
"""Requests and attempts of deliveries give no hint."""


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """What runs, what it costs, what fails, and the newest work and messages."""
    view = await overview.overview(ctx, viewer.account_id)
    keys = await accounts.keys_of(ctx, viewer.account_id)
    messages = sum(day.messages for day in view.days)
    model = {
        "view": view,
        "api": ctx.settings.public_url,
        "email": viewer.account_email,
        "account_id": viewer.account_id,
        "may_operate": viewer.is_operator,
        "begun": bool(view.requests or messages) or any(key.last_used_at for key in keys),
        "sent": chart.bars(view.days, lambda used: used.messages),
        "used": chart.bars(view.days, lambda used: used.credits),
        "messages": messages,
        "credits": sum(day.credits for day in view.days),
        "days": overview.DAYS,
        "more": "or more" if view.requests >= overview.REQUESTS_MAX else "",
    }
    return PageView("pages/dashboard.html", "Overview", model)


PAGES = (
    Page(
        "/dashboard",
        get=show,
        nav=Nav("Dashboard", "Overview", "layout-dashboard"),
        live=True,
        right=Right.READ,
        every=_LOOK_SECONDS,
    ),
)
