"""Switching the API off beside a running server (spec: Errors unavailable)."""

import time
from collections.abc import Callable

import pytest

from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.waiting import PROMPT, eventually


def is_off(caller: Caller) -> bool:
    return caller.http.get("/v1/me").status_code == 503


@pytest.mark.rule("Errors unavailable")
def test_the_api_is_off_while_work_goes_on(
    start_server: ServerMaker, callers: Callable[..., Caller]
) -> None:
    server = start_server()
    caller = callers(server)
    message = caller.send([["start", "w", [["gate", "m"], ["return", "done meanwhile"]]]])

    server.command("maintenance", "on")
    began = time.monotonic()
    eventually(lambda: is_off(caller))
    assert time.monotonic() - began < PROMPT
    for method, path in (("GET", "/v1/me"), ("POST", "/v1/messages"), ("GET", "/v1/nowhere")):
        answer = caller.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
        assert answer.json()["request_id"] == answer.headers["Request-Id"]
        assert "RateLimit-Remaining" in answer.headers
    assert callers(server, "svc_key_wrong").http.get("/v1/me").status_code == 401
    for path in ("/healthz", "/readyz", "/openapi.json", "/docs/errors"):
        assert caller.http.get(path).status_code == 200, path

    server.open_gate("m")
    assert server.stop() == 0
    server.start()
    assert is_off(caller), "it survives a restart, from the first request on"

    server.command("maintenance", "off")
    eventually(lambda: not is_off(caller))
    assert caller.final(message["id"])["jobs"][0]["status"] == "completed"
    assert caller.work(message["jobs"][0]["work_id"])["text"] == "done meanwhile"
