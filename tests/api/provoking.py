"""Requests that a real server refuses, by the code of the catalogue it answers (spec: Errors).

What `test_catalogue` runs, together with `provoking_states`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.e2e.caller import Caller
from tests.e2e.posting import MIB
from tests.e2e.server import AgentServer

BODY_BYTES_MAX = 1_000_000
WEBHOOK = {"url": "https://hooks.example.com/"}


@dataclass(frozen=True)
class Desk:
    """A server, its first key, and keys of other accounts as they are needed."""

    server: AgentServer
    caller: Caller
    callers: Callable[..., Caller]

    def ask(self, method: str, path: str, **request: Any) -> httpx2.Response:
        """A request with the first key."""
        return self.caller.http.request(method, path, **request)

    def send(self, **body: Any) -> httpx2.Response:
        """A message with the first key."""
        return self.ask("POST", "/v1/messages", json=body)

    def hook(self, **body: Any) -> httpx2.Response:
        """A webhook endpoint with the first key."""
        return self.ask("POST", "/v1/webhooks", json={**WEBHOOK, **body})

    def limited(self, name: str, **limits: int) -> Caller:
        """A caller of an account of its own."""
        return self.callers(self.server, self.server.new_key(name, **limits))


Provoke = Callable[[Desk], httpx2.Response]


@dataclass(frozen=True)
class Way:
    """``operation``: whose answer it is; None for what the description does not tell of."""

    code: str
    operation: str | None
    provoke: Provoke


WAYS: list[Way] = []


def provokes(code: str, operation: str | None = None) -> Callable[[Provoke], Provoke]:
    """The function makes a server answer with this code."""

    def add(provoke: Provoke) -> Provoke:
        WAYS.append(Way(code, operation, provoke))
        return provoke

    return add


# --- 400 ------------------------------------------------------------------------------------------
@provokes("invalid_request", "createMessage")
def wrong_type(desk: Desk) -> httpx2.Response:
    return desk.send(message=5)


@provokes("invalid_request", "getMessage")
def wait_too_long(desk: Desk) -> httpx2.Response:
    return desk.ask("GET", "/v1/messages/msg_0?wait=46")


@provokes("invalid_request", "createMessage")
def no_json(desk: Desk) -> httpx2.Response:
    return desk.ask("POST", "/v1/messages", content=b"{")


@provokes("bad_request", "createWebhookEndpoint")
def description_too_long(desk: Desk) -> httpx2.Response:
    return desk.hook(description="x" * 121)


@provokes("bad_request", "updateWebhookEndpoint")
def changed_description_too_long(desk: Desk) -> httpx2.Response:
    with endpoint(desk) as path:
        return desk.ask("PATCH", path, json={"description": "x" * 121})


@provokes("bad_request", "testWebhookEndpoint")
def testing_what_is_off(desk: Desk) -> httpx2.Response:
    with endpoint(desk, enabled=False) as path:
        return desk.ask("POST", f"{path}/test")


@provokes("bad_request", "redeliverWebhookEvent")
def redelivery_to_what_is_off(desk: Desk) -> httpx2.Response:
    with endpoint(desk, enabled=False) as path:
        return desk.ask("POST", f"{path}/deliveries/evt_0/redeliver")


@provokes("bad_request", "replayWebhookEvents")
def replay_to_what_is_off(desk: Desk) -> httpx2.Response:
    with endpoint(desk, enabled=False) as path:
        return desk.ask("POST", f"{path}/replay", json={"since": "2026-01-31T00:00:00Z"})


@contextmanager
def endpoint(desk: Desk, **change: object) -> Iterator[str]:
    """The path of a webhook endpoint, changed so; gone afterwards."""
    path = f"/v1/webhooks/{desk.hook().json()['id']}"
    assert desk.ask("PATCH", path, json=change).status_code == 200
    yield path
    assert desk.ask("DELETE", path).status_code == 200


@provokes("empty_message", "createMessage")
def nothing_to_say(desk: Desk) -> httpx2.Response:
    return desk.send()


@provokes("too_long", "createMessage")
def long_text(desk: Desk) -> httpx2.Response:
    return desk.send(message="x" * 20_001)


@provokes("too_many", "createMessage")
def eleven_uploads(desk: Desk) -> httpx2.Response:
    return desk.send(upload_ids=[f"up_{n}" for n in range(11)])


@provokes("bad_cursor", "listMessageEvents")
def foreign_cursor(desk: Desk) -> httpx2.Response:
    message = desk.caller.send("hello")
    return desk.ask("GET", f"/v1/messages/{message['id']}/events?cursor=mine")


@provokes("bad_url", "createWebhookEndpoint")
def private_address(desk: Desk) -> httpx2.Response:
    return desk.hook(url="https://10.0.0.1/")


@provokes("bad_url", "updateWebhookEndpoint")
def changed_to_plain_http(desk: Desk) -> httpx2.Response:
    with endpoint(desk) as path:
        return desk.ask("PATCH", path, json={"url": "http://hooks.example.com/"})


@provokes("bad_events", "updateWebhookEndpoint")
def changed_to_no_events(desk: Desk) -> httpx2.Response:
    with endpoint(desk) as path:
        return desk.ask("PATCH", path, json={"events": []})


@provokes("bad_events", "createWebhookEndpoint")
def unknown_event(desk: Desk) -> httpx2.Response:
    return desk.hook(events=["message.read"])


@provokes("bad_size", "createUpload")
def no_size(desk: Desk) -> httpx2.Response:
    return desk.ask("POST", "/v1/uploads", json={"filename": "a.csv"})


# --- 401 to 405 -----------------------------------------------------------------------------------
@provokes("unauthorized", "getAccount")
def no_key(desk: Desk) -> httpx2.Response:
    return desk.callers(desk.server, None).http.get("/v1/me")


@provokes("unauthorized", "getAccount")
def unknown_key(desk: Desk) -> httpx2.Response:
    return desk.callers(desk.server, "svc_key_unknown").http.get("/v1/me")


@provokes("link_invalid")
def forged_link(desk: Desk) -> httpx2.Response:
    return httpx2.get(httpx2.URL(written(desk, "a.txt", "one")).copy_set_param("sig", "forged"))


@provokes("not_found", "getMessage")
def unknown_message(desk: Desk) -> httpx2.Response:
    return desk.ask("GET", "/v1/messages/msg_0")


@provokes("not_found", "createMessage")
def unknown_endpoint(desk: Desk) -> httpx2.Response:
    return desk.send(message="hello", webhook_endpoint_id="whe_0")


@provokes("method_not_allowed")
def wrong_method(desk: Desk) -> httpx2.Response:
    return desk.ask("DELETE", "/v1/me")


# --- 412 to 416 -----------------------------------------------------------------------------------
@provokes("file_changed")
def old_link(desk: Desk) -> httpx2.Response:
    url = written(desk, "same.txt", "one")
    written(desk, "same.txt", "other")
    return httpx2.get(url)


@provokes("too_large", "createUpload")
def large_upload(desk: Desk) -> httpx2.Response:
    body = {"filename": "a", "size": 500 * MIB + 1}
    return desk.ask("POST", "/v1/uploads", json=body)


@provokes("too_large", "createMessage")
def large_body(desk: Desk) -> httpx2.Response:
    return desk.send(message="x" * BODY_BYTES_MAX)


@provokes("range_not_satisfiable")
def beyond_the_end(desk: Desk) -> httpx2.Response:
    return httpx2.get(written(desk, "a.txt", "one"), headers={"Range": "bytes=99-"})


def written(desk: Desk, path: str, text: str) -> str:
    """The link of a file of a reply."""
    message = desk.caller.send([["write", path, text], ["reply", "ok"]])
    url: str = message["files"][0]["url"]
    return url
