"""Good requests at a bad time: refusals that depend on what happened before, limits and faults.

The rest of `provoking`. None of them needs a hook in the server.
"""

import base64
import math
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.api.error_triggers import WEBHOOK, ErrorServer, triggers
from tests.e2e.caller import Json
from tests.e2e.posting import CSV, MIB, announce, complete, post, ready
from tests.waiting import PATIENCE, eventually

ELF = b"\x7fELF" + bytes(60)
INLINE = [{"name": "a.txt", "base64": base64.b64encode(b"a").decode()}]


# --- 409 ------------------------------------------------------------------------------------------
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
    return target.send(message="hello", upload_ids=[announce(target.caller)["upload_id"]])


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


# --- 429 ------------------------------------------------------------------------------------------
@triggers("rate_limited", "getAccount")
def full_minute(target: ErrorServer) -> httpx2.Response:
    """The budget of a key tells the second at which its first request leaves the window."""
    caller = target.limited("minute", requests_per_minute=2)
    began = time.monotonic()
    first = caller.call("GET", "/v1/me")
    counted = time.monotonic()
    assert caller.call("GET", "/v1/me").status_code == 200
    asked = time.monotonic()
    answer = caller.call("GET", "/v1/me")
    wait, answered = int(answer.headers["Retry-After"]), time.monotonic()
    assert math.ceil(60 - (answered - began)) <= wait <= math.ceil(60 - (asked - counted))
    assert answer.headers["RateLimit-Reset"] == answer.headers["Retry-After"]
    assert first.headers["RateLimit-Limit"] == "2"
    return answer


@triggers("rate_limited", "createMessage")
def messages_of_the_hour(target: ErrorServer) -> httpx2.Response:
    caller = target.limited("hour", messages_per_hour=1)
    caller.send("one")
    return account_limit(caller.post("two"))


@triggers("rate_limited", "createMessage")
def messages_of_the_day(target: ErrorServer) -> httpx2.Response:
    caller = target.limited("day", messages_per_day=1)
    caller.send("one")
    return account_limit(caller.post("two"))


@triggers("rate_limited", "getMessage")
def waits_of_the_hour(target: ErrorServer) -> httpx2.Response:
    caller = target.limited("waits", waits_per_hour=1)
    path = f"/v1/messages/{caller.send('hello')['id']}"
    caller.call("GET", f"{path}/events")
    return account_limit(caller.call("GET", f"{path}?wait=1"))


@triggers("rate_limited", "getWork")
def reads_of_works(target: ErrorServer) -> httpx2.Response:
    caller = target.limited("reads", work_reads_per_hour=1)
    caller.call("GET", "/v1/work/chat_0")
    return account_limit(caller.call("GET", "/v1/work/chat_0"))


def account_limit(answer: httpx2.Response) -> httpx2.Response:
    """Limits of an account say a minute; the key's own budget is not used up."""
    assert answer.headers["Retry-After"] == "60"
    assert int(answer.headers["RateLimit-Remaining"]) > 0
    return answer


# --- 500, 503 -------------------------------------------------------------------------------------
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


@triggers("unavailable", "createMessage")
def switched_off(target: ErrorServer) -> httpx2.Response:
    target.server.command("maintenance", "on")
    try:
        eventually(lambda: target.ask("GET", "/v1/me").status_code == 503)
        return target.send(message="hello")
    finally:
        target.server.command("maintenance", "off")
        eventually(lambda: target.ask("GET", "/v1/me").status_code == 200)
