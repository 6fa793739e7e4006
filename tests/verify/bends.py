"""Ways to break one rule, each with the checks that must notice, and no others."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.verify.bent import Asked, Bend, Given


@dataclass(frozen=True)
class Case:
    """``groups`` are run; ``fails`` fail, as ``group/name``, and the rest does not."""

    name: str
    groups: tuple[str, ...]
    fails: set[str]
    bend: Callable[[], Bend]
    offline: bool = False  # needs the agent that starts jobs


def is_greeting(asked: Asked) -> bool:
    """The message most checks look at, or its repetition."""
    key = {name.lower(): value for name, value in asked.headers.items()}.get("idempotency-key", "")
    return asked.is_to("POST", "/v1/messages") and key.endswith("-greeting")


def after(bends: Callable[[Asked, Given], None]) -> Callable[[], Bend]:
    """A bend of answers."""
    return lambda: Bend(after=bends)


def before(bends: Callable[[Asked], Given | None]) -> Callable[[], Bend]:
    """A bend of requests."""
    return lambda: Bend(before=bends)


def is_message(asked: Asked) -> bool:
    """A read of one message."""
    parts = asked.path.partition("?")[0].split("/")
    return asked.method == "GET" and parts[:3] == ["", "v1", "messages"] and len(parts) == 4


def is_events(asked: Asked) -> bool:
    """A read of a log."""
    return asked.path.partition("?")[0].endswith("/events")


# --- each answer ----------------------------------------------------------------------------------
def _no_request_id(asked: Asked, given: Given) -> None:
    if asked.is_to("GET", "/v1/me"):
        del given.headers["request-id"]


def _one_request_id(_: Asked, given: Given) -> None:
    given.headers["request-id"] = "req_1"
    if given.status >= 400:
        given.change(request_id="req_1")


def _no_docs(_: Asked, given: Given) -> None:
    if given.status == 401:
        given.say({k: v for k, v in given.json.items() if k != "docs"})


def _other_request_id(_: Asked, given: Given) -> None:
    if given.status == 401:
        given.change(request_id="req_other")


def _no_budget(asked: Asked, given: Given) -> None:
    if given.status == 404:
        del given.headers["ratelimit-reset"]


def _still_budget(_: Asked, given: Given) -> None:
    if "ratelimit-remaining" in given.headers:
        given.headers["ratelimit-remaining"] = "500"


def _plain_text(_: Asked, given: Given) -> None:
    if given.status == 401:
        given.headers["content-type"] = "text/plain"


def _short_times(asked: Asked, given: Given) -> None:
    if is_events(asked) and given.status == 200:
        entries = [{**e, "settled_at": e["at"][:19] + "Z"} for e in given.json["data"]]
        given.change(data=entries)


# --- who may come in ------------------------------------------------------------------------------
def _any_key(asked: Asked) -> Given | None:
    if "svc_key_verify" in asked.headers.get("Authorization", ""):
        asked.headers["Authorization"] = "Bearer svc_key_test"
    return None


def _strict_scheme(asked: Asked) -> Given | None:
    if asked.headers.get("Authorization", "").startswith("bearer"):
        asked.headers["Authorization"] = "none"
    return None


# --- messages -------------------------------------------------------------------------------------
def _accepted(asked: Asked, given: Given) -> None:
    if is_greeting(asked) and given.status == 201:
        given.status = 202


def _no_notes(asked: Asked, given: Given) -> None:
    if is_message(asked) and given.status == 200:
        given.change(notes=[n for n in given.json["notes"] if "program" not in n])


def _other_code(_: Asked, given: Given) -> None:
    if given.status == 400 and given.json["error"] == "too_long":
        given.change(error="invalid_request")


def _eleven_problems(asked: Asked, given: Given) -> None:
    if given.status == 400 and len(given.json.get("problems", ())) == 10:
        given.change(problems=given.json["problems"] + [{"field": "x", "problem": "y"}])


def _unnamed_field(_: Asked, given: Given) -> None:
    if given.status == 400 and "problems" in given.json:
        problems = given.json["problems"]
        given.change(problems=[{**p, "field": p["field"].replace(".", "/")} for p in problems])


def _hangs_up_on_long(asked: Asked) -> Given | None:
    if len(asked.body) > 20_000:
        raise ConnectionError
    return None


def _fault(asked: Asked, given: Given) -> None:
    if given.status == 409 and given.json["error"] == "upload_not_ready":
        given.say({**given.json, "error": "internal"}, 500)


# --- idempotency ----------------------------------------------------------------------------------
def _new_id(asked: Asked, given: Given) -> None:
    if is_greeting(asked) and given.status == 200 and asked.json["message"] == "Hello":
        given.change(id="msg_another")


def _created_again(asked: Asked, given: Given) -> None:
    if given.headers.get("idempotent-replayed") and "at-once" in json.dumps(asked.headers):
        given.status = 201


def _no_conflict(asked: Asked, given: Given) -> None:
    if given.status == 409:
        given.say({"id": "msg_1", "object": "message"}, 200)


def _no_cut(asked: Asked) -> Given | None:
    for name, value in asked.headers.items():
        if len(value) > 128 and name.lower() == "idempotency-key":
            asked.headers[name] = f"whole-{hash(value)}"
    return None


# --- reading and the log --------------------------------------------------------------------------
def _wide_wait(asked: Asked) -> Given | None:
    asked.path = asked.path.replace("wait=46", "wait=0")
    return None


def _restless(asked: Asked, given: Given) -> None:
    if is_message(asked) and "wait" not in asked.path and given.status == 200:
        given.change(reply="Something else")


def _no_304(asked: Asked) -> Given | None:
    for name in list(asked.headers):
        if name.lower() == "if-none-match":
            del asked.headers[name]
    return None


def _other_reply(asked: Asked, given: Given) -> None:
    if is_events(asked) and given.status == 200:
        given.change(data=[{**entry, "text": "Something else"} for entry in given.json["data"]])


def _backwards(asked: Asked, given: Given) -> None:
    if is_events(asked) and given.status == 200:
        given.change(data=given.json["data"][::-1])


def _foreign_entries(asked: Asked, given: Given) -> None:
    if is_events(asked) and given.status == 200:
        given.change(data=[{**entry, "message_id": "msg_2"} for entry in given.json["data"]])


def _at_once(asked: Asked) -> Given | None:
    if is_events(asked) and "wait=0&cursor=" in asked.path and "verify" not in asked.path:
        page = {"object": "list", "data": [], "has_more": False, "done": True, "cursor": "c"}
        headers = {"content-type": "application/json"}
        return Given(200, headers, json.dumps(page).encode())
    return None


def _two_waits(asked: Asked, given: Given) -> None:
    if given.status == 409:
        threading.Event().wait(1)  # is held as if it were alone
        page = {"object": "list", "data": [], "has_more": False, "done": True, "cursor": "c"}
        given.say(page, 200)


def _any_cursor(asked: Asked) -> Given | None:
    asked.path = asked.path.replace("cursor=verify", "")
    return None


# --- uploads, works, jobs, files ------------------------------------------------------------------
def _form_taken(asked: Asked, given: Given) -> None:
    if asked.is_to("POST", "/uploads") and given.status == 403:
        given.status = 204


def _any_size(asked: Asked, given: Given) -> None:
    if asked.is_to("POST", "/uploads") and b"EntityTooLarge" in given.body:
        given.status = 204


def _programs_welcome(asked: Asked, given: Given) -> None:
    if given.status == 422:
        given.say({"object": "upload", "status": "ready"}, 200)


def _attached_twice(asked: Asked, given: Given) -> None:
    if given.status == 409 and given.json["error"] == "not_pending":
        given.status = 404


def _wide_limit(asked: Asked) -> Given | None:
    asked.path = asked.path.replace("limit=51", "limit=50")
    return None


def _impatient() -> Bend:
    """The first held read is answered at once, with what was known before."""
    first: list[Given] = []

    def keep(asked: Asked, given: Given) -> None:
        if asked.is_to("POST", "/v1/messages") and not first and given.json.get("jobs"):
            first.append(Given(200, dict(given.headers), given.body))

    def answer(asked: Asked) -> Given | None:
        held = is_message(asked) and "wait=" in asked.path
        return first.pop() if held and first else None

    return Bend(answer, keep)


def _hidden_files(asked: Asked, given: Given) -> None:
    if is_message(asked) and given.status == 200:
        given.change(files=[])


def _forged_links(asked: Asked, given: Given) -> None:
    if asked.path.startswith("/files/") and given.status == 403:
        given.status = 200


def _stale_revision(asked: Asked, given: Given) -> None:
    if asked.path.startswith("/files/"):
        given.headers["etag"] = '"other"'


# --- webhooks -------------------------------------------------------------------------------------
def _secret_again(asked: Asked, given: Given) -> None:
    if asked.method == "PATCH" and given.status == 200:
        given.change(secret="whsec_" + "x" * 32)


def _any_port(asked: Asked, given: Given) -> None:
    if given.status == 400 and b":8080" in asked.body:
        given.say({"object": "webhook_endpoint", "id": "whe_none"}, 201)


def _deleted_forever(asked: Asked, given: Given) -> None:
    if asked.method == "DELETE" and given.status == 404 and "unknown" not in asked.path:
        given.say({"object": "webhook_endpoint", "deleted": True}, 200)


def _forgets_description(asked: Asked, given: Given) -> None:
    if asked.method == "PATCH" and b"job.resumed" in asked.body:
        given.change(description=None)


def _foreign_messages(asked: Asked) -> Given | None:
    if is_message(asked) and "svc_key_test" not in asked.headers["Authorization"]:
        asked.headers["Authorization"] = "Bearer svc_key_test"
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
    Case("at-once", ("events",), {"events/least-second"}, before(_at_once)),
    Case("two-waits", ("events",), {"events/one-at-a-time"}, after(_two_waits)),
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
    Case("foreign-messages", ("ownership",), {"ownership/foreign-message"},
         before(_foreign_messages)),
)  # fmt: skip


def form_of(value: Any) -> str:
    """How a case is named in the tests' list."""
    return value.name if isinstance(value, Case) else str(value)
