"""Ways to break one rule, each with the checks that must notice, and no others."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.verify.mutated import Mutation, ProxiedRequest, ProxiedResponse

Json = dict[str, Any]


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
    named = {name.lower(): value for name, value in request.headers.items()}
    key = named.get("idempotency-key", "")
    return request.is_to("POST", "/v1/messages") and key.endswith("-greeting")


def is_message(request: ProxiedRequest) -> bool:
    """A read of one message."""
    parts = request.path.partition("?")[0].split("/")
    return request.method == "GET" and parts[:3] == ["", "v1", "messages"] and len(parts) == 4


def is_events(request: ProxiedRequest) -> bool:
    """A read of a log."""
    return request.path.partition("?")[0].endswith("/events")


# --- ways to break something ----------------------------------------------------------------------
Made = Callable[[], Mutation]
When = Callable[[ProxiedRequest, ProxiedResponse], object]


def after(mutate: Callable[[ProxiedRequest, ProxiedResponse], None]) -> Made:
    return lambda: Mutation(after=mutate)


def before(mutate: Callable[[ProxiedRequest], ProxiedResponse | None]) -> Made:
    return lambda: Mutation(before=mutate)


def on(when: When, act: Callable[[ProxiedResponse], object]) -> Made:
    """Answers of which ``when`` is true are changed."""

    def mutate(request: ProxiedRequest, response: ProxiedResponse) -> None:
        if when(request, response):
            act(response)

    return after(mutate)


def answered(status: int, error: str | None = None) -> When:
    """With that status, and that error."""
    return lambda _, r: r.status == status and (error is None or r.json["error"] == error)


def read(is_asked: Callable[[ProxiedRequest], bool]) -> When:
    """An answer that was asked for so, and is one."""
    return lambda asked, r: is_asked(asked) and r.status == 200


def fields(**changed: object) -> Callable[[ProxiedResponse], None]:
    """Fields of the body are others."""
    return lambda response: response.change(**changed)


def headers(**changed: str) -> Callable[[ProxiedResponse], None]:
    """Headers are others."""
    named = {name.replace("_", "-"): value for name, value in changed.items()}
    return lambda response: response.headers.update(named)


def without(header: str) -> Callable[[ProxiedResponse], object]:
    return lambda response: response.headers.pop(header)


def status(code: int) -> Callable[[ProxiedResponse], None]:
    """The answer says so instead."""
    return lambda response: response.become(code)


def said(code: int, **body: object) -> Callable[[ProxiedResponse], None]:
    """This is answered instead."""
    return lambda response: response.say(body, code)


def each(change: Callable[[Json], Json]) -> Callable[[ProxiedResponse], None]:
    """Every item of a list has other fields."""
    return lambda r: r.change(data=[{**item, **change(item)} for item in r.json["data"]])


def asked_as(old: str, new: str) -> Made:
    """The server is asked for another path."""

    def mutate(request: ProxiedRequest) -> None:
        request.path = request.path.replace(old, new)

    return before(mutate)


def sent_as(name: str, is_meant: Callable[[str], bool], new: str | None) -> Made:
    """A header that means something reaches the server as another one, or not at all."""

    def mutate(request: ProxiedRequest) -> None:
        for header, value in list(request.headers.items()):
            if header.lower() == name and is_meant(value):
                del request.headers[header]
                if new is not None:
                    request.headers[header] = new

    return before(mutate)


# --- what needs more than one of them -------------------------------------------------------------
PAGE = {"object": "list", "data": [], "has_more": False, "done": True, "cursor": "c"}
TEST_KEY = "Bearer svc_key_test"


def _one_request_id(_: ProxiedRequest, response: ProxiedResponse) -> None:
    response.headers["request-id"] = "req_1"
    if response.status >= 400:
        response.change(request_id="req_1")


def _slashes(response: ProxiedResponse) -> None:
    problems = response.json["problems"]
    response.change(problems=[{**p, "field": p["field"].replace(".", "/")} for p in problems])


def _hangs_up_on_long(request: ProxiedRequest) -> None:
    if len(request.body) > 20_000:
        raise ConnectionError


def _no_cut(request: ProxiedRequest) -> None:
    for name, value in request.headers.items():
        if len(value) > 128 and name.lower() == "idempotency-key":
            request.headers[name] = f"whole-{hash(value)}"


def _at_once(request: ProxiedRequest) -> ProxiedResponse | None:
    if is_events(request) and "wait=0&cursor=" in request.path and "verify" not in request.path:
        headers = {"content-type": "application/json"}
        return ProxiedResponse(200, headers, json.dumps(PAGE).encode())
    return None


def _two_waits(response: ProxiedResponse) -> None:
    threading.Event().wait(1)  # is held as if it were alone
    response.say(PAGE, 200)


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


def _foreign_messages(request: ProxiedRequest) -> None:
    if is_message(request):
        request.headers["Authorization"] = TEST_KEY


def _eleven(response: ProxiedResponse) -> None:
    response.change(problems=response.json["problems"] + [{"field": "x", "problem": "y"}])


BATCHES: tuple[Batch, ...] = (
    Batch(("account", "every-answer"), (
        Case("no-request-id", {"every-answer/request-ids"},
             on(lambda asked, _: asked.is_to("GET", "/v1/me"), without("request-id"))),
        Case("no-budget", {"every-answer/budget"}, on(answered(404), without("ratelimit-reset"))),
        Case("still-budget", {"account/budget-falls"},
             on(lambda _, r: "ratelimit-remaining" in r.headers,
                  headers(ratelimit_remaining="500"))),
    )),
    Batch(("authentication", "every-answer"), (
        Case("one-request-id", {"every-answer/request-ids"}, after(_one_request_id)),
        Case("no-docs", {"every-answer/error-shape"},
             on(answered(401), lambda r: r.drop("docs"))),
        Case("other-request-id", {"every-answer/same-id-in-body"},
             on(answered(401), fields(request_id="req_other"))),
        Case("plain-text", {"every-answer/json-type"},
             on(answered(401), headers(content_type="text/plain"))),
        Case("any-key", {"authentication/unknown-key"},
             sent_as("authorization", lambda value: "svc_key_verify" in value, TEST_KEY)),
        Case("strict-scheme", {"authentication/scheme-case"},
             sent_as("authorization", lambda value: value.startswith("bearer"), "none")),
    )),
    Batch(("messages", "every-answer"), (
        Case("accepted", {"messages/created"},
             on(lambda asked, r: is_greeting(asked) and r.status == 201, status(202))),
        Case("held-anyway", {"messages/at-once"}, asked_as("/v1/messages?wait=0", "/v1/messages")),
        Case("no-notes", {"messages/program-noted"},
             on(read(is_message), lambda r: r.change(
                 notes=[note for note in r.json["notes"] if "program" not in note]))),
        Case("other-code", {"messages/too-long"},
             on(answered(400, "too_long"), fields(error="invalid_request"))),
        Case("eleven-problems", {"messages/at-most-ten-problems"},
             on(lambda _, r: r.status == 400 and len(r.json.get("problems", ())) == 10, _eleven)),
        Case("unnamed-field", {"messages/strict-types", "messages/file-without-content"},
             on(lambda _, r: r.status == 400 and "problems" in r.json, _slashes)),
        Case("fault", {"messages/unknown-upload", "every-answer/no-fault"},
             on(answered(409, "upload_not_ready"),
                  lambda r: r.say({**r.json, "error": "internal"}, 500))),
    )),
    Batch(("messages",), (
        Case("hangs-up", {"messages/longest", "messages/too-long"}, before(_hangs_up_on_long)),
    )),
    Batch(("idempotency",), (
        Case("new-id", {"idempotency/replay"},
             on(lambda asked, r: is_greeting(asked) and r.status == 200
                  and asked.json["message"] == "Hello", fields(id="msg_another"))),
        Case("created-again", {"idempotency/at-once"},
             on(lambda asked, r: r.headers.get("idempotent-replayed")
                  and "at-once" in json.dumps(asked.headers), status(201))),
        Case("no-conflict", {"idempotency/conflict"},
             on(answered(409), said(200, id="msg_1", object="message"))),
        Case("no-cut", {"idempotency/key-is-cut"}, before(_no_cut)),
    )),
    Batch(("reading",), (
        Case("wide-wait", {"reading/wait-bounds"}, asked_as("wait=46", "wait=0")),
        Case("restless", {"reading/final-stays"},
             on(lambda asked, r: read(is_message)(asked, r) and "wait" not in asked.path,
                  fields(reply="Something else"))),
        Case("no-304", {"reading/etag"}, sent_as("if-none-match", lambda _: True, None)),
    )),
    Batch(("events", "every-answer"), (
        Case("short-times", {"every-answer/times"},
             on(read(is_events), each(lambda entry: {"settled_at": entry["at"][:19] + "Z"}))),
        Case("other-reply", {"events/reply-is-there"},
             on(read(is_events), each(lambda _: {"text": "Something else"}))),
        Case("foreign-entries", {"events/own-entries"},
             on(read(is_events), each(lambda _: {"message_id": "msg_2"}))),
        Case("any-cursor", {"events/bad-cursor"}, asked_as("cursor=verify", "")),
    )),
    Batch(("events",), (
        Case("at-once", {"events/least-second"}, before(_at_once)),
        Case("two-waits", {"events/one-at-a-time"}, on(answered(409), _two_waits)),
    ), real_time=True),
    Batch(("uploads",), (
        Case("form-taken", {"uploads/tampered", "uploads/every-field"},
             on(lambda asked, r: asked.is_to("POST", "/uploads") and r.status == 403,
                  status(204))),
        Case("any-size", {"uploads/over-size"},
             on(lambda asked, r: asked.is_to("POST", "/uploads") and b"EntityTooLarge" in r.body,
                  status(204))),
        Case("programs-welcome", {"uploads/program"},
             on(answered(422), said(200, object="upload", status="ready"))),
        Case("attached-twice", {"uploads/attached-once"},
             on(answered(409, "not_pending"), status(404))),
    )),
    Batch(("work", "additions"), (
        Case("wide-limit", {"work/limit-bounds"}, asked_as("limit=51", "limit=50")),
        Case("no-events", {"additions/events"},
             on(lambda asked, _: asked.is_to("GET", "/v1/events"), fields(data=[]))),
        Case("all", {"additions/filters", "additions/unknown-status"},
             asked_as("/messages?status=", "/messages?nothing=")),
    )),
    Batch(("jobs",), (
        Case("backwards", {"jobs/log-in-order"},
             on(read(is_events), lambda r: r.change(data=r.json["data"][::-1]))),
        Case("impatient", {"jobs/held-until-changed"}, _impatient),
        Case("hidden-files", {"jobs/files-agree"}, on(read(is_message), fields(files=[]))),
    ), offline=True),
    Batch(("files", "additions"), (
        Case("forged-links", {"files/forged"},
             on(lambda asked, r: asked.path.startswith("/files/") and r.status == 403,
                  status(200))),
        Case("stale-revision", {"files/entity-tag"},
             on(lambda asked, _: asked.path.startswith("/files/"), headers(etag='"other"'))),
        Case("any-answer", {"additions/question"}, before(_any_answer)),
    ), offline=True),
    Batch(("webhooks",), (
        Case("secret-again", {"webhooks/secret-once"},
             on(lambda asked, r: asked.method == "PATCH" and r.status == 200,
                  fields(secret="whsec_" + "x" * 32))),
        Case("any-port", {"webhooks/bad-port"},
             on(lambda asked, r: r.status == 400 and b":8080" in asked.body,
                  said(201, object="webhook_endpoint", id="whe_none"))),
        Case("deleted-forever", {"webhooks/deleted", "webhooks/unknown"},
             on(lambda asked, r: asked.method == "DELETE" and r.status == 404
                  and "unknown" not in asked.path,
                  said(200, object="webhook_endpoint", deleted=True))),
        Case("forgets", {"webhooks/changed"},
             on(lambda asked, _: asked.method == "PATCH" and b"job.resumed" in asked.body,
                  fields(description=None))),
    )),
    Batch(("ownership",), (
        Case("foreign-messages", {"ownership/foreign-message"}, before(_foreign_messages)),
    )),
)  # fmt: skip
