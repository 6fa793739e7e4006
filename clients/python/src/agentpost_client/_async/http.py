"""HTTP clients: what is needed of one, and the one that is opened when none is given."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlencode

import httpcore2

from agentpost_client.addresses import Address, basic_auth, read_address, redirect_target
from agentpost_client.decoding import ACCEPTED, Decoding
from agentpost_client.proxies import Routes, open_proxy
from agentpost_client.wire import Head, Timeout, read_headers

CONNECTIONS_MAX = 100
IDLE_CONNECTIONS_MAX = 20
IDLE_SECONDS_MAX = 5.0
HEADERS = {"Accept": "*/*", "Accept-Encoding": ACCEPTED, "Connection": "keep-alive"}
REDIRECTS_MAX = 20
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class AsyncHttpResponse(Head, Protocol):
    """An answer. What is read of it is decompressed."""

    @property
    def content(self) -> bytes: ...
    async def aread(self) -> bytes: ...
    def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]: ...


class AsyncHttpClient(Protocol):
    """What sends requests: an ``httpx2.AsyncClient``, or what takes the same and raises the same
    errors as httpx2 or httpcore2. ``timeout`` is a tuple, as httpx2 takes one."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout: Timeout,
        follow_redirects: bool,
        params: Mapping[str, str] | None = None,
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> AsyncHttpResponse: ...
    def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout: Timeout,
        follow_redirects: bool,
        params: Mapping[str, str] | None = None,
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> AbstractAsyncContextManager[AsyncHttpResponse]: ...


class AsyncPools:
    """See `AsyncHttpClient`: on httpcore2, with a pool of connections for each of the routes.

    Redirects are followed with the same method and headers, so only for a GET without a key.
    """

    def __init__(self, routes: Routes, tls: ssl.SSLContext) -> None:
        self._routes = routes
        self._tls = tls
        self._by_proxy: dict[Address | None, httpcore2.AsyncConnectionPool] = {}

    async def request(self, method: str, url: str, **options: Any) -> AsyncHttpResponse:
        """See `AsyncHttpClient`."""
        async with self.stream(method, url, **options) as response:
            await response.aread()
        return response

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout: Timeout,
        follow_redirects: bool,
        params: Mapping[str, str] | None = None,
        content: bytes | AsyncIterator[bytes] | None = None,
    ) -> AsyncIterator[AsyncHttpResponse]:
        """See `AsyncHttpClient`."""
        if params:
            url = f"{url}?{urlencode(params)}"
        if content is None and method in ("POST", "PUT", "PATCH"):
            content = b""  # its length is said, too
        for hop in range(1 + REDIRECTS_MAX):
            address = read_address(url)
            own = basic_auth(address) if hop == 0 else {}
            all_headers = {"Host": address.place, **HEADERS, **own, **headers}
            async with self._pool(address).stream(
                method,
                address.url,
                headers=[(name, value.encode("ascii")) for name, value in all_headers.items()],
                content=content,
                extensions={"timeout": timeout._asdict()},
            ) as answer:
                response = _Response(answer)
                location = response.headers.get("location")
                is_redirect = answer.status in REDIRECTS and follow_redirects
                if location is None or not is_redirect:
                    yield response
                    return
            url = redirect_target(url, location)
        raise httpcore2.ProtocolError(f"it redirects more than {REDIRECTS_MAX} times")

    async def aclose(self) -> None:
        """Close all connections."""
        for pool in list(self._by_proxy.values()):
            await pool.aclose()

    def _pool(self, address: Address) -> httpcore2.AsyncConnectionPool:
        proxy = self._routes.proxy(address)
        pool = self._by_proxy.get(proxy)
        if pool is None:
            pool = httpcore2.AsyncConnectionPool(
                ssl_context=self._tls,
                proxy=None if proxy is None else open_proxy(proxy, self._tls),
                max_connections=CONNECTIONS_MAX,
                max_keepalive_connections=IDLE_CONNECTIONS_MAX,
                keepalive_expiry=IDLE_SECONDS_MAX,
            )
            pool = self._by_proxy.setdefault(proxy, pool)  # another thread may have been faster
        return pool


class _Response:
    """See `AsyncHttpResponse`; names of headers are in lower case."""

    def __init__(self, answer: httpcore2.Response) -> None:
        self._answer = answer
        self.status_code = answer.status
        self.is_success = 200 <= answer.status < 300
        self.content = b""
        self.headers = read_headers(answer.headers)

    async def aread(self) -> bytes:
        """Read all of it, which is the `content` from then on."""
        self.content = b"".join([chunk async for chunk in self.aiter_bytes()])
        return self.content

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        """The bytes as they come, or in pieces of that size at least, but for the last one."""
        decoding = Decoding(self.headers.get("content-encoding", ""))
        pieces, size = list[bytes](), 0
        async for chunk in self._answer.aiter_stream():
            for piece in decoding.decode(chunk):
                pieces.append(piece)
                size += len(piece)
                if size >= (chunk_size or 1):
                    yield b"".join(pieces)
                    pieces, size = [], 0
        decoding.close()
        if pieces:
            yield b"".join(pieces)
