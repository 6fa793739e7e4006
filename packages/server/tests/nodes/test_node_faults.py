"""What a node says of its own clock and address."""

import pytest

from agentpost.domain.times import SECOND
from agentpost.nodes.faults import address_problem, clock_ahead_of, clock_problem
from agentpost.nodes.rows import NodeRecord
from agentpost.settings import load_settings


@pytest.mark.parametrize(
    ("there", "before", "after", "ahead"),
    [
        (100, 90, 110, 0),
        (100, 0, 5_000, 0),  # the answer took long: it may be right
        (100, 130, 140, 30),
        (100, 60, 80, -20),
        (100, 130, 90, 30),  # set back meanwhile
    ],
)
def test_a_difference_is_what_is_certain(there: int, before: int, after: int, ahead: int) -> None:
    assert clock_ahead_of(there, before, after) == ahead


@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        (None, None),
        (0, None),
        (5 * SECOND, None),
        (-5 * SECOND, None),
        (130 * SECOND, "its clock is 130.0 seconds ahead of the database's"),
        (-6 * SECOND, "its clock is 6.0 seconds behind the database's"),
    ],
)
def test_a_clock_is_named_with_its_difference(ahead: int | None, text: str | None) -> None:
    problem = clock_problem(ahead)
    assert (problem or "").partition(":")[0] == (text or "")


def test_an_address_is_missed_only_beside_others() -> None:
    alone, named = load_settings(port=8081), load_settings(base_url="https://a.example.com")
    assert address_problem(alone, 0) is None
    assert address_problem(alone, -1) is None, "nor when no node lives"
    assert address_problem(named, 3) is None
    assert "http://127.0.0.1:8081" in str(address_problem(alone, 1))


@pytest.mark.parametrize(
    ("beat_at", "ahead", "silent"),
    [
        (97 * SECOND, None, False),
        (97 * SECOND - 1, None, True),
        (103 * SECOND, 6 * SECOND, False),
        (103 * SECOND, 7 * SECOND, True),
    ],
)
def test_a_node_that_is_gone_has_no_faults(beat_at: int, ahead: int | None, silent: bool) -> None:
    """Its beats are by its own clock."""
    node = NodeRecord("node_1", 0, 1, beat_at=beat_at, clock_ahead=ahead)
    assert node.is_silent(100 * SECOND) is silent
