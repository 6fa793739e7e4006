"""Where a request comes from: for networks of keys, sessions, and counting tries to sign in."""

from starlette.requests import Request

from agentpost.domain import networks
from agentpost.settings import Settings

_HOPS_MAX = 20


def client_address(request: Request, settings: Settings) -> str:
    """The address of the client, "" when it is not known.

    What ``X-Forwarded-For`` says counts only as far as trusted proxies wrote it: each adds, at the
    end, whom it was asked by; what stands before may be anybody's invention. An IPv4 address that
    is written as IPv6 is returned as IPv4; a word that is no address is returned as it is.
    """
    peer = request.client.host if request.client else ""
    address = networks.address(peer)
    proxies = networks.of_setting(tuple(settings.trusted_proxies))
    hops = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    for hop in reversed(hops[-_HOPS_MAX:]):
        if not hop.strip() or not networks.within(address, proxies):
            break
        peer = hop.strip()
        address = networks.address(peer)
    return peer if address is None else str(address)


def untrusted_proxy(request: Request, settings: Settings) -> str:
    """The peer, when it says that it forwards for somebody and is no trusted proxy; else ""."""
    if not request.client or "x-forwarded-for" not in request.headers:
        return ""
    peer = request.client.host
    proxies = networks.of_setting(tuple(settings.trusted_proxies))
    return "" if networks.within(networks.address(peer), proxies) else peer
