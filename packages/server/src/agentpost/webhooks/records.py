"""Stored records of webhook endpoints and their deliveries (see `record.records`)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from agentpost.record.records import Time
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason, EndpointState


@dataclass(slots=True)
class EndpointRecord:
    """A webhook endpoint; the secrets, encrypted as they are stored, never show in a log."""

    id: str
    account_id: str
    url: str
    events_json: str
    created_at: Time
    description: str | None = None
    secret: str = field(default="", repr=False)
    old_secret: str | None = field(default=None, repr=False)
    old_secret_until: Time | None = None
    disabled_at: Time | None = None
    disabled_reason: DisabledReason | None = None
    failing_since: Time | None = None

    @property
    def events(self) -> list[str]:
        """The events that it receives; ``*`` stands for all of them."""
        return list(json.loads(self.events_json))

    @property
    def state(self) -> EndpointState:
        """The part that the rules of `webhooks.endpoint_rules` are about."""
        return EndpointState(self.disabled_at, self.disabled_reason, self.failing_since)

    @state.setter
    def state(self, state: EndpointState) -> None:
        self.disabled_at, self.disabled_reason = state.disabled_at, state.disabled_reason
        self.failing_since = state.failing_since

    def secrets(self, now: int) -> tuple[str, ...]:
        """What deliveries are signed with now: after a rotation with a grace time, both."""
        if self.old_secret is None or now >= (self.old_secret_until or 0):
            return (self.secret,)
        return (self.secret, self.old_secret)


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """One event for one endpoint, with the event's name and message."""

    event_id: str
    endpoint_id: str
    status: DeliveryStatus
    attempts: int
    last_status_code: int | None
    last_error: str | None
    last_response: str | None
    last_ms: int | None
    created_at: int
    delivered_at: int | None
    next_attempt_at: int | None
    event: str
    message_id: str | None
    attempt_log: "Sequence[AttemptRecord]" = ()  # oldest first; read where deliveries are listed


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt of a delivery, as it is logged."""

    event_id: str
    endpoint_id: str
    n: int  # from 1; counts attempts made before a redelivery, too
    at: Time  # when it ended
    status_code: int | None
    error: str | None  # None: the receiver took it
    response: str  # the beginning of the answer's body
    ms: int
    headers: str | None = None  # of the answer, one in a line
    body_sha256: str | None = None  # of the body that was sent; None: none could be made
    links_until: Annotated[int, 64] | None = None  # when its links to files expire, in seconds
