"""How the way out is shared (design: Sharing the way out). With real receivers:
test_deliver_webhooks.py.
"""

import pytest

from agentpost.webhooks import concurrency
from agentpost.webhooks.concurrency import ConcurrencyLimits, EndpointQueue, fair_shares


@pytest.mark.parametrize(
    ("capacities", "most", "shares"),
    [
        ({}, 10, {}),
        ({"a": 3}, 10, {"a": 3}),
        ({"a": 128}, 10, {"a": 10}),
        ({"a": 128, "b": 128}, 10, {"a": 5, "b": 5}),
        ({"a": 128, "b": 1, "c": 2}, 10, {"a": 7, "b": 1, "c": 2}),
        ({"a": 128, "b": 128, "c": 1}, 3, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_everybody_gets_something(
    capacities: dict[str, int], most: int, shares: dict[str, int]
) -> None:
    assert fair_shares(capacities, most) == shares


def busy(limits: ConcurrencyLimits, count: int) -> EndpointQueue:
    """A lane with so many attempts on their way."""
    queue = EndpointQueue(due=True)
    for _ in range(count):
        limits.begin(queue)
    return queue


def test_an_unknown_endpoint_begins_with_two() -> None:
    assert ConcurrencyLimits().capacity(EndpointQueue(due=True)) == concurrency.PROBES_MAX
    assert ConcurrencyLimits().capacity(EndpointQueue()) == 0


def test_a_quick_endpoint_gets_more_and_more() -> None:
    queue, limits = EndpointQueue(due=True), ConcurrencyLimits()
    for _ in range(100):
        queue.learn(is_success=True, ms=1)
    assert limits.capacity(queue) == concurrency.PREFETCH_MAX
    queue.learn(is_success=True, ms=concurrency.QUICK_MS + 1)
    assert limits.capacity(queue) == queue.attempts_max == 8


def test_slow_while_one_is_late_or_the_last_one_was() -> None:
    limits = ConcurrencyLimits()
    queue = busy(limits, 3)
    assert not queue.slow
    limits.is_late(queue, "evt_1")
    limits.is_late(queue, "evt_2")
    for event_id, slow in (("evt_1", True), ("evt_2", True), ("evt_3", False)):
        limits.end(queue, event_id)
        assert queue.slow is slow


def test_slow_attempts_give_the_quick_places_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "QUICK_ATTEMPTS_MAX", 4)
    monkeypatch.setattr(concurrency, "SLOW_ATTEMPTS_MAX", 3)
    limits = ConcurrencyLimits()
    hanging, quick = busy(limits, 4), EndpointQueue(due=True)
    assert not limits.free_for(quick)
    limits.is_late(hanging, "evt_1")
    assert limits.free_for(quick)
    assert not limits.free_for(hanging)
    assert limits.free(slow=True) == -1
    for event_id in ("evt_1", "evt_2"):
        limits.end(hanging, event_id)
    assert not hanging.slow
    assert limits.free(slow=True) == 3


def test_nobody_exceeds_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "ATTEMPTS_MAX", 5)
    limits = ConcurrencyLimits()
    for _ in range(5):
        limits.is_late(busy(limits, 1), "evt_1")
    assert not limits.free_for(EndpointQueue())
    assert limits.free(slow=True) == 0


def test_slow_endpoints_share_equally_and_claim_nothing_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "SLOW_ATTEMPTS_MAX", 9)
    limits, slow = ConcurrencyLimits(), []
    for count, capacity in enumerate((8, 4, 3, 2), start=1):
        slow.append(EndpointQueue(due=True))
        limits.is_late(slow[-1], "evt_1")
        assert {limits.capacity(queue) for queue in slow} == {capacity}, count
    limits.note_removed(slow.pop())
    assert limits.capacity(slow[0]) == 3
