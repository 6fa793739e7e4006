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
SCHEDULES_MAX = 2
WEBHOOK = {"url": "https://hooks.example.com/"}


@dataclass(frozen=True)
class ErrorServer:
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


Trigger = Callable[[ErrorServer], httpx2.Response]


@dataclass(frozen=True)
class ErrorTrigger:
    """``operation``: whose answer it is; None for what the description does not tell of."""

    code: str
    operation: str | None
    send: Trigger


ERROR_TRIGGERS: list[ErrorTrigger] = []


def triggers(code: str, operation: str | None = None) -> Callable[[Trigger], Trigger]:
    """The function makes a server answer with this code."""

    def add(send: Trigger) -> Trigger:
        ERROR_TRIGGERS.append(ErrorTrigger(code, operation, send))
        return send

    return add


# --- 400 ------------------------------------------------------------------------------------------
@triggers("invalid_request", "createMessage")
def wrong_type(target: ErrorServer) -> httpx2.Response:
    return target.send(message=5)


@triggers("invalid_request", "getMessage")
def wait_too_long(target: ErrorServer) -> httpx2.Response:
    return target.ask("GET", "/v1/messages/msg_0?wait=46")


@triggers("invalid_request", "streamMessage")
def two_cursors(target: ErrorServer) -> httpx2.Response:
    return target.ask("GET", "/v1/messages/msg_0/stream?cursor=a&cursor=b")


@triggers("invalid_request", "listEvents")
def unknown_type(target: ErrorServer) -> httpx2.Response:
    return target.ask("GET", "/v1/events?types=message.eaten")


@triggers("invalid_request", "createMessage")
def no_json(target: ErrorServer) -> httpx2.Response:
    return target.ask("POST", "/v1/messages", content=b"{")


@triggers("bad_request", "createWebhookEndpoint")
def description_too_long(target: ErrorServer) -> httpx2.Response:
    return target.hook(description="x" * 121)


@triggers("bad_request", "updateWebhookEndpoint")
def changed_description_too_long(target: ErrorServer) -> httpx2.Response:
    with endpoint(target) as path:
        return target.ask("PATCH", path, json={"description": "x" * 121})


@triggers("bad_request", "testWebhookEndpoint")
def testing_what_is_off(target: ErrorServer) -> httpx2.Response:
    with endpoint(target, enabled=False) as path:
        return target.ask("POST", f"{path}/test")


@triggers("bad_request", "redeliverWebhookEvent")
def redelivery_to_what_is_off(target: ErrorServer) -> httpx2.Response:
    with endpoint(target, enabled=False) as path:
        return target.ask("POST", f"{path}/deliveries/evt_0/redeliver")


@triggers("bad_request", "replayWebhookEvents")
def replay_to_what_is_off(target: ErrorServer) -> httpx2.Response:
    with endpoint(target, enabled=False) as path:
        return target.ask("POST", f"{path}/replay", json={"since": "2026-01-31T00:00:00Z"})


@contextmanager
def endpoint(target: ErrorServer, **change: object) -> Iterator[str]:
    """The path of a webhook endpoint, changed so; gone afterwards."""
    path = f"/v1/webhooks/{target.hook().json()['id']}"
    assert target.ask("PATCH", path, json=change).status_code == 200
    yield path
    assert target.ask("DELETE", path).status_code == 200


@triggers("empty_message", "createMessage")
def nothing_to_say(target: ErrorServer) -> httpx2.Response:
    return target.send()


@triggers("too_long", "createMessage")
def long_text(target: ErrorServer) -> httpx2.Response:
    return target.send(message="x" * 20_001)


@triggers("too_many", "createMessage")
def eleven_uploads(target: ErrorServer) -> httpx2.Response:
    return target.send(upload_ids=[f"up_{n}" for n in range(11)])


@triggers("bad_cursor", "listMessageEvents")
def foreign_cursor(target: ErrorServer) -> httpx2.Response:
    message = target.caller.send("hello")
    return target.ask("GET", f"/v1/messages/{message['id']}/events?cursor=mine")


@triggers("invalid_request", "listMessages")
def unknown_status(target: ErrorServer) -> httpx2.Response:
    return target.ask("GET", "/v1/messages?status=eaten")


@triggers("bad_cursor", "streamMessage")
def foreign_place(target: ErrorServer) -> httpx2.Response:
    message = target.caller.send("hello")
    headers = {"Last-Event-ID": "mine"}
    return target.ask("GET", f"/v1/messages/{message['id']}/stream", headers=headers)


@triggers("bad_cursor", "listEvents")
def cursor_of_a_log(target: ErrorServer) -> httpx2.Response:
    cursor = target.caller.events(target.caller.send("hello")["id"])["cursor"]
    return target.ask("GET", f"/v1/events?cursor={cursor}")


@triggers("bad_url", "createWebhookEndpoint")
def private_address(target: ErrorServer) -> httpx2.Response:
    return target.hook(url="https://10.0.0.1/")


@triggers("bad_url", "updateWebhookEndpoint")
def changed_to_plain_http(target: ErrorServer) -> httpx2.Response:
    with endpoint(target) as path:
        return target.ask("PATCH", path, json={"url": "http://hooks.example.com/"})


@triggers("bad_cursor", "listRequests")
def cursor_of_events(target: ErrorServer) -> httpx2.Response:
    cursor = target.ask("GET", "/v1/events").json()["cursor"]
    return target.ask("GET", f"/v1/requests?cursor={cursor}")


@triggers("bad_events", "updateWebhookEndpoint")
def changed_to_no_events(target: ErrorServer) -> httpx2.Response:
    with endpoint(target) as path:
        return target.ask("PATCH", path, json={"events": []})


@triggers("bad_events", "testWebhookEndpoint")
def sample_of_no_event(target: ErrorServer) -> httpx2.Response:
    with endpoint(target) as path:
        return target.ask("POST", f"{path}/test", json={"event": "message.eaten"})


@triggers("bad_events", "createWebhookEndpoint")
def unknown_event(target: ErrorServer) -> httpx2.Response:
    return target.hook(events=["message.read"])


@triggers("empty_message", "createSchedule")
def nothing_to_plan(target: ErrorServer) -> httpx2.Response:
    body = {"cron": "0 9 * * *", "message": {"message": " "}}
    return target.ask("POST", "/v1/schedules", json=body)


@triggers("too_long", "createSchedule")
def long_plan(target: ErrorServer) -> httpx2.Response:
    body = {"cron": "0 9 * * *", "message": {"message": "x" * 20_001}}
    return target.ask("POST", "/v1/schedules", json=body)


@triggers("bad_request", "createSchedule")
def one_schedule_too_many(target: ErrorServer) -> httpx2.Response:
    body = {"cron": "0 0 1 1 *", "message": {"message": "hello"}}
    made = [target.ask("POST", "/v1/schedules", json=body) for _ in range(SCHEDULES_MAX)]
    answer = target.ask("POST", "/v1/schedules", json=body)
    for each in made:
        target.ask("DELETE", f"/v1/schedules/{each.json()['id']}")
    return answer


@triggers("bad_size", "createUpload")
def no_size(target: ErrorServer) -> httpx2.Response:
    return target.ask("POST", "/v1/uploads", json={"filename": "a.csv"})


# --- 401 to 405 -----------------------------------------------------------------------------------
@triggers("unauthorized", "getAccount")
def no_key(target: ErrorServer) -> httpx2.Response:
    return target.callers(target.server, None).http.get("/v1/me")


@triggers("unauthorized", "getAccount")
def unknown_key(target: ErrorServer) -> httpx2.Response:
    return target.callers(target.server, "svc_key_unknown").http.get("/v1/me")


@triggers("forbidden", "getMessage")
def key_that_only_sends(target: ErrorServer) -> httpx2.Response:
    key = target.server.command(
        *("keys", "create", "--account", "owner@localhost"),
        *("--name", "sends", "--scopes", "send"),
    )["key"]
    return target.callers(target.server, key).http.get("/v1/messages/msg_0")


@triggers("link_invalid")
def forged_link(target: ErrorServer) -> httpx2.Response:
    return httpx2.get(
        httpx2.URL(write_reply_file(target, "a.txt", "one")).copy_set_param("sig", "forged")
    )


@triggers("not_found", "getMessage")
def unknown_message(target: ErrorServer) -> httpx2.Response:
    return target.ask("GET", "/v1/messages/msg_0")


@triggers("not_found", "createSchedule")
def plan_for_unknown_endpoint(target: ErrorServer) -> httpx2.Response:
    message = {"message": "hello", "webhook_endpoint_id": f"whe_{'0' * 32}"}
    return target.ask("POST", "/v1/schedules", json={"cron": "0 9 * * *", "message": message})


@triggers("not_found", "createMessage")
def unknown_endpoint(target: ErrorServer) -> httpx2.Response:
    return target.send(message="hello", webhook_endpoint_id="whe_0")


@triggers("method_not_allowed")
def wrong_method(target: ErrorServer) -> httpx2.Response:
    return target.ask("DELETE", "/v1/me")


# --- 412 to 416 -----------------------------------------------------------------------------------
@triggers("file_changed")
def old_link(target: ErrorServer) -> httpx2.Response:
    url = write_reply_file(target, "same.txt", "one")
    write_reply_file(target, "same.txt", "other")
    return httpx2.get(url)


@triggers("too_large", "createUpload")
def large_upload(target: ErrorServer) -> httpx2.Response:
    body = {"filename": "a", "size": 500 * MIB + 1}
    return target.ask("POST", "/v1/uploads", json=body)


@triggers("too_large", "createMessage")
def large_body(target: ErrorServer) -> httpx2.Response:
    return target.send(message="x" * BODY_BYTES_MAX)


@triggers("range_not_satisfiable")
def beyond_the_end(target: ErrorServer) -> httpx2.Response:
    return httpx2.get(write_reply_file(target, "a.txt", "one"), headers={"Range": "bytes=99-"})


def write_reply_file(target: ErrorServer, path: str, text: str) -> str:
    """The link of a file of a reply."""
    message = target.caller.send([["write", path, text], ["reply", "ok"]])
    url: str = message["files"][0]["url"]
    return url
