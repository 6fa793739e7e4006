"""What uvicorn waits for without end, it does not here: heads, and bodies nobody reads."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from agentpost.clock import ManualClock
from agentpost.http import connection
from agentpost.http.connections import Connections
from tests.waiting import PATIENCE

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
TRAILED = (
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"1\r\nx\r\n0\r\nX-Trailer: late\r\n\r\n"
)


class App:
    """Answers at once with how many headers there were when it was asked to; reads `/read`
    before, and takes its time over `/held`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/held":
            await asyncio.sleep(0.2)  # answered after all that came with it was read
        if scope["path"] == "/read":
            while (await receive()).get("more_body"):
                pass
        await PlainTextResponse(str(len(scope["headers"])))(scope, receive, send)

    def no_request(self, problem: str) -> Response:
        return PlainTextResponse("no request", 400)


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server of ours."""
    config = uvicorn.Config(App(), lifespan="off", log_config=None, timeout_keep_alive=30)
    config.load()
    connections = Connections(10, ManualClock())
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: connection.Connection(config, state, {}, connections=connections), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer
    finally:
        writer.close()
        server.close()


async def answered(reader: asyncio.StreamReader) -> bytes:
    """One answer; its body."""
    async with asyncio.timeout(PATIENCE):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return await reader.readexactly(length)


async def assert_closed(reader: asyncio.StreamReader) -> None:
    async with asyncio.timeout(PATIENCE):
        assert await reader.read() == b""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS_MAX", 0.6)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("begun", [b"", b"GET / HT", HEAD[:-2]])
async def test_a_head_that_does_not_come(begun: bytes) -> None:
    async with connected() as (reader, writer):
        writer.write(begun)
        await assert_closed(reader)


@pytest.mark.usefixtures("impatient")
async def test_a_trickling_head() -> None:
    async def trickle() -> None:
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.01)

    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nX-Long: ")
        trickling = asyncio.create_task(trickle())
        try:
            await assert_closed(reader)
        except ConnectionResetError:
            pass
        finally:
            trickling.cancel()


@pytest.mark.usefixtures("impatient")
async def test_the_second_head_has_its_own_time() -> None:
    async with connected() as (reader, writer):
        for _ in range(3):
            writer.write(HEAD + b"12345")
            assert await answered(reader) == b"2"
            await asyncio.sleep(0.25)  # together longer than a head may take
        writer.write(HEAD[:-2])
        await assert_closed(reader)


@pytest.mark.usefixtures("impatient")
async def test_the_rest_of_a_body_nobody_reads_is_not_awaited_for_ever() -> None:
    async with connected() as (reader, writer):
        writer.write(HEAD)
        assert await answered(reader) == b"2"
        writer.write(b"1")
        await assert_closed(reader)


async def test_the_rest_of_a_body_may_come_late() -> None:
    async with connected() as (reader, writer):
        writer.write(HEAD)
        assert await answered(reader) == b"2"
        writer.write(b"12345" + HEAD + b"12345")
        assert await answered(reader) == b"2"


@pytest.mark.usefixtures("impatient")
async def test_a_body_that_came_late_leaves_the_connection_idle_not_overdue() -> None:
    async with connected() as (reader, writer):
        writer.write(HEAD)
        assert await answered(reader) == b"2"
        writer.write(b"12345")
        await asyncio.sleep(0.7)  # longer than a head may take, shorter than a rest
        writer.write(HEAD + b"12345")
        assert await answered(reader) == b"2"


async def test_a_request_that_breaks_behind_another_takes_nothing_from_it() -> None:
    chunked = b"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connected() as (reader, writer):
        writer.write(HEAD.replace(b" / ", b" /held ") + b"12345" + chunked + b"zz\r\n")
        assert await answered(reader) == b"2"
        await assert_closed(reader)


async def test_trailers_are_no_headers() -> None:
    async with connected() as (reader, writer):
        writer.write(TRAILED.replace(b"POST /", b"POST /read"))
        assert await answered(reader) == b"2"


async def test_a_good_request_before_a_bad_one_is_answered() -> None:
    async with connected() as (reader, writer):
        writer.write(HEAD + b"12345" + b"\x00\x01 nonsense\r\n\r\n")
        assert await answered(reader) == b"2"
        await assert_closed(reader)


async def test_heads_are_bounded() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\n" + b"X-Long: x\r\n" * 200_000)
        assert await answered(reader) == b"no request"
