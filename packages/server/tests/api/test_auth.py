"""Who may call (spec: Authentication; design: Keys and ids)."""

import json
import re
from collections.abc import Callable

import pytest

from tests.e2e.caller import Caller
from tests.e2e.raw import head, raw
from tests.e2e.server import KEY, AgentServer
from tests.waiting import PROMPT, holds_after

BAD = {
    "no header": [],
    "another scheme": [f"Authorization: Basic {KEY}"],
    "no scheme": [f"Authorization: {KEY}"],
    "no key": ["Authorization: Bearer"],
    "blank key": ["Authorization: Bearer   "],
    "unknown key": ["Authorization: Bearer svc_key_unknown"],
    "a key and more": [f"Authorization: Bearer {KEY} x"],
    "a huge key": [f"Authorization: Bearer {'k' * 8_000}"],
    "no text": ["Authorization: Bearer svc_key_\xff\xfe"],
}


@pytest.mark.rule("Authentication 3", "Errors unauthorized")
def test_a_bad_header_is_no_key(server: AgentServer) -> None:
    for name, headers in BAD.items():
        answer = raw(server, head("GET", "/v1/me", *headers, key=None))
        assert (answer.status, answer.body["error"]) == (401, "unauthorized"), name
        assert answer.body["request_id"] == answer.headers["request-id"], name


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_has_any_case(server: AgentServer, scheme: str) -> None:
    request = head("GET", "/v1/me", f"Authorization: {scheme} {KEY}", key=None)
    assert raw(server, request).status == 200


@pytest.mark.parametrize("key", [None, "svc_key_wrong"])
def test_a_refusal_does_not_wait_for_the_body(server: AgentServer, key: str | None) -> None:
    announced = "Content-Length: 90000000"
    answer = raw(server, head("POST", "/v1/messages", announced, key=key) + b'{"mess')
    assert answer.status == 401
    assert answer.seconds < PROMPT
    chunked = head("POST", "/v1/messages", "Transfer-Encoding: chunked", key=key)
    assert raw(server, chunked).status == 401


@pytest.mark.rule("Authentication 2", "Authentication 3")
@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_a_key_that_ended_stops_working_within_a_second(
    server: AgentServer, callers: Callable[..., Caller], how: str
) -> None:
    named = ("--account", "owner@localhost", "--name", how, "--expires", "1h")
    made = server.command("keys", "create", *named)
    caller = callers(server, made["key"])
    assert caller.call("GET", "/v1/me").status_code == 200
    if how == "revoked":
        server.command("keys", "revoke", made["id"])
    else:
        earlier = "UPDATE keys SET expires_at = expires_at - 3600000000"
        server.execute(f"{earlier} WHERE id = '{made['id']}'")
    holds_after(lambda: caller.call("GET", "/v1/me").status_code == 401, 1.1)
    assert caller.call("POST", "/v1/messages", json={"message": "x"}).status_code == 401


@pytest.mark.rule("Authentication 1", "Authentication 2")
def test_a_key_is_shown_once_with_its_prefix(server: AgentServer) -> None:
    """Nickname, optional expiry, the whole key at its creation only."""
    named = ("--name", "shown", "--expires", "30d")
    made = server.command("keys", "create", "--account", "owner@localhost", *named)
    assert re.fullmatch("svc_key_[A-Za-z0-9_-]{32,}", made["key"])
    [listed] = [key for key in server.command("keys", "list")["data"] if key["id"] == made["id"]]
    assert listed["name"] == "shown"
    assert listed["expires_at"] is not None
    assert made["key"] not in json.dumps(listed)
    stored = [value for row in server.rows("SELECT * FROM keys") for value in row.values()]
    assert made["key"] not in map(str, stored)


@pytest.mark.rule("Versioning 1", "Versioning 3")
def test_another_version_is_another_path(caller: Caller) -> None:
    """What breaks clients gets a path of its own; none has so far."""
    assert caller.call("GET", "/v1/me").status_code == 200
    for path in ("/v2/me", "/me", "/v1.1/me"):
        caller.refusal(404, "not_found", "GET", path)
    assert {path.split("/")[1] for path in caller.contract.document["paths"]} == {"v1"}
