"""Stored records of webhook endpoints and their deliveries (see `record.records`)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from agentpost.domain.times import seconds
from agentpost.record.records import Time
from agentpost.webhooks.endpoint_rules import DeliveryStatus, DisabledReason


@dataclass(slots=True)
class EndpointRecord:
    """A webhook endpoint, and the rule that turns a dead one off (spec: Webhook endpoint states,
    Webhook events 8); the secrets, encrypted as they are stored, never show in a log."""

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

    def turn_on(self) -> None:
        """The past is forgotten. Repeating it changes nothing."""
        if self.disabled_at is not None:
            self.disabled_at = self.disabled_reason = self.failing_since = None

    def turn_off(self, reason: DisabledReason, now: int) -> bool:
        """Whether it was on. Repeating it changes nothing."""
        if self.disabled_at is not None:
            return False
        self.disabled_at, self.disabled_reason = now, reason
        return True

    def turn_off_failing(self, now: int, disable_seconds: float) -> bool:
        """Off when it has failed without a break for so long; whether it was turned off."""
        since = self.failing_since
        is_over = since is not None and now - since >= seconds(disable_seconds)
        return is_over and self.turn_off(DisabledReason.FAILING, now)

    def note_attempt(self, *, succeeded: bool, at: int, disable_seconds: float) -> None:
        """One attempt ended. Only an unbroken row of failures counts; one success forgets them all.
        It changes nothing of an endpoint that is off."""
        if self.disabled_at is not None:
            return
        if succeeded:
            self.failing_since = None
        elif self.failing_since is None:
            self.failing_since = at
        self.turn_off_failing(at, disable_seconds)

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
