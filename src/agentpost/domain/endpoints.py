"""Webhook endpoint states, the retry schedule and the rule that turns a dead endpoint off.

spec: Webhook endpoint states, Webhook events 7 and 8. Times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


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


RETRY_SECONDS = (60, 300, 1_800, 7_200, 18_000, 36_000)
RETRY_SECONDS_AFTERWARDS = 86_400
DISABLE_SECONDS = 3 * 86_400


@dataclass(frozen=True, slots=True)
class EndpointState:
    """What the rules need to know of an endpoint."""

    disabled_at: int | None = None
    disabled_reason: DisabledReason | None = None
    failing_since: int | None = None


def retry_after(attempts: int, schedule: Sequence[float] = RETRY_SECONDS) -> float:
    """Seconds to the next attempt after that many failed ones (at least one)."""
    return schedule[attempts - 1] if attempts <= len(schedule) else RETRY_SECONDS_AFTERWARDS


def attempted(
    state: EndpointState, *, succeeded: bool, now: int, disable_seconds: float = DISABLE_SECONDS
) -> EndpointState:
    """One attempt ended. Only an unbroken row of failures counts; one success forgets them all."""
    if state.disabled_at is not None:
        return state
    if succeeded:
        return replace(state, failing_since=None)
    since = state.failing_since if state.failing_since is not None else now
    if now - since >= disable_seconds * 1_000_000:
        return EndpointState(now, DisabledReason.FAILING, since)
    return replace(state, failing_since=since)


def enabled(state: EndpointState) -> EndpointState:
    """Switched on: the past is forgotten. Repeating it changes nothing."""
    return EndpointState() if state.disabled_at is not None else state


def disabled(state: EndpointState, now: int) -> EndpointState:
    """Switched off by hand. Repeating it changes nothing."""
    if state.disabled_at is not None:
        return state
    return EndpointState(now, DisabledReason.MANUAL, state.failing_since)


def wants(events: Sequence[str], name: str, *, chosen: bool) -> bool:
    """Whether an endpoint gets an event; the one a message names gets all of its events."""
    return chosen or "*" in events or name in events
