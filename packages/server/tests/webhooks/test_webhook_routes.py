"""Webhook endpoints over HTTP (spec: Webhooks; WebhookEndpoint; Limits)."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import AgentServer

URL = "https://hooks.example.com/agentpost"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
FIELDS = {
    *("object", "id", "url", "events", "description"),
    *("created_at", "disabled_at", "disabled_reason", "failing_since"),
}


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server()


@pytest.fixture
def hooks(caller: Caller) -> Iterator["Hooks"]:
    """The account's endpoints; none is left behind."""
    made = Hooks(caller)
    yield made
    for endpoint in made.all():
        assert made.call("DELETE", endpoint["id"]).status_code == 200


class Hooks:
    """Short ways to the webhook operations."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def create(self, **body: Any) -> dict[str, Any]:
        answer = self.caller.call("POST", "/v1/webhooks", json={"url": URL, **body})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def all(self) -> list[dict[str, Any]]:
        body = self.caller.call("GET", "/v1/webhooks").json()
        assert body["object"] == "list"
        found: list[dict[str, Any]] = body["data"]
        return found

    def call(self, method: str, path: str, **request: Any) -> httpx2.Response:
        return self.caller.call(method, f"/v1/webhooks/{path}", **request)

    def read(self, endpoint_id: str) -> dict[str, Any]:
        answer = self.call("GET", endpoint_id)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def change(self, endpoint_id: str, **body: Any) -> dict[str, Any]:
        answer = self.call("PATCH", endpoint_id, json=body)
        assert answer.status_code == 200, answer.text
        changed: dict[str, Any] = answer.json()
        return changed

    def refusal(self, status: int, code: str, **body: Any) -> dict[str, Any]:
        return self.caller.refusal(status, code, "POST", "/v1/webhooks", json=body)


# --- create, read, list ---------------------------------------------------------------------------
@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule(
    "WebhookEndpoint.object",
    "WebhookEndpoint.id",
    "WebhookEndpoint.url",
    "WebhookEndpoint.events",
    "WebhookEndpoint.description",
    "WebhookEndpoint.created_at",
    "WebhookEndpoint.secret",
    "WebhookEndpoint.recent_deliveries",
    "Webhooks create",
    "Errors success",
)
def test_a_new_endpoint_shows_its_secret_once(hooks: Hooks) -> None:
    made = hooks.create(events=["message.completed", "job.failed"], description="Mine")
    assert set(made) == FIELDS | {"secret"}
    assert SECRET.fullmatch(made["secret"])
    assert re.fullmatch(r"whe_[0-9a-f]{32}", made["id"])
    assert (made["object"], made["url"]) == ("webhook_endpoint", URL)
    assert made["events"] == ["message.completed", "job.failed"]
    assert made["description"] == "Mine"
    assert made["disabled_at"] is made["disabled_reason"] is made["failing_since"] is None

    read = hooks.read(made["id"])
    shown = {name: value for name, value in made.items() if name != "secret"}
    assert read == {**shown, "recent_deliveries": []}
    assert hooks.all() == [shown]
    assert hooks.change(made["id"]) == shown


@pytest.mark.rule("WebhookEndpoint.events", "Webhooks create.events")
@pytest.mark.parametrize("events", [{}, {"events": None}, {"events": ["*"]}])
def test_all_events_unless_some_are_named(hooks: Hooks, events: dict[str, Any]) -> None:
    made = hooks.create(**events)
    assert made["events"] == ["*"]
    assert made["description"] is None


def test_an_event_named_twice_counts_once(hooks: Hooks) -> None:
    made = hooks.create(events=["job.failed", "job.failed", "job.expired"])
    assert made["events"] == ["job.failed", "job.expired"]


@pytest.mark.rule("Retry safety 4")
def test_every_secret_is_another(hooks: Hooks) -> None:
    """Each POST makes another endpoint; the newest is listed first."""
    first, second = hooks.create(), hooks.create()
    assert first["secret"] != second["secret"]
    assert [each["id"] for each in hooks.all()] == [second["id"], first["id"]]


# --- what is refused ------------------------------------------------------------------------------
@pytest.mark.rule("Webhooks create.url", "Errors bad_url", "Limits endpoints")
@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://hooks.example.com:8080/",
        "https://169.254.169.254/latest/meta-data",
        "",
        "https://hooks.example.com/" + "x" * 1_975,
    ],
)
def test_addresses_that_are_not_public_are_refused(hooks: Hooks, url: str) -> None:
    made = hooks.create()
    hooks.refusal(400, "bad_url", url=url)
    hooks.caller.refusal(400, "bad_url", "PATCH", f"/v1/webhooks/{made['id']}", json={"url": url})
    assert hooks.read(made["id"])["url"] == URL


@pytest.mark.rule("WebhookEndpoint.url", "Webhooks create.url", "Limits endpoints")
@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com:8443/a?b=c",
        "https://hooks.example.com/" + "x" * 1_974,
    ],
)
def test_public_addresses_are_taken_as_given(hooks: Hooks, url: str) -> None:
    assert hooks.create(url=url)["url"] == url


@pytest.mark.rule("Webhooks create.events", "Errors bad_events")
@pytest.mark.parametrize(
    "events", [[], ["message.processing"], ["*", "nothing"], ["MESSAGE.COMPLETED"], [""]]
)
def test_unknown_events_are_refused(hooks: Hooks, events: list[str]) -> None:
    hooks.refusal(400, "bad_events", url=URL, events=events)
    made = hooks.create(events=["job.failed"])
    path = f"/v1/webhooks/{made['id']}"
    hooks.caller.refusal(400, "bad_events", "PATCH", path, json={"events": events})
    assert hooks.read(made["id"])["events"] == ["job.failed"]


@pytest.mark.rule("Webhooks create.description", "Errors bad_request", "Limits endpoints")
def test_a_long_description_is_refused(hooks: Hooks) -> None:
    made = hooks.create(description="é" * 120)
    assert made["description"] == "é" * 120
    hooks.refusal(400, "bad_request", url=URL, description="é" * 121)
    path = f"/v1/webhooks/{made['id']}"
    hooks.caller.refusal(400, "bad_request", "PATCH", path, json={"description": "x" * 121})


@pytest.mark.rule("Webhooks create.errors", "Webhooks change")
@pytest.mark.parametrize(
    ("method", "body", "field"),
    [
        ("POST", {}, "url"),
        ("POST", {"url": None}, "url"),
        ("POST", {"url": 5}, "url"),
        ("POST", {"url": URL, "events": "*"}, "events"),
        ("POST", {"url": URL, "events": [1]}, "events.0"),
        ("POST", {"url": URL, "description": True}, "description"),
        ("PATCH", {"enabled": "true"}, "enabled"),
        ("PATCH", {"enabled": 1}, "enabled"),
        ("PATCH", {"enabled": []}, "enabled"),
    ],
)
def test_wrong_types_are_named(hooks: Hooks, method: str, body: dict[str, Any], field: str) -> None:
    path = "/v1/webhooks" if method == "POST" else f"/v1/webhooks/{hooks.create()['id']}"
    refusal = hooks.caller.refusal(400, "invalid_request", method, path, json=body)
    assert [problem["field"] for problem in refusal["problems"]] == [field]


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule(
    "WebhookEndpoint.list",
    "Webhooks list",
    "Webhook events 9",
    "Errors too_many_endpoints",
    "Limits endpoints",
)
def test_ten_endpoints_and_no_more(hooks: Hooks, caller: Caller) -> None:
    """Even when all ask at once; one that is turned off counts as well."""
    hooks.change(hooks.create()["id"], enabled=False)

    def ask(_: int) -> int:
        return caller.call("POST", "/v1/webhooks", json={"url": URL}).status_code

    with ThreadPoolExecutor(15) as threads:
        answers = sorted(threads.map(ask, range(24)))
    assert answers == [201] * 9 + [409] * 15
    assert len(hooks.all()) == 10
    hooks.refusal(409, "too_many_endpoints", url=URL)
    hooks.call("DELETE", hooks.all()[0]["id"])
    hooks.create()


# --- change ---------------------------------------------------------------------------------------
@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("Webhooks change", "Retry safety 1")
def test_only_what_is_given_changes(hooks: Hooks) -> None:
    """A PATCH may be repeated."""
    made = hooks.create(events=["job.failed"], description="Mine")
    del made["secret"]
    other = "https://other.example.com/"
    for change in ({"url": other}, {"events": ["*"]}, {"description": "Yours"}):
        made |= change
        assert hooks.change(made["id"], **change, enabled=None, unknown=1) == made
    unchanged = {"url": None, "events": None, "description": None}
    assert hooks.change(made["id"], **unchanged) == made


@pytest.mark.rule(
    "WebhookEndpoint.disabled_at",
    "WebhookEndpoint.disabled_reason",
    "Webhook endpoint states 2",
    "Webhook endpoint states 3",
    "Retry safety 1",
)
def test_off_and_on_again(hooks: Hooks) -> None:
    made = hooks.create()
    off = hooks.change(made["id"], enabled=False)
    assert off["disabled_at"] is not None
    assert off["disabled_reason"] == "manual"
    assert hooks.change(made["id"], enabled=False) == off, "a repetition changes nothing"
    assert hooks.call("POST", f"{made['id']}/test").json()["error"] == "bad_request"
    on = hooks.change(made["id"], enabled=True)
    assert on["disabled_at"] is on["disabled_reason"] is None
    assert hooks.change(made["id"], enabled=True) == on


@pytest.mark.rule(
    "WebhookEndpoint.deleted", "Webhook endpoint states 4", "Webhooks delete", "Retry safety 1"
)
def test_delete_ends_it(hooks: Hooks) -> None:
    """Repeated it is a 404."""
    made = hooks.create()
    answer = hooks.call("DELETE", made["id"])
    assert answer.json() == {"object": "webhook_endpoint", "id": made["id"], "deleted": True}
    for method in ("DELETE", "GET"):
        hooks.caller.refusal(404, "not_found", method, f"/v1/webhooks/{made['id']}")
    assert hooks.all() == []
    body = {"message": "hi", "webhook_endpoint_id": made["id"]}
    hooks.caller.refusal(404, "not_found", "POST", "/v1/messages", json=body)


@pytest.mark.databases("sqlite", "postgres")
@pytest.mark.rule("WebhookEndpoint.rotated", "Webhooks rotate", "Retry safety 4")
def test_rotate_shows_a_new_secret(hooks: Hooks) -> None:
    made = hooks.create()
    path = f"{made['id']}/rotate-secret"
    rotated = hooks.call("POST", path).json()
    assert set(rotated) == {"object", "id", "secret", "old_secret_until"}
    assert (rotated["object"], rotated["id"]) == ("webhook_endpoint", made["id"])
    assert SECRET.fullmatch(rotated["secret"])
    assert rotated["secret"] != made["secret"]
    assert rotated["old_secret_until"] is None
    assert hooks.call("POST", path, json={"grace_seconds": 60}).json()["old_secret_until"]
    for wrong in (-1, 604_801, "60", 1.5):
        answer = hooks.call("POST", path, json={"grace_seconds": wrong})
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


# --- deliveries -----------------------------------------------------------------------------------
@pytest.mark.rule("Additions deliveries")
def test_pages_and_replays_are_checked(hooks: Hooks) -> None:
    path = f"/v1/webhooks/{hooks.create()['id']}"
    refusal = hooks.caller.refusal
    for query in ("limit=0", "limit=101", "limit=x", "status=lost"):
        refusal(400, "invalid_request", "GET", f"{path}/deliveries?{query}")
    for since in ("yesterday", "2026-01-01T00:00:00", 5, None):
        refusal(400, "invalid_request", "POST", f"{path}/replay", json={"since": since})
    body = {"since": "2026-01-01T00:00:00Z", "status": ["pending"]}
    refusal(400, "invalid_request", "POST", f"{path}/replay", json=body)
    missing = f"{path}/deliveries/evt_{'0' * 32}/redeliver"
    refusal(404, "not_found", "POST", missing)
