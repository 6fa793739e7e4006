"""The account at a glance."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from agentpost.accounts import actions as accounts, overview
from agentpost.accounts.overview import Overview
from agentpost.context import AppContext
from agentpost.explain.reasons import EXPLANATIONS
from agentpost.requests.pages import advice_for
from agentpost.users.role_rules import Right
from agentpost.web import chart
from agentpost.web.environment import plural, words
from agentpost.web.page import Nav, Page, PageView, View, Viewer
from agentpost.webhooks.health import EndpointHealth

_LOOK_SECONDS: Final = 5
"""Requests and attempts of deliveries give no hint."""


_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that needs attention: ``kind`` is that of its state, ``advice`` what to do."""

    icon: str
    kind: str
    state: str
    title: str
    advice: str
    path: str
    can_enable: bool = False


def problems(view: Overview, viewer: Viewer) -> list[Problem]:
    """What fails, the most serious first: endpoints, then messages, then requests by error code."""
    items = [_of_endpoint(each, viewer) for each in view.failing]
    items.sort(key=lambda each: each.kind != "wrong")
    for reason, count in view.failed:
        advice = EXPLANATIONS[reason].advice if reason else "Open a message to see its jobs."
        title = words(reason).capitalize() if reason else "Failed"
        path = "/dashboard/messages?status=failed"
        state = plural(count, "message")
        items.append(Problem("messages-square", "wrong", state, title, advice, path))
    for code, count in view.refused:
        path = f"/dashboard/requests?error={code}&since=24h"
        state, advice = plural(count, "request"), advice_for(code) or ""
        items.append(Problem("arrow-left-right", "warn", state, code, advice, path))
    return items


def _of_endpoint(health: EndpointHealth, viewer: Viewer) -> Problem:
    endpoint = health.endpoint
    name = f"{endpoint.description or f'…{endpoint.id[-4:]}'}: {viewer.endpoint_url(endpoint.url)}"
    advice = "Fix the receiver."
    if health.last:
        answer = health.last.status_code or f"nothing ({health.last.error})"
        advice = f"The last response was {answer}. {advice}"
    if endpoint.disabled_at is None:
        advice += " Failed deliveries are retried."
    else:
        advice += " Then enable the endpoint and replay the deliveries."
    is_off = endpoint.disabled_at is not None
    kind, state = health.state
    path = f"/dashboard/webhooks/{endpoint.id}"
    can_enable = is_off and viewer.may("webhooks")
    return Problem("webhook", kind, state, f"Webhook {name}", advice, path, can_enable)


async def show(ctx: AppContext, _: Request, viewer: Viewer) -> View:
    """What runs, what it costs, what fails, and the newest work and messages."""
    view = await overview.overview(ctx, viewer.account_id)
    keys = await accounts.keys_of(ctx, viewer.account_id)
    messages = sum(day.messages for day in view.days)
    model = {
        "view": view,
        "problems": problems(view, viewer),
        "shown": _SHOWN,
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
    return PageView("accounts/dashboard.html", "Overview", model)


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
