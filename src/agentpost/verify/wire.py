"""The wire to deployments: a request with one deadline over everything.

The timeouts of an HTTP client bound each silence only: who drips bytes, those of a head included,
would hold a run up for as long as they like. On an event loop a request can be cut off wherever it
is, so requests run on one in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final

import anyio
import httpx2
from anyio.from_thread import start_blocking_portal

CONNECT_SECONDS_MAX: Final = 10.0
IDLE_SECONDS_MAX: Final = 2.0
"""Shorter than servers keep idle connections: none may close while we send on it."""


class Overdue(Exception):
    """The answer was not there in whole when the time was over."""


class Wire:
    """Connections, to be used from any thread. Close it at the end."""

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._ends = ExitStack()
        self._portal = self._ends.enter_context(start_blocking_portal(name="verify-wire"))
        limits = httpx2.Limits(keepalive_expiry=IDLE_SECONDS_MAX)
        self._http = httpx2.AsyncClient(limits=limits, transport=transport)
        self._ends.callback(self._portal.call, self._http.aclose)

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

        Raises `Overdue` after ``seconds``, `httpx2.RequestError` for any other failure and
        `httpx2.InvalidURL`."""
        timeout = httpx2.Timeout(silence, connect=CONNECT_SECONDS_MAX)
        send = partial(
            self._http.request,
            method,
            url,
            content=content,
            headers=headers,
            timeout=timeout,
            follow_redirects=follow,
        )

        async def within() -> httpx2.Response:
            with anyio.move_on_after(seconds):
                return await send()
            raise Overdue

        sending = self._portal.start_task_soon(within)
        try:
            return sending.result()
        except BaseException:  # an interruption, too, ends what is on its way
            sending.cancel()
            raise
