"""The one formula for pauses between tries, and how a pause is spread."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from agentpost.domain.backoff import pause, spread


@pytest.mark.parametrize(
    ("tries", "seconds"), [(0, 5), (1, 10), (2, 20), (6, 320), (7, 600), (8, 600), (10**9, 600)]
)
def test_a_pause_doubles_up_to_its_limit(tries: int, seconds: int) -> None:
    assert pause(tries, 5, 600) == seconds


@pytest.mark.parametrize(
    ("first", "most", "factor", "pauses"),
    [
        (0.2, 10.0, 2, [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]),  # an end not recorded yet, a step
        (0.005, 0.03, 2, [0.005, 0.01, 0.02, 0.03, 0.03]),  # a transaction that lost a deadlock
        (1, 10, 3, [1, 3, 9, 10]),
        (1, 10, 1, [1, 1, 1]),
        (20, 10, 2, [10, 10]),
        (0, 10, 2, [0, 0]),
    ],
)
def test_pauses_of_each_kind(first: float, most: float, factor: float, pauses: list[float]) -> None:
    made = [pause(tries, first, most, factor) for tries in range(len(pauses))]
    assert made == pytest.approx(pauses)


SOME = st.floats(0, 1e9)


@given(SOME, SOME, st.floats(1, 1e9), st.integers(0, 10**6))
def test_a_pause_never_shrinks_and_stays_below_its_limit(
    first: float, most: float, factor: float, tries: int
) -> None:
    made = [pause(n, first, most, factor) for n in (0, 1, 2, tries + 2, 10**9)]
    assert all(earlier <= later for earlier, later in pairwise(made))
    assert made[0] == min(first, most)
    assert made[-1] <= most


@given(st.floats(0, 1e6), st.floats(0, 1), st.floats(0, 1))
def test_a_spread_pause_stays_within_its_part(length: float, part: float, chance: float) -> None:
    least, most = spread(length, part, 0), spread(length, part, 1)
    assert least <= spread(length, part, chance) <= most
    assert (least, most) == pytest.approx((length * (1 - part), length * (1 + part)))
    assert spread(length, part, 0.5) == length
