"""Each failure doubles the pause, up to a limit."""

import pytest

from agentpost.domain.backoff import pause


@pytest.mark.parametrize(
    ("tries", "seconds"), [(0, 5), (1, 10), (2, 20), (6, 320), (7, 600), (8, 600), (10**9, 600)]
)
def test_a_pause_doubles_up_to_its_limit(tries: int, seconds: int) -> None:
    assert pause(tries, 5, 600) == seconds
