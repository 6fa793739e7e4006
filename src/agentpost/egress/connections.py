"""Connections on the way out: requests over aiohttp, which is imported with this module only.

`Egress` imports it for its first request, since a start of the server needs none.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from types import SimpleNamespace

import aiohttp
import yarl

from agentpost import __version__
from agentpost.domain.urls import DEFAULT_PORTS, Url
from agentpost.egress.addresses import AllowList
from agentpost.egress.denied import DenyList
from agentpost.egress.errors import explain
from agentpost.egress.resolver import CheckedResolver, Lookup, SystemLookup, open_session


class Connections:
    """Sends requests on the event loop it is made on; close it there with `aclose`."""

    def __init__(
        self, allow: AllowList, deny: DenyList, tls: ssl.SSLContext, lookup: Lookup | None
    ) -> None:
        """``lookup``: None for the system's name service."""
        self._system_lookup = SystemLookup()
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        resolver = CheckedResolver(allow, deny, lookup or self._system_lookup)
        self._session = open_session(resolver, tls, trace)
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
            connection = SimpleNamespace(reused=False)
            try:
                return await self._session.request(
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

    async def aclose(self) -> None:
        """Close idle connections and stop looking up names."""
        await self._session.close()
        self._system_lookup.close()


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
