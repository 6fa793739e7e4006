"""Ways to break one rule, each with the checks that must notice, and no others."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.verify.mutated import Mutation, ProxiedRequest, ProxiedResponse


@dataclass(frozen=True)
class Case:
    """``groups`` are run; ``fails`` fail, as ``group/name``, and the rest does not."""

    name: str
    groups: tuple[str, ...]
    fails: set[str]
    mutation: Callable[[], Mutation]
    offline: bool = False  # needs the agent that starts jobs
    real_time: bool = False  # is about how long an answer is held back


def is_greeting(request: ProxiedRequest) -> bool:
    """The message most checks look at, or its repetition."""
    key = {name.lower(): value for name, value in request.headers.items()}.get(
        "idempotency-key", ""
    )
    return request.is_to("POST", "/v1/messages") and key.endswith("-greeting")


def after(mutate: Callable[[ProxiedRequest, ProxiedResponse], None]) -> Callable[[], Mutation]:
    """A bend of answers."""
    return lambda: Mutation(after=mutate)


def before(mutate: Callable[[ProxiedRequest], ProxiedResponse | None]) -> Callable[[], Mutation]:
    """A bend of requests."""
    return lambda: Mutation(before=mutate)


def is_message(request: ProxiedRequest) -> bool:
    """A read of one message."""
    parts = request.path.partition("?")[0].split("/")
    return request.method == "GET" and parts[:3] == ["", "v1", "messages"] and len(parts) == 4


def is_events(request: ProxiedRequest) -> bool:
    """A read of a log."""
    return request.path.partition("?")[0].endswith("/events")


# --- each answer ----------------------------------------------------------------------------------
def _no_request_id(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.is_to("GET", "/v1/me"):
        del response.headers["request-id"]


def _one_request_id(_: ProxiedRequest, response: ProxiedResponse) -> None:
    response.headers["request-id"] = "req_1"
    if response.status >= 400:
        response.change(request_id="req_1")


def _no_docs(_: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 401:
        response.say({k: v for k, v in response.json.items() if k != "docs"})


def _other_request_id(_: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 401:
        response.change(request_id="req_other")


def _no_budget(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 404:
        del response.headers["ratelimit-reset"]


def _still_budget(_: ProxiedRequest, response: ProxiedResponse) -> None:
    if "ratelimit-remaining" in response.headers:
        response.headers["ratelimit-remaining"] = "500"


def _plain_text(_: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 401:
        response.headers["content-type"] = "text/plain"


def _short_times(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_events(request) and response.status == 200:
        entries = [{**e, "settled_at": e["at"][:19] + "Z"} for e in response.json["data"]]
        response.change(data=entries)


# --- who may come in ------------------------------------------------------------------------------
def _any_key(request: ProxiedRequest) -> ProxiedResponse | None:
    if "svc_key_verify" in request.headers.get("Authorization", ""):
        request.headers["Authorization"] = "Bearer svc_key_test"
    return None


def _strict_scheme(request: ProxiedRequest) -> ProxiedResponse | None:
    if request.headers.get("Authorization", "").startswith("bearer"):
        request.headers["Authorization"] = "none"
    return None


# --- messages -------------------------------------------------------------------------------------
def _accepted(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_greeting(request) and response.status == 201:
        response.status = 202


def _held_anyway(request: ProxiedRequest) -> ProxiedResponse | None:
    if request.path == "/v1/messages?wait=0":
        request.path = "/v1/messages"
    return None


def _no_notes(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_message(request) and response.status == 200:
        response.change(notes=[n for n in response.json["notes"] if "program" not in n])


def _other_code(_: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 400 and response.json["error"] == "too_long":
        response.change(error="invalid_request")


def _eleven_problems(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 400 and len(response.json.get("problems", ())) == 10:
        response.change(problems=response.json["problems"] + [{"field": "x", "problem": "y"}])


def _unnamed_field(_: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 400 and "problems" in response.json:
        problems = response.json["problems"]
        response.change(problems=[{**p, "field": p["field"].replace(".", "/")} for p in problems])


def _hangs_up_on_long(request: ProxiedRequest) -> ProxiedResponse | None:
    if len(request.body) > 20_000:
        raise ConnectionError
    return None


def _fault(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 409 and response.json["error"] == "upload_not_ready":
        response.say({**response.json, "error": "internal"}, 500)


# --- idempotency ----------------------------------------------------------------------------------
def _new_id(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_greeting(request) and response.status == 200 and request.json["message"] == "Hello":
        response.change(id="msg_another")


def _created_again(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.headers.get("idempotent-replayed") and "at-once" in json.dumps(request.headers):
        response.status = 201


def _no_conflict(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 409:
        response.say({"id": "msg_1", "object": "message"}, 200)


def _no_cut(request: ProxiedRequest) -> ProxiedResponse | None:
    for name, value in request.headers.items():
        if len(value) > 128 and name.lower() == "idempotency-key":
            request.headers[name] = f"whole-{hash(value)}"
    return None


# --- reading and the log --------------------------------------------------------------------------
def _wide_wait(request: ProxiedRequest) -> ProxiedResponse | None:
    request.path = request.path.replace("wait=46", "wait=0")
    return None


def _restless(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_message(request) and "wait" not in request.path and response.status == 200:
        response.change(reply="Something else")


def _no_304(request: ProxiedRequest) -> ProxiedResponse | None:
    for name in list(request.headers):
        if name.lower() == "if-none-match":
            del request.headers[name]
    return None


def _other_reply(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_events(request) and response.status == 200:
        response.change(
            data=[{**entry, "text": "Something else"} for entry in response.json["data"]]
        )


def _backwards(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_events(request) and response.status == 200:
        response.change(data=response.json["data"][::-1])


def _foreign_entries(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_events(request) and response.status == 200:
        response.change(data=[{**entry, "message_id": "msg_2"} for entry in response.json["data"]])


def _at_once(request: ProxiedRequest) -> ProxiedResponse | None:
    if is_events(request) and "wait=0&cursor=" in request.path and "verify" not in request.path:
        page = {"object": "list", "data": [], "has_more": False, "done": True, "cursor": "c"}
        headers = {"content-type": "application/json"}
        return ProxiedResponse(200, headers, json.dumps(page).encode())
    return None


def _two_waits(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 409:
        threading.Event().wait(1)  # is held as if it were alone
        page = {"object": "list", "data": [], "has_more": False, "done": True, "cursor": "c"}
        response.say(page, 200)


def _any_cursor(request: ProxiedRequest) -> ProxiedResponse | None:
    request.path = request.path.replace("cursor=verify", "")
    return None


# --- uploads, works, jobs, files ------------------------------------------------------------------
def _form_taken(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.is_to("POST", "/uploads") and response.status == 403:
        response.status = 204


def _any_size(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.is_to("POST", "/uploads") and b"EntityTooLarge" in response.body:
        response.status = 204


def _programs_welcome(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 422:
        response.say({"object": "upload", "status": "ready"}, 200)


def _attached_twice(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 409 and response.json["error"] == "not_pending":
        response.status = 404


def _wide_limit(request: ProxiedRequest) -> ProxiedResponse | None:
    request.path = request.path.replace("limit=51", "limit=50")
    return None


def _no_events_of_the_account(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.is_to("GET", "/v1/events"):
        response.change(data=[])


def _all(request: ProxiedRequest) -> None:
    request.path = request.path.replace("/messages?status=", "/messages?nothing=")


def _any_answer(request: ProxiedRequest) -> None:
    if request.is_to("POST", "/v1/messages") and "answer_to" in request.json:
        request.body = json.dumps({"message": "an answer"}).encode()


def _impatient() -> Mutation:
    """The first held read is answered at once, with what the sender was told: the job runs, however
    fast it was."""
    first: list[ProxiedResponse] = []

    def keep(request: ProxiedRequest, response: ProxiedResponse) -> None:
        if request.is_to("POST", "/v1/messages") and not first and response.json.get("jobs"):
            jobs = [{**job, "status": "running"} for job in response.json["jobs"]]
            response.change(status="processing", final=False, jobs=jobs)
            first.append(ProxiedResponse(200, dict(response.headers), response.body))

    def answer(request: ProxiedRequest) -> ProxiedResponse | None:
        held = is_message(request) and "wait=" in request.path
        return first.pop() if held and first else None

    return Mutation(answer, keep)


def _hidden_files(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if is_message(request) and response.status == 200:
        response.change(files=[])


def _forged_links(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.path.startswith("/files/") and response.status == 403:
        response.status = 200


def _stale_revision(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.path.startswith("/files/"):
        response.headers["etag"] = '"other"'


# --- webhooks -------------------------------------------------------------------------------------
def _secret_again(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.method == "PATCH" and response.status == 200:
        response.change(secret="whsec_" + "x" * 32)


def _any_port(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if response.status == 400 and b":8080" in request.body:
        response.say({"object": "webhook_endpoint", "id": "whe_none"}, 201)


def _deleted_forever(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.method == "DELETE" and response.status == 404 and "unknown" not in request.path:
        response.say({"object": "webhook_endpoint", "deleted": True}, 200)


def _forgets_description(request: ProxiedRequest, response: ProxiedResponse) -> None:
    if request.method == "PATCH" and b"job.resumed" in request.body:
        response.change(description=None)


def _foreign_messages(request: ProxiedRequest) -> ProxiedResponse | None:
    if is_message(request) and "svc_key_test" not in request.headers["Authorization"]:
        request.headers["Authorization"] = "Bearer svc_key_test"
    return None


CASES: tuple[Case, ...] = (
    Case("no-request-id", ("account", "every-answer"), {"every-answer/request-ids"},
         after(_no_request_id)),
    Case("one-request-id", ("account", "every-answer"), {"every-answer/request-ids"},
         after(_one_request_id)),
    Case("no-docs", ("authentication", "every-answer"), {"every-answer/error-shape"},
         after(_no_docs)),
    Case("other-request-id", ("authentication", "every-answer"), {"every-answer/same-id-in-body"},
         after(_other_request_id)),
    Case("no-budget", ("account", "every-answer"), {"every-answer/budget"}, after(_no_budget)),
    Case("still-budget", ("account", "every-answer"), {"account/budget-falls"},
         after(_still_budget)),
    Case("plain-text", ("authentication", "every-answer"), {"every-answer/json-type"},
         after(_plain_text)),
    Case("short-times", ("events", "every-answer"), {"every-answer/times"}, after(_short_times)),
    Case("any-key", ("authentication", "every-answer"), {"authentication/unknown-key"},
         before(_any_key)),
    Case("strict-scheme", ("authentication", "every-answer"), {"authentication/scheme-case"},
         before(_strict_scheme)),
    Case("accepted", ("messages",), {"messages/created"}, after(_accepted)),
    Case("held-anyway", ("messages",), {"messages/at-once"}, before(_held_anyway)),
    Case("no-notes", ("messages",), {"messages/program-noted"}, after(_no_notes)),
    Case("other-code", ("messages",), {"messages/too-long"}, after(_other_code)),
    Case("eleven-problems", ("messages",), {"messages/at-most-ten-problems"},
         after(_eleven_problems)),
    Case("unnamed-field", ("messages",),
         {"messages/strict-types", "messages/file-without-content"}, after(_unnamed_field)),
    Case("hangs-up", ("messages",), {"messages/longest", "messages/too-long"},
         before(_hangs_up_on_long)),
    Case("fault", ("messages", "every-answer"),
         {"messages/unknown-upload", "every-answer/no-fault"}, after(_fault)),
    Case("new-id", ("idempotency",), {"idempotency/replay"}, after(_new_id)),
    Case("created-again", ("idempotency",), {"idempotency/at-once"}, after(_created_again)),
    Case("no-conflict", ("idempotency",), {"idempotency/conflict"}, after(_no_conflict)),
    Case("no-cut", ("idempotency",), {"idempotency/key-is-cut"}, before(_no_cut)),
    Case("wide-wait", ("reading",), {"reading/wait-bounds"}, before(_wide_wait)),
    Case("restless", ("reading",), {"reading/final-stays"}, after(_restless)),
    Case("no-304", ("reading",), {"reading/etag"}, before(_no_304)),
    Case("other-reply", ("events",), {"events/reply-is-there"}, after(_other_reply)),
    Case("foreign-entries", ("events",), {"events/own-entries"}, after(_foreign_entries)),
    Case("at-once", ("events",), {"events/least-second"}, before(_at_once),
         real_time=True),
    Case("two-waits", ("events",), {"events/one-at-a-time"}, after(_two_waits),
         real_time=True),
    Case("any-cursor", ("events",), {"events/bad-cursor"}, before(_any_cursor)),
    Case("form-taken", ("uploads",), {"uploads/tampered", "uploads/every-field"},
         after(_form_taken)),
    Case("any-size", ("uploads",), {"uploads/over-size"}, after(_any_size)),
    Case("programs-welcome", ("uploads",), {"uploads/program"}, after(_programs_welcome)),
    Case("attached-twice", ("uploads",), {"uploads/attached-once"}, after(_attached_twice)),
    Case("wide-limit", ("work",), {"work/limit-bounds"}, before(_wide_limit)),
    Case("backwards", ("jobs",), {"jobs/log-in-order"}, after(_backwards), offline=True),
    Case("impatient", ("jobs",), {"jobs/held-until-changed"}, _impatient, offline=True),
    Case("hidden-files", ("jobs",), {"jobs/files-agree"}, after(_hidden_files), offline=True),
    Case("forged-links", ("files",), {"files/forged"}, after(_forged_links), offline=True),
    Case("stale-revision", ("files",), {"files/entity-tag"}, after(_stale_revision),
         offline=True),
    Case("secret-again", ("webhooks",), {"webhooks/secret-once"}, after(_secret_again)),
    Case("any-port", ("webhooks",), {"webhooks/bad-port"}, after(_any_port)),
    Case("deleted-forever", ("webhooks",), {"webhooks/deleted", "webhooks/unknown"},
         after(_deleted_forever)),
    Case("forgets", ("webhooks",), {"webhooks/changed"}, after(_forgets_description)),
    Case("no-events", ("additions",), {"additions/events"}, after(_no_events_of_the_account)),
    Case("all", ("additions",), {"additions/filters", "additions/unknown-status"}, before(_all)),
    Case("any-answer", ("additions",), {"additions/question"}, before(_any_answer), offline=True),
    Case("foreign-messages", ("ownership",), {"ownership/foreign-message"},
         before(_foreign_messages)),
)  # fmt: skip


def form_of(value: Any) -> str:
    """How a case is named in the tests' list."""
    return value.name if isinstance(value, Case) else str(value)
