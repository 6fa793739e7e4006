"""Webhook endpoints and deliveries: bodies, shapes, and what builds them (spec: Webhooks)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from agentpost.contract.message import Request
from agentpost.contract.render import Shape
from agentpost.domain import limits
from agentpost.domain.events import ALL_EVENTS, EventName
from agentpost.domain.records import AttemptRecord, DeliveryRecord, EndpointRecord
from agentpost.domain.times import iso

URL = "Public https address on port 443 or 8443, up to 2,000 characters, without user name."
EVENTS = 'Names of events, or ["*"] for all of them.'
DESCRIPTION = "A note of your own, up to 120 characters."

# Only described here: what breaks these rules is refused by `services.endpoints`, with codes of
# its own (`bad_url`, `bad_events`, `bad_request`; design: Input).
Url = Annotated[
    str,
    WithJsonSchema(
        {"type": "string", "format": "uri", "maxLength": limits.WEBHOOK_URL_CHARACTERS_MAX}
    ),
]
EventNames = Annotated[
    list[str],
    WithJsonSchema(
        {
            "type": "array",
            "items": {"type": "string", "enum": [ALL_EVENTS, *map(str, EventName)]},
            "minItems": 1,
        }
    ),
]
Description = Annotated[
    str,
    WithJsonSchema({"type": "string", "maxLength": limits.WEBHOOK_DESCRIPTION_CHARACTERS_MAX}),
]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


# --- bodies ---------------------------------------------------------------------------------------
class EndpointIn(Request):
    """A new endpoint; without `events` it receives all of them."""

    url: Url = Field(description=URL, examples=["https://example.com/hooks/agentpost"])
    events: EventNames | None = Field(default=None, description=EVENTS)
    description: Description | None = Field(default=None, description=DESCRIPTION)


class EndpointChangeIn(Request):
    """Only the fields to change."""

    url: Url | None = Field(default=None, description=URL)
    events: EventNames | None = Field(default=None, description=EVENTS)
    description: Description | None = Field(default=None, description=DESCRIPTION)
    enabled: bool | None = Field(
        default=None, description="`false` turns it off, `true` on again, its failures forgotten."
    )


class RotateIn(Request):
    """Optional: how long the old secret stays valid."""

    grace_seconds: Annotated[int, Field(ge=0, le=limits.WEBHOOK_GRACE_SECONDS_MAX)] | None = Field(
        default=None, description="For so long deliveries are signed with both secrets."
    )


class ReplayIn(Request):
    """The deliveries to send again."""

    since: Time = Field(
        description="Beginning of the time range, ISO 8601 with offset.",
        examples=["2026-01-31T00:00:00Z"],
    )
    until: Time | None = Field(default=None, description="Its end, exclusive; without it, now.")
    status: list[Literal["delivered", "failed", "dropped"]] | None = Field(
        default=None, min_length=1, description="Only deliveries that ended so; without it, all."
    )


# --- answers --------------------------------------------------------------------------------------
class DeliveryShape(BaseModel):
    """One event for one endpoint."""

    object: Literal["webhook_delivery"]
    id: str = Field(description="`evt_<id>`, the same for all endpoints and every attempt.")
    event: str
    status: Literal["pending", "delivered", "failed", "dropped", "cancelled"]
    attempts: int
    last_status_code: int | None
    last_error: str | None
    last_response: str | None = Field(description="The beginning of the receiver's answer.")
    last_ms: int | None = Field(description="How long the last attempt took.")
    created_at: str
    delivered_at: str | None
    next_attempt_at: str | None
    message_id: str | None = Field(description="null for a test event.")


class AttemptShape(BaseModel):
    """One HTTP request of a delivery."""

    at: str = Field(description="When it ended.")
    status_code: int | None = Field(description="null when no answer came.")
    error: str | None = Field(description="Why it failed; null when the receiver took it.")
    response: str = Field(description="The beginning of the receiver's answer.")
    ms: int = Field(description="How long it took.")


class LoggedDeliveryShape(DeliveryShape):
    """A delivery with its attempts."""

    attempt_log: list[AttemptShape] = Field(
        description=(
            f"The newest {limits.WEBHOOK_ATTEMPTS_KEPT} attempts, oldest first; also those from"
            " before it was sent again, which `attempts` does not count."
        )
    )


class EndpointShape(BaseModel):
    """A webhook endpoint."""

    object: Literal["webhook_endpoint"]
    id: str
    url: str
    events: list[str]
    description: str | None
    created_at: str
    disabled_at: str | None
    disabled_reason: Literal["failing", "manual"] | None
    failing_since: str | None


class NewEndpointShape(EndpointShape):
    """An endpoint just made, with its secret: this is the only time it is shown."""

    secret: str


class EndpointWithDeliveriesShape(EndpointShape):
    """An endpoint with its 20 newest deliveries."""

    recent_deliveries: list[DeliveryShape]


class EndpointListShape(BaseModel):
    """The account's endpoints, up to 10."""

    object: Literal["list"]
    data: list[EndpointShape]


class DeletedEndpointShape(BaseModel):
    """A removed endpoint."""

    object: Literal["webhook_endpoint"]
    id: str
    deleted: Literal[True]


class RotatedSecretShape(BaseModel):
    """The new secret: this is the only time it is shown."""

    object: Literal["webhook_endpoint"]
    id: str
    secret: str
    old_secret_until: str | None = Field(description="Until then the old secret signs as well.")


class DeliveryListShape(BaseModel):
    """A page of deliveries, newest first; continue with `before` = the last `id`."""

    object: Literal["list"]
    data: list[LoggedDeliveryShape]
    has_more: bool


class ReplayShape(BaseModel):
    """How many deliveries are sent again."""

    object: Literal["webhook_replay"]
    webhook_endpoint_id: str
    deliveries: int


# --- building -------------------------------------------------------------------------------------
def endpoint(record: EndpointRecord) -> Shape:
    """An endpoint, without its secret."""
    return {
        "object": "webhook_endpoint",
        "id": record.id,
        "url": record.url,
        "events": json.loads(record.events_json),
        "description": record.description,
        "created_at": iso(record.created_at),
        "disabled_at": _time(record.disabled_at),
        "disabled_reason": record.disabled_reason.value if record.disabled_reason else None,
        "failing_since": _time(record.failing_since),
    }


def endpoint_with(record: EndpointRecord, recent: Sequence[DeliveryRecord]) -> Shape:
    """The single-endpoint read."""
    return {**endpoint(record), "recent_deliveries": [delivery(each) for each in recent]}


def new_endpoint(record: EndpointRecord) -> Shape:
    """The answer to create."""
    return {**endpoint(record), "secret": record.secret}


def rotated(record: EndpointRecord) -> Shape:
    """The answer to rotate-secret."""
    return {
        "object": "webhook_endpoint",
        "id": record.id,
        "secret": record.secret,
        "old_secret_until": _time(record.old_secret_until),
    }


def delivery(record: DeliveryRecord) -> Shape:
    """One delivery."""
    return {
        "object": "webhook_delivery",
        "id": record.event_id,
        "event": record.event,
        "status": record.status.value,
        "attempts": record.attempts,
        "last_status_code": record.last_status_code,
        "last_error": record.last_error,
        "last_response": record.last_response,
        "last_ms": record.last_ms,
        "created_at": iso(record.created_at),
        "delivered_at": _time(record.delivered_at),
        "next_attempt_at": _time(record.next_attempt_at),
        "message_id": record.message_id,
    }


def logged_delivery(record: DeliveryRecord) -> Shape:
    """One delivery with its attempts."""
    return {**delivery(record), "attempt_log": [_attempt(each) for each in record.attempt_log]}


def _attempt(record: AttemptRecord) -> Shape:
    return {
        "at": iso(record.at),
        "status_code": record.status_code,
        "error": record.error,
        "response": record.response,
        "ms": record.ms,
    }


def _time(at: int | None) -> str | None:
    return iso(at) if at is not None else None
