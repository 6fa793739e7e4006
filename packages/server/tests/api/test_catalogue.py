"""Every code of the catalogue, and every error an operation announces, is really answered.

spec: Errors. A code that nothing provokes, an announced error that cannot come, and an answer that
is not announced are all failures.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from agentpost.api.app import OPERATIONS
from agentpost.api.openapi import EVERYWHERE, codes_of
from agentpost.api.operation import Operation
from agentpost.contract.errors import CATALOGUE
from agentpost.domain.errors import ErrorCode
from tests.api.error_triggers import (
    BODY_BYTES_MAX,
    ERROR_TRIGGERS,
    SCHEDULES_MAX,
    ErrorServer,
    ErrorTrigger,
)
from tests.e2e.caller import Caller, Json
from tests.e2e.server import AgentServer
from tests.waiting import eventually

NOBODY = "0"
"""An id that nothing has."""
BODIES = {
    "createMessage": {"message": "hello"},
    "createUpload": {"filename": "a.csv", "size": 1},
    "createWebhookEndpoint": {"url": "https://hooks.example.com/"},
    "createSchedule": {"cron": "0 9 * * *", "message": {"message": "hello"}},
    "replayWebhookEvents": {"since": "2026-01-31T00:00:00Z"},
}
"""Bodies that nothing is wrong with; for the other operations it is an empty object."""
SETTINGS = {"body_bytes_max": BODY_BYTES_MAX, "schedules_max": SCHEDULES_MAX}


@pytest.fixture
def target(server: AgentServer, caller: Caller, callers: Callable[..., Caller]) -> ErrorServer:
    return ErrorServer(server, caller, callers)


def check(caller: Caller, answer: httpx2.Response, code: str) -> None:
    """The answer is this error, in the shape of all errors and as its operation announces it."""
    assert (answer.status_code, answer.json()["error"]) == (CATALOGUE[ErrorCode(code)].status, code)
    assert answer.headers["Content-Type"] == "application/json"
    caller.contract.check(answer)
    body: Json = answer.json()
    more = {"invalid_request": {"problems"}, "poll_in_progress": {"cursor"}}.get(code, set())
    assert body.keys() == {"error", "message", "request_id", "docs"} | more
    assert body["message"].strip()
    assert body["request_id"] == answer.headers["Request-Id"]
    assert body["docs"].endswith(f"/docs/errors#{code}")
    assert ("Retry-After" in answer.headers) == (code == "rate_limited")
    for problem in body.get("problems", []):
        assert problem.keys() == {"field", "problem"}
        assert problem["problem"]


# --- each code ------------------------------------------------------------------------------------
@pytest.mark.rule(
    "Endpoints 2",
    "Errors shape",
    "Errors cursor",
    "Errors invalid_request",
    "Errors bad_request",
    "Errors empty_message",
    "Errors too_long",
    "Errors too_many",
    "Errors bad_cursor",
    "Errors bad_url",
    "Errors bad_events",
    "Errors bad_size",
    "Errors not_found",
    "Errors idempotency_conflict",
    "Errors poll_in_progress",
    "Errors too_many_endpoints",
    "Errors not_pending",
    "Errors not_uploaded",
    "Errors changed",
    "Errors upload_not_ready",
    "Errors too_large",
    "Errors executable_refused",
    "Errors internal",
    "Additions error-codes",
)
@pytest.mark.parametrize(
    "trigger", ERROR_TRIGGERS, ids=[f"{each.code}-{each.operation}" for each in ERROR_TRIGGERS]
)
def test_a_code_is_answered_in_the_shape_of_errors(
    target: ErrorServer, trigger: ErrorTrigger
) -> None:
    answer = trigger.send(target)
    check(target.caller, answer, trigger.code)
    described = target.caller.contract.operation(answer.request)
    assert (described or {}).get("operationId") == trigger.operation

    explained = httpx2.get(answer.json()["docs"])
    assert (explained.status_code, f'id="{trigger.code}"' in explained.text) == (200, True)


def test_every_code_of_the_catalogue_is_provoked() -> None:
    assert sorted({trigger.code for trigger in ERROR_TRIGGERS} | {*ALIKE}) == sorted(CATALOGUE)


# --- each operation -------------------------------------------------------------------------------
def request(caller: Caller, operation: Operation, query: str = "", **more: Any) -> httpx2.Response:
    """Call the operation with ids that nothing has, and with a body that nothing is wrong with."""
    parts = operation.path.split("/")
    path = "/".join(NOBODY if part.startswith("{") else part for part in parts)
    if operation.body is not None and not more:
        more = {"json": BODIES.get(operation.id, {})}
    return caller.http.request(operation.method, f"{path}{query}", **more)


ALIKE: dict[str, Callable[[Operation], bool]] = {
    "not_found": lambda operation: "{" in operation.path,
    "invalid_request": lambda operation: operation.body is not None or bool(operation.queries),
    "too_large": lambda operation: operation.body is not None,
    **dict.fromkeys(EVERYWHERE, lambda _: True),
}
"""Which operations announce a code that all of their kind can answer with."""


@pytest.mark.rule(
    "createMessage.errors",
    "getMessage.answers",
    "listMessageEvents.errors",
    "recoverMessage.answers",
    "createUpload.answers",
    "completeUpload.answers",
    "listWork.errors",
    "getWork.answers",
    "getFile.errors",
    "getAccount.answers",
    "Webhooks create.errors",
)
def test_announced_errors_are_those_that_can_come() -> None:
    announced = {(o.id, code) for o in OPERATIONS for code in codes_of(o)}
    triggered = {(o.id, code) for code, kind in ALIKE.items() for o in OPERATIONS if kind(o)}
    triggered |= {
        (trigger.operation, trigger.code)
        for trigger in ERROR_TRIGGERS
        if trigger.operation is not None
    }
    assert sorted(announced - triggered) == [], "nobody can get these"
    assert sorted(triggered - announced) == [], "nobody was told of these"


def of_kind(code: str) -> Sequence[Operation]:
    return [operation for operation in OPERATIONS if ALIKE[code](operation)]


@pytest.mark.rule("Endpoints 1", "Errors unauthorized", "Authentication 1", "Authentication 3")
def test_the_key_is_asked_for_everywhere(target: ErrorServer) -> None:
    stranger = target.callers(target.server, None)
    for operation in of_kind("unauthorized"):
        answer = request(stranger, operation)
        check(target.caller, answer, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.rule("Additions allow-list")
def test_an_allow_list_holds_everywhere(target: ErrorServer) -> None:
    named = ("--account", "owner@localhost", "--name", "away", "--allow-ip", "192.0.2.0/24")
    away = target.callers(target.server, target.server.command("keys", "create", *named)["key"])
    for operation in of_kind("forbidden"):
        check(target.caller, request(away, operation), "forbidden")


@pytest.mark.rule("Errors rate_limited")
def test_the_budget_counts_everywhere(target: ErrorServer) -> None:
    spent = target.limited("spent", requests_per_minute=1)
    spent.call("GET", "/v1/me")
    for operation in of_kind("rate_limited"):
        check(target.caller, request(spent, operation), "rate_limited")


@pytest.mark.rule("Errors unavailable")
def test_the_switch_reaches_everywhere(target: ErrorServer) -> None:
    target.server.command("maintenance", "on")
    try:
        eventually(lambda: target.ask("GET", "/v1/me").status_code == 503)
        for operation in of_kind("unavailable"):
            check(target.caller, request(target.caller, operation), "unavailable")
    finally:
        target.server.command("maintenance", "off")
        eventually(lambda: target.ask("GET", "/v1/me").status_code == 200)


@pytest.mark.rule("Errors internal")
def test_a_fault_is_reported_alike_everywhere(target: ErrorServer) -> None:
    with table_gone(target.server, "keys"):
        eventually(
            lambda: target.ask("GET", "/v1/me").status_code == 500, what="forgetting the key"
        )
        for operation in of_kind("internal"):
            check(target.caller, request(target.caller, operation), "internal")
    assert target.ask("GET", "/v1/me").status_code == 200


@contextmanager
def table_gone(server: AgentServer, table: str) -> Iterator[None]:
    server.execute(f"ALTER TABLE {table} RENAME TO {table}_aside")
    try:
        yield
    finally:
        server.execute(f"ALTER TABLE {table}_aside RENAME TO {table}")


@pytest.mark.rule("Errors not_found")
def test_unknown_ids_are_not_found_everywhere(target: ErrorServer) -> None:
    for operation in of_kind("not_found"):
        check(target.caller, request(target.caller, operation), "not_found")


@pytest.mark.rule("Errors problems")
def test_a_body_that_cannot_be_read_is_refused_everywhere(target: ErrorServer) -> None:
    for operation in of_kind("invalid_request"):
        for query in operation.queries:
            answer = request(target.caller, operation, f"?{query.name}=x")
            check(target.caller, answer, "invalid_request")
            assert [p["field"] for p in answer.json()["problems"]] == [query.name]
        if operation.body is not None:
            answer = request(target.caller, operation, content=b"[]")
            check(target.caller, answer, "invalid_request")
            assert [p["field"] for p in answer.json()["problems"]] == [None]


def test_large_bodies_are_refused_everywhere(target: ErrorServer) -> None:
    for operation in of_kind("too_large"):
        answer = request(target.caller, operation, content=b" " * (BODY_BYTES_MAX + 1))
        check(target.caller, answer, "too_large")
