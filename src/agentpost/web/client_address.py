"""Where a request comes from, for counting who tries to sign in."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from starlette.requests import Request

from agentpost.settings import Settings

_HOPS_MAX = 20


def client_address(request: Request, settings: Settings) -> str:
    """The address of the client, "" when it is not known.

    What ``X-Forwarded-For`` says counts only as far as trusted proxies wrote it: each adds, at the
    end, whom it was asked by; what stands before may be anybody's invention.
    """
    peer = request.client.host if request.client else ""
    trusted = [ip_network(each, strict=False) for each in settings.trusted_proxies]
    hops = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    for hop in reversed(hops[-_HOPS_MAX:]):
        if not hop.strip() or not _within(peer, trusted):
            break
        peer = hop.strip()
    return peer


def _within(address: str, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in networks)
