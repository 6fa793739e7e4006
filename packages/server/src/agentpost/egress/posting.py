"""Webhooks go out here: connections that are kept, a request in one write, and no more of HTTP than
they need. aiohttp, which fetches files, takes two and a half times the processor time for each.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from agentpost.domain.limits import WEBHOOK_ATTEMPT_HEADER_CHARACTERS_MAX
from agentpost.domain.text import UNSTORABLE, displayable
from agentpost.egress.dialing import KEEPALIVE_SECONDS, dial
from agentpost.egress.errors import HUNG_UP, FetchFailed
from agentpost.egress.names import CheckedNames
from agentpost.egress.post_connection import PostConnection
from agentpost.egress.urls import DEFAULT_PORTS, Url
from agentpost.version import __version__

_URLS_KEPT = 512
"""A webhook is sent to the same addresses again and again."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_Place: TypeAlias = tuple[str, str, int]


class PostAnswer(NamedTuple):
    """What a request was answered with.

    Args:
        status: of HTTP; None when there was no answer.
        headers: one in a line, cut; cookies are left out, which are the receiver's secrets.
        snippet: the beginning of the body as text that can be shown; "" when it came packed.
    """

    status: int | None
    headers: str
    snippet: str


class Poster:
    """Sends requests on the event loop it is made on; close it there with `close`.

    Args:
        names: where host names lead.
        trust: the certificates to trust, asked for by the first https URL.
    """

    def __init__(self, names: CheckedNames, trust: Callable[[], Awaitable[ssl.SSLContext]]) -> None:
        self._names = names
        self._trust = trust
        self._loop = asyncio.get_running_loop()
        self._idle: dict[_Place, list[PostConnection]] = {}
        self._closing: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def post(
        self, url: Url, headers: Mapping[str, str], body: bytes, seconds: float
    ) -> PostAnswer:
        """Send, and once more when a kept connection was closed meanwhile. No redirect is followed.
        Raises `TimeoutError` when there was no status after ``seconds``, `EgressRefused`,
        `FetchFailed`; `ValueError` for a header that is none."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("an Egress belongs to the event loop that first used it")
        until = self._loop.time() + seconds
        request = _head(url, headers, len(body)) + body
        place = (url.scheme, url.host, url.port)
        was_kept = False
        while True:
            # Only one: its receiver may have closed it after it had read the request.
            connection = None if was_kept else self._reuse(place)
            was_kept = connection is not None
            if connection is None:
                async with asyncio.timeout_at(until):
                    connection = await self._dial(url, until)
            try:
                await connection.exchange(request, until - self._loop.time())
            finally:
                if connection.reusable and not self._is_closed:
                    self._keep(place, connection)
                else:
                    connection.abort()
            if connection.status is not None:
                return _answer(connection)
            if not connection.failure:
                raise TimeoutError
            if not (was_kept and connection.failure == HUNG_UP):
                raise FetchFailed(connection.failure)

    def close(self) -> None:
        """Close the connections that are idle, and those in use when they are not any more."""
        self._is_closed = True
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
        for idle_connections in self._idle.values():
            for connection in idle_connections:
                connection.abort()
        self._idle.clear()

    async def _dial(self, url: Url, until: float) -> PostConnection:
        tls = await self._trust() if url.scheme == "https" else None
        return await dial(url, self._names, tls, lambda: PostConnection(self._loop), until)

    def _reuse(self, place: _Place) -> PostConnection | None:
        """A connection that may still be open: the one used last, which is the likeliest."""
        idle_connections = self._idle.get(place)
        while idle_connections:
            connection = idle_connections.pop()
            if connection.is_open:
                return connection
        return None

    def _keep(self, place: _Place, connection: PostConnection) -> None:
        connection.idle_since = self._loop.time()
        self._idle.setdefault(place, []).append(connection)
        if self._closing is None:
            self._closing = self._loop.call_later(KEEPALIVE_SECONDS, self._close_old)

    def _close_old(self) -> None:
        """Close what was idle for `KEEPALIVE_SECONDS`; look again when the next one will be."""
        now, oldest = self._loop.time(), None
        for place, idle_connections in list(self._idle.items()):
            while idle_connections and now - idle_connections[0].idle_since >= KEEPALIVE_SECONDS:
                idle_connections.pop(0).abort()
            if not idle_connections:
                del self._idle[place]
            elif oldest is None or idle_connections[0].idle_since < oldest:
                oldest = idle_connections[0].idle_since
        self._closing = None
        if oldest is not None:
            self._closing = self._loop.call_at(oldest + KEEPALIVE_SECONDS, self._close_old)


def _answer(connection: PostConnection) -> PostAnswer:
    lines, is_packed = [], False
    for name, value in connection.headers:
        lower_name = name.lower()
        if lower_name == b"content-encoding":
            is_packed = value.strip().lower() not in (b"identity", b"")
        if lower_name != b"set-cookie":
            lines.append(b"%s: %s" % (name, value))
    text = b"\n".join(lines)[: 4 * WEBHOOK_ATTEMPT_HEADER_CHARACTERS_MAX].decode(errors="replace")
    snippet = "" if is_packed else connection.body.decode(errors="replace")
    return PostAnswer(
        connection.status,
        UNSTORABLE.sub(_REPLACEMENT, text[:WEBHOOK_ATTEMPT_HEADER_CHARACTERS_MAX]),
        displayable(snippet, _REPLACEMENT) if snippet else "",
    )


def _head(url: Url, headers: Mapping[str, str], length: int) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if not lines.count("\r") == lines.count("\n") == len(headers):
        raise ValueError("a header of a webhook has a line break")
    return f"{_first_lines(url)}{lines}Content-Length: {length}\r\n\r\n".encode("latin-1")


@lru_cache(_URLS_KEPT)
def _first_lines(url: Url) -> str:
    """Built from the checked parts: nothing reads the text a second time."""
    host = f"[{url.host}]" if ":" in url.host else url.host  # as it stands in a URL
    port = "" if url.port == DEFAULT_PORTS[url.scheme] else f":{url.port}"
    query = f"?{url.query}" if url.query else ""
    return (
        f"POST {url.path}{query} HTTP/1.1\r\nHost: {host}{port}\r\n"
        f"User-Agent: agentpost/{__version__}\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
    )
