"""The proxies of the environment: HTTP_PROXY, HTTPS_PROXY and ALL_PROXY.

NO_PROXY lists the hosts that are reached without. This machine always is: at a proxy, ``localhost``
is another one.
"""

from __future__ import annotations

import ssl
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from urllib.request import getproxies

import httpcore2

from agentpost_client.addresses import DEFAULT_PORTS, Address, is_http_url, read_address
from agentpost_client.errors import ConfigError

SOCKS = ("socks5", "socks5h")
SCHEMES = ("http", "https", *SOCKS)


class Routes:
    """The ways of requests of a client for the server at ``url``, as the environment is now.

    Raises `ConfigError` for a proxy that cannot be used. When the server itself is reached without
    it, only requests to other hosts fail, such as one for a file that is kept elsewhere; `problem`
    says why.
    """

    def __init__(self, url: str) -> None:
        environment = getproxies()
        self._direct = [each.strip().lower() for each in environment.get("no", "").split(",")]
        names = () if "*" in self._direct else ("http", "https", "all")
        self._proxies = {
            name: address if "://" in address else f"http://{address}"
            for name in names
            if (address := environment.get(name))
        }
        problems = [_problem(name, address) for name, address in self._proxies.items()]
        self.problem = next(filter(None, problems), None)
        self.server = read_address(url)
        if self.problem is not None and self._proxy(self.server) is not None:
            raise ConfigError(f"{self.problem}.")

    def proxy(self, address: Address) -> Address | None:
        """The proxy on the way there, None for none; raises `httpcore2.UnsupportedProtocol` when
        it cannot be used."""
        if self.problem is None:
            proxy = self._proxy(address)
            return None if proxy is None else read_address(proxy)
        if is_here(address.host) or address[:3] == self.server[:3]:
            return None
        raise httpcore2.UnsupportedProtocol(self.problem)

    def _proxy(self, address: Address) -> str | None:
        if is_here(address.host) or any(_has(entry, address) for entry in self._direct):
            return None
        return self._proxies.get(address.scheme) or self._proxies.get("all")


def open_proxy(address: Address, tls: ssl.SSLContext) -> httpcore2.Proxy:
    """The proxy for httpcore2."""
    name, password = address.user or ("", "")
    return httpcore2.Proxy(
        address.url,
        (_to_bytes(name), _to_bytes(password)) if address.user else None,
        ssl_context=tls if address.scheme == "https" else None,
    )


def _to_bytes(text: str) -> bytes:
    """A part of an environment variable, whose bytes need not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def is_here(host: str) -> bool:
    """Whether it is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _has(entry: str, address: Address) -> bool:
    """Whether an entry of NO_PROXY names the address: ``example.com`` with all hosts below it,
    ``.example.com`` and ``*.example.com`` only these, an IP address or a network such as
    ``10.0.0.0/8``; with a scheme or a port only that."""
    scheme, _, host = entry.rstrip("/").rpartition("://")
    port = ""
    if host.count(":") == 1 or "]:" in host:
        host, _, port = host.rpartition(":")
    own = address.port or DEFAULT_PORTS.get(address.scheme)
    if scheme not in ("", "all", address.scheme) or port not in ("", str(own)):
        return False
    host = host.replace("[", "").replace("]", "").removeprefix("*")
    try:
        return ip_address(address.host) in ip_network(host, strict=False)
    except ValueError:  # one of them is a name
        below = host if host.startswith(".") else f".{host}"
        return bool(host) and (address.host == host or address.host.endswith(below))


def _problem(scheme: str, address: str) -> str | None:
    """Why a proxy of the environment cannot be used; its address, which may have a password, is not
    in the text."""
    name = f"{scheme.upper()}_PROXY"
    if not is_http_url(address, SCHEMES):
        return (
            f"{name} is not the address of a proxy, such as http://proxy.example.com:3128:"
            " correct or unset it, or list the server's host in NO_PROXY"
        )
    if read_address(address).scheme in SOCKS and find_spec("socksio") is None:
        return (
            f"{name} is a SOCKS proxy, for which a package is missing: install"
            " 'agentpost-client[socks]', or list the server's host in NO_PROXY"
        )
    return None
