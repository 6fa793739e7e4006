"""The wire to deployments: a request with one deadline over everything.

The timeouts of an HTTP client bound each silence only: who drips bytes, those of a head included,
would hold a run up for as long as they like. On an event loop a request can be cut off wherever it
is, so requests run on one in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

CONNECT_SECONDS_MAX: Final = 10.0
IDLE_SECONDS_MAX: Final = 2.0
"""Shorter than servers keep idle connections."""
REPEATABLE: Final = frozenset({"GET", "DELETE"})
"""What may be sent again when a kept connection turns out to be closed (RFC 9110, 9.2.2)."""
CONNECTED: Final = "connection.connect_tcp.started"
ANSWERED: Final = "http11.receive_response_headers.complete"
"""Steps of the HTTP library: a connection was made for this request; an answer has begun."""


class Overdue(Exception):
    """The answer was not there in whole when the time was over."""


class Wire:
    """Connections, to be used from any thread; ``open_http`` makes an HTTP client with the given
    ``limits``. Close it at the end."""

    def __init__(self, open_http: Callable[..., httpx2.AsyncClient] = httpx2.AsyncClient) -> None:
        self._kept = open_http(limits=httpx2.Limits(keepalive_expiry=IDLE_SECONDS_MAX))
        self._fresh = open_http(limits=httpx2.Limits(max_keepalive_connections=0))
        self._ends = ExitStack()
        self._portal = self._ends.enter_context(start_blocking_portal(name="verify-wire"))
        for client in (self._kept, self._fresh):
            self._ends.callback(self._portal.call, client.aclose)

    def close(self) -> None:
        """Release the connections and the thread."""
        self._ends.close()

    def request(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        *,
        silence: float,
        seconds: float,
        follow: bool,
    ) -> httpx2.Response:
        """The answer, read to its end. ``silence``: the longest in seconds, ``seconds``: of all.

        A server may close a kept connection while we send on it, as it may at any time: that says
        nothing about it. What may be repeated is sent once more, on a new connection; the rest
        gets a new connection from the start.

        Raises `Overdue` after ``seconds``, `httpx2.RequestError` for any other failure and
        `httpx2.InvalidURL`."""
        extensions: dict[str, Any] = {}
        send = partial(
            httpx2.AsyncClient.request,
            method=method,
            url=url,
            content=content,
            headers=headers,
            timeout=httpx2.Timeout(silence, connect=CONNECT_SECONDS_MAX),
            follow_redirects=follow,
            extensions=extensions,
        )

        async def on_kept() -> httpx2.Response:
            steps: set[str] = set()

            async def note(step: str, _: object) -> None:
                steps.add(step)

            extensions["trace"] = note
            try:
                return await send(self._kept)
            except (httpx2.NetworkError, httpx2.RemoteProtocolError):
                if CONNECTED in steps or ANSWERED in steps:
                    raise
                return await send(self._fresh)

        async def within() -> httpx2.Response:
            with anyio.move_on_after(seconds):
                return await (on_kept() if method in REPEATABLE else send(self._fresh))
            raise Overdue

        sending = self._portal.start_task_soon(within)
        try:
            return sending.result()
        except BaseException:  # an interruption, too, ends what is on its way
            sending.cancel()
            raise
