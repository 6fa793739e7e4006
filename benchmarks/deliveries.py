"""Webhook deliveries: how many a second, and what receivers that hang or are slow do to the others.

A backlog is made by replaying what was delivered before, so that nothing else runs meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from benchmarks.load import Load, LoadError, for_runs
from benchmarks.servers import Server

ENDPOINTS = 9
CLIENTS = 64
BEGINNING = "1970-01-01T00:00:00Z"
DELIVERED_SECONDS_MAX = 120.0
BESIDE = 300
"""Events sent to a good receiver beside those that hang or are slow."""
ACCOUNTS = 20
SLOW_ENDPOINTS = 10
SLOW_BACKLOG = 50
"""For each of an account's slow endpoints."""
SLOW_ANSWER_SECONDS = 9.9
BESIDE_SLOW = 600
PACE_SECONDS = 0.04
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_AT = re.compile(rb'"timestamp":"([^"]+)"')
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(slots=True)
class Sink:
    """Receives on one port: ``/hang…`` is never answered, ``/slow…`` as late as is still a success,
    the rest at once.

    ``latencies`` are seconds from the event to its arrival; both processes share one clock.
    """

    port: int = 0
    count: int = 0
    hanging: int = 0
    latencies: list[float] = field(default_factory=list)

    def url(self, path: str) -> str:
        """An endpoint's address."""
        return f"http://127.0.0.1:{self.port}/{path}"

    async def until(self, count: int) -> None:
        """Wait for that many answered deliveries; raises `TimeoutError`."""
        async with asyncio.timeout(DELIVERED_SECONDS_MAX):
            while self.count < count:  # noqa: ASYNC110 - it is counted on every delivery
                await asyncio.sleep(0.002)


class _Connection(asyncio.Protocol):
    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        """Keep what answers go to."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end]
            length = _LENGTH.search(head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._data) < whole:
                return
            body, self._data = self._data[end + 4 : whole], self._data[whole:]
            if head.startswith(b"POST /hang"):
                self._sink.hanging += 1
                return
            if head.startswith(b"POST /slow"):
                self._sink.hanging += 1
                asyncio.get_running_loop().call_later(SLOW_ANSWER_SECONDS, self._answer)
                return
            self._sink.count += 1
            at = _AT.search(body)
            if at is not None:
                then = datetime.fromisoformat(at[1].decode()).timestamp()
                self._sink.latencies.append(time.time() - then)
            self._answer()

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(_ANSWER)


@asynccontextmanager
async def receiving() -> AsyncIterator[Sink]:
    """A sink that listens until the end of the block."""
    sink = Sink()
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(lambda: _Connection(sink), "127.0.0.1", 0, backlog=1024)
    sink.port = listening.sockets[0].getsockname()[1]
    try:
        yield sink
    finally:
        listening.close()


@dataclass(frozen=True, slots=True)
class Throughput:
    """Deliveries, the seconds and the server's CPU seconds they took."""

    count: int
    seconds: float
    cpu: float


async def throughput(
    server: Server, events: int, accounts: int = 1, endpoints: int = ENDPOINTS
) -> Throughput:
    """Replay ``events`` events of as many accounts, each to its own so many receivers that answer
    at once."""
    servers = [server] if accounts == 1 else await server.others(accounts)
    async with AsyncExitStack() as opened:
        loads = [await opened.enter_async_context(Load(each)) for each in servers]
        sink = await opened.enter_async_context(receiving())
        paths = [
            (load, await _endpoint(load, sink.url(f"good-{m}-{n}")))
            for m, load in enumerate(loads)
            for n in range(endpoints)
        ]
        going = for_runs(events)
        clients = max(CLIENTS // accounts, 1)
        samples = [each.closed_loop(clients, "hi", going) for each in loads]
        sent = 0
        for sample in await asyncio.gather(*samples):
            if sample.errors:
                raise LoadError(f"{len(sample.errors)} messages failed; first: {sample.errors[0]}")
            sent += sample.runs * endpoints
        await sink.until(sent)
        await server.settle()
        before, began = server.usage().cpu, time.perf_counter()
        await asyncio.gather(*(_replay(load, path) for load, path in paths))
        await sink.until(2 * sent)
        seconds = time.perf_counter() - began
        await server.settle()
        return Throughput(sent, seconds, server.usage().cpu - before)


async def _replay(load: Load, path: str) -> None:
    await load.write(f"{path}/replay", {"since": BEGINNING})


async def beside_a_hanging_one(server: Server, backlog: int) -> list[float]:
    """Latencies in seconds to a good receiver while another hangs with ``backlog`` deliveries."""
    async with Load(server) as load, receiving() as sink:
        await _endpoint(load, sink.url("hang"))
        await load.closed_loop(CLIENTS, "hi", for_runs(backlog))
        good = await _endpoint(load, sink.url("good"))
        for number in range(1, BESIDE + 1):
            await load.write(f"{good}/test", {})
            await sink.until(number)
        if not sink.hanging:
            raise LoadError("the receiver that hangs was never called")
        return sink.latencies


async def beside_slow_ones(server: Server, backlog: int) -> list[float]:
    """Latencies in seconds to a good receiver while `ACCOUNTS` accounts have `SLOW_ENDPOINTS` slow
    endpoints each, `SLOW_BACKLOG` deliveries for each of them, and one endpoint has ``backlog``.

    The good receiver is measured from the moment the slow ones are first called, when nobody knows
    yet how slow they are, and its own endpoint is as new.
    """
    async with Load(server) as load, receiving() as sink:
        await _endpoint(load, sink.url("slow"))
        await load.closed_loop(CLIENTS, "hi", for_runs(backlog))
        good = await _endpoint(load, sink.url("good"))
        others = [Load(await server.another(f"slow{n}@example.com")) for n in range(ACCOUNTS)]
        async with AsyncExitStack() as opened:
            for other in others:
                await opened.enter_async_context(other)
            slow = [
                (other, await _endpoint(other, sink.url(f"slow-{n}")))
                for other in others
                for n in range(SLOW_ENDPOINTS)
            ]
            flooding = asyncio.gather(*(_tests(other, path) for other, path in slow))
            sent = []
            for _ in range(BESIDE_SLOW):  # one by one would leave out what piles up meanwhile
                sent.append(asyncio.create_task(load.write(f"{good}/test", {}, 201)))
                await asyncio.sleep(PACE_SECONDS)
            await asyncio.gather(flooding, *sent)
            await sink.until(BESIDE_SLOW)
        if not sink.hanging:
            raise LoadError("the slow receivers were never called")
        return sink.latencies


async def _tests(load: Load, path: str) -> None:
    for _ in range(SLOW_BACKLOG):
        await load.write(f"{path}/test", {}, 201)


async def _endpoint(load: Load, url: str) -> str:
    """A new endpoint's path."""
    made = await load.write("/v1/webhooks", {"url": url}, 201)
    return f"/v1/webhooks/{made['id']}"
