"""Every request to the API can be looked up afterwards, without its secrets (spec: Limits)."""

import base64
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from agentpost.record.records import RequestRecord
from agentpost.requests.shapes import LEFT_OUT
from tests.e2e.caller import Caller
from tests.e2e.fixtures import ServerMaker
from tests.e2e.server import KEY, AgentServer
from tests.waiting import eventually

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def server(start_server: ServerMaker) -> AgentServer:
    return start_server()


def request_line(server: AgentServer, request_id: str) -> dict[str, Any]:
    """The line of a request with its bodies, once it is written."""
    sql = f"SELECT * FROM requests WHERE id = '{request_id}'"
    [found] = eventually(lambda: server.rows(sql), what=f"the line of {request_id}")
    return asdict(RequestRecord(**found))


@pytest.mark.databases("sqlite", "postgres")
def test_a_request_is_kept_with_what_came_of_it(caller: Caller, server: AgentServer) -> None:
    answer = caller.call(
        "POST",
        "/v1/messages",
        json={"message": "hello"},
        headers={"Idempotency-Key": "do-not-keep-me", "traceparent": TRACE},
    )
    line = request_line(server, answer.headers["Request-Id"])
    assert (line["method"], line["path"], line["status"]) == ("POST", "/v1/messages", 201)
    assert (line["error"], line["traceparent"]) == (None, TRACE)
    assert "hello" in line["request_body"]
    assert answer.json()["id"] in line["response_body"]
    assert line["response_bytes"] == len(answer.content)
    assert line["account_id"].startswith("acc_")
    assert line["key_id"].startswith("key_")
    assert 0 <= line["ms"] < 30_000
    assert not [v for v in line.values() if KEY in str(v) or "do-not-keep-me" in str(v)]


def test_refusals_are_kept_with_their_code(
    server: AgentServer, caller: Caller, callers: Callable[..., Caller]
) -> None:
    for method, path, status, code in (
        ("GET", "/v1/messages/msg_none?wait=0", 404, "not_found"),
        ("GET", "/v1/work?limit=0", 400, "invalid_request"),
        ("PUT", "/v1/me", 405, "method_not_allowed"),
    ):
        answer = caller.call(method, path)
        line = request_line(server, answer.headers["Request-Id"])
        assert (line["path"], line["status"], line["error"]) == (path, status, code)
        assert line["key_id"] is not None
    answer = callers(server, "svc_key_wrong").call("GET", "/v1/me")
    line = request_line(server, answer.headers["Request-Id"])
    assert (line["status"], line["error"], line["key_id"]) == (401, "unauthorized", None)
    assert line["response_body"] is None


def test_contents_of_files_are_left_out(caller: Caller, server: AgentServer) -> None:
    content = base64.b64encode(b"the contents of a file").decode()
    answer = caller.post("see", files=[{"name": "a.txt", "base64": content}])
    line = request_line(server, answer.headers["Request-Id"])
    assert "a.txt" in line["request_body"]
    assert content not in line["request_body"]

    content = base64.b64encode(b"many words " * 20_000).decode()  # taken apart while it comes
    answer = caller.post("look", files=[{"name": "long.txt", "base64": content}])
    line = request_line(server, answer.headers["Request-Id"])
    sent = json.loads(line["request_body"])
    assert sent["files"] == [{"name": "long.txt", "base64": "… (220 kB)"}]
    assert line["request_bytes"] > len(content)


def test_a_long_text_is_kept(caller: Caller, server: AgentServer) -> None:
    answer = caller.post("x" * 19_000)
    line = request_line(server, answer.headers["Request-Id"])
    assert json.loads(line["request_body"])["message"] == "x" * 19_000


def test_of_a_webhook_neither_secret_nor_path_is_kept(caller: Caller, server: AgentServer) -> None:
    url = "https://hooks.example.com/services/T1/B2/path-token"
    answer = caller.call("POST", "/v1/webhooks", json={"url": url})
    endpoint = answer.json()
    for asked in (answer, caller.call("GET", f"/v1/webhooks/{endpoint['id']}")):
        line = request_line(server, asked.headers["Request-Id"])
        kept = f"{line['request_body']}{line['response_body']}"
        assert "hooks.example.com/…" in kept
        assert "path-token" not in kept
        assert endpoint["secret"].removeprefix("whsec_") not in kept


def test_the_log_is_written_when_the_server_stops(start_server: ServerMaker) -> None:
    server = start_server()
    caller = Caller(server)
    request_id = caller.call("GET", "/v1/me").headers["Request-Id"]
    caller.close()
    server.stop()
    assert request_line(server, request_id)["status"] == 200
    server.start()


@pytest.mark.databases("sqlite", "postgres")
def test_bodies_go_with_their_message(caller: Caller, server: AgentServer) -> None:
    def kept(word: str) -> set[str]:
        lines = [RequestRecord(**row) for row in server.rows("SELECT * FROM requests")]
        return {
            f"{line.method} {line.path.partition('?')[0]}"
            for line in lines
            if word in f"{line.path}{line.request_body}{line.response_body}"
        }

    word, other = "zwieback", "pumpernickel"
    staying = caller.send([["reply", other]])["id"]
    key = {"Idempotency-Key": word[:4]}
    body = {"message": json.dumps([["reply", word]])}
    wrong = caller.call("POST", "/v1/messages", json={**body, "busy": word}, headers=key)
    unknown = {**body, "webhook_endpoint_id": f"whe_{'0' * 32}"}
    lost = caller.call("POST", "/v1/messages", json=unknown, headers=key)
    assert (wrong.status_code, lost.status_code) == (400, 404)
    sent = caller.call("POST", "/v1/messages", json=body, headers=key)
    message_id = sent.json()["id"]
    caller.final(message_id)
    caller.call("POST", "/v1/messages", json=body, headers=key)
    path = f"/v1/messages/{message_id}"
    assert eventually(lambda: kept(word) >= {"POST /v1/messages", f"GET {path}"})
    read = caller.call("GET", f"/v1/requests/{sent.headers['Request-Id']}")
    assert word in read.text
    for address in (path, path.replace("_", "%5F"), f"{path}/events", "/v1/messages", "/v1/events"):
        assert caller.call("GET", address).status_code == 200
    deleted = caller.call("DELETE", path)  # before those are written
    assert deleted.status_code == 200
    assert request_line(server, deleted.headers["Request-Id"])["status"] == 200
    assert kept(word) == set()
    for call, field in ((wrong, "busy"), (lost, "webhook_endpoint_id")):
        refused = caller.call("GET", f"/v1/requests/{call.headers['Request-Id']}").json()
        assert json.loads(refused["request_body"]) == {"message": LEFT_OUT, field: LEFT_OUT}
    assert kept(other) >= {"POST /v1/messages"}
    assert caller.call("GET", f"/v1/messages/{staying}").status_code == 200
    again = caller.call("GET", f"/v1/requests/{sent.headers['Request-Id']}").json()
    assert (again["path"], again["status"]) == ("/v1/messages", 201)
    assert (again["request_body"], again["response_body"]) == (None, None)
