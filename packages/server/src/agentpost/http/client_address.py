"""Where a request comes from: for networks of keys, sessions, and counting tries to sign in."""

from starlette.requests import Request

from agentpost.accounts import network_rules
from agentpost.settings import Settings

_HOPS_MAX = 20


def client_address(request: Request, settings: Settings) -> str:
    """The address of the client, "" when it is not known.

    What ``X-Forwarded-For`` says counts only as far as trusted proxies wrote it: each adds, at the
    end, whom it was asked by; what stands before may be anybody's invention. An IPv4 address that
    is written as IPv6 is returned as IPv4; a word that is no address is returned as it is.
    """
    peer = request.client.host if request.client else ""
    address = network_rules.address(peer)
    proxies = network_rules.of_setting(tuple(settings.trusted_proxies))
    hops = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    for hop in reversed(hops[-_HOPS_MAX:]):
        if not hop.strip() or not network_rules.within(address, proxies):
            break
        peer = hop.strip()
        address = network_rules.address(peer)
    return peer if address is None else str(address)


def untrusted_proxy(request: Request, settings: Settings) -> str:
    """The peer, when it says that it forwards for somebody and is no trusted proxy; else ""."""
    if not request.client or "x-forwarded-for" not in request.headers:
        return ""
    peer = request.client.host
    proxies = network_rules.of_setting(tuple(settings.trusted_proxies))
    return "" if network_rules.within(network_rules.address(peer), proxies) else peer
