"""A held call learns that its client is gone."""

import asyncio
import gc
import weakref

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from agentpost.api.operation import watch_hang_up
from agentpost.clock import ManualClock
from agentpost.http import request_state
from agentpost.http.application import Route
from agentpost.wakeups.base import Wakeups
from tests.http.test_application import MIDDLEWARES, Group, application
from tests.http.test_connection_bytes import open_connection
from tests.waiting import eventually_async

WHOLE = b"POST /held HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"
PART = b"POST /held HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\nbody"
PLAIN = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Holding:
    """An application that holds every call until it is hinted or its client is gone."""

    def __init__(self) -> None:
        self.wakeups = Wakeups()
        self.held = asyncio.Event()
        self.over: list[bool] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        state = request_state.begin(scope, ManualClock())
        with self.wakeups.listen("msg") as wait:
            watch_hang_up(request, wait)
            self.held.set()
            await wait.wait(60)
            self.over.append(wait.over)
        state.end()
        await PlainTextResponse("yes")(scope, receive, send)

    def no_request(self, problem: str) -> Response:
        return PlainTextResponse(problem, 400)


@pytest.mark.parametrize("is_held", [True, False], ids=["held", "not held yet"])
@pytest.mark.parametrize("sent", [WHOLE, PART, WHOLE + PLAIN], ids=["whole", "part", "pipelined"])
async def test_a_held_call_ends_when_its_client_hangs_up(sent: bytes, is_held: bool) -> None:
    app = Holding()
    made, _ = open_connection(app)
    made.data_received(sent)
    if is_held:
        await app.held.wait()
        await asyncio.sleep(0)
    made.connection_lost(None)
    await eventually_async(lambda: app.over)
    assert app.over == [True]


async def test_a_call_that_is_over_is_told_nothing() -> None:
    app = Holding()
    made, _ = open_connection(app)
    made.data_received(WHOLE)
    await app.held.wait()
    app.wakeups.hint("msg")
    await eventually_async(lambda: made.cycle.response_complete)
    assert app.over == [False]
    assert not made._watching


async def test_an_answered_call_is_freed_without_the_garbage_collector() -> None:
    wakeups = Wakeups()

    async def hold(request: Request) -> Response:
        with wakeups.listen("msg") as wait:
            watch_hang_up(request, wait)
            return PlainTextResponse("yes")

    made, _ = open_connection(application(Group("/", Route("/", {"GET": hold}, MIDDLEWARES))))
    gc.disable()
    try:
        kept = []
        for _ in range(2):
            made.data_received(PLAIN)
            kept.append(weakref.ref(made.cycle))
            await eventually_async(lambda: made.cycle.response_complete)
            await asyncio.sleep(0)  # its task ends after its answer
        assert kept[0]() is None
        assert kept[1]() is made.cycle, "the connection keeps the last one"
    finally:
        gc.enable()
