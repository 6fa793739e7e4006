"""Claim, record, list and resend deliveries (spec: Webhook events; design: Webhook events)."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import groupby

from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.contract.shape import dumps
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.domain.limits import (
    WEBHOOK_ATTEMPT_RESPONSE_CHARACTERS_MAX,
    WEBHOOK_ATTEMPTS_KEPT,
)
from agentpost.domain.times import seconds
from agentpost.events import sample_shapes
from agentpost.mail import actions as mail
from agentpost.record import lifecycle
from agentpost.record.events import TEST_EVENT, EventName
from agentpost.tasks.sweeps import sweep
from agentpost.transactions import read_transaction, write_transaction
from agentpost.webhooks import delivery_rows, endpoint_rows, endpoint_rules
from agentpost.webhooks.endpoint_rules import Attempted, Claimed, DeliveryStatus, EventContent
from agentpost.webhooks.endpoints import get_owned, turned_off
from agentpost.webhooks.event_shapes import EventShape, TestEventDataShape
from agentpost.webhooks.records import AttemptRecord, DeliveryRecord, EndpointRecord

LEASE_SPARE_SECONDS = 16.0
"""A claim is good for an attempt, the second it may wait for its turn, and a slow commit."""
CHUNK = 500
REPLAYABLE = (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DROPPED)


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of a body, when the links in it expire (seconds), and the hash of the bytes."""

    data: bytes
    links_until: int
    sha256: str


class Proof(StrEnum):
    """Whether a body that is shown is the one that was sent."""

    SENT = "sent"
    """Its hash is that of the bytes that were sent."""
    TO_SEND = "to_send"
    """Nothing was sent, or not by the last attempt; links get their time when it is."""
    OTHER = "other"
    """It was sent with other links or in another form: the server or its address has changed."""


def body(ctx: AppContext, event: EventContent, links_until: int | None = None) -> Body:
    """What to send: the event as it was kept, with file links that hold until then; None: signed
    now."""
    until = links_until or ctx.links.expiry()
    is_sample = event.message_id is None and event.name != TEST_EVENT
    links = ctx.links.until(until)
    data = EventShape.of(event.name, event.at, event.data_json, links, is_sample=is_sample).json()
    return Body(data, until, hashlib.sha256(data).hexdigest())


# --- claiming and recording -----------------------------------------------------------------------
async def due_endpoints(ctx: AppContext) -> list[str]:
    """Endpoints with due deliveries that no node has claimed."""
    return await ctx.resting.due("due_endpoints", delivery_rows.due_endpoints)


async def wake_due(ctx: AppContext) -> None:
    """Tell the sender what is due: retries fall due, claims of dead nodes run out, a wake-up may
    have been lost, another process may have committed some."""
    endpoint_ids = await due_endpoints(ctx)
    if endpoint_ids:
        ctx.deliveries_due(endpoint_ids)


@write_transaction
def record_and_claim(
    tx: Tx,
    ctx: AppContext,
    attempts: Sequence[Attempted],
    unused: Sequence[Claimed],
    shares: Mapping[str, int],
) -> list[Claimed]:
    """Record what was sent, give back what was not, and claim more, in one commit. ``shares``:
    endpoint id -> how many to claim at most."""
    now = ctx.clock.now()
    for claim in unused:
        delivery_rows.give_back(tx, claim.event_id, claim.endpoint_id, claim.until)
    recorded_attempts: list[Attempted] = []
    # One order of locks for all nodes.
    in_order = sorted(attempts, key=lambda each: (each.claimed.endpoint_id, each.at))
    for endpoint_id, of_endpoint in groupby(in_order, lambda each: each.claimed.endpoint_id):
        recorded_attempts += _record(tx, ctx, endpoint_id, of_endpoint, now)
    _log(tx, recorded_attempts)
    return [
        claim
        for endpoint_id, limit in shares.items()
        for claim in _claim(tx, ctx, endpoint_id, limit, now)
    ]


async def give_back_all(ctx: AppContext) -> None:
    """Claims of a process that is gone end now; only for a node that is alone."""
    await ctx.db.write(delivery_rows.give_back_all)


def _claim(tx: Tx, ctx: AppContext, endpoint_id: str, limit: int, now: int) -> list[Claimed]:
    endpoint = endpoint_rows.get(tx, endpoint_id)
    if endpoint is None or endpoint.disabled_at is not None:
        # Written beside the commit that removed the endpoint or switched it off.
        final_status = DeliveryStatus.CANCELLED if endpoint is None else DeliveryStatus.DROPPED
        delivery_rows.end_pending(tx, endpoint_id, final_status)
        return []
    until = now + seconds(ctx.settings.webhook_timeout_seconds + LEASE_SPARE_SECONDS)
    return delivery_rows.claim(tx, endpoint, now, until, limit)


def _record(
    tx: Tx, ctx: AppContext, endpoint_id: str, attempts: Iterable[Attempted], now: int
) -> list[Attempted]:
    """Write what became of one endpoint's attempts, oldest first, and what that means for the
    endpoint; those that count, since their claim still held."""
    endpoint = endpoint_rows.lock(tx, endpoint_id)
    if endpoint is None:
        return []  # removed meanwhile: its deliveries are cancelled
    before, recorded_attempts = replace(endpoint), []
    disable_seconds = ctx.settings.webhook_disable_seconds
    for attempt in attempts:
        succeeded = attempt.error is None
        endpoint.note_attempt(succeeded=succeeded, at=attempt.at, disable_seconds=disable_seconds)
        if _record_one(tx, ctx, attempt, endpoint.account_id):
            recorded_attempts.append(attempt)
    if endpoint != before:
        _save_state(tx, endpoint, now)
    return recorded_attempts


def _record_one(tx: Tx, ctx: AppContext, attempt: Attempted, account_id: str) -> bool:
    claim, next_at = attempt.claimed, None
    if attempt.error is not None:
        pause = endpoint_rules.retry_after(
            claim.attempts + 1, ctx.settings.webhook_retry_seconds, ctx.clock.chance()
        )
        following = attempt.at + seconds(pause)
        # The message is gone by then, and with it the event (design: Webhook events).
        gone_at = claim.created_at + seconds(ctx.settings.message_retention_seconds)
        next_at = following if following < gone_at else None
    is_recorded = delivery_rows.record(tx, attempt, next_at)
    if is_recorded and attempt.error is not None:
        lifecycle.delivery_failed(tx, attempt, account_id, next_at)
    return is_recorded


def _log(tx: Tx, attempts: Sequence[Attempted]) -> None:
    """A row for each attempt."""
    records = [
        AttemptRecord(
            event_id=attempt.claimed.event_id,
            endpoint_id=attempt.claimed.endpoint_id,
            n=attempt.claimed.attempts_made + 1,
            at=attempt.at,
            status_code=attempt.status_code,
            error=attempt.error,
            response=attempt.response[:WEBHOOK_ATTEMPT_RESPONSE_CHARACTERS_MAX],
            ms=attempt.ms,
            headers=attempt.headers,
            body_sha256=attempt.body_sha256,
            links_until=attempt.links_until,
        )
        for attempt in attempts
    ]
    delivery_rows.add_attempts(tx, records, keep=WEBHOOK_ATTEMPTS_KEPT)


# --- turning off ----------------------------------------------------------------------------------
async def turn_off_failing(ctx: AppContext) -> None:
    """Endpoints whose time is up between two attempts (spec: Webhook events 8)."""
    disable = seconds(ctx.settings.webhook_disable_seconds)

    def find(tx: Tx, at: int, limit: int) -> list[str]:
        return endpoint_rows.failing_since_before(tx, at - disable, limit)

    await sweep(ctx, "turn_off_failing", find, partial(_turn_off, ctx))


@write_transaction
def _turn_off(tx: Tx, ctx: AppContext, endpoint_id: str) -> None:
    """Off, when retries are waiting and every due one was made: after a downtime of ours the
    receiver gets its next chance first."""
    now = ctx.clock.now()
    endpoint = endpoint_rows.lock(tx, endpoint_id)
    if endpoint is None:
        return
    waiting, due = delivery_rows.retries(tx, endpoint_id, now)
    disable_seconds = ctx.settings.webhook_disable_seconds
    if waiting and not due and endpoint.turn_off_failing(now, disable_seconds):
        _save_state(tx, endpoint, now)


def _save_state(tx: Tx, endpoint: EndpointRecord, now: int) -> None:
    """Its state has changed; when that was the move from on to off, its owner gets a mail, once."""
    endpoint_rows.update(tx, endpoint)
    if endpoint.disabled_at is not None:
        turned_off(tx, endpoint)
        mail.endpoint_turned_off(tx, endpoint, now)


# --- looking and sending again --------------------------------------------------------------------
@read_transaction
def page(
    tx: Tx,
    ctx: AppContext,
    account_id: str,
    endpoint_id: str,
    limit: int,
    before: str | None,
    status: DeliveryStatus | None,
) -> tuple[list[DeliveryRecord], bool]:
    """A page of deliveries with their logs of attempts, newest first, and whether older ones
    follow; raises ``not_found``."""
    get_owned(endpoint_rows.get(tx, endpoint_id), account_id)
    page_rows = delivery_rows.list_(tx, endpoint_id, limit + 1, before, status)
    event_ids = [each.event_id for each in page_rows[:limit]]
    logs = delivery_rows.attempts_of(tx, endpoint_id, event_ids)
    lines = [replace(each, attempt_log=logs.get(each.event_id, ())) for each in page_rows[:limit]]
    return lines, len(page_rows) > limit


@read_transaction
def get_with_event(
    tx: Tx, ctx: AppContext, account_id: str, endpoint_id: str, event_id: str
) -> tuple[DeliveryRecord, Body, Proof]:
    """A delivery with its log of attempts, and the body of the last one, made again as it was sent,
    if the proof says so; raises ``not_found``."""
    get_owned(endpoint_rows.get(tx, endpoint_id), account_id)
    delivery = delivery_rows.get(tx, endpoint_id, event_id)
    event = delivery_rows.event(tx, event_id)
    if delivery is None or event is None:
        raise not_found("delivery")
    log = delivery_rows.attempts_of(tx, endpoint_id, [event_id]).get(event_id, [])
    last = log[-1] if log else None
    sent_body = body(ctx, event, last.links_until if last else None)
    if last is None or last.body_sha256 is None:
        proof = Proof.TO_SEND
    else:
        proof = Proof.SENT if sent_body.sha256 == last.body_sha256 else Proof.OTHER
    return replace(delivery, attempt_log=log), sent_body, proof


@write_transaction
def send_test(
    tx: Tx, ctx: AppContext, account_id: str, endpoint_id: str, event: EventName | None = None
) -> DeliveryRecord:
    """Send an event of no message, whatever the endpoint subscribes to: ``webhook.test``, or a
    sample of ``event``. Raises `Refusal`: ``not_found``; ``bad_request`` when the endpoint is
    off."""
    endpoint = _ready(tx, account_id, endpoint_id)
    now = ctx.clock.now()
    event_id = new_id(ids.EVENT, now)
    data = (
        TestEventDataShape(webhook_endpoint_id=endpoint.id)
        if event is None
        else sample_shapes.data(event, now, ctx.links)
    )
    name = event or TEST_EVENT
    delivery_rows.add_event(tx, event_id, account_id, None, None, name, dumps(data), now)
    delivery_rows.add_delivery(tx, event_id, endpoint_id, DeliveryStatus.PENDING, now)
    return _wake(tx, ctx, endpoint_id, event_id)


@write_transaction
def redeliver(
    tx: Tx, ctx: AppContext, account_id: str, endpoint_id: str, event_id: str
) -> DeliveryRecord:
    """Send one delivery again, at once; one that is pending does not wait for its next attempt.
    Raises `Refusal`: ``not_found``; ``bad_request`` when the endpoint is off."""
    _ready(tx, account_id, endpoint_id)
    delivery_rows.send_again(tx, ctx.clock.now(), endpoint_id, event_id)
    return _wake(tx, ctx, endpoint_id, event_id)


async def replay(
    ctx: AppContext,
    account_id: str,
    endpoint_id: str,
    since: int,
    until: int,
    statuses: Sequence[DeliveryStatus] = REPLAYABLE,
) -> int:
    """Send again what was made in ``since`` <= time < ``until`` and has ended so; how many.

    In chunks, so that a long time range holds up no other writer. Raises `Refusal`: ``not_found``;
    ``bad_request`` when the endpoint is off.
    """
    count, after = 0, ""

    def fn(tx: Tx) -> list[str]:
        _ready(tx, account_id, endpoint_id)
        event_ids = delivery_rows.ended_between(
            tx, endpoint_id, since, until, statuses, after, CHUNK
        )
        now = ctx.clock.now()
        for event_id in event_ids:
            delivery_rows.send_again(tx, now, endpoint_id, event_id)
        tx.after(partial(ctx.deliveries_due, [endpoint_id]))
        return event_ids

    while True:
        event_ids = await ctx.db.write(fn)
        count += len(event_ids)
        if len(event_ids) < CHUNK:
            return count
        after = event_ids[-1]


def _ready(tx: Tx, account_id: str, endpoint_id: str) -> EndpointRecord:
    endpoint = get_owned(endpoint_rows.lock(tx, endpoint_id), account_id)
    if endpoint.disabled_at is not None:
        raise Refusal(ErrorCode.BAD_REQUEST, "The endpoint is disabled; enable it first.")
    return endpoint


def _wake(tx: Tx, ctx: AppContext, endpoint_id: str, event_id: str) -> DeliveryRecord:
    delivery = delivery_rows.get(tx, endpoint_id, event_id)
    if delivery is None:
        raise not_found("delivery")
    tx.after(partial(ctx.deliveries_due, [endpoint_id]))
    return delivery
