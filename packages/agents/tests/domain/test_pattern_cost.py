"""What patterns cost to make ready."""

import pytest

from agentpost.domain.pattern_cost import pattern_cost

PARTS_MAX = 5_000


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{4}-\d{2}-\d{2}$",
        r"^[A-Z]{2}\d{2}( ?\d{4}){4}( ?\d{1,2})?$",
        r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
        r"^(https?)://[\w.-]+(:\d+)?(/.*)?$",
        r"(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        r"^\p{L}+$",
        r"^\w+$",
    ],
)
def test_what_schemas_have_costs_little(pattern: str) -> None:
    assert pattern_cost(pattern) < PARTS_MAX / 5


@pytest.mark.parametrize(
    "pattern",
    [
        r"(.{30}){30}",
        r"(?:\w{9}){10}",
        r"\p{L}" * 15,
        r"\w" * 50,
        r"\s" * 50,
        r"(?i)[\x{0}-\x{10FFFF}]{2}",
        "(?i)[a-\U0010ffff][a-\U0010ffff]",
        "(?i:[a-\U0010ffff][a-\U0010ffff])",
        "[^a]" * 300,
        "a" * 5_001,
    ],
)
def test_what_would_hold_the_server_costs_too_much(pattern: str) -> None:
    assert pattern_cost(pattern) > PARTS_MAX


@pytest.mark.parametrize(
    ("pattern", "cost"),
    [
        ("", 0),
        ("abc", 3),
        ("a{5}", 5),
        ("a{2,4}", 5),
        ("a{3,}", 4),
        ("(ab){3}c", 7),
        ("((a{2}){3}){4}", 24),
        (")a(", 1),
        ("{3}", 0),
        (r"\.a", 2),
        ("[", 1),
    ],
)
def test_repetitions_are_written_out(pattern: str, cost: int) -> None:
    assert pattern_cost(pattern) == max(cost, len(pattern)), pattern
