"""How a webhook endpoint has answered lately, for the people who own it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.db.session import Tx
from agentpost.webhooks import delivery_rows, endpoint_rows
from agentpost.webhooks.endpoint_rules import DeliveryStatus
from agentpost.webhooks.records import AttemptRecord, EndpointRecord

LOOKED_AT: Final = 200
"""How many of an endpoint's newest deliveries are looked at."""
_SLOW: Final = 0.95
_PICTURED: Final = 30


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """An endpoint and what became of its newest deliveries.

    Attributes:
        statuses: of those deliveries (`DeliveryStatus`), oldest first.
        typical_ms: as long as the middle one of the answers took; None without any.
        slow_ms: nineteen of twenty answers took no longer.
        last: the last attempt of the newest delivery that was tried.
    """

    endpoint: EndpointRecord
    statuses: Sequence[str]
    typical_ms: int | None
    slow_ms: int | None
    last: AttemptRecord | None

    @property
    def state(self) -> tuple[str, str]:
        """How the endpoint stands: the kind of its state (`ui.state`), and a word for people."""
        if self.endpoint.disabled_at is not None:
            return "wrong" if self.is_failing else "stopped", "disabled"
        return ("warn", "failing") if self.is_failing else ("good", "enabled")

    @property
    def newest(self) -> Sequence[str]:
        """As many as a small picture shows, oldest first."""
        return self.statuses[-_PICTURED:]

    @property
    def delivered(self) -> int:
        """How many of them have arrived."""
        return self.statuses.count(DeliveryStatus.DELIVERED)

    @property
    def ended(self) -> int:
        """How many have arrived or will not any more; those that were never tried left out."""
        return self.delivered + self.statuses.count(DeliveryStatus.FAILED)

    @property
    def waiting(self) -> int:
        """How many wait for an attempt."""
        return self.statuses.count(DeliveryStatus.PENDING)

    @property
    def is_failing(self) -> bool:
        """Whether no attempt has succeeded for a while, also when it was turned off for that."""
        return self.endpoint.failing_since is not None


def of_account(tx: Tx, account_id: str) -> list[EndpointHealth]:
    """The account's endpoints, newest first."""
    return [of(tx, each) for each in endpoint_rows.list_(tx, account_id)]


def of(tx: Tx, endpoint: EndpointRecord) -> EndpointHealth:
    """One endpoint, which was read before."""
    outcomes = delivery_rows.outcomes(tx, endpoint.id, LOOKED_AT)
    times = sorted(ms for *_, ms in outcomes if ms is not None)
    tried = [event_id for event_id, _, attempts_made, _ in outcomes if attempts_made][:1]
    log = [each[-1] for each in delivery_rows.attempts_of(tx, endpoint.id, tried).values()]
    return EndpointHealth(
        endpoint=endpoint,
        statuses=[status for _, status, _, _ in reversed(outcomes)],
        typical_ms=times[len(times) // 2] if times else None,
        slow_ms=times[min(int(len(times) * _SLOW), len(times) - 1)] if times else None,
        last=log[0] if log else None,
    )
