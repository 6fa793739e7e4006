"""Calls of the Agent2Agent protocol as they are on the wire, and the agent card."""

import json
import uuid
from typing import Any

import httpx2
import pytest

from tests.e2e.server import KEY, AgentServer
from tests.libraries import a2a_pb2


def test_the_card_tells_how_to_call(server: AgentServer) -> None:
    answer = httpx2.get(f"{server.url}/.well-known/agent-card.json", trust_env=False)
    card = answer.json()
    assert card["supportedInterfaces"][0]["url"] == f"{server.url}/a2a"
    assert card["capabilities"].get("pushNotifications", False) is False
    known = {"If-None-Match": answer.headers["etag"]}
    again = httpx2.get(answer.url, headers=known, trust_env=False)
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("version", "of_1_0", "of_0_3"),
    [("1.0", True, False), ("1.1", True, False), ("0.3", False, True), (None, True, True)],
)
def test_the_card_has_the_form_of_the_version_that_is_asked_for(
    server: AgentServer, version: str | None, of_1_0: bool, of_0_3: bool
) -> None:
    """Clients of both versions ask for none; the models of the SDK take what is theirs."""
    from a2a.compat.v0_3 import types as types_of_0_3
    from google.protobuf.json_format import ParseDict

    headers = {} if version is None else {"A2A-Version": version}
    answer = httpx2.get(
        f"{server.url}/.well-known/agent-card.json", headers=headers, trust_env=False
    )
    card, scheme = answer.json(), answer.json()["securitySchemes"]["key"]
    assert ("supportedInterfaces" in card, "httpAuthSecurityScheme" in scheme) == (of_1_0, of_1_0)
    assert ("url" in card, scheme.get("type")) == (of_0_3, "http" if of_0_3 else None)
    assert answer.headers["vary"] == "A2A-Version"
    if of_1_0 and not of_0_3:
        ParseDict(card, a2a_pb2.AgentCard())  # which refuses what it does not know
    if of_0_3:
        assert types_of_0_3.AgentCard.model_validate(card).url == f"{server.url}/a2a"


def test_clients_of_the_version_before_are_understood(server: AgentServer) -> None:
    message = {
        "kind": "message",
        "messageId": uuid.uuid4().hex,
        "role": "user",
        "parts": [{"kind": "text", "text": "good day"}],
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    answer = httpx2.post(
        f"{server.url}/a2a",
        headers={"Authorization": f"Bearer {KEY}"},
        json=body,
        timeout=120,
        trust_env=False,
    ).json()
    assert answer["result"]["kind"] == "task"
    assert answer["result"]["status"]["state"] == "completed"


def rpc(server: AgentServer, body: Any, version: str | None = "1.0") -> dict[str, Any]:
    """What is answered to a body that is sent as it is."""
    headers = {"Authorization": f"Bearer {KEY}"} | ({"A2A-Version": version} if version else {})
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = f"{server.url}/a2a"
    sent = httpx2.post(url, headers=headers, content=content, timeout=60, trust_env=False)
    answer: dict[str, Any] = sent.json()
    assert (sent.status_code, answer["jsonrpc"]) == (200, "2.0")
    return answer


CALL = {"jsonrpc": "2.0", "id": 7, "method": "ListTasks", "params": {}}
PARTS = [{"text": "hi"}]
LONG = {"message": {"messageId": "1", "contextId": "x" * 200, "role": "ROLE_USER", "parts": PARTS}}


DEEP = b"[" * 9_000 + b"]" * 9_000


def refusal_of_deep() -> tuple[int, str]:
    """The parser of Python 3.13 reads what the one before finds nested too deeply."""
    try:
        json.loads(DEEP)
    except RecursionError:
        return -32700, "nested too deeply"
    return -32600, "JSON object"


def test_what_is_no_call_is_refused_as_the_protocol_says(server: AgentServer) -> None:
    for body, code, said in (
        (b"{", -32700, "not valid JSON"),
        (b"\xff", -32700, "not valid JSON"),
        (DEEP, *refusal_of_deep()),
        ("hello", -32600, "JSON object"),
        ([CALL], -32600, "JSON object"),
        ({**CALL, "jsonrpc": "1.0"}, -32600, "jsonrpc"),
        ({"jsonrpc": "2.0", "id": 7}, -32600, "method"),
        ({**CALL, "method": ["ListTasks"], "params": [1]}, -32600, "text; params"),
        ({**CALL, "id": {}}, -32600, "id must be"),
        ({**CALL, "params": {"contextId": "\0"}}, -32602, "contextId the text holds"),
        ({**CALL, "method": "DoIt"}, -32601, "not found"),
        (
            {**CALL, "method": "SendMessage", "params": LONG},
            -32602,
            "contextId string should have at most 128",
        ),
        ({**CALL, "params": {"pageToken": "next"}}, -32602, "pageToken"),
        ({**CALL, "params": {"status": "TASK_STATE_DONE"}}, -32602, "status"),
        ({**CALL, "params": {"status": 77}}, -32602, "status"),
        ({**CALL, "params": {"pageSize": 0}}, -32602, "pageSize"),
    ):
        answer = rpc(server, body)
        found = (answer["error"]["code"], said in answer["error"]["message"])
        assert found == (code, True), answer
        assert answer["id"] == 7 or code in (-32700, -32600)


def test_the_name_of_a_method_tells_the_version(server: AgentServer) -> None:
    message = {"messageId": uuid.uuid4().hex, "role": "ROLE_USER", "parts": [{"text": "good day"}]}
    call = {**CALL, "method": "SendMessage", "params": {"message": message}}
    assert rpc(server, call, None)["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert rpc(server, call, "0.3")["error"]["code"] == -32009
