"""The one way out: every request to an address that somebody else chose goes through `Egress`.

What holds for all of them (design: The way out): the URL is read by one strict grammar and the
request is built from its parts; only public addresses are dialed, or what ``EGRESS_ALLOW`` lists;
no proxies, cookies or credentials from the environment; one deadline over everything, whatever the
other side does; a bounded number of bytes is read.

Exceptions; their texts may be shown to whoever gave the URL::

    BadUrl (ValueError)       the URL itself is refused, told without DNS
    EgressError
      EgressRefused           not allowed to go there
      FetchFailed             tried, and it did not work
        FetchTooLarge         more bytes than asked for
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, unquote, urljoin

import aiohttp
import yarl

from agentpost import __version__
from agentpost.domain.filenames import safe_file_name
from agentpost.domain.limits import WEBHOOK_URL_CHARACTERS_MAX
from agentpost.domain.urls import (
    DEFAULT_PORTS,
    FETCH_URL_CHARACTERS_MAX,
    WEBHOOK_PORTS,
    BadUrl,
    Url,
    parse_url,
    require_public,
)
from agentpost.egress.addresses import AllowList, is_public
from agentpost.egress.bodies import read_snippet, save_body
from agentpost.egress.disposition import given_name
from agentpost.egress.errors import (
    EgressError,
    EgressRefused,
    FetchFailed,
    FetchTooLarge,
    explain,
)
from agentpost.egress.resolver import (
    CheckedResolver,
    Lookup,
    SystemLookup,
    open_session,
    tls_context,
)

__all__ = [
    "BadUrl",
    "Egress",
    "EgressError",
    "EgressRefused",
    "FetchFailed",
    "FetchTooLarge",
    "Fetched",
    "PostResult",
]

REDIRECTS_MAX = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_VISIBLE_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_CONTENT_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,100}/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}")
_COARSE_CLOCK_SECONDS = 0.02
"""Event loops count from when they last looked at the clock: so nobody is cut off early."""


@dataclass(frozen=True, slots=True)
class PostResult:
    """One delivery attempt: ``status`` is the HTTP status, or None and then ``error`` says why.

    ``ms`` is how long it took; ``snippet`` the beginning of the answer's body as text.
    """

    status: int | None
    ms: int
    snippet: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Fetched:
    """A downloaded file: a safe name for it, the type its server claims, its size in bytes."""

    name: str
    content_type: str
    size: int


class Egress:
    """Makes requests on the event loop that first asks for one; close it there with `aclose`."""

    def __init__(
        self,
        allow: AllowList | None = None,
        *,
        ca_file: Path | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        """``allow``: what is open besides the public internet; ``ca_file``: one more PEM file of
        trusted authorities (raises `OSError` when unreadable); ``lookup``: other name service."""
        self._allow = allow or AllowList()
        self._tls = tls_context(ca_file)
        self._system_lookup = SystemLookup()
        self._resolver = CheckedResolver(self._allow, lookup or self._system_lookup)
        self._opened: tuple[asyncio.AbstractEventLoop, aiohttp.ClientSession] | None = None

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
        status, snippet, error = None, "", None
        try:
            target = self._admitted(url, WEBHOOK_URL_CHARACTERS_MAX, WEBHOOK_PORTS)
            async with (
                asyncio.timeout(seconds + _COARSE_CLOCK_SECONDS),
                self._read_response("POST", target, headers, body) as response,
            ):
                status = response.status
                snippet = await read_snippet(response)
        except BadUrl as refused:
            error = str(refused)
        except TimeoutError:
            error = f"no answer within {seconds:g} seconds" if status is None else None
        except EgressError as failure:
            error = str(failure)
        return PostResult(status, round((time.monotonic() - started) * 1_000), snippet, error)

    async def fetch(self, url: str, *, max_bytes: int, seconds: float, into: Path) -> Fetched:
        """Download an https URL of any port to the new file ``into``.

        At most `REDIRECTS_MAX` redirects are followed, each checked like the first URL. Raises
        `EgressRefused`, `FetchFailed`, `FetchTooLarge`, or `OSError` when ``into`` cannot be
        written; there is no file then. spec: InlineFile; design: The way out.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(url, max_bytes, into)
        except TimeoutError as error:
            raise FetchFailed(f"it did not arrive within {seconds:g} seconds") from error

    async def aclose(self) -> None:
        """Close idle connections and stop looking up names."""
        if self._opened is not None:
            await self._opened[1].close()
        self._system_lookup.close()

    def _admitted(self, text: str, characters_max: int, ports: Collection[int] | None) -> Url:
        url = parse_url(text, characters_max=characters_max)
        if url.ip is None:
            listed = self._allow.has_host(url.host, url.port)
        else:
            listed = self._allow.has_address(url.ip, url.port)
        if not listed:
            require_public(url, ports=ports)
            # The connector asks no resolver about an address, so it must be judged here.
            if url.ip is not None and not is_public(url.ip):
                raise BadUrl("its address is not public")
        return url

    async def _follow(self, text: str, max_bytes: int, into: Path) -> Fetched:
        for _ in range(REDIRECTS_MAX + 1):
            try:
                url = self._admitted(text, FETCH_URL_CHARACTERS_MAX, None)
            except BadUrl as error:
                raise EgressRefused(str(error)) from error
            async with self._read_response("GET", url, {"Accept": "*/*"}, None) as response:
                if response.status == 200:
                    size = await save_body(response, into, max_bytes)
                    return Fetched(_file_name(response, url), _content_type(response), size)
                location = response.headers.get("Location")
                if response.status not in _REDIRECTS or location is None:
                    raise FetchFailed(f"it answered with HTTP status {response.status}")
                text = _redirected(text, location)
        raise FetchFailed(f"it redirects more than {REDIRECTS_MAX} times")

    @asynccontextmanager
    async def _read_response(
        self, method: str, url: Url, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One request and its answer's head; the connection is kept only if the body was read."""
        response = await self._send(method, url, headers, body)
        try:
            yield response
        finally:
            response.close()  # read to its end, it has given its connection back before

    async def _send(
        self, method: str, url: Url, headers: Mapping[str, str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        """Send until it meets a connection the other side still holds; raises `EgressError`."""
        session = self._session()
        sent_headers = {
            "User-Agent": f"agentpost/{__version__}",
            "Accept-Encoding": "identity",
            **headers,
        }
        while True:
            connection = SimpleNamespace(reused=False)
            try:
                return await session.request(
                    method,
                    _request_url(url),
                    data=body,
                    headers=sent_headers,
                    allow_redirects=False,
                    trace_request_ctx=connection,
                )
            except (aiohttp.ClientError, OSError) as error:
                hung_up = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
                if not (hung_up and connection.reused):
                    raise explain(error) from error

    def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._opened is None:
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_reuse)
            self._opened = loop, open_session(self._resolver, self._tls, trace)
        opened_on, session = self._opened
        if loop is not opened_on:
            raise RuntimeError("an Egress belongs to the event loop that first used it")
        return session


async def _note_reuse(
    _session: aiohttp.ClientSession,
    context: SimpleNamespace,
    _params: aiohttp.TraceConnectionReuseconnParams,
) -> None:
    context.trace_request_ctx.reused = True


def _request_url(url: Url) -> yarl.URL:
    """Built from the checked parts and marked as encoded: nothing reads the text a second time."""
    port = None if url.port == DEFAULT_PORTS[url.scheme] else url.port
    host = f"[{url.host}]" if ":" in url.host else url.host  # as it stands in a URL
    return yarl.URL.build(
        scheme=url.scheme,
        host=host,
        port=port,
        path=url.path,
        query_string=url.query,
        encoded=True,
    )


def _redirected(base: str, location: str) -> str:
    """The next URL as text; whatever it says is read by the strict grammar again."""
    visible = quote(location.encode(errors="surrogateescape"), safe=_VISIBLE_ASCII)
    try:
        return urljoin(base, visible)
    except ValueError:
        raise FetchFailed("it redirects to something that is no URL") from None


def _file_name(response: aiohttp.ClientResponse, url: Url) -> str:
    given = given_name(response.headers.get("Content-Disposition", ""))
    return safe_file_name(given or unquote(url.path.rpartition("/")[2]))


def _content_type(response: aiohttp.ClientResponse) -> str:
    claimed = response.content_type.lower()
    return claimed if _CONTENT_TYPE.fullmatch(claimed) else "application/octet-stream"
