"""Which IP addresses are public, by a table of our own, and what the operator allows besides or
forbids whatever else is open.

The standard library's ``is_private`` and ``is_global`` change with the Python version and miss
ranges that lead inside (multicast, NAT64, 6to4, IPv4-compatible ...), so they are not asked.
Design: The way out.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_network,
)

from agentpost.egress.urls import BadUrl, parse_url

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_V4_REFUSED = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this host; many systems connect to themselves
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier NAT, cloud metadata
            "127.0.0.0/8",
            "168.63.129.16/32",  # the Azure host's own services, on an address that looks public
            "169.254.0.0/16",  # link-local, cloud metadata
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocol assignments, cloud metadata
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
# Everything outside the one range handed out for public use is refused: loopback, link- and
# unique-local, multicast, NAT64 (which can wrap a private IPv4 address), segment routing.
_V6_PUBLIC = IPv6Network("2000::/3")
_V6_REFUSED = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: wraps an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
_LOOPBACK = IPv4Address("127.0.0.1")


def is_public(address: Address) -> bool:
    """True when anybody on the internet reaches the same host under this address. An IPv4-mapped
    IPv6 address is judged by the address inside."""
    address = unmap(address)
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _V4_REFUSED)
    return address in _V6_PUBLIC and not any(address in network for network in _V6_REFUSED)


def unmap(address: Address) -> Address:
    """The IPv4 address inside an IPv4-mapped IPv6 address; any other address itself."""
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if inner is None else inner


@dataclass(frozen=True, slots=True)
class AllowList:
    """The addresses that ``EGRESS_ALLOW`` opens beyond the public internet.

    An entry is a network (``10.1.0.0/16``), an address or a host name, the last two optionally with
    a port (``127.0.0.1:9000``, ``[::1]:9000``, ``hooks.internal:8080``). A listed host is trusted
    wherever its name leads; a listed network opens its addresses, for names that lead there too.
    A network that holds 127.0.0.1 opens the name ``localhost``.
    """

    networks: tuple[tuple[Network, int | None], ...] = ()
    hosts: frozenset[tuple[str, int | None]] = field(default_factory=frozenset)

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "AllowList":
        """Read the entries; raises `ValueError` naming the first that cannot be understood."""
        networks: list[tuple[Network, int | None]] = []
        hosts: set[tuple[str, int | None]] = set()
        for entry in filter(None, map(str.strip, entries)):
            try:
                place, port = _read_entry(entry)
            except ValueError:
                raise ValueError(
                    f"AGENTPOST_EGRESS_ALLOW: {entry!r} is not a network, an address or a host"
                ) from None
            if isinstance(place, str):
                hosts.add((place, port))
                continue
            networks.append((place, port))
            if place.version == 4 and _LOOPBACK in place:
                hosts.add(("localhost", port))
        return cls(tuple(networks), frozenset(hosts))

    def __bool__(self) -> bool:
        return bool(self.networks or self.hosts)

    def has_host(self, host: str, port: int) -> bool:
        """Is this name listed, for any port or for this one?"""
        return (host, None) in self.hosts or (host, port) in self.hosts

    def has_address(self, address: Address, port: int) -> bool:
        """Is this address listed, for any port or for this one?"""
        address = unmap(address)
        return any(
            address in network and listed_port in (None, port)
            for network, listed_port in self.networks
        )


def _read_entry(entry: str) -> tuple[Network | str, int | None]:
    """The network or host name, and the port if there is one; raises `ValueError`."""
    with suppress(ValueError):
        return ip_network(entry, strict=False), None
    # The grammar of URLs also tells host and port apart here.
    url = parse_url(f"http://{entry}/", characters_max=300)
    if url.path != "/" or url.query:
        raise BadUrl("it has a path")
    port = url.port if entry.endswith(f":{url.port}") else None
    return url.host if url.ip is None else ip_network(url.ip), port


@dataclass(frozen=True, slots=True)
class DenyList:
    """The hosts and addresses of ``EGRESS_DENY``. It wins over ``EGRESS_ALLOW``.

    An entry is a network (``203.0.113.0/24``), an address, a host name, which stands for itself and
    every name below it, or ``*.`` and a name, for the names below it alone.
    """

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = field(default_factory=frozenset)
    parents: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "DenyList":
        """Read the entries; raises `ValueError` naming the first that cannot be understood."""
        networks: list[Network] = []
        hosts: set[str] = set()
        parents: set[str] = set()
        for entry in filter(None, map(str.strip, entries)):
            name = entry.removeprefix("*.")
            try:
                place, port = _read_entry(name)
                if port is not None or (name != entry and not isinstance(place, str)):
                    raise BadUrl("it is more than a name")
            except ValueError:
                raise ValueError(
                    f"AGENTPOST_EGRESS_DENY: {entry!r} must be a network, address or host without"
                    " a port"
                ) from None
            if isinstance(place, str):
                parents.add(place)
                if name == entry:
                    hosts.add(place)
            else:
                networks.append(place)
        return cls(tuple(networks), frozenset(hosts), frozenset(parents))

    def has_host(self, host: str) -> bool:
        """Is this name denied? In lower case, without a final dot."""
        above = host.split(".")[1:]
        return host in self.hosts or any(
            ".".join(above[n:]) in self.parents for n in range(len(above))
        )

    def has_address(self, address: Address) -> bool:
        """Is this address denied? An IPv4-mapped IPv6 address is the one inside."""
        address = unmap(address)
        return any(address in network for network in self.networks)
