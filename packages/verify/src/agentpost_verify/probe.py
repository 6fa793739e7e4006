"""One probe of a deployment: its callers, and the resources to delete at the end."""

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import httpx2
import pytest

from agentpost_verify.answers import Difference, Exchange, Json
from agentpost_verify.caller import Caller, Pause, Wire
from agentpost_verify.receiver import Receiver
from agentpost_verify.shapes import each, having, problems

HOLD_SECONDS: Final = 20
"""Of one held read; shorter than the most allowed, for the proxies on the way."""
WORK_LIST_MAX: Final = 50
WORKS_PATH: Final = f"/v1/work?limit={WORK_LIST_MAX}"
"""The longest list of works there is."""
WORKS: Final = having(data=each(having(text="work_id")))


class Probe(Caller):
    """One run of the checks, with the key that is checked; ``second``: the other key. Close it at
    the end, after `cleanup.leave`.

    ``nonce``: part of every name, so that two probes never collide. ``patience``: seconds to wait
    for the agent or a delivery. ``hooks``: receives webhooks when they are to be proved.
    ``open_http``: see `Wire`. To be deleted at the end: ``endpoints``, and what ``messages`` (by
    their ids, in their latest state) have started.
    """

    def __init__(
        self,
        url: str,
        key: str,
        nonce: str,
        patience: float,
        pause: Pause,
        second_key: str | None = None,
        hooks: Receiver | None = None,
        open_http: Callable[..., httpx2.AsyncClient] = httpx2.AsyncClient,
    ) -> None:
        wire = Wire(open_http)
        super().__init__(wire, url, key, [], pause)
        second = Caller(wire, url, second_key, self.exchanges, pause) if second_key else None
        self.second = second
        self.messages: dict[str, Json] = {}
        self.endpoints: list[str] = []
        self.nonce, self.patience, self.hooks = nonce, patience, hooks
        self._conversations = 0

    def close(self) -> None:
        """Release the connections."""
        self._wire.close()

    @cached_property
    def works_before(self) -> list[str] | None:
        """The newest works of the account before the first message: the probe must not delete
        those. None when they are not known."""
        with suppress(Difference):  # judged by the checks of works; nothing will be deleted
            return works_of(self.call("GET", WORKS_PATH))
        return None

    def call(self, method: str, path: str, **request: Any) -> Exchange:
        """A request of this key (see `Caller.call`); what it creates is remembered."""
        if method == "POST" and path.startswith("/v1/messages") and request.get("body") is not None:
            _ = self.works_before
        return self.remember(super().call(method, path, **request))

    def remember(self, exchange: Exchange) -> Exchange:
        """Remember the message or the endpoint that this answer carries, if it does."""
        body = exchange.json if exchange.status in (200, 201) else None
        if isinstance(body, dict) and isinstance(body.get("id"), str):
            if exchange.line == "POST /v1/webhooks" and exchange.status == 201:
                self.endpoints.append(body["id"])
            elif body.get("object") == "message":
                self.messages[body["id"]] = body
        return exchange

    def post(self, body: Any, key: str | None = None, wait: int | None = None) -> Exchange:
        """`POST /v1/messages` just so, held up to ``wait`` seconds.

        For bodies that must be refused: what makes a message goes through `send`."""
        headers = {"Idempotency-Key": key} if key is not None else {}
        path = "/v1/messages" if wait is None else f"/v1/messages?wait={wait}"
        return self.call("POST", path, body=body, headers=headers)

    def send(
        self, text: str, key: str | None = None, wait: int | None = None, **fields: Any
    ) -> Exchange:
        """Send a message in a new conversation: none waits for another one's turn, and nothing
        gets into the conversations of the key."""
        self._conversations += 1
        conversation = f"verify-{self.nonce}-{self._conversations}"
        return self.post({"message": text, "conversation": conversation, **fields}, key, wait)

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
                self._pause(0.5)

    def create_endpoint(self, name: str, **fields: Any) -> Exchange:
        """Create a webhook endpoint, to be removed at the end; the answer may be anything.

        Its address leads nowhere, or to our receiver, and its event is rare: nothing of the account
        is sent to others."""
        base = self.hooks.url if self.hooks else f"https://agentpost-verify-{self.nonce}.invalid"
        description = f"agentpost verify {self.nonce}; may be deleted"
        body = {"url": f"{base}/{name}", "events": ["job.expired"], "description": description}
        return self.call("POST", "/v1/webhooks", body={**body, **fields})

    def remove_endpoint(self, endpoint_id: str) -> Exchange:
        """Delete an endpoint; once it is gone, it is no longer ours to remove."""
        exchange = self.call("DELETE", f"/v1/webhooks/{endpoint_id}")
        if exchange.status == 200 and endpoint_id in self.endpoints:
            self.endpoints.remove(endpoint_id)
        return exchange

    def key_for(self, name: str) -> str:
        """An Idempotency-Key of this probe."""
        return f"agentpost-verify-{self.nonce}-{name}"


def works_of(exchange: Exchange) -> list[str] | None:
    """The ids in an answer to `WORKS_PATH`, in its order; None when it is no list of works (spec:
    Work)."""
    if exchange.status != 200 or any(problems(WORKS, exchange.json)):
        return None
    return [item["work_id"] for item in exchange.json["data"]]
