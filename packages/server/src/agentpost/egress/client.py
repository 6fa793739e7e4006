"""The one way out: every request to an address that somebody else chose goes through `Egress`.

What holds for all of them (design: The way out): the URL is read by one strict grammar and the
request is built from its parts; only public addresses are dialed, or what ``EGRESS_ALLOW`` lists,
and none of ``EGRESS_DENY``; no proxies, cookies or credentials from the environment; one deadline
over everything, whatever the other side does; a bounded number of bytes is read.

Exceptions; their texts may be shown to whoever gave the URL::

    BadUrl (ValueError)       the URL itself is refused, told without DNS
    EgressError
      EgressRefused           not allowed to go there
      FetchFailed             tried, and it did not work
        FetchTooLarge         more bytes than asked for
"""

import asyncio
import math
import re
import ssl
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote, urljoin

from agentpost.domain.file_names import safe_file_name
from agentpost.domain.limits import (
    FETCH_URL_CHARACTERS_MAX,
    WEBHOOK_ATTEMPT_HEADER_CHARACTERS_MAX,
    WEBHOOK_URL_CHARACTERS_MAX,
)
from agentpost.domain.text import UNSTORABLE, displayable
from agentpost.egress.addresses import AllowList, DenyList, is_public
from agentpost.egress.bodies import StreamingAnswer, packing, read_body, save_body
from agentpost.egress.connection import Connection
from agentpost.egress.connections import Connections
from agentpost.egress.errors import DENIED, EgressError, EgressRefused, FetchFailed
from agentpost.egress.names import CheckedNames, Lookup, SystemLookup
from agentpost.egress.urls import WEBHOOK_PORTS, BadUrl, Url, parse_url, require_public

_REDIRECTS_MAX = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_URLS_KEPT = 512
"""A webhook is sent to the same addresses again and again."""
_VISIBLE_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_CONTENT_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,100}/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}")
_SNIPPET_BYTES = 1_024
_SNIPPET_SECONDS = 1.0
"""The status decides over a delivery; its body is a courtesy that is not waited for long."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_COARSE_CLOCK_SECONDS = 0.02
"""Event loops count from when they last looked at the clock: so nobody is cut off early."""


@dataclass(frozen=True, slots=True)
class PostResult:
    """One delivery attempt: ``status`` is the HTTP status, or None and then ``error`` says why.
    ``ms`` is how long it took; ``snippet`` the beginning of the answer's body as text, "" when it
    came packed; ``headers`` those of the answer, one in a line, cut, without cookies, which are the
    receiver's secrets."""

    status: int | None
    ms: int
    snippet: str
    error: str | None
    headers: str = ""


@dataclass(frozen=True, slots=True)
class Download:
    """A downloaded file: a safe name for it, the type its server claims, its size in bytes."""

    name: str
    content_type: str
    size: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes


class Egress:
    """Makes requests on the event loop that first asks for one; close it there with `aclose`."""

    def __init__(
        self,
        allow: AllowList | None = None,
        *,
        deny: DenyList | None = None,
        ports: Collection[int] = (),
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        """``allow``: what is open besides the public internet; ``deny``: what is closed, even if
        it is in ``allow``; ``ports``: the only ones of the public internet, empty for any;
        ``ca_file``: one more PEM file of trusted authorities (raises `OSError` when unreadable);
        ``lookup``: other name service."""
        self._allow = allow or AllowList()
        self._deny = deny or DenyList()
        self._ports = frozenset(ports)
        self._tls = tls_context(ca_file) if ca_file else None
        self._system_lookup = SystemLookup()
        self._names = CheckedNames(self._allow, self._deny, lookup or self._system_lookup)
        self._connections: Connections | None = None
        # What a URL says does not change, nor do the lists; what is refused is judged anew.
        self._admitted = lru_cache(_URLS_KEPT)(self._check_url)

    def check_url(self, url: str) -> None:
        """Raise `BadUrl` unless webhooks may be sent there, as far as can be told without DNS:
        public https, port 443 or 8443, no user name, at most 2,000 characters (spec: Webhooks)."""
        self._admitted(url, WEBHOOK_URL_CHARACTERS_MAX, WEBHOOK_PORTS)

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, seconds: float
    ) -> PostResult:
        """Deliver one webhook; every outcome is a value. Redirects are not followed.

        The answer counts as soon as its status is there. A request that met a kept-alive connection
        the other side was just closing is sent anew within the same attempt, unless an answer had
        begun; so the receiver may in rare cases see it twice (spec: Webhook events 7).
        """
        started = time.monotonic()
        status: int | None = None
        answer_headers, snippet, error = "", "", None
        try:
            target = self._admitted(url, WEBHOOK_URL_CHARACTERS_MAX, WEBHOOK_PORTS)
            until = _deadline(seconds)
            async with self._open().answer("POST", target, headers, body, until) as connection:
                status, answer_headers = connection.status, _headers_text(connection)
                snippet = await _snippet(connection, until)
        except (BadUrl, EgressError) as failure:
            error = str(failure)
        except TimeoutError:
            error = f"no answer within {seconds:g} seconds"
        ms = round((time.monotonic() - started) * 1_000)
        return PostResult(status, ms, snippet, error, answer_headers)

    async def fetch(self, url: str, *, max_bytes: int, seconds: float, into: Path) -> Download:
        """Download an https URL of any port to the new file ``into``.

        At most `_REDIRECTS_MAX` redirects are followed, each checked like the first URL. Raises
        `EgressRefused`, `FetchFailed`, `FetchTooLarge`, or `OSError` when ``into`` cannot be
        written; there is no file then. spec: InlineFile; design: The way out.
        """
        try:
            until = _deadline(seconds)
            async with asyncio.timeout_at(until):
                return await self._follow(url, max_bytes, into, until)
        except TimeoutError as error:
            raise FetchFailed(f"it did not arrive within {seconds:g} seconds") from error

    async def exchange(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        max_bytes: int,
        seconds: float,
    ) -> Answer:
        """One request to an https URL of any port, and its whole answer; no redirect is followed.
        Raises `EgressRefused`, `FetchFailed`, `FetchTooLarge`."""
        try:
            until = _deadline(seconds)
            target = self._url_to_fetch(url)
            async with (
                asyncio.timeout_at(until),
                self._open().answer(method, target, headers, body, until) as connection,
            ):
                return Answer(connection.status, await read_body(connection, max_bytes))
        except TimeoutError as error:
            raise FetchFailed(f"it did not answer within {seconds:g} seconds") from error

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncIterator[StreamingAnswer]:
        """One request to an https URL of any port; its answer is read inside the context, which has
        no deadline of its own. No redirect is followed. Raises `EgressRefused`, `FetchFailed`, and
        `FetchTooLarge` while it is read."""
        target = self._url_to_fetch(url)
        async with self._open().answer(method, target, headers, body, math.inf) as connection:
            yield StreamingAnswer(connection)

    async def aclose(self) -> None:
        """Close idle connections and stop looking up names."""
        if self._connections is not None:
            self._connections.close()
        self._system_lookup.close()

    def _url_to_fetch(self, text: str) -> Url:
        """The URL of anything but a webhook; raises `EgressRefused`."""
        try:
            return self._admitted(text, FETCH_URL_CHARACTERS_MAX, None)
        except BadUrl as error:
            raise EgressRefused(str(error)) from error

    def _check_url(self, text: str, characters_max: int, ports: frozenset[int] | None) -> Url:
        """The URL, if it is admitted as far as can be told without DNS; raises `BadUrl`."""
        url = parse_url(text, characters_max=characters_max)
        if url.ip is None:
            is_denied = self._deny.has_host(url.host)
            is_allowed = self._allow.has_host(url.host, url.port)
        else:
            is_denied = self._deny.has_address(url.ip)
            is_allowed = self._allow.has_address(url.ip, url.port)
        if is_denied:
            raise BadUrl(DENIED)
        if not is_allowed:
            if self._ports:
                ports = self._ports if ports is None else self._ports & ports
            require_public(url, ports=ports)
            # The connector asks no resolver about an address, so it must be judged here.
            if url.ip is not None and not is_public(url.ip):
                raise BadUrl("its address is not public")
        return url

    async def _follow(self, text: str, max_bytes: int, into: Path, until: float) -> Download:
        for _ in range(_REDIRECTS_MAX + 1):
            url = self._url_to_fetch(text)
            async with self._open().answer("GET", url, {}, None, until) as connection:
                if connection.status == 200:
                    size = await save_body(connection, into, max_bytes)
                    return Download(_file_name(connection, url), _content_type(connection), size)
                location = connection.header(b"location")
                if connection.status not in _REDIRECTS or location is None:
                    raise FetchFailed(f"it answered with HTTP status {connection.status}")
                text = _redirect_url(text, location)
        raise FetchFailed(f"it redirects more than {_REDIRECTS_MAX} times")

    def _open(self) -> Connections:
        if self._connections is None:
            self._connections = Connections(self._names, self._ssl_context)
        return self._connections

    async def _ssl_context(self) -> ssl.SSLContext:
        """What certificates have to prove. The first call reads the authorities in a thread, which
        takes long enough to hold up an event loop."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(tls_context, None)
        return self._tls


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """The system's certificate authorities and, if given, those of one more PEM file; raises
    `OSError` when it cannot be read."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file is not None:
        context.load_verify_locations(ca_file)
        # Python 3.13 refuses an authority that does not say what its key is for, as many do that
        # people make for themselves. Whoever names one trusts it.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _redirect_url(base: str, location: str) -> str:
    """The next URL as text; whatever it says is read by the strict grammar again."""
    visible = quote(location.encode(errors="surrogateescape"), safe=_VISIBLE_ASCII)
    try:
        return urljoin(base, visible)
    except ValueError:
        raise FetchFailed("it redirects to something that is no URL") from None


def _deadline(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds + _COARSE_CLOCK_SECONDS


def _headers_text(connection: Connection) -> str:
    lines = [b"%s: %s" % each for each in connection.headers if each[0].lower() != b"set-cookie"]
    text = b"\n".join(lines)[: 4 * WEBHOOK_ATTEMPT_HEADER_CHARACTERS_MAX].decode(errors="replace")
    return UNSTORABLE.sub(_REPLACEMENT, text[:WEBHOOK_ATTEMPT_HEADER_CHARACTERS_MAX])


async def _snippet(connection: Connection, until: float) -> str:
    """The beginning of the body: from the first look at it on, it has a moment of its own."""
    soon = asyncio.get_running_loop().time() + _SNIPPET_SECONDS
    data = await connection.beginning(_SNIPPET_BYTES, min(soon, until))
    text = "" if packing(connection) else data.decode(errors="replace")
    return displayable(text, _REPLACEMENT)


def _file_name(connection: Connection, url: Url) -> str:
    name = given_name(connection.header(b"content-disposition") or "")
    return safe_file_name(name or unquote(url.path.rpartition("/")[2]))


def _content_type(connection: Connection) -> str:
    header = connection.header(b"content-type") or ""
    content_type = header.partition(";")[0].strip().lower()
    return content_type if _CONTENT_TYPE.fullmatch(content_type) else "application/octet-stream"


_PARAMETER = re.compile(
    r';\s*filename(?P<extended>\*?)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\s;"]+))',
    re.IGNORECASE,
)
_EXTENDED = re.compile(r"(?P<charset>utf-8|iso-8859-1)'[^']*'(?P<text>.+)", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")


def given_name(header: str) -> str | None:
    """The name it gives, unsafe as it is; the extended form wins. None when it gives none."""
    plain: str | None = None
    for parameter in _PARAMETER.finditer(header):
        quoted = parameter["quoted"]
        text = parameter["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
        if not parameter["extended"]:
            plain = plain or text
        elif value := _EXTENDED.fullmatch(text):
            return unquote(value["text"], value["charset"], "replace")
    return plain
