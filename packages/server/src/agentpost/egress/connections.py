"""Connections that are kept: a request in one write, and no more of HTTP than we need.

aiohttp took two and a half times the processor time for a webhook.
"""

import asyncio
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TypeAlias

from agentpost.egress.connection import Connection
from agentpost.egress.dialing import KEEPALIVE_SECONDS, dial
from agentpost.egress.errors import HUNG_UP, FetchFailed
from agentpost.egress.names import CheckedNames
from agentpost.egress.urls import DEFAULT_PORTS, Url
from agentpost.version import __version__

_URLS_KEPT = 512
"""A webhook is sent to the same addresses again and again."""
_Place: TypeAlias = tuple[str, str, int]


class Connections:
    """Sends requests on the event loop it is made on; close it there with `close`.

    Args:
        names: where host names lead.
        trust: the certificates to trust, asked for by the first https URL.
    """

    def __init__(self, names: CheckedNames, trust: Callable[[], Awaitable[ssl.SSLContext]]) -> None:
        self._names = names
        self._trust = trust
        self._loop = asyncio.get_running_loop()
        self._idle: dict[_Place, list[Connection]] = {}
        self._closing: asyncio.TimerHandle | None = None
        self._is_closed = False

    @asynccontextmanager
    async def answer(
        self, method: str, url: Url, headers: Mapping[str, str], body: bytes | None, until: float
    ) -> AsyncIterator[Connection]:
        """Send, and once more when a kept connection was closed meanwhile; the context has the
        connection with the answer's head. No redirect is followed.

        ``until``: the deadline for the head, by the loop's clock; it may be infinite. Raises
        `EgressRefused`, `FetchFailed`, `TimeoutError`; `ValueError` for a header that is none.
        """
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("an Egress belongs to the event loop that first used it")
        request = _head(method, url, headers, body) + (body or b"")
        place = (url.scheme, url.host, url.port)
        connection = self._reuse(place)
        was_kept = connection is not None
        if connection is None:
            connection = await self._dial(url, until)
        try:
            try:
                await connection.send(request, until)
            except FetchFailed as error:
                # Only one kept one: its receiver may have closed it after it had read the request.
                if not was_kept or str(error) != HUNG_UP:
                    raise
                connection = await self._dial(url, until)
                await connection.send(request, until)
            yield connection
        finally:
            if connection.reusable and not self._is_closed:
                self._keep(place, connection)
            else:
                connection.abort()

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

    async def _dial(self, url: Url, until: float) -> Connection:
        async with asyncio.timeout_at(until if until < math.inf else None):
            tls = await self._trust() if url.scheme == "https" else None
            return await dial(url, self._names, tls, lambda: Connection(self._loop), until)

    def _reuse(self, place: _Place) -> Connection | None:
        """A connection that may still be open: the one used last, which is the likeliest."""
        idle_connections = self._idle.get(place)
        while idle_connections:
            connection = idle_connections.pop()
            if connection.is_open:
                return connection
        return None

    def _keep(self, place: _Place, connection: Connection) -> None:
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


def _head(method: str, url: Url, headers: Mapping[str, str], body: bytes | None) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if not lines.count("\r") == lines.count("\n") == len(headers):
        raise ValueError("a header of a request has a line break")
    accept = "" if "Accept" in headers else "Accept: */*\r\n"
    length = "" if body is None else f"Content-Length: {len(body)}\r\n"
    return f"{method} {_first_lines(url)}{accept}{lines}{length}\r\n".encode()


@lru_cache(_URLS_KEPT)
def _first_lines(url: Url) -> str:
    """Built from the checked parts: nothing reads the text a second time."""
    host = f"[{url.host}]" if ":" in url.host else url.host  # as it stands in a URL
    port = "" if url.port == DEFAULT_PORTS[url.scheme] else f":{url.port}"
    query = f"?{url.query}" if url.query else ""
    return (
        f"{url.path}{query} HTTP/1.1\r\nHost: {host}{port}\r\n"
        f"User-Agent: agentpost/{__version__}\r\nAccept-Encoding: identity\r\n"
    )
