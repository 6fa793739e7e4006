"""What somebody else notices: calls made again and again beside what is measured."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import aiohttp

from benchmarks.load import LoadError, percentile

FAILURES = (LoadError, aiohttp.ClientError, OSError, EOFError, TimeoutError)
FAILED_SECONDS = 60.0
"""What a call counts for that was not answered as it should be."""
Calls = Mapping[str, Callable[[], Awaitable[object]]]


@dataclass(slots=True)
class Beside:
    """Seconds that each call took, by name: with nothing else to do, and beside the load."""

    quiet: dict[str, list[float]] = field(default_factory=dict)
    loaded: dict[str, list[float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def p99_ms(self, name: str) -> float:
        """Beside the load."""
        return percentile(self.loaded.get(name, []), 0.99) * 1000

    def ratio(self, name: str, share: float = 0.99) -> float:
        """The time that ``share`` of the calls kept within beside the load, as a multiple of the
        quiet one."""
        quiet, loaded = (taken.get(name, []) for taken in (self.quiet, self.loaded))
        return percentile(loaded, share) / percentile(quiet, share)

    @contextlib.asynccontextmanager
    async def asking(
        self, calls: Calls, pause: float, taken: dict[str, list[float]]
    ) -> AsyncIterator[None]:
        """Meanwhile each of the calls is made, and made again ``pause`` seconds after its end."""

        async def again(call: Callable[[], Awaitable[object]], into: list[float]) -> None:
            while True:
                began = time.perf_counter()
                try:
                    await call()
                except FAILURES as error:
                    self.problems.append(repr(error)[:200])
                    into.append(FAILED_SECONDS)
                else:
                    into.append(time.perf_counter() - began)
                await asyncio.sleep(pause)

        tasks = [
            asyncio.create_task(again(call, taken.setdefault(name, [])))
            for name, call in calls.items()
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
