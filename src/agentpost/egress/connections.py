"""Connections on the way out: requests over aiohttp, which is imported with this module only.

`Egress` imports it for its first file, model or tool, since a start of the server needs none.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping

import aiohttp
import yarl

from agentpost import __version__
from agentpost.domain.urls import DEFAULT_PORTS, Url
from agentpost.egress.answers import is_reused
from agentpost.egress.errors import explain
from agentpost.egress.names import CheckedNames
from agentpost.egress.resolver import CheckedResolver, open_session


class Connections:
    """Sends requests on the event loop it is made on; close it there with `aclose`."""

    def __init__(self, names: CheckedNames, tls: ssl.SSLContext) -> None:
        self._session = open_session(CheckedResolver(names), tls)
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
