"""The request log's lines of answers that are streamed, by whichever door."""

import time
import uuid
from functools import partial
from typing import Any

import httpx2
import pytest

from tests.e2e.caller import Caller
from tests.e2e.server import KEY, AgentServer
from tests.waiting import eventually

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Authorization": f"Bearer {KEY}",
    "A2A-Version": "1.0",
}


def rpc(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}}


def tool(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "/mcp", rpc("tools/call", {"name": name, "arguments": arguments})


def task(method: str, **params: Any) -> tuple[str, dict[str, Any]]:
    return "/a2a", rpc(method, params)


@pytest.mark.parametrize("door", ["api", "mcp", "a2a", "openai"])
def test_a_held_call_is_logged_with_its_time_and_its_bytes(
    server: AgentServer, caller: Caller, door: str
) -> None:
    gate = uuid.uuid4().hex
    message_id = caller.send([["start", "Report", [["gate", gate], ["return", "Done."]]]])["id"]
    path, request = {
        "api": (f"/v1/messages/{message_id}/stream", {}),
        "mcp": tool("follow_message", message_id=message_id),
        "a2a": task("SubscribeToTask", id=message_id),
        "openai": (f"/openai/v1/responses/{message_id.replace('msg', 'resp')}?stream=true", {}),
    }[door]
    with (
        httpx2.Client(base_url=server.url, headers=HEADERS, timeout=60, trust_env=False) as http,
        http.stream("POST" if request else "GET", path, **request) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        began = time.monotonic()
        server.await_gate(gate)
        held = time.monotonic() - began
        server.open_gate(gate)
        size = sum(len(chunk) for chunk in answer.iter_bytes())
    [line] = eventually(
        lambda: server.rows(
            "SELECT status, ms, response_bytes, response_body FROM requests"
            f" WHERE id = '{answer.headers['request-id']}'"
        )
    )
    assert size > 0
    assert (line["status"], line["response_bytes"], line["response_body"]) == (200, size, None)
    assert line["ms"] >= round(held * 1_000) - 1


def test_no_body_of_a_door_is_logged(server: AgentServer, caller: Caller) -> None:
    message_id = caller.send("hello")["id"]
    response_id = message_id.replace("msg", "resp")
    with httpx2.Client(base_url=server.url, headers=HEADERS, timeout=60, trust_env=False) as http:
        answers = [
            http.get(f"/openai/v1/responses/{response_id}"),
            http.post("/openai/v1/responses", json={"model": "agentpost", "input": "hello"}),
            http.post("/a2a", **rpc("GetTask", {"id": message_id})),
            http.post("/mcp", **tool("follow_message", message_id=message_id)[1]),
        ]
    for answer in answers:
        assert answer.status_code == 200, answer.text
        sql = f"SELECT * FROM requests WHERE id = '{answer.headers['request-id']}'"
        [line] = eventually(partial(server.rows, sql))
        assert line["response_bytes"] == len(answer.content)
        assert (line["request_body"], line["response_body"]) == (None, None)


NO_MESSAGE = "msg_" + "0" * 32
A2A_MESSAGE = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
REFUSALS = [
    (tool("stop_message", message_id=NO_MESSAGE), "not_found"),
    (tool("answer_question", message_id=NO_MESSAGE, text="1"), "not_found"),
    (task("CancelTask", id=NO_MESSAGE), "not_found"),
    (task("SendMessage", message={**A2A_MESSAGE, "taskId": NO_MESSAGE}), "not_found"),
]


@pytest.mark.parametrize(("call", "code"), REFUSALS)
def test_a_refusal_within_an_answer_is_logged_with_its_code(
    server: AgentServer, call: tuple[str, dict[str, Any]], code: str
) -> None:
    path, request = call
    with httpx2.Client(base_url=server.url, headers=HEADERS, timeout=60, trust_env=False) as http:
        answer = http.post(path, **request)
    sql = f"SELECT status, error FROM requests WHERE id = '{answer.headers['request-id']}'"
    assert eventually(partial(server.rows, sql)) == [{"status": 200, "error": code}]
