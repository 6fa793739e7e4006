"""The connection by itself: requests arrive in any pieces, or not at all."""

import asyncio
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from agentpost.clock import ManualClock
from agentpost.http import connection
from agentpost.http.connection import Connection
from agentpost.http.connections import Connections
from tests.waiting import PATIENCE

REQUESTS = {
    "plain": b"POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody",
    "chunked": b"POST /a?b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\nbo\r\n2\r\ndy\r\n0\r\nX-Late: z\r\n\r\n",
    "offering": b"POST /a?b HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    b"Content-Length: 4\r\n\r\nbody",
    "offering, chunked": b"POST /a?b HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
}


class SentRequest:
    """An application that remembers what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        assert (request.url.path, request.url.query) == ("/a", "b")
        self.bodies.append(await request.body())
        self.headers += request.headers.keys()
        await PlainTextResponse("yes")(scope, receive, send)

    def no_request(self, problem: str) -> Response:
        return PlainTextResponse(problem, 400)


class Wire(asyncio.Transport):
    """The other end of nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.closed = asyncio.Event()

    def write(self, data: Any) -> None:
        self.sent += bytes(data)

    def write_eof(self) -> None:
        pass

    def close(self) -> None:
        self.closed.set()

    def is_closing(self) -> bool:
        return self.closed.is_set()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def open_connection(app: ASGIApp, loop: Any = None, **config: Any) -> tuple[Connection, Wire]:
    """A connection and its other end; ``config`` is uvicorn's."""
    connections = Connections(10, ManualClock())
    made = Connection(
        uvicorn.Config(app, log_config=None, **config),
        ServerState(),
        {},
        connections=connections,
        _loop=loop,
    )
    wire = Wire()
    made.connection_made(wire)
    return made, wire


async def await_answer(made: Connection) -> None:
    """Wait for the answer to what was sent."""
    while made.cycle is None or not made.cycle.response_complete:  # noqa: ASYNC110 - its own event
        await asyncio.sleep(0)


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
async def test_a_request_arrives_in_any_two_pieces(request_: bytes) -> None:
    app = SentRequest()
    made, wire = open_connection(app)
    for cut in range(1, len(request_) + 1):
        made.data_received(request_[:cut])
        made.data_received(request_[cut:])
        await await_answer(made)
        made.cycle = None  # type: ignore[assignment]
    assert app.bodies == [b"body"] * len(request_)
    assert wire.sent.count(b"HTTP/1.1 200 OK") == len(request_)
    assert not {"upgrade", "x-late"} & set(app.headers)


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS.keys())
async def test_a_request_arrives_byte_by_byte(request_: bytes) -> None:
    app = SentRequest()
    made, _ = open_connection(app)
    for at in range(len(request_)):
        made.data_received(request_[at : at + 1])
    await await_answer(made)
    assert app.bodies == [b"body"]


async def test_requests_arrive_together() -> None:
    app = SentRequest()
    made, _ = open_connection(app)
    made.data_received(b"".join(REQUESTS.values()))
    while len(app.bodies) < len(REQUESTS):  # noqa: ASYNC110 - its own event
        await asyncio.sleep(0)
    assert app.bodies == [b"body"] * len(REQUESTS)


@pytest.mark.parametrize(
    "sent", [b"", b"\r\n", b"GET /a?b HTTP/1.1\r\nHost:", REQUESTS["plain"], REQUESTS["plain"] * 2]
)
async def test_a_connection_that_brings_no_head_ends(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.05)
    app = SentRequest()
    made, wire = open_connection(app)
    made.timeout_keep_alive = 0
    if sent:
        made.data_received(sent)
    async with asyncio.timeout(PATIENCE):
        await wire.closed.wait()
    assert app.bodies == [b"body"] * sent.count(b"POST"), "what was complete was answered"


async def test_a_body_may_take_longer_than_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.0)
    app = SentRequest()
    made, wire = open_connection(app)
    made.data_received(REQUESTS["plain"][:-1])
    for _ in range(100):
        await asyncio.sleep(0)
    assert not wire.closed.is_set()
    made.data_received(REQUESTS["plain"][-1:])
    await await_answer(made)
    assert app.bodies == [b"body"]


@pytest.mark.parametrize("kind", REQUESTS)
async def test_of_very_many_requests_at_once_the_first_are_answered(kind: str) -> None:
    """An offer among them begins anew, without depth; the last answer says that it is the last."""
    app = SentRequest()
    made, wire = open_connection(app)
    made.data_received(REQUESTS[kind] * 977)
    async with asyncio.timeout(PATIENCE):
        await wire.closed.wait()
    assert len(app.bodies) == connection.PIPELINED_MAX + 1
    assert wire.sent.count(b"HTTP/1.1 200 OK") == len(app.bodies)
    assert wire.sent.count(b"connection: close") == 1
