"""What patterns cost to make ready."""

from agentpost.domain.pattern_cost import pattern_cost

PARTS_MAX = 5_000


CHEAP = [
    r"^\d{4}-\d{2}-\d{2}$",
    r"^[A-Z]{2}\d{2}( ?\d{4}){4}( ?\d{1,2})?$",
    r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    r"^(https?)://[\w.-]+(:\d+)?(/.*)?$",
    r"(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    r"^\p{L}+$",
    r"^\w+$",
]
DEAR = [
    r"(.{30}){30}",
    r"(?:\w{9}){10}",
    r"\p{L}" * 15,
    r"\w" * 50,
    r"\w{1,7}" * 2_000,  # ten seconds for its compiler
    r"\s" * 50,
    r"(?i)[\x{0}-\x{10FFFF}]{2}",
    "(?i)[a-\U0010ffff][a-\U0010ffff]",
    "(?i:[a-\U0010ffff][a-\U0010ffff])",
    "[^a]" * 300,
    "a" * 5_001,
]
COSTS = {
    "": 0,
    "abc": 3,
    "a{5}": 5,
    "a{2,4}": 5,
    "a{3,}": 4,
    "(ab){3}c": 7,
    "((a{2}){3}){4}": 24,
    ")a(": 1,
    "{3}": 0,
    r"\.a": 2,
    "[": 1,
}


def test_what_schemas_have_costs_little() -> None:
    assert [each for each in CHEAP if pattern_cost(each) >= PARTS_MAX / 5] == []


def test_what_would_hold_the_server_costs_too_much() -> None:
    assert [each for each in DEAR if pattern_cost(each) <= PARTS_MAX] == []


def test_repetitions_are_written_out() -> None:
    expected = {pattern: max(cost, len(pattern)) for pattern, cost in COSTS.items()}
    assert {pattern: pattern_cost(pattern) for pattern in COSTS} == expected
