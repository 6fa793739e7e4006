"""Open-loop arrivals: each call on a connection of its own, at its time, whatever became of others.

Written on the protocol level: a client library takes more CPU time for a call than the server needs
to refuse it, so with one the client would be what is measured.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

from benchmarks.servers import Server

NONE = "none"
"""The status of a call without an answer."""
LOST = "lost"
"""That of a call whose connection was refused or broke."""
SOURCES = 24
"""Addresses of 127.0.0.0/8 that calls come from: a port cannot be used again for a minute."""
TICK_SECONDS = 0.005


@dataclass(slots=True)
class Answers:
    """Latencies in seconds by status, from the time at which a call was due."""

    taken: dict[str, list[float]] = field(default_factory=dict)
    without_retry_after: int = 0
    most_open: int = 0
    late: float = 0.0
    """By how many seconds a call was begun too late at most: the client had no CPU time."""

    def add(self, status: str, seconds: float) -> None:
        """Count one answer."""
        self.taken.setdefault(status, []).append(seconds)


class _Call(asyncio.Protocol):
    """One call; the answer ends its connection or is as long as it says."""

    def __init__(self, request: bytes, ended: Callable[[bytes], None]) -> None:
        self._request = request
        self._ended = ended
        self._got = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, body = self._got.partition(b"\r\n\r\n")
        if found and len(body) >= _length(head):
            self.over(head)

    def connection_lost(self, exc: Exception | None) -> None:
        self.over(b"")

    def over(self, head: bytes) -> None:
        ended, self._ended = self._ended, _nothing
        ended(head)
        if self._transport is not None:
            self._transport.abort() if not head else self._transport.close()


def _nothing(_: bytes) -> None:
    """The call has ended already."""


def _length(head: bytes) -> int:
    _, found, value = head.lower().partition(b"content-length: ")
    return int(value.partition(b"\r\n")[0]) if found else 0


def message(server: Server, text: str, conversation: str) -> bytes:
    """The request that sends a message."""
    body = json.dumps({"message": text, "conversation": conversation}).encode()
    head = (
        f"POST /v1/messages HTTP/1.1\r\nHost: {urlsplit(server.url).netloc}\r\n"
        f"Authorization: Bearer {server.key}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def arrive(
    server: Server, rate: float, seconds: float, patience: float, request: Callable[[int], bytes]
) -> Answers:
    """So many calls a second for so long; ends when each has its answer or ``patience`` is over."""
    address = urlsplit(server.url)
    loop, answers = asyncio.get_running_loop(), Answers()
    open_: dict[int, _Call | None] = {}
    starting: set[asyncio.Task[None]] = set()

    async def begin(number: int, due: float) -> None:
        def ended(head: bytes) -> None:
            status = head[9:12].decode() or LOST
            if status in ("429", "503") and b"\r\nretry-after: " not in head.lower():
                answers.without_retry_after += 1
            if open_.pop(number, None) is not None:
                answers.add(status, time.perf_counter() - due)

        call = open_[number] = _Call(request(number), ended)
        source = f"127.0.0.{1 + number % SOURCES}"
        try:
            async with asyncio.timeout(patience):
                await loop.create_connection(
                    lambda: call,
                    address.hostname or "",
                    address.port or 80,
                    local_addr=(source, 0),
                )
            await asyncio.sleep(0)
        except TimeoutError:
            if open_.pop(number, None) is not None:
                answers.add(NONE, time.perf_counter() - due)
        except OSError:
            if open_.pop(number, None) is not None:
                answers.add(LOST, time.perf_counter() - due)

    began, number = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds:
        while number < passed * rate:
            due = began + number / rate
            answers.late = max(answers.late, time.perf_counter() - due)
            task = asyncio.create_task(begin(number, due))
            starting.add(task)
            task.add_done_callback(starting.discard)
            number += 1
        answers.most_open = max(answers.most_open, len(open_))
        await asyncio.sleep(TICK_SECONDS)
    until = time.perf_counter() + patience
    while open_ and time.perf_counter() < until:  # noqa: ASYNC110 (one look for thousands)
        await asyncio.sleep(TICK_SECONDS)
    for number, call in list(open_.items()):
        answers.add(NONE, patience)
        del open_[number]
        if call is not None:
            call.over(b"")
    await asyncio.gather(*starting, return_exceptions=True)
    return answers
