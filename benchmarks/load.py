"""The load client: sends messages, follows each to its final state, keeps the times."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import aiohttp

from benchmarks.servers import Server

FOLLOW_SECONDS = 20
TIMEOUT_SECONDS = 120
ECHO = "Please repeat this sentence back to me, exactly as it was written. " * 4
"""About 270 characters: a request body of some 330 bytes."""


class LoadError(Exception):
    """An answer that is not what the run should have got."""


@dataclass(slots=True)
class Sample:
    """What a closed loop saw: seconds per run, ids, wall time in seconds, what went wrong."""

    latencies: list[float] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def runs(self) -> int:
        """Finished runs; failed ones do not count."""
        return len(self.latencies)

    @property
    def rate(self) -> float:
        """Finished runs per second."""
        return self.runs / self.seconds if self.seconds else 0.0

    def ms(self, share: float) -> float:
        """The latency in ms that ``share`` of the runs kept within."""
        return percentile(self.latencies, share) * 1000


class Load:
    """A client of one server; use it as an async context manager."""

    def __init__(self, server: Server) -> None:
        self._session = aiohttp.ClientSession(
            server.url,
            headers={"Authorization": f"Bearer {server.key}"},
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
        )

    async def __aenter__(self) -> Load:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def send(self, text: str, conversation: str) -> dict[str, Any]:
        """The message as the create call answered; raises `LoadError`."""
        body = {"message": text, "conversation": conversation}
        async with self._session.post("/v1/messages", json=body) as response:
            return await decode(response, 201)

    async def read(self, path: str) -> dict[str, Any]:
        """A GET of ``path``; raises `LoadError`."""
        async with self._session.get(path) as response:
            return await decode(response, 200)

    async def write(self, path: str, body: dict[str, Any], *expected: int) -> dict[str, Any]:
        """A POST to ``path``; raises `LoadError`."""
        async with self._session.post(path, json=body) as response:
            return await decode(response, *(expected or (200, 201)))

    async def run(self, text: str, conversation: str) -> str:
        """Send a message and follow it until it is final; its id. Raises `LoadError`."""
        message = await self.send(text, conversation)
        while not message["final"]:
            message = await self.read(f"/v1/messages/{message['id']}?wait={FOLLOW_SECONDS}")
        if message["status"] != "completed":
            raise LoadError(f"message ended {message['status']}: {message.get('reason')}")
        return str(message["id"])

    async def result(self, message_id: str) -> str:
        """The text of the message's ``result`` entry; raises `LoadError`."""
        cursor = ""
        while True:
            page = await self.read(f"/v1/messages/{message_id}/events{cursor}")
            for entry in page["data"]:
                if entry["type"] == "result":
                    return str(entry["text"])
            if not page["has_more"]:
                raise LoadError(f"{message_id} has no result")
            cursor = f"?cursor={page['cursor']}"

    async def closed_loop(
        self, clients: int, text: str, go_on: Callable[[], bool], conversation: str | None = None
    ) -> Sample:
        """Each client sends its next message when the last is final, while ``go_on()`` says so.

        Every client has its own conversation unless ``conversation`` names one for all.
        """
        sample = Sample()

        async def client(name: str) -> None:
            while go_on():
                began = time.perf_counter()
                try:
                    message_id = await self.run(text, name)
                except (LoadError, aiohttp.ClientError, TimeoutError) as error:
                    sample.errors.append(f"{type(error).__name__}: {error}")
                    await asyncio.sleep(0.1)  # a server that refuses is not to be flooded
                    continue
                sample.latencies.append(time.perf_counter() - began)
                sample.ids.append(message_id)

        began = time.perf_counter()
        names = (conversation or f"{text[:8].strip()}-{number}" for number in range(clients))
        await asyncio.gather(*(client(name) for name in names))
        sample.seconds = time.perf_counter() - began
        return sample


async def decode(response: aiohttp.ClientResponse, *expected: int) -> dict[str, Any]:
    """The JSON body; raises `LoadError` on another status."""
    body = await response.read()
    if response.status not in expected:
        raise LoadError(f"HTTP {response.status}: {body[:300].decode(errors='replace')}")
    decoded: dict[str, Any] = json.loads(body)
    return decoded


def for_seconds(seconds: float) -> Callable[[], bool]:
    """True until ``seconds`` from now."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() < end


def for_runs(runs: int) -> Callable[[], bool]:
    """True ``runs`` times, whoever asks."""
    asked = itertools.count()
    return lambda: next(asked) < runs


def percentile(values: list[float], share: float) -> float:
    """Nearest rank: the smallest value that ``share`` (0 to 1) of the values do not exceed."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
