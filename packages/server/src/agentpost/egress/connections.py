"""Connections on the way out: requests over aiohttp, which is imported with this module only.

`Egress` imports it for its first file, model or tool, since a start of the server needs none.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from functools import partial

import aiohttp
import yarl
from aiohttp.abc import AbstractResolver, ResolveResult

from agentpost.domain.urls import DEFAULT_PORTS, Url
from agentpost.egress.answers import GuardedReader, GuardedResponse, is_reused
from agentpost.egress.dialing import KEEPALIVE_SECONDS
from agentpost.egress.errors import explain
from agentpost.egress.names import CheckedNames
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
