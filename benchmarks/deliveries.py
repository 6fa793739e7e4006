"""Webhook deliveries: how many a second, and what one receiver that hangs does to the others.

A backlog is made by replaying what was delivered before, so that nothing else runs meanwhile.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
"""Events sent to a good receiver beside the one that hangs."""
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_AT = re.compile(rb'"timestamp":"([^"]+)"')
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(slots=True)
class Sink:
    """Receives on one port: ``/hang…`` is never answered, the rest at once.

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
            self._sink.count += 1
            at = _AT.search(body)
            if at is not None:
                then = datetime.fromisoformat(at[1].decode()).timestamp()
                self._sink.latencies.append(time.time() - then)
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


async def throughput(server: Server, events: int) -> Throughput:
    """Replay ``events`` events to `ENDPOINTS` receivers that answer at once."""
    async with Load(server) as load, receiving() as sink:
        paths = [await _endpoint(load, sink.url(f"good-{n}")) for n in range(ENDPOINTS)]
        sample = await load.closed_loop(CLIENTS, "hi", for_runs(events))
        if sample.errors:
            raise LoadError(f"{len(sample.errors)} messages failed; first: {sample.errors[0]}")
        sent = sample.runs * ENDPOINTS
        await sink.until(sent)
        await server.settle()
        before, began = server.usage().cpu, time.perf_counter()
        for path in paths:
            await load.write(f"{path}/replay", {"since": BEGINNING})
        await sink.until(2 * sent)
        seconds = time.perf_counter() - began
        await server.settle()
        return Throughput(sent, seconds, server.usage().cpu - before)


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


async def _endpoint(load: Load, url: str) -> str:
    """A new endpoint's path."""
    made = await load.write("/v1/webhooks", {"url": url}, 201)
    return f"/v1/webhooks/{made['id']}"
