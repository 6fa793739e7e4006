"""The address table and the allow list (design: The way out)."""

from ipaddress import ip_address

import pytest

from agentpost.egress.addresses import AllowList, is_public

PUBLIC = """
1.1.1.1 8.8.8.8
9.255.255.255 11.0.0.0
100.63.255.255 100.128.0.0
126.255.255.255 128.0.0.0
168.63.129.15
169.253.255.255 169.255.0.0
172.15.255.255 172.32.0.0
192.0.1.0 192.0.3.0
192.88.98.255 192.88.100.0
192.167.255.255 192.169.0.0
198.17.255.255 198.20.0.0
198.51.99.255 198.51.101.0
203.0.112.255 203.0.114.0
223.255.255.255
2606:4700::1111 2001:4860:4860::8888
2001:200:: 2000:: 2003:: 3ffe:: 3fff:1000::
::ffff:8.8.8.8
"""
"""A line for each network: addresses of it, or on either side of one that is not public."""

PRIVATE = """
0.0.0.0 0.1.2.3
10.0.0.0 10.255.255.255
100.64.0.0 100.100.100.200 100.127.255.255
127.0.0.1 127.255.255.255
168.63.129.16
169.254.0.1 169.254.169.254
172.16.0.0 172.31.255.255
192.0.0.1 192.0.0.9 192.0.0.192 192.0.2.1
192.88.99.1
192.168.0.1 192.168.255.255
198.18.0.0 198.19.255.255
198.51.100.7 203.0.113.7
224.0.0.1 239.255.255.255
240.0.0.0 255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8
::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:10.0.0.1 ::ffff:0.0.0.0
::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
64:ff9b::8.8.8.8 64:ff9b::127.0.0.1 64:ff9b:1::1
100::1
2001::1 2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:20::1 2001:1ff:ffff::1 2001:db8::1
2002:7f00:1:: 2002:808:808::
3fff::1 3fff:fff::1 4000::1 5f00::1 1fff:ffff::1
fc00::1 fd00:ec2::254
fe80::1 fe80::1%eth0 febf::1 fec0::1
ff02::1 ff0e::1
"""


@pytest.mark.parametrize(
    ("text", "public"),
    [*((text, True) for text in PUBLIC.split()), *((text, False) for text in PRIVATE.split())],
)
def test_which_addresses_are_public(text: str, public: bool) -> None:
    assert is_public(ip_address(text)) is public


def allows(entries: list[str], host: str, port: int) -> bool:
    """Does the list open this host, which may be an address?"""
    allow = AllowList.parse(entries)
    try:
        return allow.has_address(ip_address(host), port)
    except ValueError:
        return allow.has_host(host, port)


@pytest.mark.parametrize(
    ("entry", "host", "port", "is_open"),
    [
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.1.2.3/8", "10.9.9.9", 80, True),
        ("10.0.0.0/8", "::ffff:10.1.2.3", 80, True),
        ("fd00::/8", "fd00::1", 443, True),
        ("127.0.0.1", "127.0.0.1", 9000, True),
        ("127.0.0.1:9000", "127.0.0.1", 9000, True),
        ("::1", "::1", 1, True),
        ("[::1]:9000", "::1", 9000, True),
        ("hooks.internal", "hooks.internal", 8080, True),
        ("Hooks.Internal.", "hooks.internal", 8080, True),
        ("hooks.internal:8080", "hooks.internal", 8080, True),
        ("receiver", "receiver", 80, True),
        ("receiver:80", "receiver", 80, True),
        ("localhost:3000", "localhost", 3000, True),
        ("127.0.0.0/8", "localhost", 3000, True),
        ("127.0.0.1:3000", "localhost", 3000, True),
        (" 10.0.0.1 ", "10.0.0.1", 1, True),
        ("10.0.0.0/8", "11.0.0.1", 80, False),
        ("10.0.0.0/8", "localhost", 80, False),
        ("127.0.0.1:9000", "127.0.0.1", 9001, False),
        ("127.0.0.1:3000", "localhost", 3001, False),
        ("127.0.0.1", "127.0.0.2", 9000, False),
        ("127.0.0.0/8", "::1", 9000, False),
        ("hooks.internal", "evil.hooks.internal", 80, False),
        ("hooks.internal:8080", "hooks.internal", 8081, False),
        ("receiver:80", "receiver", 8080, False),
    ],
)
def test_what_an_entry_opens(entry: str, host: str, port: int, is_open: bool) -> None:
    assert allows([entry], host, port) is is_open


@pytest.mark.parametrize(
    "entry",
    ["10.0.0.0/33", "http://a.b/", "a b", "host:0", "host:99999", "host/path", "*", "127.1", "a?b"],
)
def test_nonsense_is_named(entry: str) -> None:
    with pytest.raises(ValueError, match="EGRESS_ALLOW"):
        AllowList.parse(["10.0.0.0/8", entry])


def test_empty_list() -> None:
    assert not AllowList.parse(["", " "])
    assert AllowList.parse(["receiver"])
