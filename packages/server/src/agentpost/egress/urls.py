"""URLs we may be told to call: one strict grammar, and the rules of scheme, port and host name.

URL libraries disagree on odd input (a backslash, a tab, full-width digits, ``127.1``), and a
filter that reads a URL in another way than the client that dials it is no filter. So there is one
reader, which takes only what every reader takes alike, and callers build their request from the
parts it returns, never from the text. design: The way out; spec: Webhooks create.url.

Pure: no name is looked up here. Whether an *address* is public is not decided here either.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

WEBHOOK_PORTS = frozenset({443, 8443})
DEFAULT_PORTS = {"http": 80, "https": 443}

# Everything visible in ASCII but the backslash, which browsers read as a slash.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#\\]+)"
    r"(?P<path>/[^?#\\]*)?(?:\?(?P<query>[^#\\]*))?(?:#[^\\]*)?",
    re.IGNORECASE,
)
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_AUTHORITY = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[1-9][0-9]{0,4}))?"
)
_OCTET = r"(?:0|[1-9][0-9]{0,2})"
_DOTTED = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# The last label of a name starts with a letter: `127.1`, `0x7f.1` and `2130706433` are not names.
_LAST_LABEL = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")

# Names which by standard or custom never lead to a public host.
_PRIVATE_ZONES = frozenset(
    [
        "localhost",
        "local",
        "localdomain",
        "internal",
        "intranet",
        "private",
        "corp",
        "home",
        "lan",
        "arpa",
        "onion",
    ]
)


class BadUrl(ValueError):
    """The URL is refused; ``str()`` is a short reason that may be shown to the caller."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of an accepted URL.

    ``host`` is lower case, without brackets and final dot; ``ip`` is set when it is an address.
    ``path`` starts with a slash and, like ``query``, is the text as given; a fragment is dropped.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str
    ip: IPv4Address | IPv6Address | None


def parse_url(text: str, *, characters_max: int) -> Url:
    """Read an absolute ``http``/``https`` URL by the strict grammar; raises `BadUrl`."""
    if len(text) > characters_max:
        raise BadUrl(f"it is longer than {characters_max} characters")
    if not _VISIBLE.fullmatch(text):
        raise BadUrl("it is empty or has spaces, control or non-ASCII characters")
    match = _URL.fullmatch(text)
    if match is None:
        raise BadUrl("it is not an absolute http(s) URL")
    authority = match["authority"]
    if "@" in authority:
        raise BadUrl("it carries a user name or password")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise BadUrl("its host or port is not written in the plain form")
    scheme = match["scheme"].lower()
    port = int(parts["port"]) if parts["port"] else DEFAULT_PORTS[scheme]
    if port > 65_535:
        raise BadUrl("its port is out of range")
    host, ip = _host(parts["v6"], parts["name"])
    return Url(scheme, host, port, match["path"] or "/", match["query"] or "", ip)


def _host(v6: str | None, name: str | None) -> tuple[str, IPv4Address | IPv6Address | None]:
    try:
        if v6 is not None:
            address = IPv6Address(v6)
            return str(address), address
        assert name is not None
        if _DOTTED.fullmatch(name):
            return name, IPv4Address(name)
    except ValueError:
        raise BadUrl("its host is not a valid IP address") from None
    host = name.lower().removesuffix(".")
    *labels, last = host.split(".")
    if len(host) > 253 or not _LAST_LABEL.fullmatch(last) or not all(map(_LABEL.fullmatch, labels)):
        raise BadUrl("its host is neither a DNS name nor a plain IP address")
    return host, None


def require_public(url: Url, *, ports: Collection[int] | None) -> None:
    """Raise `BadUrl` unless the URL is https, on one of ``ports`` (None: any) and, when its host
    is a name, a name that can be public."""
    if url.scheme != "https":
        raise BadUrl("it is not https")
    if ports is not None and url.port not in ports:
        allowed = " or ".join(map(str, sorted(ports)))
        raise BadUrl(f"its port is not {allowed or 'allowed'}")
    if url.ip is None:
        *labels, last = url.host.split(".")
        if not labels or last in _PRIVATE_ZONES:
            raise BadUrl("its host is not public")
