"""What uvicorn waits for without end, it does not here: heads, and bodies nobody reads."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from agentpost.clock import ManualClock
from agentpost.http import connection
from agentpost.http.connection import HEAD_SECONDS_MAX
from agentpost.http.connections import Connections
from tests.waiting import PATIENCE, eventually_async

KEPT_SECONDS = 300
"""How long an idle connection is kept."""
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"


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


class Timers:
    """The event loop, but time passes for its timers only when a test says so."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._now = 0.0
        self._set: list[asyncio.TimerHandle] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def call_later(
        self, delay: float, fn: Callable[..., object], *given: Any
    ) -> asyncio.TimerHandle:
        """See `asyncio.loop.call_later`."""
        self._set.append(asyncio.TimerHandle(self._now + delay, fn, given, self._loop))
        return self._set[-1]

    def advance(self, seconds: float) -> None:
        """So much time passes."""
        self._now += seconds
        due = [timer for timer in self._set if timer.when() <= self._now]
        for timer in due:
            self._set.remove(timer)
            if not timer.cancelled():
                timer._run()


class Client:
    """A connection to a server of ours."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timers: Timers
    ) -> None:
        self._reader, self._writer = reader, writer
        self.timers = timers
        self.sent = self.arrived = 0

    def begin(self, data: bytes) -> None:
        """Send it, as far as the server takes it."""
        self._writer.write(data)
        self.sent += len(data)

    async def send(self, data: bytes) -> None:
        """Send it, and wait until the server has it."""
        self.begin(data)
        await eventually_async(lambda: self.arrived >= self.sent)

    async def answer(self) -> bytes:
        """The next answer's body."""
        async with asyncio.timeout(PATIENCE):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            return await self._reader.readexactly(length)

    async def is_closed(self) -> bool:
        """Whether the server closes the connection and says nothing more."""
        async with asyncio.timeout(PATIENCE):
            return await self._reader.read() == b""


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    """A connection to a server of ours."""
    config = uvicorn.Config(App(), lifespan="off", log_config=None, timeout_keep_alive=KEPT_SECONDS)
    config.load()
    connections = Connections(10, ManualClock())
    state = uvicorn.server.ServerState()
    loop = asyncio.get_running_loop()
    timers = Timers(loop)

    class Heard(connection.Connection):
        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            client.arrived += len(data)

    server = await loop.create_server(
        lambda: Heard(config, state, {}, connections=connections, _loop=timers),  # type: ignore[arg-type]
        *("127.0.0.1", 0),
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    client = Client(reader, writer, timers)
    try:
        yield client
    finally:
        writer.close()
        server.close()


async def test_a_trickling_head() -> None:
    async with connected() as client:
        await client.send(b"GET / HTTP/1.1\r\nX-Long: ")
        for _ in range(10):
            await client.send(b"x")
            client.timers.advance(HEAD_SECONDS_MAX / 10)
        assert await client.is_closed()


async def test_the_second_head_has_its_own_time() -> None:
    async with connected() as client:
        for _ in range(3):
            await client.send(HEAD + b"12345")
            assert await client.answer() == b"2"
            client.timers.advance(HEAD_SECONDS_MAX * 0.4)  # together longer than a head may take
        await client.send(HEAD[:-2])
        client.timers.advance(HEAD_SECONDS_MAX * 0.9)
        await client.send(b"\r\n12345")
        assert await client.answer() == b"2"
        await client.send(HEAD[:-2])
        client.timers.advance(HEAD_SECONDS_MAX)
        assert await client.is_closed()


async def test_the_rest_of_a_body_nobody_reads_is_not_awaited_for_ever() -> None:
    async with connected() as client:
        await client.send(HEAD)
        assert await client.answer() == b"2"
        await client.send(b"1")
        client.timers.advance(HEAD_SECONDS_MAX)
        assert await client.is_closed()


async def test_the_rest_of_a_body_may_come_late() -> None:
    async with connected() as client:
        await client.send(HEAD)
        assert await client.answer() == b"2"
        await client.send(b"12345" + HEAD + b"12345")
        assert await client.answer() == b"2"


async def test_a_body_that_came_late_leaves_the_connection_idle_not_overdue() -> None:
    async with connected() as client:
        await client.send(HEAD)
        assert await client.answer() == b"2"
        await client.send(b"12345")
        client.timers.advance((HEAD_SECONDS_MAX + KEPT_SECONDS) / 2)  # between the two
        await client.send(HEAD + b"12345")
        assert await client.answer() == b"2"


async def test_a_request_that_breaks_behind_another_takes_nothing_from_it() -> None:
    chunked = b"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with connected() as client:
        await client.send(HEAD.replace(b" / ", b" /held ") + b"12345" + chunked + b"zz\r\n")
        assert await client.answer() == b"2"
        assert await client.is_closed()


async def test_a_good_request_before_a_bad_one_is_answered() -> None:
    async with connected() as client:
        await client.send(HEAD + b"12345" + b"\x00\x01 nonsense\r\n\r\n")
        assert await client.answer() == b"2"
        assert await client.is_closed()
