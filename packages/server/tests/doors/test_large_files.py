"""A file of nearly the most that a message takes inline comes whole through each door."""

import base64
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.e2e.server import KEY, AgentServer

DATA = b"\xfb\xff\xbe" * 3_000_000 + b"!"
CONTENTS = base64.b64encode(DATA).decode()
URL_SAFE = base64.urlsafe_b64encode(DATA).decode().rstrip("=")
SEE = '[["see"]]'
"""The agent answers with the files that it has got."""
TEXT = {"type": "text", "text": SEE}
FILE = {"filename": "a.bin", "file_data": f"data:application/octet-stream;base64,{CONTENTS}"}
CALLS: dict[str, tuple[str, Any]] = {
    "mcp": (
        "/mcp",
        {
            "method": "tools/call",
            "params": {
                "name": "send_message",
                "arguments": {"text": SEE, "files": [{"name": "a.bin", "base64": CONTENTS}]},
            },
        },
    ),
    "a2a": (
        "/a2a",
        {
            "method": "SendMessage",
            "params": {
                "message": {
                    "messageId": "1",
                    "role": "ROLE_USER",
                    "parts": [{"text": SEE}, {"raw": URL_SAFE, "filename": "a.bin"}],
                }
            },
        },
    ),
    "openai": (
        "/openai/v1/chat/completions",
        {
            "model": "agentpost",
            "messages": [{"role": "user", "content": [TEXT, {"type": "file", "file": FILE}]}],
        },
    ),
}


@pytest.fixture(scope="module")
def server(start_server: Callable[..., AgentServer]) -> AgentServer:
    return start_server()


@pytest.mark.parametrize("door", CALLS)
def test_a_large_file_comes_whole(server: AgentServer, door: str) -> None:
    path, call = CALLS[door]
    body = call if door == "openai" else {"jsonrpc": "2.0", "id": 1, **call}
    headers = {
        "Authorization": f"Bearer {KEY}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "A2A-Version": "1.0",
    }
    answer = httpx2.post(
        server.url + path, headers=headers, content=json.dumps(body), timeout=60, trust_env=False
    )
    assert answer.status_code == 200, answer.text
    assert f'"size": {len(DATA)}' in answer.text.replace("\\", ""), answer.text
