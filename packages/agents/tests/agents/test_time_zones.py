"""The time zone that a message's metadata names, as frameworks are given it."""

import pytest

from agentpost.agents.adapters.conversing import zone_of


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, None),
        ("", None),
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("Mars/Phobos", None),
        ("GMT+2", None),
        ("../../etc/passwd", None),
        ("/etc/localtime", None),
        ("a\0b", None),
        ("Europe", None),
        ("x" * 5_000, None),
    ],
)
def test_a_zone_that_is_not_known_is_none(name: str | None, expected: str | None) -> None:
    assert zone_of({} if name is None else {"timezone": name}) == expected
