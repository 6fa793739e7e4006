"""Count requests and measure how long they take, for `/metrics`.

With numbers of our own, and made into metrics when somebody asks: the classes of prometheus_client
take a lock for each addition, several in all, which costs a request some microseconds. Requests are
answered on one event loop, which needs none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import Metric

OTHER: Final = "other"
"""The label for a method that nobody should send, and for an address that no route has."""
_METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
# Requests that only read take a millisecond; calls may be held for 45 s.
_BOUNDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1),
    *(0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
_LABELS: Final = (*map(str, _BOUNDS), "+Inf")


@dataclass(slots=True)
class _Series:
    """The requests of one method, route and status; ``within``: how many by `_BOUNDS`."""

    seconds: float = 0.0
    within: list[int] = field(default_factory=lambda: [0] * len(_LABELS))

    def add(self, other: _Series) -> None:
        self.seconds += other.seconds
        self.within = [ours + more for ours, more in zip(self.within, other.within, strict=True)]


class RequestMetrics:
    """Requests by method, route and status. The number of series has a bound, since labels come
    from the routes and not from addresses. For the event loop that answers the requests."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str | None, int], _Series] = {}

    def observe(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """A request was answered; ``route`` is the path of its route, None when none has it."""
        series = self._series.get((method, route, status))
        if series is None:
            if method not in _METHODS:
                method = OTHER
            series = self._series.setdefault((method, route, status), _Series())
        series.seconds += seconds
        series.within[bisect_left(_BOUNDS, seconds)] += 1

    def families(self) -> Iterable[Metric]:
        """The two metrics as they are now."""
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(
            "agentpost_http_requests",
            "Requests answered, by method, route and status; 499: the client hung up before.",
            labels=["method", "route", "status"],
        )
        durations = HistogramMetricFamily(
            "agentpost_http_request_seconds",
            "Seconds until the answer began, held calls included.",
            labels=["method", "route"],
        )
        by_route: dict[tuple[str, str], _Series] = {}
        for (method, route, status), series in self._series.items():
            labels = (method, route or OTHER)
            requests.add_metric([*labels, str(status)], sum(series.within))
            by_route.setdefault(labels, _Series()).add(series)
        for labels, series in by_route.items():
            buckets = list(zip(_LABELS, accumulate(series.within), strict=True))
            durations.add_metric(labels, buckets, series.seconds)
        return requests, durations
