"""A client that sends no more gets its answers (design: A client that sends no more)."""

import json
import re
import socket

import pytest

from tests.e2e.caller import Caller, Json
from tests.e2e.raw import answer_on, connect, head, raw
from tests.e2e.server import AgentServer
from tests.waiting import PROMPT, eventually

METRICS = "metrics"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
COMMENT = b"4\r\n: \n\n\r\n"
STREAM = "Accept: text/event-stream"
MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
A2A = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "message/send",
    "params": {
        "message": {
            "kind": "message",
            "role": "user",
            "messageId": "m1",
            "parts": [{"kind": "text", "text": "hello"}],
        }
    },
}
RESPONSES = {"model": "agentpost", "input": "hello"}


def posted(path: str, body: object, *headers: str, version: str = "1.1") -> bytes:
    data = json.dumps(body).encode()
    typed = ("Content-Type: application/json", f"Content-Length: {len(data)}")
    request = head("POST", path, *typed, *headers) + data
    return request.replace(b"HTTP/1.1", f"HTTP/{version}".encode(), 1)


REQUESTS = {
    "open to all": (head("GET", "/healthz", key=None), b"live"),
    "with a key": (head("GET", "/v1/me"), b'"object":"account"'),
    "a message": (posted("/v1/messages", {"message": "hello"}), b"You said: hello"),
    "in chunks": (
        head("POST", "/v1/messages", "Transfer-Encoding: chunked")
        + b'14\r\n{"message": "hello"}\r\n0\r\n\r\n',
        b"You said: hello",
    ),
    "by HTTP/1.0": (posted("/v1/messages", {"message": "hello"}, version="1.0"), b"You said"),
    "refused": (posted("/v1/messages", {}), b"empty_message"),
    "a page": (head("GET", "/login", "Accept: text/html", key=None), b"</html>"),
    "a document": (head("GET", "/docs", key=None), b"</html>"),
    "MCP": (posted("/mcp", MCP, f"{STREAM}, application/json"), b'"tools"'),
    "A2A": (posted("/a2a", A2A), b"You said: hello"),
    "OpenAI": (posted("/openai/v1/responses", RESPONSES), b"You said: hello"),
    "OpenAI, streamed": (
        posted("/openai/v1/responses", {**RESPONSES, "stream": True}),
        b"response.completed",
    ),
}
SETTINGS = {"metrics_token": METRICS}


def half_closed(server: AgentServer, request: bytes) -> socket.socket:
    connection = connect(server)
    connection.sendall(request)
    connection.shutdown(socket.SHUT_WR)
    return connection


def rest_of(connection: socket.socket) -> bytes:
    """What comes until the server closes."""
    received = b""
    while piece := connection.recv(65_536):
        received += piece
    return received


def until(connection: socket.socket, part: bytes, times: int = 3) -> bytes:
    """What comes until a part of it has come so often: the call is held meanwhile."""
    received = b""
    while received.count(part) < times:
        piece = connection.recv(65_536)
        assert piece, received
        received += piece
    return received


def held_calls(server: AgentServer) -> int:
    metrics = raw(server, head("GET", "/metrics", key=METRICS)).body.decode()
    match = re.search(r"^agentpost_held_calls (\d+)", metrics, re.MULTILINE)
    assert match
    return int(match[1])


def working(caller: Caller, gate: str) -> str:
    """The path of a message whose job waits at a gate."""
    message = caller.send([["start", "Work", [["gate", gate], ["return", "Done."]]]])
    caller.server.await_gate(gate)
    return f"/v1/messages/{message['id']}"


@pytest.mark.parametrize("kind", REQUESTS)
def test_every_kind_of_answer_comes(server: AgentServer, kind: str) -> None:
    request, part = REQUESTS[kind]
    with half_closed(server, request) as connection:
        answer = rest_of(connection)
    assert part in answer


def test_answers_to_all_that_was_sent_come(server: AgentServer) -> None:
    with half_closed(server, head("GET", "/v1/me") * 3) as connection:
        answers = rest_of(connection)
    assert answers.count(b'"object":"account"') == 3


def test_a_held_message_is_answered_when_it_is_ready(server: AgentServer) -> None:
    script = {"message": json.dumps([["gate", "half"], ["reply", "At last."]])}
    with half_closed(server, posted("/v1/messages", script)) as connection:
        assert until(connection, CONTINUE) == 3 * CONTINUE
        server.open_gate("half")
        answer = answer_on(connection)
        assert (answer.status, answer.body["reply"]) == (201, "At last.")
        assert rest_of(connection) == b""


def test_a_stream_runs_to_its_end(server: AgentServer, caller: Caller) -> None:
    path = working(caller, "half streamed")
    with half_closed(server, head("GET", f"{path}/stream")) as connection:
        received = until(connection, COMMENT)
        server.open_gate("half streamed")
        received += rest_of(connection)
    assert re.findall(rb"event: (\w+)", received) == [b"agent_reply", b"result", b"end"]
    assert received.endswith(b"\r\n0\r\n\r\n")


@pytest.mark.parametrize("when", ["at once", "after its side"])
@pytest.mark.parametrize("call", ["?wait=45", "/events?wait=45", "/stream"])
def test_a_client_that_is_gone_frees_its_wait(
    server: AgentServer, caller: Caller, call: str, when: str
) -> None:
    gate = f"gone, {call[1:4]}, {when}"
    path = working(caller, gate)
    if call.startswith("/events"):
        call += f"&cursor={caller.events(path.rpartition('/')[2])['cursor']}"
    connection = connect(server)
    connection.sendall(head("GET", f"{path}{call}"))
    eventually(lambda: held_calls(server) == 1)
    if when == "after its side":
        connection.shutdown(socket.SHUT_WR)
        until(connection, COMMENT if call == "/stream" else CONTINUE)
    connection.close()
    eventually(lambda: held_calls(server) == 0, PROMPT)
    server.open_gate(gate)


def test_a_held_call_by_http_1_0_is_answered_at_once(server: AgentServer, caller: Caller) -> None:
    """Nothing may be written before its answer, so nothing would show that it is gone."""
    path = working(caller, "half 1.0")
    request = head("GET", f"{path}?wait=45").replace(b"HTTP/1.1", b"HTTP/1.0")
    with half_closed(server, request) as connection:
        answer = answer_on(connection)
    server.open_gate("half 1.0")
    assert answer.seconds < PROMPT
    assert (answer.status, answer.body["status"]) == (200, "processing")


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /v1/me HTTP/1.1\r\nHost: x\r\n",
        head("POST", "/v1/messages", "Content-Length: 99") + b'{"message": "hello"}',
        head("POST", "/v1/messages", "Transfer-Encoding: chunked") + b'14\r\n{"message": "hel',
    ],
    ids=["head", "body", "chunk"],
)
def test_a_request_that_ends_early_is_refused(server: AgentServer, request_: bytes) -> None:
    with half_closed(server, request_) as connection:
        answer: Json = json.loads(rest_of(connection).partition(b"\r\n\r\n")[2])
    assert answer["error"] == "bad_request"
    assert "before the request was whole" in answer["message"]


def test_an_idle_connection_ends_with_its_client(server: AgentServer) -> None:
    for request in (b"", head("GET", "/v1/me")):
        with connect(server) as connection:
            connection.sendall(request)
            if request:
                assert answer_on(connection).status == 200
            connection.shutdown(socket.SHUT_WR)
            assert rest_of(connection) == b""
