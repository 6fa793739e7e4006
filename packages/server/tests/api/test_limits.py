"""Rate limits as a caller meets them (spec: Limits; design: Rate limits)."""

import base64
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import ACCOUNT, AgentServer
from tests.waiting import eventually

HEADERS = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
CallerMaker = Callable[..., Caller]
FILE = [{"name": "a.txt", "base64": base64.b64encode(b"a").decode()}]
SETTINGS: dict[str, object] = {}


@pytest.fixture
def limited(server: AgentServer, callers: CallerMaker) -> Callable[..., Caller]:
    return lambda name, **limits: callers(server, server.new_key(name, **limits))


# --- the budget of a key --------------------------------------------------------------------------
@pytest.mark.rule("Endpoints 1", "Limits RateLimit-headers")
def test_every_answer_to_a_live_key_tells_its_budget(limited: Callable[..., Caller]) -> None:
    caller = limited("budget", requests_per_minute=50)
    message = caller.send("hello")
    asked = [
        ("GET", "/v1/me", 200),
        ("GET", f"/v1/messages/{message['id']}", 200),
        ("GET", "/v1/messages/msg_nobody", 404),
        ("GET", "/v1/work?limit=0", 400),
        ("POST", "/v1/messages", 400),
        ("GET", "/v1/nowhere", 404),
        ("DELETE", "/v1/me", 405),
    ]
    left = 49  # one was the message
    for method, path, status in asked:
        answer = caller.call(method, path)
        left -= 1
        assert answer.status_code == status, path
        assert [int(answer.headers[name]) for name in HEADERS[:2]] == [50, left], path
        assert 1 <= int(answer.headers[HEADERS[2]]) <= 60, path


@pytest.mark.rule("Limits requests", "Limits Retry-After")
def test_a_full_minute_is_refused_with_the_exact_time(limited: Callable[..., Caller]) -> None:
    caller = limited("full", requests_per_minute=3)
    began = time.monotonic()
    assert caller.call("GET", "/v1/me").status_code == 200
    counted = time.monotonic()
    for _ in range(2):
        assert caller.call("GET", "/v1/me").status_code == 200
    asked = time.monotonic()
    refused = caller.call("GET", "/v1/me")
    wait, answered = int(refused.headers["Retry-After"]), time.monotonic()
    assert (refused.status_code, refused.json()["error"]) == (429, "rate_limited")
    assert [refused.headers[name] for name in HEADERS] == ["3", "0", str(wait)]
    assert math.ceil(60 - (answered - began)) <= wait <= math.ceil(60 - (asked - counted))
    assert caller.call("GET", "/v1/nowhere").status_code == 429


def test_without_a_live_key_there_is_no_budget(server: AgentServer, callers: CallerMaker) -> None:
    for key in (None, "svc_key_unknown"):
        answer = callers(server, key).call("GET", "/v1/me")
        assert answer.status_code == 401
        assert not [name for name in HEADERS if name in answer.headers]
        assert callers(server, key).call("GET", "/v1/nowhere").status_code == 404


@pytest.mark.rule("Authentication 5")
def test_keys_of_one_account_have_budgets_of_their_own(
    server: AgentServer, limited: Callable[..., Caller], callers: CallerMaker
) -> None:
    first = limited("own", requests_per_minute=1)
    second = server.command("keys", "create", "--account", "own@example.com", "--name", "b")["key"]
    assert first.call("GET", "/v1/me").status_code == 200
    assert first.call("GET", "/v1/me").status_code == 429
    assert callers(server, second).call("GET", "/v1/me").status_code == 200


@pytest.mark.rule("Limits requests")
def test_exactly_the_budget_is_let_in_at_once(limited: Callable[..., Caller]) -> None:
    caller = limited("burst", requests_per_minute=40)
    with ThreadPoolExecutor(20) as pool:
        codes = list(pool.map(lambda _: caller.http.get("/v1/me").status_code, range(100)))
    assert (codes.count(200), codes.count(429)) == (40, 60)


# --- messages -------------------------------------------------------------------------------------
@pytest.mark.rule("Limits messages", "Limits Retry-After")
def test_messages_are_limited_and_repeats_are_not_counted(limited: Callable[..., Caller]) -> None:
    caller = limited("messages", messages_per_hour=3)
    first = caller.post("one", key="one").json()
    for _ in range(5):
        again = caller.post("one", key="one")
        assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert caller.post("two", key="two", files=FILE).status_code == 201
    assert caller.post("three").status_code == 201

    refused = caller.post("four", key="four")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert int(refused.headers["RateLimit-Remaining"]) > 0
    assert caller.post("one", key="one").status_code == 200
    assert caller.post("two", key="two", files=FILE).status_code == 200
    caller.refusal(
        409,
        "idempotency_conflict",
        "POST",
        "/v1/messages",
        json={"message": "another"},
        headers={"Idempotency-Key": "one"},
    )


def test_a_refused_message_is_not_counted(limited: Callable[..., Caller]) -> None:
    caller = limited("refusals", messages_per_hour=2)
    for body in ({}, {"message": 5}, {"message": "x", "webhook_endpoint_id": "whe_none"}):
        for _ in range(3):
            answer = caller.call("POST", "/v1/messages", json=body)
            assert answer.status_code in (400, 404)
    caller.post("kept", key="kept")
    for _ in range(3):
        assert caller.post("other", key="kept").status_code == 409
    assert caller.post("second").status_code == 201
    assert caller.post("third").status_code == 429


def test_a_message_over_the_limit_leaves_its_key_free(
    server: AgentServer, limited: Callable[..., Caller]
) -> None:
    caller = limited("free", messages_per_day=1)
    caller.send("first")
    assert caller.post("second", key="k").status_code == 429
    server.command("limits", "set", "free@example.com", "--messages-per-day", "default")
    answer = eventually(lambda: send_status(caller, "second", "k"), what="the wider limit")
    assert answer == 201


def test_a_schema_is_not_looked_at_before_the_limit(limited: Callable[..., Caller]) -> None:
    caller = limited("schemas", messages_per_day=1)
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    fields = {"response_schema": {**draft, "items": [{"type": "integer"}]}}
    first = caller.post("first", key="k", **fields).json()
    unusable = {"response_schema": {**draft, "prefixItems": [{}]}}
    for key in (None, "another"):
        assert caller.post("second", key=key, **unusable).status_code == 429
    assert caller.post("first", key="k", **fields).json()["id"] == first["id"]
    assert caller.post("first", key="k", **unusable).status_code == 409


def send_status(caller: Caller, text: str, key: str) -> int:
    status = caller.post(text, key=key).status_code
    return 0 if status == 429 else status


# --- waits and reads of works ---------------------------------------------------------------------
@pytest.mark.rule("Limits waits", "Limits Retry-After")
def test_every_long_poll_is_a_wait(limited: Callable[..., Caller]) -> None:
    caller = limited("waits", waits_per_hour=3)
    message = caller.send("hello")
    path = f"/v1/messages/{message['id']}"
    assert caller.call("GET", f"{path}?wait=1").status_code == 200
    assert caller.call("GET", f"{path}/events").status_code == 200
    assert caller.call("GET", f"{path}/events?wait=99").status_code == 400
    assert caller.call("GET", f"{path}/events?cursor=bad").status_code == 400
    for refused in (f"{path}?wait=1", f"{path}/events"):
        answer = caller.call("GET", refused)
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    for _ in range(5):
        assert caller.call("GET", path).status_code == 200


@pytest.mark.rule("Limits work-reads", "Limits Retry-After")
def test_reads_of_a_work_are_limited_and_lists_are_not(limited: Callable[..., Caller]) -> None:
    caller = limited("works", work_reads_per_hour=2)
    message = caller.send([["start", "w", [["return", "done"]]]])
    work_id = message["jobs"][0]["work_id"]
    for _ in range(2):
        assert caller.call("GET", f"/v1/work/{work_id}").status_code == 200
    refused = caller.call("GET", f"/v1/work/{work_id}")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert caller.call("GET", "/v1/work").status_code == 200
    assert caller.call("POST", f"/v1/work/{work_id}/stop").status_code == 200


@pytest.mark.rule("Account.limits")
def test_the_running_jobs_of_one_account_can_be_fewer(limited: Callable[..., Caller]) -> None:
    caller = limited("cap", running_jobs=1)
    caller.send([["start", "first", [["gate", "cap"]]]])
    message = caller.send([["start", "second", []]])
    assert (message["status"], message["reason"]) == ("blocked", "too_many_running")
    assert caller.call("GET", "/v1/me").json()["limits"]["running_jobs"] == 1
    caller.server.open_gate("cap")


def test_an_account_may_have_to_name_conversations(limited: Callable[..., Caller]) -> None:
    """Else the messages of all customers of a product share one memory."""
    caller = limited("named", conversation_required=1)

    def bodies(**labels: str) -> list[tuple[str, dict[str, object]]]:
        message = {"message": "hello", **labels}
        return [
            ("/v1/messages", dict(message)),
            ("/v1/schedules", {"cron": "0 8 * * 1", "message": message}),
        ]

    for path, body in bodies():
        refused = caller.refusal(400, "invalid_request", "POST", path, json=body)
        assert [each["field"] for each in refused["problems"]] == ["conversation"]
    for path, body in bodies(conversation="customer-4711"):
        assert caller.call("POST", path, json=body).status_code == 201
    asked = caller.send([["ask", "Which?"]], conversation="customer-4711")
    assert caller.send("This", answer_to=asked["id"])["conversation"] == "customer-4711"


def test_a_message_is_repeated_after_conversations_became_required(
    limited: Callable[..., Caller],
) -> None:
    """The repeat shares nothing with other messages: it gets the message that was accepted."""
    caller = limited("later")
    bodies: list[dict[str, Any]] = [{}, {"files": FILE}]
    accepted = [caller.post("hello", key=f"k{n}", **body) for n, body in enumerate(bodies)]
    assert [each.status_code for each in accepted] == [201, 201]
    options = ("later@example.com", "--conversation-required=1")
    caller.server.command("limits", "set", *options)
    eventually(lambda: caller.post("hello").status_code == 400)
    for n, (body, first) in enumerate(zip(bodies, accepted, strict=True)):
        again = caller.post("hello", key=f"k{n}", **body)
        assert again.status_code == 200, again.text
        assert again.json()["id"] == first.json()["id"]
        assert caller.post("other", key=f"k{n}", **body).status_code == 409
        assert caller.post("new", key=f"new{n}", **body).status_code == 400


def test_settings_hold_for_who_has_no_limits_of_its_own(caller: Caller) -> None:
    limits = caller.call("GET", "/v1/me").json()["limits"]
    shown = caller.server.command("limits", "show", ACCOUNT)
    assert shown["overridden"] == []
    assert limits["requests_per_minute"] == shown["limits"]["requests_per_minute"] == 1_000_000
