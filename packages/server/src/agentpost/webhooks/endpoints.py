"""Create, change, switch off and on, and remove webhook endpoints (spec: Webhooks)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from agentpost.accounts import rows as account_rows
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.domain.limits import (
    WEBHOOK_DESCRIPTION_CHARACTERS_MAX,
    WEBHOOK_ENDPOINTS_MAX,
    WEBHOOK_RECENT_DELIVERIES,
)
from agentpost.domain.times import seconds
from agentpost.egress.urls import BadUrl
from agentpost.record import lifecycle
from agentpost.record.events import ALL_EVENTS, EventName
from agentpost.transactions import read_transaction, write_transaction
from agentpost.webhooks import delivery_rows, endpoint_rows
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason
from agentpost.webhooks.records import DeliveryRecord, EndpointRecord
from agentpost.webhooks.signing import new_secret


@dataclass(frozen=True, slots=True)
class EndpointChange:
    """What a caller gives; None leaves a field as it is."""

    url: str | None = None
    events: Sequence[str] | None = None
    description: str | None = None
    enabled: bool | None = None


def check(ctx: AppContext, change: EndpointChange) -> None:
    """Raise ``bad_url``, ``bad_events`` or ``bad_request`` for what no endpoint may be."""
    if change.url is not None:
        try:
            ctx.egress.check_url(change.url)
        except BadUrl as error:
            text = (
                f"The webhook address cannot be used: {error}. On your own server,"
                " AGENTPOST_EGRESS_ALLOW lets private addresses, plain http and other ports"
                " through, and AGENTPOST_EGRESS_DENY refuses hosts."
            )
            raise Refusal(ErrorCode.BAD_URL, text) from None
    if change.events is not None:
        known_names = {ALL_EVENTS, *EventName}
        unknown = next((name for name in change.events if name not in known_names), None)
        if unknown is not None:
            names = ", ".join(EventName)
            text = f"There is no event {unknown[:100]!r}. Events: {names}; * for all."
            raise Refusal(ErrorCode.BAD_EVENTS, text)
        if not change.events:
            raise Refusal(ErrorCode.BAD_EVENTS, "An endpoint must subscribe to at least one event.")
    most = WEBHOOK_DESCRIPTION_CHARACTERS_MAX
    if change.description is not None and len(change.description) > most:
        raise Refusal(ErrorCode.BAD_REQUEST, f"The description is over {most} characters.")


@write_transaction
def create(
    tx: Tx,
    ctx: AppContext,
    account_id: str,
    url: str,
    events: Sequence[str] | None,
    description: str | None,
) -> EndpointRecord:
    """A new endpoint; its secret is to be shown now and never again. Raises `Refusal`: see `check`;
    ``too_many_endpoints``."""
    check(ctx, EndpointChange(url, events, description))
    account_rows.lock(tx, account_id)  # two calls must not both see the last free place
    if len(endpoint_rows.list_(tx, account_id)) >= WEBHOOK_ENDPOINTS_MAX:
        most = WEBHOOK_ENDPOINTS_MAX
        raise Refusal(ErrorCode.TOO_MANY_ENDPOINTS, f"An account has at most {most} endpoints.")
    now, secret = ctx.clock.now(), new_secret()
    endpoint = EndpointRecord(
        id=new_id(ids.ENDPOINT, now),
        account_id=account_id,
        url=url,
        events_json=_events_json(events),
        created_at=now,
        description=description,
    )
    endpoint.secret = ctx.cipher.encrypt(endpoint.id, secret)
    endpoint_rows.ENDPOINTS.insert(tx, endpoint)
    return replace(endpoint, secret=secret)


async def list_all(ctx: AppContext, account_id: str) -> list[EndpointRecord]:
    """The account's endpoints, newest first."""
    return await ctx.db.read(lambda tx: endpoint_rows.list_(tx, account_id))


@read_transaction
def get(
    tx: Tx, ctx: AppContext, account_id: str, endpoint_id: str
) -> tuple[EndpointRecord, list[DeliveryRecord]]:
    """An endpoint and its newest deliveries; raises ``not_found``."""
    endpoint = get_owned(endpoint_rows.get(tx, endpoint_id), account_id)
    return endpoint, delivery_rows.list_(tx, endpoint_id, WEBHOOK_RECENT_DELIVERIES)


@write_transaction
def change(
    tx: Tx, ctx: AppContext, account_id: str, endpoint_id: str, changes: EndpointChange
) -> EndpointRecord:
    """Change what is given. Switched off, it drops what is pending; switched on, its failures are
    forgotten. Raises `Refusal`: see `check`; ``not_found``."""
    check(ctx, changes)
    endpoint = get_owned(endpoint_rows.lock(tx, endpoint_id), account_id)
    if changes.url is not None:
        endpoint.url = changes.url
    if changes.events is not None:
        endpoint.events_json = _events_json(changes.events)
    if changes.description is not None:
        endpoint.description = changes.description
    if changes.enabled:
        endpoint.turn_on()
    elif changes.enabled is False and endpoint.turn_off(DisabledReason.MANUAL, ctx.clock.now()):
        turned_off(tx, endpoint)
    return _save(tx, ctx, endpoint)


def turned_off(tx: Tx, endpoint: EndpointRecord) -> None:
    """It has gone from on to off: what is pending is dropped, and its owner's log tells."""
    dropped_count = delivery_rows.end_pending(tx, endpoint.id, DeliveryStatus.DROPPED)
    lifecycle.endpoint_disabled(tx, endpoint, endpoint.disabled_reason, dropped_count)


@write_transaction
def rotate(
    tx: Tx, ctx: AppContext, account_id: str, endpoint_id: str, grace_seconds: float = 0
) -> EndpointRecord:
    """A new secret, to be shown now; the old one signs beside it for that long (design: Webhook
    events). Raises ``not_found``."""
    endpoint, secret = get_owned(endpoint_rows.lock(tx, endpoint_id), account_id), new_secret()
    endpoint.old_secret = endpoint.secret if grace_seconds else None
    until = ctx.clock.now() + seconds(grace_seconds)
    endpoint.old_secret_until = until if grace_seconds else None
    endpoint.secret = ctx.cipher.encrypt(endpoint_id, secret)
    return replace(_save(tx, ctx, endpoint), secret=secret)


@write_transaction
def delete(tx: Tx, ctx: AppContext, account_id: str, endpoint_id: str) -> None:
    """Remove it and cancel what is pending; raises ``not_found``, on a repetition too."""
    get_owned(endpoint_rows.lock(tx, endpoint_id), account_id)
    delivery_rows.end_pending(tx, endpoint_id, DeliveryStatus.CANCELLED)
    endpoint_rows.delete(tx, endpoint_id)
    tx.after(partial(ctx.endpoint_changed, endpoint_id))


def get_owned(endpoint: EndpointRecord | None, account_id: str) -> EndpointRecord:
    """The endpoint, if it is the account's; raises ``not_found``."""
    if endpoint is None or endpoint.account_id != account_id:
        raise not_found("webhook endpoint")
    return endpoint


def _save(tx: Tx, ctx: AppContext, endpoint: EndpointRecord) -> EndpointRecord:
    endpoint_rows.update(tx, endpoint)
    tx.after(partial(ctx.endpoint_changed, endpoint.id))
    return endpoint


def _events_json(events: Sequence[str] | None) -> str:
    """As stored: every name once; ``*`` says it all."""
    if events is None or ALL_EVENTS in events:
        return json.dumps([ALL_EVENTS])
    return json.dumps(list(dict.fromkeys(events)))
