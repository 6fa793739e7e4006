"""Addresses and networks of keys."""

import pytest

from agentpost.accounts import network_rules

ADDRESSES: dict[str, str | None] = {
    "203.0.113.9": "203.0.113.9",
    " 203.0.113.9:4711": "203.0.113.9",
    "::ffff:203.0.113.9": "203.0.113.9",
    "[2001:db8::1]:443": "2001:db8::1",
    "[::ffff:203.0.113.9]": "203.0.113.9",
    "fe80::1%eth0": "fe80::1",
    "2001:DB8:0::1": "2001:db8::1",
    "": None,
    "unknown": None,
    "203.0.113.999": None,
    "_hidden:80": None,
}


def test_an_address() -> None:
    found = {text: network_rules.address(text) for text in ADDRESSES}
    assert {text: each and str(each) for text, each in found.items()} == ADDRESSES


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (["203.0.113.0/24"], "203.0.113.0/24"),
        (["203.0.113.7", "2001:db8::/32"], "203.0.113.7/32,2001:db8::/32"),
        (["::ffff:203.0.113.0/120", "203.0.113.0/24"], "203.0.113.0/24"),
        (["0.0.0.0/0"], "0.0.0.0/0"),
        ([], None),
    ],
)
def test_networks_are_kept_in_one_form(given: list[str], stored: str | None) -> None:
    parsed = network_rules.parse(given)
    assert network_rules.to_stored(parsed) == stored
    assert network_rules.of_stored(stored) == parsed


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("203.0.113.5/24", "write 203.0.113.0/24 for the whole network or 203.0.113.5 for"),
        ("203.0.113.0/33", "'203.0.113.0/33' is not an IP address or network"),
        ("example.com", "write it like 203.0.113.7"),
        ("", "is not an IP address"),
    ],
)
def test_a_wrong_network_is_explained(given: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        network_rules.parse([given])


def test_a_key_has_not_too_many() -> None:
    with pytest.raises(ValueError, match="at most 50 networks"):
        network_rules.parse([f"10.0.{n}.0/24" for n in range(51)])


def test_within() -> None:
    allowed = network_rules.parse(["203.0.113.0/24", "2001:db8::/32"])
    expected = {
        "203.0.113.255": True,
        "::ffff:203.0.113.1": True,
        "203.0.114.0": False,
        "2001:db8:ffff::1": True,
        "2001:db9::1": False,
        "nowhere": False,
    }
    found = {text: network_rules.within(network_rules.address(text), allowed) for text in expected}
    assert found == expected
