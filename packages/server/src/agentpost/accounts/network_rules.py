"""IP addresses and networks: from where a key may be used (design: Key networks)."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final

from agentpost.domain.limits import KEY_NETWORKS_MAX

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_SHOWN_CHARACTERS: Final = 60


def address(text: str) -> Address | None:
    """The address that a connection or a proxy names; None when it is none.

    An IPv4 address that is written as IPv6 (``::ffff:192.0.2.1``) is the IPv4 address. A port, as
    some proxies add it, and the zone of a link-local address are left out.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed


def network(text: str) -> Network:
    """A network in CIDR notation, or one address; raises `ValueError` that says what is wrong."""
    shown = text.strip()[:_SHOWN_CHARACTERS]
    try:
        loose = ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError(
            f"{shown!r} is not an IP address or network: write it like 203.0.113.7,"
            " 203.0.113.0/24 or 2001:db8::/32"
        ) from None
    try:
        parsed = ip_network(text.strip())
    except ValueError:
        raise ValueError(
            f"{shown!r} has bits behind its prefix: write {loose} for the whole network"
            f" or {shown.partition('/')[0]} for the one address"
        ) from None
    if isinstance(parsed, IPv6Network) and parsed.subnet_of(_MAPPED):
        mapped = parsed.network_address.ipv4_mapped
        assert mapped is not None, "it is within the mapped addresses"
        return IPv4Network((mapped, parsed.prefixlen - 96))
    return parsed


def parse(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks as people write them, each once; raises `ValueError` for a wrong one and for more
    than `KEY_NETWORKS_MAX`."""
    found = tuple(dict.fromkeys(network(text) for text in texts))
    if len(found) > KEY_NETWORKS_MAX:
        raise ValueError(f"a key has at most {KEY_NETWORKS_MAX} networks: give larger ones")
    return found


def to_stored(networks: Sequence[Network]) -> str | None:
    """How a key keeps them; None: it may be used from everywhere."""
    return ",".join(map(str, networks)) or None


def of_stored(text: str | None) -> tuple[Network, ...]:
    """The networks that a key keeps; none: it may be used from everywhere."""
    return tuple(ip_network(each) for each in text.split(",")) if text else ()


@lru_cache(maxsize=8)
def of_setting(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """The networks of a setting, which may have bits behind their prefixes (`10.0.0.1/8`)."""
    return tuple(ip_network(each, strict=False) for each in texts)


def within(found: Address | None, networks: Iterable[Network]) -> bool:
    """Whether the address is in one of the networks."""
    return found is not None and any(found in each for each in networks)
