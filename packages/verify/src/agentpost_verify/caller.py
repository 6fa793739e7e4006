"""Calls to a deployment with one key: within its budget, patient when told to wait.

Every answer of the API is noted: some rules are judged over all of them.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Final

import anyio
import httpx2
import pytest
from anyio.from_thread import start_blocking_portal

from agentpost_verify import __version__
from agentpost_verify.answers import Difference, Exchange, Gone

CONNECT_SECONDS_MAX: Final = 10.0
ANSWER_SECONDS_MAX: Final = 45.0
"""The longest silence besides what a call is held on purpose; a message may have up to about 30."""
CALL_SECONDS_MAX: Final = 60.0
"""For a whole call besides what it is held, whatever the other side does."""
TRANSFER_SECONDS_MAX: Final = 300.0
"""For a file on its way: 50 MB at 1.4 Mbit/s."""
BUDGET_RESERVE: Final = 5
"""So many requests of the key's minute are never used: others may need them."""
PAUSE_SECONDS_MAX: Final = 65
"""A server that asks for a longer pause than a minute's window is not waited for."""

Pause = Callable[[float], None]


class Wire:
    """Sends requests with one deadline over everything, from any thread; close it at the end.

    The timeouts of an HTTP client bound each silence only: a server that drips bytes, those of a
    head included, would hold a run up for ever. On an event loop a request can be cut off wherever
    it is, so requests run on one in a thread. Each has a new connection: a server may close a kept
    one at any time, which would say nothing about it. ``open_http`` makes an HTTP client with the
    given ``limits``.
    """

    def __init__(self, open_http: Callable[..., httpx2.AsyncClient] = httpx2.AsyncClient) -> None:
        self._client = open_http(limits=httpx2.Limits(max_keepalive_connections=0))
        self._ends = ExitStack()
        self._portal = self._ends.enter_context(start_blocking_portal(name="verify-wire"))
        self._ends.callback(self._portal.call, self._client.aclose)

    def close(self) -> None:
        """Release the connections and the thread."""
        self._ends.close()

    def request(self, seconds: float, silence: float, **request: Any) -> httpx2.Response:
        """The answer, read to its end. ``silence``: the longest in seconds, ``seconds``: of all;
        the rest as `httpx2.AsyncClient.request` takes it.

        Raises `TimeoutError` after ``seconds``, `httpx2.RequestError` for any other failure and
        `httpx2.InvalidURL`."""
        timeout = httpx2.Timeout(silence, connect=CONNECT_SECONDS_MAX)

        async def send() -> httpx2.Response:
            with anyio.fail_after(seconds):
                return await self._client.request(**request, timeout=timeout)

        sending = self._portal.start_task_soon(send)
        try:
            return sending.result()
        except BaseException:  # an interruption, too, ends what is on its way
            sending.cancel()
            raise


class Caller:
    """One key of one deployment. ``pause`` sleeps; ``exchanges`` collects every answer of the
    API."""

    def __init__(
        self, wire: Wire, url: str, key: str, exchanges: list[Exchange], pause: Pause
    ) -> None:
        self.url = url
        self.exchanges = exchanges
        self._wire = wire
        self._key = key
        self._pause = pause
        self._remaining: int | None = None
        self._reset = 0

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        held_seconds: float = 0,
        authorization: str | None = "Bearer {key}",
    ) -> Exchange:
        """A request of this key. ``body`` is sent as JSON, ``raw`` as it is; ``held_seconds``:
        seconds the server may keep the answer back; ``authorization``: that header, None for none.
        Skips when it may not be sent, `Difference` when no answer comes, `Gone` when nothing
        answers at the address."""
        content = json.dumps(body).encode() if body is not None else raw
        header = authorization.format(key=self._key) if authorization is not None else None
        kind = "application/json" if content is not None else None
        fields = {"Authorization": header, "Content-Type": kind, **(headers or {})}
        request = {
            "method": method,
            "url": self.url + path,
            "content": content,
            "headers": {name: value for name, value in fields.items() if value is not None},
        }
        has_key = header is not None and self._key in header
        if has_key:
            self._keep_within_budget()
        exchange = self._note(request, held_seconds, has_key)
        if exchange.status == 429:
            self._wait_retry_after(exchange)
            exchange = self._note(request, held_seconds, has_key)
        if exchange.status == 429:
            pytest.skip("a rate limit was hit, also after the pause the server asked for")
        if exchange.outcome == "503 unavailable":
            pytest.skip("the API is switched off at the moment (503 unavailable)")
        return exchange

    def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> Exchange:
        """Read any address without a key, e.g. a file's link; what signs it is not shown."""
        request = {"method": "GET", "url": url, "headers": headers or {}, "follow_redirects": True}
        return self._send(request, TRANSFER_SECONDS_MAX)

    def post_form(self, url: str, fields: Mapping[str, str], data: bytes) -> Exchange:
        """Post an upload's form: every field, then the file (spec: createUpload.procedure)."""
        request = {"method": "POST", "url": url, "data": fields, "files": {"file": data}}
        return self._send(request, TRANSFER_SECONDS_MAX)

    def _note(self, request: dict[str, Any], held_seconds: float, has_key: bool) -> Exchange:
        """An answer of the API, and what it tells of the key's budget."""
        exchange = self._send(request, held_seconds + CALL_SECONDS_MAX, held_seconds, has_key)
        self.exchanges.append(exchange)
        if has_key:
            self._remaining = exchange.number("ratelimit-remaining")
            self._reset = exchange.number("ratelimit-reset") or 0
        return exchange

    def _send(
        self, request: dict[str, Any], seconds: float, held: float = 0, has_key: bool = False
    ) -> Exchange:
        method, url = request["method"], request["url"]
        is_ours = url.startswith(f"{self.url}/v1")
        path = url.removeprefix(self.url) if is_ours else url.partition("?")[0]
        headers = {"User-Agent": f"agentpost-verify/{__version__}", **request.get("headers", {})}
        silence = held + ANSWER_SECONDS_MAX
        began = time.monotonic()
        try:
            response = self._wire.request(seconds, silence, **{**request, "headers": headers})
        except TimeoutError:
            raise _no_answer(method, path, seconds, "no end of it") from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            is_unconnected = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            if is_unconnected and url.startswith(self.url):
                raise Gone(f"nothing answers at {self.url} ({error or 'silence'})") from None
            problem = "silence" if isinstance(error, httpx2.TimeoutException) else str(error)
            raise _no_answer(method, path, silence, problem or type(error).__name__) from None
        took = time.monotonic() - began
        status, body = response.status_code, response.content
        return Exchange(method, path, status, response.headers, body, began, took, has_key)

    def _keep_within_budget(self) -> None:
        """Wait for the window rather than use up what is left of it."""
        if self._remaining is None or self._remaining > BUDGET_RESERVE:
            return
        if self._reset > PAUSE_SECONDS_MAX:
            pytest.skip(f"the key's requests are used up for {self._reset} s")
        self._pause(self._reset + 1)
        self._remaining = None

    def _wait_retry_after(self, exchange: Exchange) -> None:
        seconds = exchange.number("retry-after")
        if seconds is None:
            pytest.skip("a rate limit was hit, and the answer does not say how long to wait")
        if seconds > PAUSE_SECONDS_MAX:
            pytest.skip(f"a rate limit was hit; the server asks to wait {seconds} s")
        self._pause(seconds)


def _no_answer(method: str, path: str, seconds: float, problem: str) -> Difference:
    return Difference(f"an answer to {method} {path} within {seconds:g} s", problem)
