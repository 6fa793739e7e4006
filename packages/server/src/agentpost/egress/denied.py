"""What the operator forbids on the way out, whatever else is open (design: The way out)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_network

from agentpost.domain.urls import BadUrl, parse_url
from agentpost.egress.addresses import Address, Network, unmap


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
            try:
                networks.append(ip_network(entry, strict=False))
                continue
            except ValueError:
                pass
            name = _host(entry)
            parents.add(name)
            if not entry.startswith("*."):
                hosts.add(name)
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


def _host(entry: str) -> str:
    name = entry.removeprefix("*.")
    try:
        url = parse_url(f"https://{name}/", characters_max=300)
        if url.path != "/" or url.query or url.ip is not None or name.endswith(f":{url.port}"):
            raise BadUrl("it is more than a name")
    except BadUrl:
        text = f"AGENTPOST_EGRESS_DENY: {entry!r} must be a network, address or host without a port"
        raise ValueError(text) from None
    return url.host
