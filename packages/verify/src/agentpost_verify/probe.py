"""One probe of a deployment: calls with a key, within its budget, patient when told to wait.

Every answer of the API is noted: some rules are judged over all of them.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count
from typing import Any, Final, Self

import anyio
import httpx2
import pytest
from anyio.from_thread import start_blocking_portal

from agentpost_verify import __version__
from agentpost_verify.answers import Difference, Exchange, Gone, Json
from agentpost_verify.receiver import Receiver
from agentpost_verify.shapes import having, problems

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
HOLD_SECONDS: Final = 20
"""Of one held read; shorter than the most allowed, for the proxies on the way."""
WORK_LIST_MAX: Final = 50
WORKS_PATH: Final = f"/v1/work?limit={WORK_LIST_MAX}"
"""The longest list of works there is."""
WORKS: Final = having(data=[having(text="work_id")])


@dataclass(eq=False, repr=False)
class Probe:
    """One run of the checks, with the key that is checked, and another one.

    ``nonce``: part of every name, so that two probes never collide. ``patience``: seconds to wait
    for the agent or a delivery. ``pause`` sleeps. ``hooks``: receives webhooks when they are to be
    proved. ``open_http`` makes an HTTP client. To be deleted by `cleanup.leave`: ``endpoints``, and
    what ``messages`` (by their ids, in their latest state) have started.
    """

    url: str
    key: str
    nonce: str
    patience: float
    pause: Callable[[float], None]
    second_key: str | None = None
    hooks: Receiver | None = None
    open_http: Callable[..., httpx2.AsyncClient] = httpx2.AsyncClient
    exchanges: list[Exchange] = field(default_factory=list)
    messages: dict[str, Json] = field(default_factory=dict)
    endpoints: list[str] = field(default_factory=list)
    conversations: Iterator[int] = field(default_factory=count)
    _remaining: int | None = field(default=None, init=False)  # each key has its own
    _reset: int = field(default=0, init=False)

    @cached_property
    def second(self) -> Self | None:
        """The same run with the other key."""
        return replace(self, key=self.second_key, second_key=None) if self.second_key else None

    @cached_property
    def works_before(self) -> list[str] | None:
        """The newest works of the account before the first message: the probe must not delete
        those. None when they are not known."""
        with suppress(Difference):  # judged by the checks of works; nothing will be deleted
            return works_of(self.call("GET", WORKS_PATH))
        return None

    def call(
        self, method: str, path: str, body: Any = None, held_seconds: float = 0, **headers: str
    ) -> Exchange:
        """A request of this key. ``body`` is sent as JSON, bytes as they are; ``held_seconds``:
        seconds the server may keep the answer back; ``headers``: "{key}" in the authorization
        stands for the key, and an empty one is not sent. Skips when it may not be sent,
        `Difference` when no answer comes, `Gone` when nothing answers at the address. What the call
        creates is remembered."""
        if method == "POST" and path.startswith("/v1/messages") and isinstance(body, dict):
            _ = self.works_before
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        fields = {"authorization": "Bearer {key}", **headers}
        if content is not None:
            fields["content_type"] = "application/json"
        fields["authorization"] = fields["authorization"].replace("{key}", self.key)
        all_headers = {n.replace("_", "-").title(): text for n, text in fields.items() if text}
        is_used_up = self._remaining is not None and self._remaining <= BUDGET_RESERVE
        if is_used_up and self.key in fields["authorization"]:
            self._wait(self._reset + 1, "the key's requests are used up")
        ask = partial(self._ask, method, path, held_seconds, all_headers, content)
        exchange = ask()
        if exchange.status == 429:
            self._wait(exchange.number("retry-after"), "a rate limit was hit")
            exchange = ask()
        if exchange.status == 429:
            pytest.skip("a rate limit was hit, also after the pause the server asked for")
        if exchange.outcome == "503 unavailable":
            pytest.skip("the API is switched off at the moment (503 unavailable)")
        return exchange

    def fetch(self, url: str, **headers: str) -> Exchange:
        """Read any address without a key, e.g. a file's link; what signs it is not shown."""
        return self._send("GET", url, TRANSFER_SECONDS_MAX, headers, follow_redirects=True)

    def post_form(self, url: str, fields: Mapping[str, str], data: bytes) -> Exchange:
        """Post an upload's form: every field, then the file (spec: createUpload.procedure)."""
        return self._send("POST", url, TRANSFER_SECONDS_MAX, {}, data=fields, files={"file": data})

    def _ask(
        self, method: str, path: str, held: float, headers: dict[str, str], content: Any
    ) -> Exchange:
        """An answer of the API; what it tells of the key's budget and what it has changed is
        noted."""
        url, seconds = self.url + path, held + CALL_SECONDS_MAX
        exchange = self._send(method, url, seconds, headers, held, content=content)
        self.exchanges.append(exchange)
        if exchange.has_key:
            self._remaining = exchange.number("ratelimit-remaining")
            self._reset = exchange.number("ratelimit-reset") or 0
        body = exchange.json if exchange.status in (200, 201) else None
        if isinstance(body, dict) and isinstance(body.get("id"), str):
            if exchange.line == "POST /v1/webhooks" and exchange.status == 201:
                self.endpoints.append(body["id"])
            elif body.get("object") == "message":
                self.messages[body["id"]] = body
            elif exchange.method == "DELETE" and body["id"] in self.endpoints:
                self.endpoints.remove(body["id"])
        return exchange

    def _send(
        self,
        method: str,
        url: str,
        seconds: float,
        headers: Mapping[str, str],
        held: float = 0,
        **options: Any,
    ) -> Exchange:
        """The answer, read to its end within so many seconds.

        The timeouts of an HTTP client bound each silence only: a server that drips bytes, those of
        a head included, would hold a run up for ever. On an event loop a request can be cut off
        wherever it is; that runs in a thread, where no signal breaks into it. Each request has a
        new connection: a server may close a kept one at any time, which would say nothing about it.
        """
        is_ours = url.startswith(f"{self.url}/v1")
        path = url.removeprefix(self.url) if is_ours else url.partition("?")[0]
        silence = held + ANSWER_SECONDS_MAX
        options["timeout"] = httpx2.Timeout(silence, connect=CONNECT_SECONDS_MAX)
        options["headers"] = {"User-Agent": f"agentpost-verify/{__version__}", **headers}

        async def send() -> httpx2.Response:
            with anyio.fail_after(seconds):
                async with self.open_http() as client:
                    return await client.request(method, url, **options)

        began = time.monotonic()
        try:
            with start_blocking_portal() as portal:
                response = portal.call(send)
        except TimeoutError:
            limit, problem = seconds, "no end of it"
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            is_unconnected = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
            if is_unconnected and url.startswith(self.url):
                raise Gone(f"nothing answers at {self.url} ({error or 'silence'})") from None
            is_silent = isinstance(error, httpx2.TimeoutException)
            limit, problem = silence, "silence" if is_silent else str(error) or type(error).__name__
        else:
            took = time.monotonic() - began
            status, content = response.status_code, response.content
            has_key = self.key in headers.get("Authorization", "")
            return Exchange(method, path, status, response.headers, content, began, took, has_key)
        raise Difference(f"an answer to {method} {path} within {limit:g} s", problem)

    def _wait(self, seconds: int | None, why: str) -> None:
        """Pause for so long, unless that is too long or not told."""
        if seconds is None or seconds > PAUSE_SECONDS_MAX:
            length = "nobody says how long" if seconds is None else f"{seconds} s"
            pytest.skip(f"{why}; to wait: {length}")
        self.pause(seconds)
        self._remaining = None

    def post(self, body: Any, key: str = "", query: str = "") -> Exchange:
        """`POST /v1/messages` just so. For bodies that must be refused: what makes a message goes
        through `send`."""
        return self.call("POST", f"/v1/messages{query}", body, idempotency_key=key)

    def send(self, text: str, key: str = "", query: str = "", **fields: Any) -> Exchange:
        """Send a message in a new conversation: none waits for another one's turn, and nothing
        gets into the conversations of the key."""
        conversation = f"verify-{self.nonce}-{next(self.conversations)}"
        return self.post({"message": text, "conversation": conversation, **fields}, key, query)

    def read(self, message_id: str, wait: int = 0) -> Exchange:
        """`GET /v1/messages/{id}`, held up to ``wait`` seconds."""
        query = f"?wait={wait}" if wait else ""
        return self.call("GET", f"/v1/messages/{message_id}{query}", held_seconds=wait)

    def final(self, message_id: str) -> Json:
        """The message once it is final; skips when that takes too long."""
        left = self.patience
        while True:
            exchange = self.read(message_id, max(1, min(HOLD_SECONDS, int(left))))
            body = exchange.sample()
            if body.get("final") is True:
                return body
            left -= max(exchange.took, 0.5)
            if left <= 0:
                status = f"{body.get('status')} after {self.patience:g} s (--timeout)"
                pytest.skip(f"the message it needs was still {status}")
            if exchange.took < 0.2:  # a server that does not hold: do not ask in a loop
                self.pause(0.5)

    def create_endpoint(self, name: str, **fields: Any) -> Exchange:
        """Create a webhook endpoint, to be removed at the end; the answer may be anything.

        Its address leads nowhere, or to our receiver, and its event is rare: nothing of the account
        is sent to others."""
        base = self.hooks.url if self.hooks else f"https://agentpost-verify-{self.nonce}.invalid"
        description = f"agentpost verify {self.nonce}; may be deleted"
        body = {"url": f"{base}/{name}", "events": ["job.expired"], "description": description}
        return self.call("POST", "/v1/webhooks", body={**body, **fields})

    def key_for(self, name: str) -> str:
        """An Idempotency-Key of this probe."""
        return f"agentpost-verify-{self.nonce}-{name}"


def works_of(exchange: Exchange) -> list[str] | None:
    """The ids in an answer to `WORKS_PATH`, in its order; None when it is no list of works (spec:
    Work)."""
    if exchange.status != 200 or any(problems(WORKS, exchange.json)):
        return None
    return [item["work_id"] for item in exchange.json["data"]]
