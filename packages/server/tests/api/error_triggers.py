"""Requests that a real server refuses, by the code of the catalogue it answers (spec: Errors).

What `test_catalogue` runs. What every operation of a kind can answer with is asked for there. None
of them needs a hook in the server.
"""

import base64
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from agentpost.domain.limits import MESSAGE_CHARACTERS_MAX
from tests.e2e.caller import Caller, Json
from tests.e2e.posting import CSV, MIB, announce, complete, post, ready
from tests.e2e.server import AgentServer
from tests.waiting import PATIENCE, eventually

BODY_BYTES_MAX = 1_000_000
SCHEDULES_MAX = 2
WEBHOOK = {"url": "https://hooks.example.com/"}
TOO_LONG = "x" * (MESSAGE_CHARACTERS_MAX + 1)
ELF = b"\x7fELF" + bytes(60)
INLINE = [{"name": "a.txt", "base64": base64.b64encode(b"a").decode()}]


@dataclass(frozen=True)
class ErrorServer:
    """A server, its first key, and keys of other accounts as they are needed."""

    server: AgentServer
    caller: Caller
    callers: Callable[..., Caller]

    def ask(self, method: str, path: str, **request: Any) -> httpx2.Response:
        """A request with the first key."""
        return self.caller.http.request(method, path, **request)

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


def plan(**message: str) -> Json:
    """A schedule of such a message."""
    return {"cron": "0 9 * * *", "message": {"message": "hello", **message}}


# --- what is wrong with the request itself --------------------------------------------------------
ASKED: list[tuple[str, str | None, str, str, Json | None]] = [
    ("empty_message", "createMessage", "POST", "/v1/messages", {}),
    ("too_long", "createMessage", "POST", "/v1/messages", {"message": TOO_LONG}),
    ("too_many", "createMessage", "POST", "/v1/messages",
     {"upload_ids": [f"up_{n}" for n in range(11)]}),
    ("not_found", "createMessage", "POST", "/v1/messages",
     {"message": "hello", "webhook_endpoint_id": "whe_0"}),
    ("empty_message", "createSchedule", "POST", "/v1/schedules", plan(message=" ")),
    ("too_long", "createSchedule", "POST", "/v1/schedules", plan(message=TOO_LONG)),
    ("not_found", "createSchedule", "POST", "/v1/schedules",
     plan(webhook_endpoint_id=f"whe_{'0' * 32}")),
    ("bad_size", "createUpload", "POST", "/v1/uploads", {"filename": "a.csv"}),
    ("too_large", "createUpload", "POST", "/v1/uploads", {"filename": "a", "size": 500 * MIB + 1}),
    ("bad_url", "createWebhookEndpoint", "POST", "/v1/webhooks", {"url": "https://10.0.0.1/"}),
    ("bad_events", "createWebhookEndpoint", "POST", "/v1/webhooks",
     {**WEBHOOK, "events": ["message.read"]}),
    ("bad_request", "createWebhookEndpoint", "POST", "/v1/webhooks",
     {**WEBHOOK, "description": "x" * 121}),
    ("invalid_request", "streamMessage", "GET", "/v1/messages/msg_0/stream?cursor=a&cursor=b",
     None),
    ("method_not_allowed", None, "DELETE", "/v1/me", None),
]  # fmt: skip
OF_ENDPOINT: list[tuple[str, str, bool, str, str, Json | None]] = [
    ("bad_request", "updateWebhookEndpoint", True, "PATCH", "", {"description": "x" * 121}),
    ("bad_url", "updateWebhookEndpoint", True, "PATCH", "", {"url": "http://hooks.example.com/"}),
    ("bad_events", "updateWebhookEndpoint", True, "PATCH", "", {"events": []}),
    ("bad_events", "testWebhookEndpoint", True, "POST", "/test", {"event": "message.eaten"}),
    ("bad_request", "testWebhookEndpoint", False, "POST", "/test", None),
    ("bad_request", "redeliverWebhookEvent", False, "POST", "/deliveries/evt_0/redeliver", None),
    ("bad_request", "replayWebhookEvents", False, "POST", "/replay",
     {"since": "2026-01-31T00:00:00Z"}),
]  # fmt: skip
"""Below the path of a webhook endpoint, which is enabled or not."""


def of_endpoint(
    is_enabled: bool, method: str, below: str, body: Json | None, target: ErrorServer
) -> httpx2.Response:
    path = f"/v1/webhooks/{target.ask('POST', '/v1/webhooks', json=WEBHOOK).json()['id']}"
    assert target.ask("PATCH", path, json={"enabled": is_enabled}).status_code == 200
    answer = target.ask(method, path + below, json=body)
    assert target.ask("DELETE", path).status_code == 200
    return answer


ERROR_TRIGGERS = [
    ErrorTrigger(code, operation, partial(ErrorServer.ask, method=method, path=path, json=body))
    for code, operation, method, path, body in ASKED
] + [
    ErrorTrigger(code, operation, partial(of_endpoint, is_enabled, method, below, body))
    for code, operation, is_enabled, method, below, body in OF_ENDPOINT
]


def triggers(code: str, operation: str | None = None) -> Callable[[Trigger], Trigger]:
    """The function makes a server answer with this code."""

    def add(send: Trigger) -> Trigger:
        ERROR_TRIGGERS.append(ErrorTrigger(code, operation, send))
        return send

    return add


# --- what happened before -------------------------------------------------------------------------
@triggers("bad_cursor", "listMessageEvents")
def foreign_cursor(target: ErrorServer) -> httpx2.Response:
    message = target.caller.send("hello")
    return target.ask("GET", f"/v1/messages/{message['id']}/events?cursor=mine")


@triggers("bad_cursor", "streamMessage")
def foreign_place(target: ErrorServer) -> httpx2.Response:
    message = target.caller.send("hello")
    headers = {"Last-Event-ID": "mine"}
    return target.ask("GET", f"/v1/messages/{message['id']}/stream", headers=headers)


@triggers("bad_cursor", "listEvents")
def cursor_of_a_log(target: ErrorServer) -> httpx2.Response:
    cursor = target.caller.events(target.caller.send("hello")["id"])["cursor"]
    return target.ask("GET", f"/v1/events?cursor={cursor}")


@triggers("bad_cursor", "listRequests")
def cursor_of_events(target: ErrorServer) -> httpx2.Response:
    cursor = target.ask("GET", "/v1/events").json()["cursor"]
    return target.ask("GET", f"/v1/requests?cursor={cursor}")


@triggers("bad_request", "createSchedule")
def one_schedule_too_many(target: ErrorServer) -> httpx2.Response:
    made = [target.ask("POST", "/v1/schedules", json=plan()) for _ in range(SCHEDULES_MAX)]
    answer = target.ask("POST", "/v1/schedules", json=plan())
    for each in made:
        target.ask("DELETE", f"/v1/schedules/{each.json()['id']}")
    return answer


@triggers("link_invalid")
def forged_link(target: ErrorServer) -> httpx2.Response:
    return httpx2.get(
        httpx2.URL(write_reply_file(target, "a.txt", "one")).copy_set_param("sig", "forged")
    )


@triggers("file_changed")
def old_link(target: ErrorServer) -> httpx2.Response:
    url = write_reply_file(target, "same.txt", "one")
    write_reply_file(target, "same.txt", "other")
    return httpx2.get(url)


@triggers("range_not_satisfiable")
def beyond_the_end(target: ErrorServer) -> httpx2.Response:
    return httpx2.get(write_reply_file(target, "a.txt", "one"), headers={"Range": "bytes=99-"})


def write_reply_file(target: ErrorServer, path: str, text: str) -> str:
    """The link of a file of a reply."""
    message = target.caller.send([["write", path, text], ["reply", "ok"]])
    url: str = message["files"][0]["url"]
    return url


@triggers("idempotency_conflict", "createMessage")
def same_key_other_body(target: ErrorServer) -> httpx2.Response:
    target.caller.post("one", key="conflict")
    return target.caller.post("another", key="conflict")


@triggers("not_final", "deleteMessage")
def deleting_what_goes_on(target: ErrorServer) -> httpx2.Response:
    message = target.caller.send([["start", "Work", [["gate", "deleted"]]]])
    answer = target.ask("DELETE", f"/v1/messages/{message['id']}")
    assert target.ask("POST", f"/v1/messages/{message['id']}/cancel").json()["final"]
    return answer


@triggers("poll_in_progress", "listMessageEvents")
def second_wait(target: ErrorServer) -> httpx2.Response:
    message = target.caller.send([["start", "Work", [["gate", "polled"]]]])
    path = f"/v1/messages/{message['id']}/events"
    cursor = target.caller.events(message["id"])["cursor"]
    waiting = f"{path}?cursor={cursor}&wait=20"

    def refused() -> httpx2.Response | None:
        answer = target.ask("GET", f"{path}?cursor={cursor}")
        return answer if answer.status_code == 409 else None

    with ThreadPoolExecutor(1) as pool:
        held: Future[Any] = pool.submit(holding, target, waiting)
        answer = eventually(refused, what="a wait that is under way")
        target.server.open_gate("polled")
        held.result()
    assert answer is not None
    assert answer.json()["cursor"] == cursor
    return answer


def holding(target: ErrorServer, path: str) -> None:
    """Wait for the log; the other caller may have been a moment earlier."""
    while target.ask("GET", path).status_code == 409:
        continue


@triggers("too_many_endpoints", "createWebhookEndpoint")
def eleventh_endpoint(target: ErrorServer) -> httpx2.Response:
    caller = target.limited("hooks")
    for _ in range(10):
        assert caller.call("POST", "/v1/webhooks", json=WEBHOOK).status_code == 201
    return caller.call("POST", "/v1/webhooks", json=WEBHOOK)


@triggers("not_pending", "completeUpload")
def attached_already(target: ErrorServer) -> httpx2.Response:
    upload_id = ready(target.caller)
    target.caller.send("take it", upload_ids=[upload_id])
    return target.ask("POST", f"/v1/uploads/{upload_id}/complete")


@triggers("not_uploaded", "completeUpload")
def nothing_posted(target: ErrorServer) -> httpx2.Response:
    return complete(target.caller, announce(target.caller))


@triggers("changed", "completeUpload")
def replaced_while_checked(target: ErrorServer) -> httpx2.Response:
    """A complete has seen the file when it waits to write that; then another file comes."""

    def replaced() -> httpx2.Response | None:
        made = announce(target.caller, size=MIB)
        assert post(made).status_code == 204
        with ThreadPoolExecutor(1) as pool:
            with target.server.no_writes("uploads"):
                checked = pool.submit(complete, target.caller, made)
                for n in range(5):
                    assert post(made, CSV * (n + 2)).status_code == 204
            answer = checked.result()
        if answer.status_code == 409:
            assert complete(target.caller, made).status_code == 200, "calling again helps"
            return answer
        return None  # it came after the last of them

    answer = eventually(replaced, PATIENCE, "a complete that met two files")
    assert answer is not None
    return answer


@triggers("upload_not_ready", "createMessage")
def not_completed(target: ErrorServer) -> httpx2.Response:
    return target.caller.post("hello", upload_ids=[announce(target.caller)["upload_id"]])


@triggers("too_large", "completeUpload")
def larger_than_announced(target: ErrorServer) -> httpx2.Response:
    """Not by way of the form, which is held to the size: the store itself has another file."""
    made = announce(target.caller)
    assert post(made).status_code == 204
    folder = target.server.home / "data" / "blobs" / "incoming"
    (folder / made["upload_id"]).write_bytes(CSV * 2)
    return complete(target.caller, made)


@triggers("executable_refused", "completeUpload")
def program(target: ErrorServer) -> httpx2.Response:
    made = announce(target.caller, "tool", len(ELF))
    assert post(made, ELF).status_code == 204
    return complete(target.caller, made)


@triggers("internal", "createMessage")
def storage_is_gone(target: ErrorServer) -> httpx2.Response:
    """The disk with the blobs is away; once it is back the same request is accepted."""
    request: Json = {
        "json": {"message": "hello", "files": INLINE},
        "headers": {"Idempotency-Key": "after the fault"},
    }
    with moved_away(target.server.home / "data" / "blobs"):
        answer = target.ask("POST", "/v1/messages", **request)
    assert target.ask("POST", "/v1/messages", **request).status_code == 201
    assert answer.json()["request_id"] in target.server.log_file.read_text(), "the log tells more"
    return answer


@contextmanager
def moved_away(folder: Path) -> Iterator[None]:
    aside = folder.with_name("aside")
    folder.rename(aside)
    try:
        yield
    finally:
        aside.rename(folder)
