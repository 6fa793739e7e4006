"""Rate limits as exact moving windows (spec: Limits).

Every counted call is remembered with its time until it is as old as the window is long. So at any
moment the calls of the last hour are counted, not those of some hour on the clock, and it is known
exactly when the next call will be let in. Contract: `tests.conformance.test_ratelimit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from agentpost.domain.times import SECOND


@dataclass(frozen=True, slots=True)
class Rule:
    """At most ``limit`` calls within any ``span`` microseconds; ``name`` tells windows apart."""

    name: str
    limit: int
    span: int


class RateDecision(NamedTuple):
    """What asking for a place came to. A tuple, since several are made for each request.

    Args:
        allowed: the call is counted; otherwise it is not, in any window.
        at: under which time it is counted (for `RateLimiter.give_back`).
        remaining: calls left in the first rule's window after this one.
        reset_at: when the oldest counted call leaves the first rule's window.
        free_at: refused: when a call will be let in if no other comes before; else ``at``.
    """

    allowed: bool
    at: int
    remaining: int
    reset_at: int
    free_at: int

    def seconds_until(self, moment: int) -> int:
        """Whole seconds from ``at`` to `reset_at` or `free_at`, at least one; rounded up: who waits
        that long has waited long enough."""
        return max(1, -(-(moment - self.at) // SECOND))


class RateLimiter(Protocol):
    """Counts calls. For the event loop that called `start`."""

    async def acquire(self, subject: str, rules: Sequence[Rule], now: int) -> RateDecision:
        """Count a call of ``subject`` (a key or account) in every window, or in none. ``now`` comes
        from the caller's clock, in microseconds. A clock that steps back counts as one that stands
        still, at most as long as the window. A rule's limit may change from call to call."""

    async def give_back(self, subject: str, rules: Sequence[Rule], decision: RateDecision) -> None:
        """Forget a counted call: what it was counted for did not come about."""

    async def start(self) -> None:
        """Connect, where there is something to connect to."""

    async def stop(self) -> None:
        """Disconnect."""
