"""Times are integer microseconds; a client reads ISO 8601 (spec: What the service does 6)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from agentpost.domain.times import iso, seconds


@pytest.mark.rule("What the service does 6")
@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (999_999, "1970-01-01T00:00:00.999999Z"),
        (1_800_000_000_000_000, "2027-01-15T08:00:00.000000Z"),
        (1_709_164_800_120_000, "2024-02-29T00:00:00.120000Z"),
    ],
)
def test_timestamps_have_microseconds_and_z(at: int, text: str) -> None:
    assert iso(at) == text


@given(st.integers(0, 4_000_000_000_000_000))
def test_no_microsecond_is_lost(at: int) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert datetime.fromisoformat(iso(at)) == epoch + timedelta(microseconds=at)


@pytest.mark.parametrize(
    ("given_", "micros"), [(0, 0), (1, 1_000_000), (0.25, 250_000), (30, 30_000_000)]
)
def test_durations_are_given_in_seconds(given_: float, micros: int) -> None:
    assert seconds(given_) == micros
