"""Webhook endpoints and deliveries, and the bodies that change them (spec: Webhooks)."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, WithJsonSchema

from agentpost.contract.shape import Shape, Time, about
from agentpost.domain import limits
from agentpost.domain.times import iso, iso_or_none
from agentpost.messages.body_shapes import Request, TimeIn
from agentpost.record.events import ALL_EVENTS, EventName
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason
from agentpost.webhooks.records import AttemptRecord, DeliveryRecord, EndpointRecord

URL = "Public https address on port 443 or 8443, up to 2,000 characters, without user name."
EVENTS = 'Names of events, or ["*"] for all of them.'
DESCRIPTION = "A note of your own, up to 120 characters."

# Only described here: what breaks these rules is refused by `webhooks.endpoints`, with codes of
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


class TestIn(Request):
    """Optional: what to send."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    event: Annotated[str, WithJsonSchema({"type": "string", "enum": list(map(str, EventName))})] | (
        None
    ) = Field(
        default=None,
        description="A sample of this event is sent instead of `webhook.test`.",
        examples=["message.completed"],
    )


class ReplayIn(Request):
    """The deliveries to retry."""

    since: TimeIn = Field(
        description="Beginning of the time range, ISO 8601 with offset.",
        examples=["2026-01-31T00:00:00Z"],
    )
    until: TimeIn | None = Field(default=None, description="Its end, exclusive; without it, now.")
    status: list[Literal["delivered", "failed", "dropped"]] | None = Field(
        default=None, min_length=1, description="Only deliveries that ended so; without it, all."
    )


# --- answers --------------------------------------------------------------------------------------
class DeliveryShape(Shape):
    """One event for one endpoint."""

    object: Literal["webhook_delivery"] = "webhook_delivery"
    id: Annotated[str, about("`evt_<id>`, the same for all endpoints and every attempt.")]
    event: str
    status: DeliveryStatus
    attempts: int
    last_status_code: int | None
    last_error: str | None
    last_response: Annotated[str | None, about("The beginning of the receiver's answer.")]
    last_ms: Annotated[int | None, about("How long the last attempt took.")]
    created_at: Time
    delivered_at: Time | None
    next_attempt_at: Time | None
    message_id: Annotated[str | None, about("null for a test event.")]

    @classmethod
    def of(cls, record: DeliveryRecord, **more: Any) -> Self:
        """From its record."""
        return cls.with_fields_of(
            record,
            id=record.event_id,
            created_at=iso(record.created_at),
            delivered_at=iso_or_none(record.delivered_at),
            next_attempt_at=iso_or_none(record.next_attempt_at),
            **more,
        )


class AttemptShape(Shape):
    """One HTTP request of a delivery."""

    at: Annotated[Time, about("When it ended.")]
    status_code: Annotated[int | None, about("null when no answer came.")]
    error: Annotated[str | None, about("Why it failed; null when the receiver took it.")]
    response: Annotated[str, about("The beginning of the receiver's answer.")]
    ms: Annotated[int, about("How long it took.")]

    @classmethod
    def of(cls, record: AttemptRecord) -> Self:
        """From its record."""
        return cls.with_fields_of(record, at=iso(record.at))


class LoggedDeliveryShape(DeliveryShape):
    """A delivery with its attempts."""

    attempt_log: Annotated[
        list[AttemptShape],
        about(
            f"The newest {limits.WEBHOOK_ATTEMPTS_KEPT} attempts, oldest first; also those from"
            " before it was sent again, which `attempts` does not count."
        ),
    ]

    @classmethod
    def of(cls, record: DeliveryRecord, **more: Any) -> Self:
        """From its record."""
        log = [AttemptShape.of(each) for each in record.attempt_log]
        return super().of(record, attempt_log=log, **more)


class EndpointShape(Shape):
    """A webhook endpoint."""

    object: Literal["webhook_endpoint"] = "webhook_endpoint"
    id: str
    url: str
    events: list[str]
    description: str | None
    created_at: Time
    disabled_at: Time | None
    disabled_reason: DisabledReason | None
    failing_since: Time | None

    @classmethod
    def of(cls, record: EndpointRecord, **more: Any) -> Self:
        """From its record."""
        return cls.with_fields_of(
            record,
            events=record.events,
            created_at=iso(record.created_at),
            disabled_at=iso_or_none(record.disabled_at),
            failing_since=iso_or_none(record.failing_since),
            **more,
        )


class NewEndpointShape(EndpointShape):
    """An endpoint just made, with its secret: this is the only time it is shown."""

    secret: str


class EndpointWithDeliveriesShape(EndpointShape):
    """An endpoint with its 20 newest deliveries."""

    recent_deliveries: list[DeliveryShape]


class EndpointListShape(Shape):
    """The account's endpoints, up to 10."""

    object: Literal["list"] = "list"
    data: list[EndpointShape]


class DeletedEndpointShape(Shape):
    """A removed endpoint."""

    object: Literal["webhook_endpoint"] = "webhook_endpoint"
    id: str
    deleted: Literal[True] = True


class RotatedSecretShape(Shape):
    """The new secret: this is the only time it is shown."""

    object: Literal["webhook_endpoint"] = "webhook_endpoint"
    id: str
    secret: str
    old_secret_until: Annotated[Time | None, about("Until then the old secret signs as well.")]

    @classmethod
    def of(cls, record: EndpointRecord) -> Self:
        """From the endpoint's record."""
        until = iso_or_none(record.old_secret_until)
        return cls(id=record.id, secret=record.secret, old_secret_until=until)


class DeliveryListShape(Shape):
    """A page of deliveries, newest first; continue with `before` = the last `id`."""

    object: Literal["list"] = "list"
    data: list[LoggedDeliveryShape]
    has_more: bool


class ReplayShape(Shape):
    """How many deliveries are sent again."""

    object: Literal["webhook_replay"] = "webhook_replay"
    webhook_endpoint_id: str
    deliveries: int
