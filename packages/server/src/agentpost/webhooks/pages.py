"""Webhook endpoints: made, changed, turned on and off, removed; their secrets and deliveries."""

import json
from functools import partial
from typing import Final

from starlette.requests import Request

from agentpost.context import AppContext
from agentpost.domain import ids
from agentpost.domain.errors import Refusal, not_found
from agentpost.domain.limits import WEBHOOK_DESCRIPTION_CHARACTERS_MAX, WEBHOOK_ENDPOINTS_MAX
from agentpost.domain.times import DAY, HOUR, SECOND
from agentpost.http import audited
from agentpost.record.events import ALL_EVENTS, EventName
from agentpost.requests.redaction import shown_url
from agentpost.users.role_rules import Right
from agentpost.web import forms
from agentpost.web.forms import Form
from agentpost.web.listing import NEW_MAX, Listing
from agentpost.web.page import Nav, Page, PageView, Redirect, View, Viewer
from agentpost.webhooks import deliveries, endpoints, health
from agentpost.webhooks.endpoint_rules import DeliveryStatus
from agentpost.webhooks.endpoints import EndpointChange
from agentpost.webhooks.records import EndpointRecord

PATH: Final = "/dashboard/webhooks"
_ONE: Final = f"{PATH}/{{endpoint_id}}"
_GRACES: Final = (("0", "Not at all"), ("1", "One hour"), ("24", "One day"), ("168", "One week"))
"""Hours that the old secret signs on beside the new one."""


EVENTS: Final = {
    EventName.MESSAGE_COMPLETED: "The agent has replied and all jobs are completed.",
    EventName.MESSAGE_PARTIAL: "Some jobs are completed, others failed.",
    EventName.MESSAGE_FAILED: "The agent could not reply, or all jobs failed.",
    EventName.MESSAGE_NEEDS_INPUT: "The agent needs an answer to continue.",
    EventName.MESSAGE_BLOCKED: "The jobs cannot start. The event has the reason.",
    EventName.MESSAGE_EXPIRED: "The jobs did not report back in time.",
    EventName.JOB_COMPLETED: "A job is completed. Its files are ready.",
    EventName.JOB_FAILED: "A job failed.",
    EventName.JOB_BLOCKED: "A job cannot start. The event has the reason.",
    EventName.JOB_RESUMED: "A blocked job continues.",
    EventName.JOB_EXPIRED: "A job did not report back in time.",
}
"""What each event tells a receiver."""


async def show(ctx: AppContext, _: Request, viewer: Viewer, form: Form | None = None) -> View:
    """The endpoints, newest first, with the form for another one."""
    form = form or Form()
    model = {
        "lines": await ctx.db.read(lambda tx: health.of_account(tx, viewer.account_id)),
        "form": form,
        "events": EVENTS,
        "most": WEBHOOK_ENDPOINTS_MAX,
        "characters": WEBHOOK_DESCRIPTION_CHARACTERS_MAX,
    }
    return PageView("webhooks/webhooks.html", "Webhooks", model, form.status)


async def create(ctx: AppContext, request: Request, viewer: Viewer) -> View:
    """A new endpoint. The answer shows its secret; nothing else ever does."""
    form, new = await _read_settings(ctx, request)
    try:
        endpoint = await endpoints.create(
            ctx, viewer.account_id, new.url or "", new.events, new.description or None
        )
    except Refusal as problem:
        form.wrong("url", problem.message)
        return await show(ctx, request, viewer, form)
    audited.state(request, endpoint.id)
    return _secret(endpoint, "Endpoint added")


async def change(ctx: AppContext, request: Request, viewer: Viewer, endpoint_id: str) -> View:
    """Take what its form says of an endpoint; raises ``not_found``."""
    form, changes = await _read_settings(ctx, request)
    try:
        await endpoints.change(ctx, viewer.account_id, endpoint_id, changes)
    except Refusal as problem:
        endpoint, _ = await endpoints.get(ctx, viewer.account_id, endpoint_id)
        form.wrong("url", problem.message)
        return _settings(ctx, endpoint, form)
    return Redirect(f"{PATH}/{endpoint_id}", note="changed")


async def _read_settings(ctx: AppContext, request: Request) -> tuple[Form, EndpointChange]:
    """A form with the settings of an endpoint, and what it says; the audit log tells of it."""
    form = await forms.read(ctx, request)
    url, events = form.text("url"), form.all("events") or [ALL_EVENTS]
    audited.state(request, url=shown_url(url), events=events)
    return form, EndpointChange(url, events, form.text("description"))


async def settings(ctx: AppContext, _: Request, viewer: Viewer, endpoint_id: str) -> View:
    """Where its address, events and secret are changed; raises ``not_found``."""
    endpoint = (await endpoints.get(ctx, viewer.account_id, endpoint_id))[0]
    events = [] if ALL_EVENTS in endpoint.events else endpoint.events
    values = {"url": [endpoint.url], "description": [endpoint.description or ""], "events": events}
    return _settings(ctx, endpoint, Form(values))


async def turn(ctx: AppContext, request: Request, viewer: Viewer, endpoint_id: str) -> View:
    """Turn an endpoint on, which forgets its failures, or off; raises ``not_found``."""
    enabled = (await forms.read(ctx, request)).text("to") == "on"
    change = EndpointChange(enabled=enabled)
    audited.state(request, enabled=enabled)
    await endpoints.change(ctx, viewer.account_id, endpoint_id, change)
    return Redirect(f"{PATH}/{endpoint_id}", note="on" if enabled else "off")


async def rotate(ctx: AppContext, request: Request, viewer: Viewer, endpoint_id: str) -> View:
    """A new secret, shown in the answer; raises ``not_found``."""
    form = await forms.read(ctx, request)
    hours = form.text("grace", "0")
    grace = int(hours) * HOUR / SECOND if hours in dict(_GRACES) else 0.0
    audited.state(request, grace_seconds=grace)
    endpoint = await endpoints.rotate(ctx, viewer.account_id, endpoint_id, grace)
    return _secret(endpoint, "Signing secret rotated")


async def send_test(ctx: AppContext, _: Request, viewer: Viewer, endpoint_id: str) -> View:
    """Send a test event; raises ``not_found``, ``bad_request`` when the endpoint is off."""
    delivery = await deliveries.send_test(ctx, viewer.account_id, endpoint_id)
    return Redirect(f"{PATH}/{endpoint_id}/deliveries/{delivery.event_id}", note="test")


async def delete(ctx: AppContext, _: Request, viewer: Viewer, endpoint_id: str) -> View:
    """Remove an endpoint; raises ``not_found``."""
    await endpoints.delete(ctx, viewer.account_id, endpoint_id)
    return Redirect(PATH, note="deleted")


def _settings(ctx: AppContext, endpoint: EndpointRecord, form: Form) -> View:
    until = endpoint.old_secret_until
    model = {
        "old_until": until if until and until > ctx.clock.now() else None,
        "endpoint": endpoint,
        "form": form,
        "events": EVENTS,
        "characters": WEBHOOK_DESCRIPTION_CHARACTERS_MAX,
        "graces": _GRACES,
        "fresh": Form(),
    }
    return PageView("webhooks/webhook_settings.html", "Webhook settings", model, form.status)


def _secret(endpoint: EndpointRecord, title: str) -> View:
    return PageView("webhooks/webhook_secret.html", title, {"endpoint": endpoint, "heading": title})


_PAGE: Final = 30
_PERIODS: Final = {
    "1h": ("the last hour", HOUR),
    "24h": ("the last 24 hours", DAY),
    "7d": ("the last 7 days", 7 * DAY),
}
_UNSENT: Final = (DeliveryStatus.FAILED, DeliveryStatus.DROPPED)


async def show_delivery(
    ctx: AppContext, request: Request, viewer: Viewer, endpoint_id: str
) -> View:
    """An endpoint with its deliveries, newest first; raises ``not_found``."""
    endpoint, _ = await endpoints.get(ctx, viewer.account_id, endpoint_id)
    path = f"{PATH}/{endpoint_id}"
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
        "line": await ctx.db.read(lambda tx: health.of(tx, endpoint)),
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


async def show_one(
    ctx: AppContext, _: Request, viewer: Viewer, endpoint_id: str, event_id: str
) -> View:
    """A delivery with its body and every attempt; raises ``not_found``."""
    delivery, body, proof = await deliveries.get_with_event(
        ctx, viewer.account_id, endpoint_id, event_id
    )
    model = {
        "one": delivery,
        "body": json.dumps(json.loads(body.data), indent=2, ensure_ascii=False),
        "exact": body.data.decode(),
        "sha256": body.sha256,
        "proof": proof.value,
        "path": f"{PATH}/{endpoint_id}",
    }
    return PageView("webhooks/delivery.html", delivery.event, model)


async def send_again(
    ctx: AppContext, request: Request, viewer: Viewer, endpoint_id: str, event_id: str
) -> View:
    """Send one delivery again; raises ``not_found``, ``bad_request`` when the endpoint is off."""
    audited.state(request, event_id=event_id)
    await deliveries.redeliver(ctx, viewer.account_id, endpoint_id, event_id)
    path = f"{PATH}/{endpoint_id}/deliveries/{event_id}"
    return Redirect(path, note="again")


async def replay(ctx: AppContext, request: Request, viewer: Viewer, endpoint_id: str) -> View:
    """Send again what a time range has failed or dropped, or all of it; raises ``not_found``,
    ``bad_request`` when the endpoint is off."""
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
    return Redirect(f"{PATH}/{endpoint_id}", note="replayed" if count else "nothing")


PAGES = (
    Page(
        PATH,
        get=show,
        post=create,
        action="webhooks create",
        nav=Nav("Dashboard", "Webhooks", "webhook"),
        right=Right.READ,
        post_right=Right.WEBHOOKS,
        live=True,
        every=5,
        notes={"deleted": "Endpoint deleted."},
    ),
    Page(
        f"{_ONE}/settings",
        get=settings,
        post=change,
        right=Right.WEBHOOKS,
        action="webhooks update",
    ),
    Page(f"{_ONE}/turn", post=turn, right=Right.WEBHOOKS, action="webhooks update"),
    Page(f"{_ONE}/rotate", post=rotate, right=Right.WEBHOOKS, action="webhooks rotate"),
    Page(f"{_ONE}/test", post=send_test, right=Right.WEBHOOKS, action="webhooks test"),
    Page(f"{_ONE}/delete", post=delete, right=Right.WEBHOOKS, action="webhooks delete"),
    Page(
        _ONE,
        get=show_delivery,
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
