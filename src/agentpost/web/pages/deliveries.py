"""What was sent to a webhook endpoint: each delivery with its attempts, and sending again."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request

from agentpost.domain import ids
from agentpost.domain.endpoints import DeliveryStatus
from agentpost.domain.errors import not_found
from agentpost.domain.times import DAY, HOUR
from agentpost.services import deliveries, endpoints
from agentpost.services.context import AppContext
from agentpost.web import forms
from agentpost.web.page import Page, Redirect, Shown, View, Viewer
from agentpost.web.pages import webhooks

_ONE: Final = f"{webhooks.PATH}/{{endpoint_id}}"
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
    before, status = request.query_params.get("before"), request.query_params.get("status")
    found, more = await deliveries.page(
        ctx,
        viewer.account_id,
        endpoint_id,
        _PAGE,
        before if before and ids.is_id(ids.EVENT, before) else None,
        DeliveryStatus(status) if status in set(DeliveryStatus) else None,
    )
    path = f"{webhooks.PATH}/{endpoint_id}"
    kept = {"status": status} if status in set(DeliveryStatus) else {}
    older = urlencode({**kept, "before": found[-1].event_id}) if more else ""
    model = {
        "line": webhooks.Line.of(view.endpoint),
        "found": found,
        "status": status,
        "statuses": list(DeliveryStatus),
        "older": f"{path}?{older}" if more else None,
        "newer": f"{path}?{urlencode(kept)}" if before else None,
        "periods": [(name, text) for name, (text, _) in _PERIODS.items()],
        "path": path,
    }
    return Shown("pages/deliveries.html", "Webhook", model)


async def show_one(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A delivery with its body and every attempt; raises ``not_found``."""
    endpoint_id, event_id = _ids(request)
    found, sent = await deliveries.get_with_event(ctx, viewer.account_id, endpoint_id, event_id)
    model = {
        "one": found,
        "body": json.dumps(json.loads(sent), indent=2, ensure_ascii=False),
        "path": f"{webhooks.PATH}/{endpoint_id}",
    }
    return Shown("pages/delivery.html", found.event, model)


async def send_again(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """Send one delivery again; raises ``not_found``, ``bad_request`` when the endpoint is off."""
    endpoint_id, event_id = _ids(request)
    await deliveries.redeliver(ctx, viewer.account_id, endpoint_id, event_id)
    path = f"{webhooks.PATH}/{endpoint_id}/deliveries/{event_id}"
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
    wanted = deliveries.REPLAYABLE if form.has("all") else _UNSENT
    count = await deliveries.replay(
        ctx, viewer.account_id, endpoint_id, now - period, now + 1, wanted
    )
    return Redirect(f"{webhooks.PATH}/{endpoint_id}", note="replayed" if count else "nothing")


def _ids(request: Request) -> tuple[str, str]:
    return request.path_params["endpoint_id"], request.path_params["event_id"]


PAGES = (
    Page(
        _ONE,
        get=show,
        live=True,
        notes={
            "changed": "The endpoint is changed.",
            "on": "The endpoint is on. What happens from now on is sent to it.",
            "off": "The endpoint is off. What was waiting for it is dropped; it can be replayed.",
            "replayed": "They are being sent again.",
            "nothing": "There was nothing to send again in that time.",
        },
    ),
    Page(f"{_ONE}/replay", post=replay),
    Page(
        f"{_ONE}/deliveries/{{event_id}}",
        get=show_one,
        post=send_again,
        live=True,
        notes={
            "test": "A test event is on its way.",
            "again": "It is being sent again.",
        },
    ),
)
