"""Failures have one shape (spec: Errors; design: Keys and ids)."""

import pytest

from tests.e2e.caller import Caller
from tests.e2e.raw import head, raw
from tests.e2e.server import AgentServer


def test_an_unknown_route_is_a_404(server: AgentServer) -> None:
    for path in (
        "/v1",
        "/v1/",
        "/v2/messages",
        "/v1/messages/",
        "/v1/messages/a/b/c",
        "/v1/me/",
        "/V1/me",
        "//v1/me",
        "/v1/work/a/stop/b",
        "/%00",
        "/v1/nothing?x=%ff",
    ):
        for method in ("GET", "POST", "DELETE"):
            answer = raw(server, head(method, path, "Content-Length: 0"))
            assert (answer.status, answer.body["error"]) == (404, "not_found"), (method, path)
            assert set(answer.body) == {"error", "message", "request_id", "docs"}
            assert answer.body["request_id"] == answer.headers["request-id"]


def test_an_unknown_id_is_a_404(caller: Caller) -> None:
    for path in (
        "/v1/messages/msg_0",
        "/v1/messages/msg_" + "0" * 32,
        "/v1/messages/msg_" + "0" * 3000,
        "/v1/messages/%00",
        "/v1/messages/%ff",
        "/v1/messages/exe_" + "0" * 32,
        "/v1/messages/..%2f..%2fetc",
        "/v1/messages/%252e%252e",
        "/v1/messages/msg_0/events",
        "/v1/work/nope",
        "/v1/work/%00",
        "/v1/work/%ED%A0%80",
        "/v1/work/' OR 1=1 --",
        "/v1/files/nope/x.txt",
    ):
        caller.refusal(404, "not_found", "GET", path)


@pytest.mark.rule("What the service does 6")
def test_a_request_id_names_one_request(caller: Caller) -> None:
    ids = {caller.call("GET", "/v1/me").headers["Request-Id"] for _ in range(20)}
    assert len(ids) == 20
