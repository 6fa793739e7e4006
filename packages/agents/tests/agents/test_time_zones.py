"""The time zone that a message's metadata names, as frameworks are given it."""

from agentpost.agents.adapters.conversing import zone_of


def test_a_zone_that_is_not_known_is_none() -> None:
    unknown = [
        "",
        "Mars/Phobos",
        "GMT+2",
        "../../etc/passwd",
        "/etc/localtime",
        "a\0b",
        "Europe",
        "x" * 5_000,
    ]
    assert [name for name in unknown if zone_of({"timezone": name}) is not None] == []
    assert zone_of({}) is None
    assert zone_of({"timezone": "Asia/Tokyo"}) == "Asia/Tokyo"
