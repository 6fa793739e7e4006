"""Words for webhook endpoints and deliveries, the retry schedule, and who gets an event (spec:
Webhook events 3, 7). Times are in microseconds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agentpost.domain import backoff
from agentpost.domain.limits import WEBHOOK_RETRY_SPREAD


class DisabledReason(StrEnum):
    """Why an endpoint is off."""

    FAILING = "failing"
    MANUAL = "manual"


class DeliveryStatus(StrEnum):
    """One event for one endpoint."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    DROPPED = "dropped"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class EventContent:
    """What an event says, as it is kept."""

    name: str
    at: int
    data_json: str = field(repr=False)
    traceparent: str | None  # of the message it tells about
    message_id: str | None  # that message; None: it was sent as a test


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that this node has claimed until ``until``, with the event it is about."""

    endpoint_id: str
    event_id: str
    until: int
    attempts: int
    attempts_made: int
    created_at: int
    event: EventContent
    url: str
    keys: tuple[str, ...] = field(repr=False)  # sign it; as they are stored


@dataclass(frozen=True, slots=True)
class Attempted:
    """The outcome of a claim: sent, with ``error`` None when the receiver took it."""

    claimed: Claimed
    at: int
    status_code: int | None
    error: str | None
    response: str
    ms: int
    headers: str = ""
    body_sha256: str | None = None  # of what was sent
    links_until: int | None = None  # when the links in it expire, in seconds


def retry_after(attempts: int, schedule: Sequence[float], chance: float) -> float:
    """Seconds to the next attempt of a delivery.

    Args:
        attempts: how many have failed, at least one.
        schedule: the pause in seconds after each; the last one is kept from then on.
        chance: evenly distributed from 0 to 1; 0.5 leaves the pause as the schedule has it.
    """
    pause = schedule[min(attempts, len(schedule)) - 1]
    return backoff.spread(pause, WEBHOOK_RETRY_SPREAD, chance)


def wants(events: Sequence[str], name: str, *, chosen: bool) -> bool:
    """Whether an endpoint gets an event; the one a message names gets all of its events."""
    return chosen or "*" in events or name in events
