"""HTTP by hand, for requests that no honest client would send."""

import http.client
import json
import socket
import time
from dataclasses import dataclass
from typing import Any

from tests.e2e.server import KEY, AgentServer

ANSWER_SECONDS_MAX = 20.0
"""Less than the server itself waits for the rest of a request (30 s): what ends by that is late."""


@dataclass(frozen=True)
class RawAnswer:
    """What came back; ``body`` is parsed when it is JSON."""

    status: int
    headers: dict[str, str]
    body: Any
    seconds: float


def connect(server: AgentServer) -> socket.socket:
    """A connection to the server."""
    return socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS_MAX)


def head(method: str, path: str, *headers: str, key: str | None = KEY) -> bytes:
    """The first lines of a request, as they are given."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer_on(connection: socket.socket, method: str = "GET") -> RawAnswer:
    """Read one answer."""
    began = time.monotonic()
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    data = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    is_json = headers.get("content-type") == "application/json" and data
    body = json.loads(data) if is_json else data
    return RawAnswer(response.status, headers, body, time.monotonic() - began)


def raw(server: AgentServer, request: bytes) -> RawAnswer:
    """Send bytes as they are and read the answer; the rest of the request never comes."""
    with connect(server) as connection:
        connection.sendall(request)
        return answer_on(connection, request.split(b" ", 1)[0].decode())
