"""Limits on webhook attempts that are under way, for one endpoint and for all.

An attempt occupies a slot until the receiver answers, which may take ten seconds, so slow receivers
could use up the slots of quick ones. Only time counts, not the outcome: an immediate 500 blocks no
other endpoint, a 200 after nine seconds does. An endpoint is slow while one of its attempts has
lasted `SLOW_SECONDS`, or its last attempt did; slow endpoints share their own slots equally. A new
endpoint starts with `PROBES_MAX` attempts, so many unknown endpoints that hang leave the quick
slots after little more than `SLOW_SECONDS`.

An account has ten endpoints at most, so it needs no limit of its own: shares are by endpoint.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentpost.domain.limits import WEBHOOK_ATTEMPTS_IN_FLIGHT_MAX as ENDPOINT_ATTEMPTS_MAX
from agentpost.webhooks.endpoint_rules import Claimed

ATTEMPTS_MAX = 1_024
"""Attempts on their way at once, over all endpoints."""
QUICK_ATTEMPTS_MAX = 512
"""Of these, to endpoints that are not slow."""
SLOW_ATTEMPTS_MAX = 256
"""And to slow ones. Attempts that turn out to be slow on their way may exceed it."""
SLOW_SECONDS = 0.5
PROBES_MAX = 2
PREFETCH_MAX = 128
"""Deliveries claimed for one endpoint at once."""
_PREFETCH_STEP = 4
QUICK_MS = 50
"""An endpoint that answers faster gets more claimed ahead."""


@dataclass(slots=True, eq=False)
class EndpointQueue:
    """The deliveries claimed for one endpoint. ``claim_count`` falls with each result;
    ``late`` are the events that have been on their way for `SLOW_SECONDS`."""

    due: bool = False
    slow: bool = False
    attempts_max: int = PROBES_MAX
    prefetch: int = PROBES_MAX
    claim_count: int = 0
    in_flight: int = 0
    queued: bool = False
    late: set[str] = field(default_factory=set)
    waiting: deque[tuple[float, Claimed]] = field(default_factory=deque)

    def learn(self, *, is_success: bool, ms: int) -> None:
        """Raise the prefetch of a quick receiver; reset it for any other."""
        self.leave_probation()
        quick = is_success and ms <= QUICK_MS
        self.prefetch = (
            min(self.prefetch + _PREFETCH_STEP, PREFETCH_MAX) if quick else ENDPOINT_ATTEMPTS_MAX
        )

    def leave_probation(self) -> None:
        """Its pace is known: it is no longer on probation."""
        self.attempts_max = ENDPOINT_ATTEMPTS_MAX
        self.prefetch = max(self.prefetch, ENDPOINT_ATTEMPTS_MAX)


class ConcurrencyLimits:
    """Counts the attempts under way, and knows which queues are slow."""

    def __init__(self) -> None:
        self._under_way = {False: 0, True: 0}  # by whether the endpoint is slow
        self._slow_queues = 0

    def free(self, *, slow: bool) -> int:
        """How many more attempts to slow endpoints may begin, or to the others."""
        most = SLOW_ATTEMPTS_MAX if slow else QUICK_ATTEMPTS_MAX
        return min(most - self._under_way[slow], ATTEMPTS_MAX - sum(self._under_way.values()))

    def capacity(self, queue: EndpointQueue) -> int:
        """How many more deliveries to claim for it: none ahead for a slow one, whose claims would
        only wait for a place."""
        if not queue.due:
            return 0
        if not queue.slow:
            return queue.prefetch - queue.claim_count
        share = max(1, SLOW_ATTEMPTS_MAX // self._slow_queues)
        return min(share, queue.attempts_max) - queue.claim_count

    def free_for(self, queue: EndpointQueue) -> bool:
        """Whether one more of its attempts may begin."""
        return self.free(slow=queue.slow) > 0

    def begin(self, queue: EndpointQueue) -> None:
        """An attempt begins."""
        queue.in_flight += 1
        self._under_way[queue.slow] += 1

    def end(self, queue: EndpointQueue, event_id: str) -> None:
        """An attempt has ended, which tells how slow its endpoint is now."""
        queue.in_flight -= 1
        self._under_way[queue.slow] -= 1
        was_late = event_id in queue.late
        queue.late.discard(event_id)
        self._set_slow(queue, was_late or bool(queue.late))

    def is_late(self, queue: EndpointQueue, event_id: str) -> None:
        """An attempt has been on its way for `SLOW_SECONDS`."""
        queue.late.add(event_id)
        queue.leave_probation()
        self._set_slow(queue, True)

    def note_removed(self, queue: EndpointQueue) -> None:
        """A queue was removed."""
        self._set_slow(queue, False)

    def _set_slow(self, queue: EndpointQueue, slow: bool) -> None:
        if queue.slow == slow:
            return
        self._under_way[queue.slow] -= queue.in_flight
        queue.slow = slow
        self._under_way[queue.slow] += queue.in_flight
        self._slow_queues += 1 if slow else -1


def fair_shares(capacities: Mapping[str, int], most: int) -> dict[str, int]:
    """Share ``most`` equally among the endpoints with capacity, so that a few long backlogs do not
    use it all; an endpoint's unused share goes to the others. ``capacities``: up to ``most``
    endpoints, each with how many attempts it can take (one at least); each gets something."""
    shares: dict[str, int] = {}
    for number, endpoint_id in enumerate(sorted(capacities, key=capacities.__getitem__)):
        shares[endpoint_id] = min(capacities[endpoint_id], most // (len(capacities) - number))
        most -= shares[endpoint_id]
    return shares
