"""The turns or jobs that run on the agent loop, so that all can be ended before it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from agentpost.agents.loop import AgentLoop, Submitted


class Runs:
    """Submits work to the agent loop and remembers it until it has ended. Safe on any thread."""

    def __init__(self, loop: AgentLoop) -> None:
        self._loop = loop
        self._open: set[Submitted] = set()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, factory: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run it; after `stop` it is left for whoever takes it up later."""
        with self._lock:
            if self._closed:
                return
            submitted = self._loop.submit(factory)
            self._open.add(submitted)
        submitted.ended.add_done_callback(lambda _: self._forget(submitted))

    async def stop(self, seconds: float) -> None:
        """Cancel everything and wait until it has ended, at most that long."""
        with self._lock:
            self._closed = True
            left = list(self._open)
        for submitted in left:
            submitted.cancel()
        if left:
            ended = [asyncio.wrap_future(submitted.ended) for submitted in left]
            await asyncio.wait(ended, timeout=seconds)

    def _forget(self, submitted: Submitted) -> None:
        with self._lock:
            self._open.discard(submitted)
