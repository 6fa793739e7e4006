"""What uvicorn waits for without end, it does not here: heads, and bodies nobody reads."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from agentpost.http.connection import HEAD_SECONDS_MAX
from tests.http.test_connection_bytes import open_connection
from tests.waiting import eventually_async

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


class Line:
    """A connection whose time passes only when a test says so."""

    def __init__(self) -> None:
        self.timers = Timers(asyncio.get_running_loop())
        self._connection, self._wire = open_connection(
            App(), self.timers, timeout_keep_alive=KEPT_SECONDS
        )
        self._answers = 0

    def send(self, data: bytes) -> None:
        """It arrives; nothing would on a connection that is closed."""
        assert not self._wire.closed.is_set()
        self._connection.data_received(data)

    async def expect_answer(self) -> None:
        """One more answer comes, whose request had two headers."""
        self._answers += 1
        await eventually_async(lambda: self._bodies() == [b"2"] * self._answers)

    async def expect_end(self) -> None:
        """The connection is closed, and nothing more is said."""
        await eventually_async(self._wire.closed.is_set)
        assert self._bodies() == [b"2"] * self._answers

    def _bodies(self) -> list[bytes]:
        return re.findall(rb"\r\n\r\n([^\r\n]+?)(?=HTTP/|$)", self._wire.sent)


async def test_a_trickling_head() -> None:
    line = Line()
    line.send(b"GET / HTTP/1.1\r\nX-Long: ")
    for _ in range(10):
        line.send(b"x")
        line.timers.advance(HEAD_SECONDS_MAX / 10)
    await line.expect_end()


async def test_the_second_head_has_its_own_time() -> None:
    line = Line()
    for _ in range(3):
        line.send(HEAD + b"12345")
        await line.expect_answer()
        line.timers.advance(HEAD_SECONDS_MAX * 0.4)  # together longer than a head may take
    line.send(HEAD[:-2])
    line.timers.advance(HEAD_SECONDS_MAX * 0.9)
    line.send(b"\r\n12345")
    await line.expect_answer()
    line.send(HEAD[:-2])
    line.timers.advance(HEAD_SECONDS_MAX)
    await line.expect_end()


async def test_the_rest_of_a_body_nobody_reads_is_not_awaited_for_ever() -> None:
    line = Line()
    line.send(HEAD)
    await line.expect_answer()
    line.send(b"1")
    line.timers.advance(HEAD_SECONDS_MAX)
    await line.expect_end()


async def test_the_rest_of_a_body_may_come_late() -> None:
    line = Line()
    line.send(HEAD)
    await line.expect_answer()
    line.send(b"12345" + HEAD + b"12345")
    await line.expect_answer()


async def test_a_body_that_came_late_leaves_the_connection_idle_not_overdue() -> None:
    line = Line()
    line.send(HEAD)
    await line.expect_answer()
    line.send(b"12345")
    line.timers.advance((HEAD_SECONDS_MAX + KEPT_SECONDS) / 2)  # between the two
    line.send(HEAD + b"12345")
    await line.expect_answer()


async def test_a_request_that_breaks_behind_another_takes_nothing_from_it() -> None:
    chunked = b"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    line = Line()
    line.send(HEAD.replace(b" / ", b" /held ") + b"12345" + chunked + b"zz\r\n")
    await line.expect_answer()
    await line.expect_end()


async def test_a_good_request_before_a_bad_one_is_answered() -> None:
    line = Line()
    line.send(HEAD + b"12345" + b"\x00\x01 nonsense\r\n\r\n")
    await line.expect_answer()
    await line.expect_end()
