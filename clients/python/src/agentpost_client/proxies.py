"""HTTP clients that use the proxies of the environment: HTTP_PROXY, HTTPS_PROXY and ALL_PROXY.

NO_PROXY lists the hosts that are reached without. This machine always is: at a proxy, ``localhost``
is another one.
"""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, NoReturn, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx2

from agentpost_client.config import is_http_url
from agentpost_client.errors import ConfigError

H = TypeVar("H", httpx2.Client, httpx2.AsyncClient)
LOOPBACK = ("all://localhost", "all://127.0.0.0/8", "all://[::1]")
SOCKS = ("socks5", "socks5h")
SCHEMES = ("http", "https", *SOCKS)


def open_http(kind: type[H], url: str, tls: ssl.SSLContext | None = None, **options: Any) -> H:
    """``kind(**options)`` for the server at ``url``, with the proxies of the environment.

    ``tls`` can be shared by several, since making one takes a tenth of a second. Raises
    `ConfigError` for a proxy that cannot be used. When the server itself is reached without it,
    only requests to other hosts fail, such as one for a file that is kept elsewhere.
    """
    tls = httpx2.create_ssl_context() if tls is None else tls
    mounts: dict[str, Any] = dict.fromkeys(LOOPBACK)
    problem = _problem()
    if problem is None:
        return kind(verify=tls, mounts=mounts, **options)
    server = httpx2.URL(url)
    if not _is_direct(server):
        raise ConfigError(f"{problem}.")
    mounts |= {"all://": _Refusing(problem), f"all://{server.netloc.decode()}": None}
    return kind(verify=tls, mounts=mounts, trust_env=False, **options)


class _Refusing(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Stands where requests would go through a proxy that cannot be used."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def handle_request(self, request: httpx2.Request) -> NoReturn:
        raise httpx2.UnsupportedProtocol(self._problem, request=request)

    async def handle_async_request(self, request: httpx2.Request) -> NoReturn:
        self.handle_request(request)


def _problem() -> str | None:
    """Why a proxy of the environment cannot be used; its address, which may have a password, is not
    in the text."""
    if proxy_bypass("*"):  # NO_PROXY is "*": no proxy is used
        return None
    for scheme, address in getproxies().items():
        if scheme not in ("http", "https", "all"):
            continue
        full = address if "://" in address else f"http://{address}"
        name = f"{scheme.upper()}_PROXY"
        if not is_http_url(full, SCHEMES):
            return (
                f"{name} is not the address of a proxy, such as http://proxy.example.com:3128:"
                " correct or unset it, or list the server's host in NO_PROXY"
            )
        if httpx2.URL(full).scheme in SOCKS and find_spec("socksio") is None:
            return (
                f"{name} is a SOCKS proxy, for which a package is missing: install"
                " 'agentpost-client[socks]', or list the server's host in NO_PROXY"
            )
    return None


def _is_direct(server: httpx2.URL) -> bool:
    """Whether the environment has no proxy for requests to the server."""
    try:
        is_here = ip_address(server.host).is_loopback
    except ValueError:
        is_here = server.host == "localhost"
    proxies = getproxies()
    has_proxy = bool(proxies.get(server.scheme) or proxies.get("all"))
    return is_here or not has_proxy or bool(proxy_bypass(server.host))
