"""Webhook endpoints over HTTP (spec: Webhooks; WebhookEndpoint; Limits)."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.e2e import hooks as hooks_of_endpoints
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


class Hooks(hooks_of_endpoints.Hooks):
    """Short ways to the operations that the tests of deliveries have no use for."""

    def create(self, url: str = URL, **body: Any) -> dict[str, Any]:
        return super().create(url, **body)

    def all(self) -> list[dict[str, Any]]:
        body = self.caller.call("GET", "/v1/webhooks").json()
        assert body["object"] == "list"
        found: list[dict[str, Any]] = body["data"]
        return found

    def call(self, method: str, path: str, **request: Any) -> httpx2.Response:
        return self.caller.call(method, f"/v1/webhooks/{path}", **request)

    def read(self, endpoint: dict[str, Any]) -> dict[str, Any]:
        return self._json("GET", f"/{endpoint['id']}")


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

    read = hooks.read(made)
    shown = {name: value for name, value in made.items() if name != "secret"}
    assert read == {**shown, "recent_deliveries": []}
    assert hooks.all() == [shown]
    assert hooks.change(made) == shown


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
@pytest.mark.rule(
    "Webhooks create.url",
    "Webhooks create.events",
    "Webhooks create.description",
    "Errors bad_url",
    "Errors bad_events",
    "Errors bad_request",
    "Limits endpoints",
)
@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("url", "http://hooks.example.com/", "bad_url"),
        ("url", "https://hooks.example.com:8080/", "bad_url"),
        ("url", "https://169.254.169.254/latest/meta-data", "bad_url"),
        ("url", "", "bad_url"),
        ("url", "https://hooks.example.com/" + "x" * 1_975, "bad_url"),
        ("events", [], "bad_events"),
        ("events", ["message.processing"], "bad_events"),
        ("events", ["*", "nothing"], "bad_events"),
        ("events", ["MESSAGE.COMPLETED"], "bad_events"),
        ("events", [""], "bad_events"),
        ("description", "é" * 121, "bad_request"),
    ],
)
def test_what_no_endpoint_may_have_is_refused(
    hooks: Hooks, field: str, value: object, code: str
) -> None:
    made = hooks.read(hooks.create(events=["job.failed"], description="é" * 120))
    assert made["description"] == "é" * 120
    refused = hooks.caller.refusal
    refused(400, code, "POST", "/v1/webhooks", json={"url": URL, field: value})
    refused(400, code, "PATCH", f"/v1/webhooks/{made['id']}", json={field: value})
    assert hooks.read(made) == made
    assert len(hooks.all()) == 1


@pytest.mark.rule("WebhookEndpoint.url", "Webhooks create.url", "Limits endpoints")
@pytest.mark.parametrize(
    "url", ["https://hooks.example.com:8443/a?b=c", "https://hooks.example.com/" + "x" * 1_974]
)
def test_public_addresses_are_taken_as_given(hooks: Hooks, url: str) -> None:
    assert hooks.create(url=url)["url"] == url


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
    hooks.change(hooks.create(), enabled=False)

    def ask(_: int) -> int:
        return caller.call("POST", "/v1/webhooks", json={"url": URL}).status_code

    with ThreadPoolExecutor(15) as threads:
        answers = sorted(threads.map(ask, range(24)))
    assert answers == [201] * 9 + [409] * 15
    assert len(hooks.all()) == 10
    caller.refusal(409, "too_many_endpoints", "POST", "/v1/webhooks", json={"url": URL})
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
        assert hooks.change(made, **change, enabled=None, unknown=1) == made
    unchanged = {"url": None, "events": None, "description": None}
    assert hooks.change(made, **unchanged) == made


@pytest.mark.rule(
    "WebhookEndpoint.disabled_at",
    "WebhookEndpoint.disabled_reason",
    "Webhook endpoint states 2",
    "Webhook endpoint states 3",
    "Retry safety 1",
)
def test_off_and_on_again(hooks: Hooks) -> None:
    made = hooks.create()
    off = hooks.change(made, enabled=False)
    assert off["disabled_at"] is not None
    assert off["disabled_reason"] == "manual"
    assert hooks.change(made, enabled=False) == off, "a repetition changes nothing"
    assert hooks.call("POST", f"{made['id']}/test").json()["error"] == "bad_request"
    on = hooks.change(made, enabled=True)
    assert on["disabled_at"] is on["disabled_reason"] is None
    assert hooks.change(made, enabled=True) == on


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
