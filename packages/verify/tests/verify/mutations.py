"""Ways to break one rule, each with the checks that must notice, and no others."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass

from tests.verify.mutated import Mutation, ProxiedRequest, ProxiedResponse


@dataclass(frozen=True)
class Case:
    """A broken rule; ``fails`` fail because of it, as ``group/name``."""

    name: str
    fails: set[str]
    mutation: Callable[[], Mutation]


@dataclass(frozen=True)
class Batch:
    """Cases that are seen in one run of the groups: each breaks checks that no other one touches.
    Exactly those fail."""

    groups: tuple[str, ...]
    cases: tuple[Case, ...]
    offline: bool = False  # needs the agent that starts jobs
    real_time: bool = False  # is about how long an answer is held back

    @property
    def name(self) -> str:
        return "+".join(case.name for case in self.cases)

    @property
    def fails(self) -> set[str]:
        names = [name for case in self.cases for name in case.fails]
        assert len(names) == len(set(names)), "two cases of a batch break one check"
        return set(names)

    def mutation(self) -> Mutation:
        """One that breaks the rules of all cases."""
        return all_of(*(case.mutation() for case in self.cases))


def all_of(*mutations: Mutation) -> Mutation:
    """One that does what each of them does."""

    def before(request: ProxiedRequest) -> ProxiedResponse | None:
        answers = (mutation.before(request) for mutation in mutations)
        return next((answer for answer in answers if answer is not None), None)

    def after(request: ProxiedRequest, response: ProxiedResponse) -> None:
        for mutation in mutations:
            mutation.after(request, response)

    return Mutation(before, after)


def is_greeting(request: ProxiedRequest) -> bool:
    """The message most checks look at, or its repetition."""
    key = {name.lower(): value for name, value in request.headers.items()}.get(
        "idempotency-key", ""
    )
    return request.is_to("POST", "/v1/messages") and key.endswith("-greeting")


def after(mutate: Callable[[ProxiedRequest, ProxiedResponse], None]) -> Callable[[], Mutation]:
    return lambda: Mutation(after=mutate)


def before(mutate: Callable[[ProxiedRequest], ProxiedResponse | None]) -> Callable[[], Mutation]:
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


BATCHES: tuple[Batch, ...] = (
    Batch(("account", "every-answer"), (
        Case("no-request-id", {"every-answer/request-ids"}, after(_no_request_id)),
        Case("no-budget", {"every-answer/budget"}, after(_no_budget)),
        Case("still-budget", {"account/budget-falls"}, after(_still_budget)),
    )),
    Batch(("authentication", "every-answer"), (
        Case("one-request-id", {"every-answer/request-ids"}, after(_one_request_id)),
        Case("no-docs", {"every-answer/error-shape"}, after(_no_docs)),
        Case("other-request-id", {"every-answer/same-id-in-body"}, after(_other_request_id)),
        Case("plain-text", {"every-answer/json-type"}, after(_plain_text)),
        Case("any-key", {"authentication/unknown-key"}, before(_any_key)),
        Case("strict-scheme", {"authentication/scheme-case"}, before(_strict_scheme)),
    )),
    Batch(("messages", "every-answer"), (
        Case("accepted", {"messages/created"}, after(_accepted)),
        Case("held-anyway", {"messages/at-once"}, before(_held_anyway)),
        Case("no-notes", {"messages/program-noted"}, after(_no_notes)),
        Case("other-code", {"messages/too-long"}, after(_other_code)),
        Case("eleven-problems", {"messages/at-most-ten-problems"}, after(_eleven_problems)),
        Case("unnamed-field", {"messages/strict-types", "messages/file-without-content"},
             after(_unnamed_field)),
        Case("fault", {"messages/unknown-upload", "every-answer/no-fault"}, after(_fault)),
    )),
    Batch(("messages",), (
        Case("hangs-up", {"messages/longest", "messages/too-long"}, before(_hangs_up_on_long)),
    )),
    Batch(("idempotency",), (
        Case("new-id", {"idempotency/replay"}, after(_new_id)),
        Case("created-again", {"idempotency/at-once"}, after(_created_again)),
        Case("no-conflict", {"idempotency/conflict"}, after(_no_conflict)),
        Case("no-cut", {"idempotency/key-is-cut"}, before(_no_cut)),
    )),
    Batch(("reading",), (
        Case("wide-wait", {"reading/wait-bounds"}, before(_wide_wait)),
        Case("restless", {"reading/final-stays"}, after(_restless)),
        Case("no-304", {"reading/etag"}, before(_no_304)),
    )),
    Batch(("events", "every-answer"), (
        Case("short-times", {"every-answer/times"}, after(_short_times)),
        Case("other-reply", {"events/reply-is-there"}, after(_other_reply)),
        Case("foreign-entries", {"events/own-entries"}, after(_foreign_entries)),
        Case("any-cursor", {"events/bad-cursor"}, before(_any_cursor)),
    )),
    Batch(("events",), (
        Case("at-once", {"events/least-second"}, before(_at_once)),
        Case("two-waits", {"events/one-at-a-time"}, after(_two_waits)),
    ), real_time=True),
    Batch(("uploads",), (
        Case("form-taken", {"uploads/tampered", "uploads/every-field"}, after(_form_taken)),
        Case("any-size", {"uploads/over-size"}, after(_any_size)),
        Case("programs-welcome", {"uploads/program"}, after(_programs_welcome)),
        Case("attached-twice", {"uploads/attached-once"}, after(_attached_twice)),
    )),
    Batch(("work", "additions"), (
        Case("wide-limit", {"work/limit-bounds"}, before(_wide_limit)),
        Case("no-events", {"additions/events"}, after(_no_events_of_the_account)),
        Case("all", {"additions/filters", "additions/unknown-status"}, before(_all)),
    )),
    Batch(("jobs",), (
        Case("backwards", {"jobs/log-in-order"}, after(_backwards)),
        Case("impatient", {"jobs/held-until-changed"}, _impatient),
        Case("hidden-files", {"jobs/files-agree"}, after(_hidden_files)),
    ), offline=True),
    Batch(("files", "additions"), (
        Case("forged-links", {"files/forged"}, after(_forged_links)),
        Case("stale-revision", {"files/entity-tag"}, after(_stale_revision)),
        Case("any-answer", {"additions/question"}, before(_any_answer)),
    ), offline=True),
    Batch(("webhooks",), (
        Case("secret-again", {"webhooks/secret-once"}, after(_secret_again)),
        Case("any-port", {"webhooks/bad-port"}, after(_any_port)),
        Case("deleted-forever", {"webhooks/deleted", "webhooks/unknown"}, after(_deleted_forever)),
        Case("forgets", {"webhooks/changed"}, after(_forgets_description)),
    )),
    Batch(("ownership",), (
        Case("foreign-messages", {"ownership/foreign-message"}, before(_foreign_messages)),
    )),
)  # fmt: skip
