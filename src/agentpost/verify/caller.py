"""Calls to a deployment with one key: within its budget, patient when told to wait.

Every answer is noted, so that what must hold for each of them is judged over all of them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2

from agentpost import __version__
from agentpost.verify.exchange import Exchange, int_header
from agentpost.verify.verdicts import Difference, Gone, NotChecked
from agentpost.verify.wire import Overdue, Wire

ANSWER_SECONDS_MAX: Final = 45.0
"""The longest silence besides what a call is held on purpose; a message may have up to about 30."""
CALL_SECONDS_MAX: Final = 60.0
"""For a whole call besides what it is held, whatever the other side does."""
TRANSFER_SECONDS_MAX: Final = 300.0
"""For a file on its way: 50 MB at 1.4 Mbit/s."""
BUDGET_KEPT: Final = 5
"""So many requests of the key's minute are never used: others may need them."""
PAUSE_SECONDS_MAX: Final = 65
"""A server that asks for a longer pause than a minute's window is not waited for."""
USER_AGENT = f"agentpost-verify/{__version__}"

Pause = Callable[[float], None]


class Caller:
    """One key of one deployment. ``pause`` sleeps; ``exchanges`` collects every answer of the
    API."""

    def __init__(
        self, wire: Wire, url: str, key: str, exchanges: list[Exchange], pause: Pause
    ) -> None:
        self.url = url
        self._wire = wire
        self._key = key
        self._exchanges = exchanges
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
    ) -> Exchange:
        """A request of this key. ``body`` is sent as JSON, ``raw`` as it is; ``held_seconds``:
        seconds the server may keep the answer back. Raises `NotChecked` when it may not be sent,
        `Difference` when no answer comes, `Gone` when nobody is there."""
        content = json.dumps(body).encode() if body is not None else raw
        sent = {"Authorization": f"Bearer {self._key}", **(headers or {})}
        if content is not None:
            sent["Content-Type"] = "application/json"
        self._keep_within_budget()
        exchange = self._ask(method, path, content, sent, held_seconds)
        if exchange.status == 429:
            self._wait_retry_after(exchange)
            exchange = self._ask(method, path, content, sent, held_seconds)
        _still_open(exchange)
        return exchange

    def stranger(
        self,
        method: str,
        path: str,
        authorization: str | None,
        *,
        raw: bytes | None = None,
        known: bool = False,
    ) -> Exchange:
        """A request with that ``Authorization`` header, or none. ``known``: it names our key."""
        headers = {} if authorization is None else {"Authorization": authorization}
        if known:
            self._keep_within_budget()
        exchange = self._ask(method, path, raw, headers, 0, known=known)
        _still_open(exchange)
        return exchange

    def authorization(self, scheme: str) -> str:
        """This key's header, with the scheme written in that way."""
        return f"{scheme} {self._key}"

    def fetch(self, url: str, headers: Mapping[str, str] | None = None) -> Exchange:
        """Read any address without a key, e.g. a file's link; what signs it is not shown."""
        return self._send("GET", url, None, headers or {}, TRANSFER_SECONDS_MAX, follow=True)

    def post_form(self, url: str, fields: Mapping[str, str], data: bytes) -> Exchange:
        """Post an upload's form: every field, then the file (spec: createUpload.procedure)."""
        boundary = "agentpost-verify-0123456789"
        head = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        )
        last = 'Content-Disposition: form-data; name="file"; filename="file"'
        content = f"{head}--{boundary}\r\n{last}\r\n\r\n".encode() + data
        content += f"\r\n--{boundary}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self._send("POST", url, content, headers, TRANSFER_SECONDS_MAX)

    def _ask(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        held_seconds: float,
        *,
        known: bool = True,
    ) -> Exchange:
        seconds = held_seconds + CALL_SECONDS_MAX
        exchange = self._send(
            method,
            self.url + path,
            content,
            headers,
            seconds,
            held_seconds=held_seconds,
            known=known,
        )
        self._exchanges.append(exchange)
        if known:
            self._remaining = int_header(exchange.headers.get("ratelimit-remaining"))
            self._reset = int_header(exchange.headers.get("ratelimit-reset")) or 0
        return exchange

    def _send(
        self,
        method: str,
        url: str,
        content: bytes | None,
        headers: Mapping[str, str],
        seconds: float,
        *,
        held_seconds: float = 0,
        known: bool = False,
        follow: bool = False,
    ) -> Exchange:
        path = url.removeprefix(self.url) if url.startswith(f"{self.url}/v1") else _bare(url)
        began = time.monotonic()
        silence = held_seconds + ANSWER_SECONDS_MAX
        try:
            response = self._wire.request(
                method,
                url,
                content,
                {"User-Agent": USER_AGENT, **headers},
                silence=silence,
                seconds=seconds,
                follow=follow,
            )
        except Overdue:
            raise _missing(method, path, seconds, "no end of it") from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            unconnected = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            if unconnected and url.startswith(self.url):
                raise Gone(f"nothing answers at {self.url} ({error or 'silence'})") from None
            problem = "silence" if isinstance(error, httpx2.TimeoutException) else str(error)
            raise _missing(method, path, silence, problem or type(error).__name__) from None
        return Exchange(
            method,
            path,
            response.status_code,
            {name.lower(): value for name, value in response.headers.items()},
            response.content,
            began,
            time.monotonic() - began,
            known,
        )

    def _keep_within_budget(self) -> None:
        """Wait for the window rather than use up what is left of it."""
        if self._remaining is None or self._remaining > BUDGET_KEPT:
            return
        if self._reset > PAUSE_SECONDS_MAX:
            raise NotChecked(f"the key's requests are used up for {self._reset} s")
        self._pause(self._reset + 1)
        self._remaining = None

    def _wait_retry_after(self, exchange: Exchange) -> None:
        seconds = exchange.retry_after
        if seconds is None:
            raise NotChecked("a rate limit was hit, and the answer does not say how long to wait")
        if seconds > PAUSE_SECONDS_MAX:
            raise NotChecked(f"a rate limit was hit; the server asks to wait {seconds} s")
        self._pause(seconds)


def _missing(method: str, path: str, seconds: float, problem: str) -> Difference:
    return Difference(f"an answer to {method} {path} within {seconds:g} s", problem)


def _still_open(exchange: Exchange) -> None:
    """Raise `NotChecked` for an answer that says nothing about the rule asked about."""
    if exchange.status == 429:
        raise NotChecked("a rate limit was hit, also after the pause the server asked for")
    body = exchange.json()
    if exchange.status == 503 and isinstance(body, dict) and body.get("error") == "unavailable":
        raise NotChecked("the API is switched off at the moment (503 unavailable)")


def _bare(url: str) -> str:
    """Without the query: it signs links, and what signs is not shown."""
    return url.partition("?")[0]
