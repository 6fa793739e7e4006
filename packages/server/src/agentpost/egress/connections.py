"""Connections on the way out: requests over aiohttp, which is imported with this module only.

`Egress` imports it for its first file, model or tool, since a start of the server needs none.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

import aiohttp
import yarl
from aiohttp import StreamReader
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage

from agentpost.egress.dialing import KEEPALIVE_SECONDS
from agentpost.egress.errors import explain
from agentpost.egress.names import CheckedNames
from agentpost.egress.post_connection import INTERIM_ANSWERS_MAX
from agentpost.egress.urls import DEFAULT_PORTS, Url
from agentpost.version import __version__


class CheckedResolver(AbstractResolver):
    """Asked by the connector at the moment it dials; it connects to exactly what is answered."""

    def __init__(self, names: CheckedNames) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses to dial; raises as `CheckedNames.addresses`."""
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await self._names.addresses(host, port)
        ]

    async def close(self) -> None:
        """Nothing to release; the lookup belongs to whoever made it."""


class Connections:
    """Sends requests on the event loop it is made on; close it there with `aclose`."""

    def __init__(self, names: CheckedNames, tls: ssl.SSLContext) -> None:
        # A session that takes nothing from the environment and remembers nothing: no proxies, no
        # netrc, no cookies, no cached names, no own time limits (callers set one over everything).
        resolver = CheckedResolver(names)
        connector = aiohttp.TCPConnector(
            resolver=resolver,
            use_dns_cache=False,
            ssl=tls,
            # Unlimited: slow hosts must not make others wait. Callers bound what is in flight.
            limit=0,
            keepalive_timeout=KEEPALIVE_SECONDS,
        )
        # The one place where aiohttp has no public way; test_hostile.py would notice.
        connector._factory = partial(GuardedReader, loop=connector._loop)  # type: ignore[assignment]
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            auto_decompress=False,
            trust_env=False,
            response_class=GuardedResponse,
        )
        self._loop = asyncio.get_running_loop()

    async def send(
        self, method: str, url: Url, headers: Mapping[str, str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        """Send until it meets a connection the other side still holds; raises `EgressError`."""
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("an Egress belongs to the event loop that first used it")
        sent_headers = {
            "User-Agent": f"agentpost/{__version__}",
            "Accept-Encoding": "identity",
            **headers,
        }
        while True:
            is_reused.set(False)
            try:
                return await self._session.request(
                    method,
                    _request_url(url),
                    data=body,
                    headers=sent_headers,
                    allow_redirects=False,
                )
            except (aiohttp.ClientError, OSError) as error:
                hung_up = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
                if not (hung_up and is_reused.get()):
                    raise explain(error) from error

    async def aclose(self) -> None:
        """Close idle connections."""
        await self._session.close()


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


_HEADS_MAX = INTERIM_ANSWERS_MAX + 1

is_reused: ContextVar[bool] = ContextVar("is_reused", default=False)
"""Whether the connection that this task's request was given had carried one before. Not by
aiohttp's traces, whose hooks for a request take as long as a tenth of sending it."""


class GuardedReader(ResponseHandler):
    """Reads from one connection. ``has_answered``: something came since the last
    request was sent."""

    has_answered = False
    _requests = 0
    _heads_to_read = 0

    def set_response_params(self, **params: Any) -> None:
        """See `ResponseHandler`; called for each request."""
        self.has_answered = False
        is_reused.set(self._requests > 0)
        self._requests += 1
        self._heads_to_read = _HEADS_MAX
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        self.has_answered = True
        super().data_received(data)

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        """The next answer. Interim ones (1xx) are read over: the client itself would do so for as
        long as they come, with all the CPU there is."""
        if self._heads_to_read == 0:
            raise HttpProcessingError(message="too many interim answers")
        self._heads_to_read -= 1
        return await super().read()


class GuardedResponse(aiohttp.ClientResponse):
    """An answer that tells whether it had begun when its connection broke."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """See `ClientResponse`. Raises `ClientPayloadError` when the answer broke off in its head:
        not what a connection raises that was closed before the request arrived."""
        try:
            return await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            protocol = connection.protocol
            if isinstance(protocol, GuardedReader) and protocol.has_answered:
                raise aiohttp.ClientPayloadError from error
            raise
