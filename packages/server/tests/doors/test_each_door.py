"""What holds at each door alike: whose calls are taken, and that a large file comes whole."""

import base64
import json
from typing import Any

import httpx2
import pytest

from tests.e2e.server import KEY, AgentServer

DATA = b"\xfb\xff\xbe" * 3_000_000 + b"!"
"""Nearly the most that a message takes inline."""
SEE = '[["see"]]'
"""The agent answers with the files that it has got."""
PATHS = {
    "mcp": "/mcp",
    "a2a": "/a2a",
    "responses": "/openai/v1/responses",
    "chat": "/openai/v1/chat/completions",
}
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "A2A-Version": "1.0",
}


def body_of(door: str, data: bytes = b"x") -> dict[str, Any]:
    """A message with a file, in the words of the door."""
    contents = base64.b64encode(data).decode()
    file = {"filename": "a.bin", "file_data": f"data:application/octet-stream;base64,{contents}"}
    rpc = {"jsonrpc": "2.0", "id": 1}
    if door == "mcp":
        arguments = {"text": SEE, "files": [{"name": "a.bin", "base64": contents}]}
        params: Any = {"name": "send_message", "arguments": arguments}
        return {**rpc, "method": "tools/call", "params": params}
    if door == "a2a":
        url_safe = contents.translate({43: "-", 47: "_"}).rstrip("=")
        parts = [{"text": SEE}, {"raw": url_safe, "filename": "a.bin"}]
        message = {"messageId": "1", "role": "ROLE_USER", "parts": parts}
        return {**rpc, "method": "SendMessage", "params": {"message": message}}
    if door == "responses":
        content: Any = [{"type": "input_text", "text": SEE}, {"type": "input_file", **file}]
        return {"model": "agentpost", "input": [{"role": "user", "content": content}]}
    content = [{"type": "text", "text": SEE}, {"type": "file", "file": file}]
    return {"model": "agentpost", "messages": [{"role": "user", "content": content}]}


def post(server: AgentServer, door: str, body: bytes, **headers: str | None) -> httpx2.Response:
    sent = {name: value for name, value in (HEADERS | headers).items() if value is not None}
    url = server.url + PATHS[door]
    return httpx2.post(url, headers=sent, content=body, timeout=60, trust_env=False)


@pytest.mark.parametrize("door", PATHS)
def test_a_large_file_comes_whole(server: AgentServer, door: str) -> None:
    answer = post(server, door, json.dumps(body_of(door, DATA)).encode())
    assert answer.status_code == 200, answer.text
    assert f'"size": {len(DATA)}' in answer.text.replace("\\", ""), answer.text


@pytest.mark.parametrize("door", PATHS)
@pytest.mark.parametrize("key", [None, "Bearer svc_key_wrong"], ids=["none", "wrong"])
def test_a_key_is_asked_for_before_the_body(
    server: AgentServer, door: str, key: str | None
) -> None:
    answer = post(server, door, b"[" * 10_000, Authorization=key)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("door", PATHS)
def test_pages_of_other_origins_are_refused(server: AgentServer, door: str) -> None:
    body = json.dumps(body_of(door)).encode()
    assert post(server, door, body, Origin="https://evil.example").status_code == 403


@pytest.mark.parametrize("door", PATHS)
def test_a_key_that_may_only_read_sends_nothing(
    server: AgentServer, reading_key: str, door: str
) -> None:
    body = json.dumps(body_of(door)).encode()
    answer = post(server, door, body, Authorization=f"Bearer {reading_key}")
    assert "lacks the scope 'send'" in answer.text
    assert "forbidden" in answer.text
    sent = "SELECT key_id FROM messages JOIN keys ON keys.id = key_id WHERE keys.name = 'reading'"
    assert server.rows(sent) == []
