"""How aiohttp gets its connections: names are answered by `CheckedNames`, nothing is remembered."""

from __future__ import annotations

import socket
import ssl
from functools import partial

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from agentpost.egress.answers import GuardedReader, GuardedResponse
from agentpost.egress.dialing import KEEPALIVE_SECONDS
from agentpost.egress.names import CheckedNames


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


def open_session(resolver: CheckedResolver, tls: ssl.SSLContext) -> aiohttp.ClientSession:
    """A session that takes nothing from the environment and remembers nothing: no proxies, no
    netrc, no cookies, no cached names, no own time limits (callers set one over everything)."""
    connector = aiohttp.TCPConnector(
        resolver=resolver,
        use_dns_cache=False,
        ssl=tls,
        # Unlimited: slow hosts must not make others wait. Callers bound what they have in flight.
        limit=0,
        keepalive_timeout=KEEPALIVE_SECONDS,
    )
    # The one place where aiohttp has no public way; tests/egress/test_hostile.py would notice.
    connector._factory = partial(GuardedReader, loop=connector._loop)  # type: ignore[assignment]
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        auto_decompress=False,
        trust_env=False,
        response_class=GuardedResponse,
    )
