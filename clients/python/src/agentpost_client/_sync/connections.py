# Made by docs/client_sync.py from agentpost_client/_async/connections.py; change that.
"""The connections of a client. Each belongs to a place: an event loop, or a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from agentpost_client._sync import io
from agentpost_client.errors import ConfigError
from agentpost_client.proxies import open_http


class Connections:
    """Sends requests, in each place (`io.place`) with an HTTP client made there.

    A connection of an event loop that has ended, or of the process that this one was forked from,
    cannot be used. An ``http_client`` of the caller is used everywhere, and never closed.
    """

    def __init__(self, url: str, http_client: httpx2.Client | None) -> None:
        self._url = url
        self._given = http_client
        self._given_to: object = None
        self._is_closed = False
        self._by_place: dict[object, httpx2.Client] = {}
        if http_client is None:
            self._tls = httpx2.create_ssl_context()
            # For the first place that asks. Made now, so that an unusable proxy is told now.
            self._by_place[None] = self._open()

    def request(self, **options: Any) -> httpx2.Response:
        """As the method of the HTTP client; raises `RuntimeError` after `close`."""
        with self._naming_trouble():
            return self._here().request(**options)

    @contextmanager
    def stream(self, **options: Any) -> Iterator[httpx2.Response]:
        """As the method of the HTTP client; raises `RuntimeError` after `close`."""
        with self._naming_trouble(), self._here().stream(**options) as response:
            yield response

    def close(self) -> None:
        """Close the connections of this place. Those of other places go when these end."""
        if self._given is not None:
            return
        self._is_closed = True
        http = self._by_place.pop(io.place(), None)
        self._by_place.clear()
        if http is not None:
            http.close()

    def _here(self) -> httpx2.Client:
        place = io.place()
        if self._given is not None:
            self._given_to = self._given_to or place
            return self._given
        if self._is_closed:
            raise RuntimeError("The client is closed: make another one.")
        http = self._by_place.get(place)
        if http is None:
            http = self._by_place.pop(None, None) or self._open()
            for other in list(self._by_place):
                if io.is_over(other):
                    self._by_place.pop(other, None)
            http = self._by_place.setdefault(place, http)  # another thread may have been faster
        return http

    def _open(self) -> httpx2.Client:
        return open_http(httpx2.Client, self._url, self._tls)

    @contextmanager
    def _naming_trouble(self) -> Iterator[None]:
        """Say what is wrong when an HTTP client of the caller fails in a second place."""
        try:
            yield
        except RuntimeError as error:
            if self._given is None or self._given_to == io.place():
                raise
            raise ConfigError(
                f"The http_client was used in another {io.PLACE} before, and its connections belong"
                f" to that: give one made in this {io.PLACE}, or none, since the client then opens"
                f" connections in each {io.PLACE}."
            ) from error
