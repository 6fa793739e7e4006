"""Addresses of the web, taken apart as requests need them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Container
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

import httpcore2

DEFAULT_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_PATH_SAFE = "!$%&'()*+,/:;=@[\\]^|~"
_QUERY_SAFE = _PATH_SAFE + "?`{}"
_IPV4 = re.compile(r"[0-9]+(\.[0-9]+){3}")
_LABEL = r"[\w~-]{1,63}"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?", re.ASCII)


class Address(NamedTuple):
    """``host`` is ASCII in lower case, an IPv6 address without brackets; ``port`` is None when it
    is the scheme's own; ``target`` is path and query, quoted; ``user`` is a name and a password."""

    scheme: str
    host: str
    port: int | None
    target: str
    user: tuple[str, str] | None

    @property
    def place(self) -> str:
        """Host and port, as a header ``Host`` has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def url(self) -> httpcore2.URL:
        """The same for httpcore2, which is told nobody's password."""
        scheme, host, port, target, _ = self
        return httpcore2.URL(scheme=scheme, host=host, port=port, target=target)


def read_address(url: str) -> Address:
    """Raises `ValueError` when it is not absolute, or has a host or port that none can have."""
    if any(character < " " or character == "\x7f" for character in url):
        raise ValueError("a control character")
    parts = urlsplit(url)
    port = parts.port
    if port == 0:
        raise ValueError("port 0")
    query = f"?{quote(parts.query, safe=_QUERY_SAFE)}" if parts.query else ""
    has_user = parts.username or parts.password
    return Address(
        parts.scheme,
        _host(parts.hostname or "", "[" in parts.netloc),
        None if port == DEFAULT_PORTS.get(parts.scheme) else port,
        (quote(parts.path, safe=_PATH_SAFE) or "/") + query,
        (unquote(parts.username or ""), unquote(parts.password or "")) if has_user else None,
    )


def basic_auth(address: Address) -> dict[str, str]:
    """The header with the name and password of an address; none when it has none."""
    if address.user is None:
        return {}
    return {"Authorization": f"Basic {b64encode(':'.join(address.user).encode()).decode()}"}


def redirect_target(url: str, location: str) -> str:
    """The address that a header ``Location`` names; raises `httpcore2.ProtocolError`."""
    try:
        target = urljoin(url, location)
        read_address(target)
    except ValueError:
        raise httpcore2.ProtocolError("it redirects to no address") from None
    return target


def is_http_url(url: str, schemes: Container[str] = ("http", "https")) -> bool:
    """Whether it is an absolute address of one of the schemes, with a host and a possible port."""
    try:
        return read_address(url).scheme in schemes
    except ValueError:
        return False


def _host(name: str, is_ipv6: bool) -> str:
    if is_ipv6:
        IPv6Address(name)
        return name
    if not name.isascii():
        import idna

        return idna.encode(name).decode()
    if _IPV4.fullmatch(name):
        IPv4Address(name)
    if not _NAME.fullmatch(name):
        raise ValueError("no name of a host")
    return name
