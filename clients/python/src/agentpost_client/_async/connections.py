"""The connections of a client. Each belongs to a place: an event loop, or a process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpcore2

from agentpost_client._async import io
from agentpost_client._async.http import AsyncHttpClient, AsyncHttpResponse, AsyncPools
from agentpost_client.errors import ConfigError
from agentpost_client.proxies import Routes
from agentpost_client.wire import NoAnswer, Timeout, read_fault


class AsyncConnections:
    """Sends requests, in each place (`io.place`) with pools made there.

    A connection of an event loop that has ended, or of the process that this one was forked from,
    cannot be used. An ``http_client`` of the caller is used everywhere, and never closed.
    """

    def __init__(self, url: str, http_client: AsyncHttpClient | None) -> None:
        self._given = http_client
        self._given_to: object = None
        self._is_closed = False
        self._by_place: dict[object, AsyncPools] = {}
        if http_client is None:
            self._routes = Routes(url)
            self._tls = httpcore2.default_ssl_context()

    async def request(self, *, timeout: Timeout, **options: Any) -> AsyncHttpResponse:
        """As the method of the HTTP client; raises `NoAnswer`, and `RuntimeError` after
        `aclose`."""
        http = self._here()
        with self._explaining(timeout):
            return await http.request(timeout=timeout, **options)

    @asynccontextmanager
    async def stream(self, *, timeout: Timeout, **options: Any) -> AsyncIterator[AsyncHttpResponse]:
        """As the method of the HTTP client; raises `NoAnswer`, also for what is read of the
        response, and `RuntimeError` after `aclose`."""
        http = self._here()
        with self._explaining(timeout):
            async with http.stream(timeout=timeout, **options) as response:
                yield response

    async def aclose(self) -> None:
        """Close the connections of this place. Those of other places go when these end."""
        if self._given is not None:
            return
        self._is_closed = True
        http = self._by_place.pop(io.place(), None)
        self._by_place.clear()
        if http is not None:
            await http.aclose()

    def _here(self) -> AsyncHttpClient:
        place = io.place()
        if self._given is not None:
            self._given_to = self._given_to or place
            return self._given
        if self._is_closed:
            raise RuntimeError("The client is closed: make another one.")
        http = self._by_place.get(place)
        if http is None:
            for other in list(self._by_place):
                if io.is_over(other):
                    self._by_place.pop(other, None)
            # Another thread may have been faster.
            http = self._by_place.setdefault(place, AsyncPools(self._routes, self._tls))
        return http

    @contextmanager
    def _explaining(self, timeout: Timeout) -> Iterator[None]:
        """Say what is wrong when a request fails, and when an HTTP client of the caller fails in a
        second place."""
        try:
            yield
        except Exception as error:
            fault = read_fault(error, timeout)
            if fault is not None:
                raise NoAnswer(fault) from error
            is_here = self._given is None or self._given_to == io.place()
            if is_here or not isinstance(error, RuntimeError):
                raise
            raise ConfigError(
                f"The http_client was used in another {io.PLACE} before, and its connections belong"
                f" to that: give one made in this {io.PLACE}, or none, since the client then opens"
                f" connections in each {io.PLACE}."
            ) from error
