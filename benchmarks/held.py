"""Thousands of long-polls held at once: what each costs and how soon one is woken."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from benchmarks.load import Load, LoadError
from benchmarks.processes import waited
from benchmarks.servers import Server

WAIT_SECONDS = 45
PREPARING = 32
"""How many waiting jobs are started at a time."""
OPENING = 128
"""How many connections are opened at a time: fewer than any server's backlog."""
WAKE_SECONDS_MAX = 10.0


@dataclass(slots=True)
class Wakes:
    """Memory per held wait in bytes, and seconds until a woken one had its answer."""

    bytes_per_wait: float
    after_settled: list[float]
    """From the job's ``settled_at`` to the answer in the client's hands, commit included."""
    after_release: list[float]
    """From sending the message that releases the job, its own turn included."""
    server_waited: float
    load_waited: float
    """The share of the time of all wakes in which the server's threads, or the load's, waited for a
    core."""


class HeldWait:
    """One long-poll on a connection of its own; plain streams keep the client light."""

    def __init__(self, server: Server, message_id: str) -> None:
        self._address = urlsplit(server.url)
        self._request = (
            f"GET /v1/messages/{message_id}?wait={WAIT_SECONDS} HTTP/1.1\r\n"
            f"Host: {self._address.netloc}\r\nAuthorization: Bearer {server.key}\r\n\r\n"
        )
        self._writer: asyncio.StreamWriter | None = None
        self.answer: asyncio.Task[tuple[float, dict[str, Any]]] | None = None

    async def open(self) -> None:
        """Send the request; `answer` ends when the server says something."""
        reader, self._writer = await asyncio.open_connection(
            self._address.hostname, self._address.port
        )
        self._writer.write(self._request.encode())
        await self._writer.drain()
        self.answer = asyncio.create_task(receive(reader))

    async def close(self) -> None:
        """Hang up."""
        if self.answer is not None:
            self.answer.cancel()
            await asyncio.gather(self.answer, return_exceptions=True)
        if self._writer is not None:
            self._writer.close()


async def receive(reader: asyncio.StreamReader) -> tuple[float, dict[str, Any]]:
    """The answer and when it came, in Unix seconds; raises `LoadError` unless it says 200."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers["content-length"]))
    arrived = time.time()
    if " 200 " not in head[0]:
        raise LoadError(f"{head[0]}: {body[:300].decode(errors='replace')}")
    return arrived, json.loads(body)


async def measure(server: Server, waits: int, wakes: int) -> Wakes:
    """Hold ``waits`` long-polls, each on its own message with a running job; wake ``wakes``."""
    async with Load(server) as load:
        ids = await waiting_messages(load, waits)
        await server.settle()
        before = server.usage().rss
        held = [HeldWait(server, message_id) for message_id in ids]
        try:
            await open_all(held)
            await server.settle()
            per_wait = (server.usage().rss - before) / waits
            # The client's own collector must not be what is measured.
            gc.collect()
            gc.freeze()
            began, pids = time.monotonic(), (server.pid, os.getpid())
            idle = [waited(pid) for pid in pids]
            woken = [await wake(load, held[number], number) for number in range(wakes)]
            took = time.monotonic() - began
            shares = [(waited(pid) - so_far) / took for pid, so_far in zip(pids, idle, strict=True)]
            early = sum(1 for wait in held[wakes:] if wait.answer is None or wait.answer.done())
            if early:
                raise LoadError(f"{early} waits were answered though nothing had changed")
        finally:
            gc.unfreeze()
            await asyncio.gather(*(wait.close() for wait in held))
    after_settled, after_release = zip(*woken, strict=True)
    return Wakes(per_wait, list(after_settled), list(after_release), *shares)


async def waiting_messages(load: Load, count: int) -> list[str]:
    """``count`` messages, each with a job that hangs."""
    slots = asyncio.Semaphore(PREPARING)

    async def one(number: int) -> str:
        async with slots:
            message = await load.send(f"wait {number}", f"held-{number}")
        if message["final"]:
            raise LoadError(f"a waiting message ended {message['status']}: {message['reason']}")
        return str(message["id"])

    return list(await asyncio.gather(*(one(number) for number in range(count))))


async def open_all(held: list[HeldWait]) -> None:
    """Open every wait."""
    slots = asyncio.Semaphore(OPENING)

    async def one(wait: HeldWait) -> None:
        async with slots:
            await wait.open()

    await asyncio.gather(*(one(wait) for wait in held))


async def wake(load: Load, wait: HeldWait, number: int) -> tuple[float, float]:
    """Release one job; seconds from its settling, and from our asking, to the wait's answer."""
    assert wait.answer is not None
    asked = time.time()
    await load.send(f"release {number}", "release")
    arrived, message = await asyncio.wait_for(asyncio.shield(wait.answer), WAKE_SECONDS_MAX)
    if not message["final"]:
        raise LoadError("a released message was not final when its wait was answered")
    settled = datetime.fromisoformat(message["jobs"][0]["settled_at"]).timestamp()
    return arrived - settled, arrived - asked
