"""What was sent to a webhook endpoint: each delivery with its attempts, and sending again."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.domain import ids
from agentpost.domain.errors import not_found
from agentpost.domain.times import DAY, HOUR
from agentpost.http import audited
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.listing import NEW_MAX, Listing
from agentpost.web.page import Page, PageView, Redirect, View, Viewer
from agentpost.webhooks import deliveries, endpoints, health
from agentpost.webhooks import pages as webhook_pages
from agentpost.webhooks.endpoint_rules import DeliveryStatus

_ONE: Final = f"{webhook_pages.PATH}/{{endpoint_id}}"
_PAGE: Final = 30
_PERIODS: Final = {
    "1h": ("the last hour", HOUR),
    "24h": ("the last 24 hours", DAY),
    "7d": ("the last 7 days", 7 * DAY),
}
_UNSENT: Final = (DeliveryStatus.FAILED, DeliveryStatus.DROPPED)


async def show(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """An endpoint with its deliveries, newest first; raises ``not_found``."""
    endpoint_id: str = request.path_params["endpoint_id"]
    view = await endpoints.get(ctx, viewer.account_id, endpoint_id)
    path = f"{webhook_pages.PATH}/{endpoint_id}"
    listing = Listing.of(request, path, ids.EVENT, ("status",))
    status_text = listing.filters.get("status")
    status = DeliveryStatus(status_text) if status_text in set(DeliveryStatus) else None
    page = partial(deliveries.page, ctx, viewer.account_id, endpoint_id)
    page_rows, more = await page(_PAGE, listing.bound, status)
    new_count = 0
    if listing.top:
        newest, _ = await page(NEW_MAX, None, status)
        new_count = sum(each.event_id > listing.top for each in newest)
    model = {
        **listing.model(page_rows[-1].event_id if more else None, new_count),
        "line": webhook_pages.Line.of(await health.of(ctx, view.endpoint)),
        "found": page_rows,
        "chips": listing.chips(
            {"status": ("Status", [(s.value, s.value) for s in DeliveryStatus])}
        ),
        "periods": [(name, text) for name, (text, _) in _PERIODS.items()],
        "path": path,
        "may_change": viewer.may("webhooks"),
    }
    live = listing.live(listing.top or (page_rows[0].event_id if page_rows else None))
    return PageView("webhooks/deliveries.html", "Webhook", model, live=live)


async def show_one(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A delivery with its body and every attempt; raises ``not_found``."""
    endpoint_id, event_id = _ids(request)
    delivery, event = await deliveries.get_with_event(ctx, viewer.account_id, endpoint_id, event_id)
    data = event.body.data
    model = {
        "one": delivery,
        "body": json.dumps(json.loads(data), indent=2, ensure_ascii=False),
        "exact": data.decode(),
        "sha256": event.body.sha256,
        "proof": event.proof.value,
        "path": f"{webhook_pages.PATH}/{endpoint_id}",
    }
    return PageView("webhooks/delivery.html", delivery.event, model)


async def send_again(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Send one delivery again; raises ``not_found``, ``bad_request`` when the endpoint is off."""
    endpoint_id, event_id = _ids(request)
    audited.state(request, event_id=event_id)
    await deliveries.redeliver(ctx, viewer.account_id, endpoint_id, event_id)
    path = f"{webhook_pages.PATH}/{endpoint_id}/deliveries/{event_id}"
    return Redirect(path, note="again")


async def replay(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Send again what a time range has failed or dropped, or all of it; raises ``not_found``,
    ``bad_request`` when the endpoint is off."""
    endpoint_id: str = request.path_params["endpoint_id"]
    form = await forms.read(ctx, request)
    if form.text("since") not in _PERIODS:
        raise not_found("time range")
    _, period = _PERIODS[form.text("since")]
    now = ctx.clock.now()
    statuses = deliveries.REPLAYABLE if form.has("all") else _UNSENT
    audited.state(request, since=form.text("since"), status=[each.value for each in statuses])
    count = await deliveries.replay(
        ctx, viewer.account_id, endpoint_id, now - period, now + 1, statuses
    )
    return Redirect(f"{webhook_pages.PATH}/{endpoint_id}", note="replayed" if count else "nothing")


def _ids(request: Request) -> tuple[str, str]:
    return request.path_params["endpoint_id"], request.path_params["event_id"]


PAGES = (
    Page(
        _ONE,
        get=show,
        live=True,
        right=Right.READ,
        every=2,
        notes={
            "changed": "Endpoint saved.",
            "on": "Endpoint enabled. New events are sent to it.",
            "off": "Endpoint disabled. Pending deliveries were dropped; you can replay them later.",
            "replayed": "Deliveries are being resent.",
            "nothing": "No deliveries to resend in that time.",
        },
    ),
    Page(f"{_ONE}/replay", post=replay, right=Right.WEBHOOKS, action="webhooks replay"),
    Page(
        f"{_ONE}/deliveries/{{event_id}}",
        get=show_one,
        post=send_again,
        action="webhooks redeliver",
        live=True,
        right=Right.READ,
        post_right=Right.WEBHOOKS,
        every=1,
        notes={
            "test": "Test event sent.",
            "again": "Delivery is being retried.",
        },
    ),
)
