"""How the way out is shared (design: 4.8). With real receivers: test_deliver_webhooks.py."""

import pytest

from agentpost.delivery import concurrency
from agentpost.delivery.concurrency import Lane, Places, shared


@pytest.mark.parametrize(
    ("rooms", "most", "shares"),
    [
        ({}, 10, {}),
        ({"a": 3}, 10, {"a": 3}),
        ({"a": 128}, 10, {"a": 10}),
        ({"a": 128, "b": 128}, 10, {"a": 5, "b": 5}),
        ({"a": 128, "b": 1, "c": 2}, 10, {"a": 7, "b": 1, "c": 2}),
        ({"a": 128, "b": 128, "c": 1}, 3, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_everybody_gets_something(rooms: dict[str, int], most: int, shares: dict[str, int]) -> None:
    assert shared(rooms, most) == shares


def busy(places: Places, count: int) -> Lane:
    """A lane with so many attempts on their way."""
    lane = Lane(due=True)
    for _ in range(count):
        places.take(lane)
    return lane


def test_an_unknown_endpoint_begins_with_two() -> None:
    assert Places().room(Lane(due=True)) == concurrency.PROBES_MAX
    assert Places().room(Lane()) == 0


def test_a_quick_endpoint_gets_more_and_more() -> None:
    lane, places = Lane(due=True), Places()
    for _ in range(100):
        lane.learn(succeeded=True, ms=1)
    assert places.room(lane) == concurrency.AHEAD_MAX
    lane.learn(succeeded=True, ms=concurrency.QUICK_MS + 1)
    assert places.room(lane) == lane.attempts_max == 8


def test_slow_while_one_is_late_or_the_last_one_was() -> None:
    places = Places()
    lane = busy(places, 3)
    assert not lane.slow
    places.is_late(lane, "evt_1")
    places.is_late(lane, "evt_2")
    for event_id, slow in (("evt_1", True), ("evt_2", True), ("evt_3", False)):
        places.leave(lane)
        places.ended(lane, event_id)
        assert lane.slow is slow


def test_slow_attempts_give_the_quick_places_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "QUICK_ATTEMPTS_MAX", 4)
    monkeypatch.setattr(concurrency, "SLOW_ATTEMPTS_MAX", 3)
    places = Places()
    hanging, quick = busy(places, 4), Lane(due=True)
    assert not places.free_for(quick)
    places.is_late(hanging, "evt_1")
    assert places.free_for(quick)
    assert not places.free_for(hanging)
    assert places.slow_free == -1
    for event_id in ("evt_1", "evt_2"):
        places.leave(hanging)
        places.ended(hanging, event_id)
    assert not hanging.slow
    assert places.slow_free == 3


def test_nobody_exceeds_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "ATTEMPTS_MAX", 5)
    places = Places()
    for _ in range(5):
        places.is_late(busy(places, 1), "evt_1")
    assert not places.free_for(Lane())
    assert places.slow_free == 0


def test_slow_endpoints_share_equally_and_claim_nothing_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(concurrency, "SLOW_ATTEMPTS_MAX", 9)
    places, slow = Places(), []
    for count, room in enumerate((8, 4, 3, 2), start=1):
        slow.append(Lane(due=True))
        places.is_late(slow[-1], "evt_1")
        assert {places.room(lane) for lane in slow} == {room}, count
    places.closed(slow.pop())
    assert places.room(slow[0]) == 3
