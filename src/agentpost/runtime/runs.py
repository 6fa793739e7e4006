"""The turns or jobs that run in this process: every one is known from before it is claimed until it
has really ended, so none can be missed by a stop, lost unseen, or left running at the end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentpost.threads.loop import AgentLoop, Submitted


@dataclass(slots=True, eq=False)
class Run:
    """One run of a turn or job.

    ``epoch`` is None while it is being claimed. ``over``: its calls have no effect, and it is about
    to return.
    """

    owner: str
    epoch: int | None
    over: bool = False
    cancelled: bool = False
    submitted: Submitted | None = None


class Runs:
    """Submits work to the agent loop and remembers it until it has ended. Safe on any thread."""

    def __init__(self, loop: AgentLoop) -> None:
        self._loop = loop
        self._open: dict[str, list[Run]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def submit(
        self, owner: str, epoch: int | None, work: Callable[[Run], Coroutine[Any, Any, None]]
    ) -> None:
        """Run it; after `stop` the next owner runs it."""
        run = Run(owner, epoch)
        with self._lock:
            if self._closed:
                return
            # What it ends with waits for this lock, so it cannot be forgotten before it is known.
            run.submitted = self._loop.submit(partial(work, run), partial(self._forget, run))
            self._open.setdefault(owner, []).append(run)

    def open(self) -> list[Run]:
        """All that have not ended."""
        with self._lock:
            return [run for runs in self._open.values() for run in runs]

    def claiming(self, owner: str) -> bool:
        """Whether somebody here is about to claim it already."""
        return any(run.epoch is None for run in self._of(owner))

    def cancel(self, owner: str, *, before: int | None = None) -> None:
        """End what runs of it, or only what runs at an epoch from before that one."""
        for run in self._of(owner):
            if before is None or (run.epoch is not None and run.epoch < before):
                self.end(run)

    def end(self, run: Run) -> None:
        """Cancel one run: once, so that what it does to clean up is not cut as well."""
        run.over = True
        if not run.cancelled:
            run.cancelled = True
            assert run.submitted is not None, "it is set before the run is known to anybody"
            run.submitted.cancel()

    async def stop(self, seconds: float) -> None:
        """Cancel everything and wait until it has ended, at most that long."""
        with self._lock:
            self._closed = True
        left = [run.submitted for run in self.open() if run.submitted is not None]
        for run in self.open():
            run.over = True
        for submitted in left:
            submitted.cancel()
        if left:
            ended = [asyncio.wrap_future(submitted.ended) for submitted in left]
            await asyncio.wait(ended, timeout=seconds)

    def _of(self, owner: str) -> list[Run]:
        with self._lock:
            return list(self._open.get(owner, ()))

    def _forget(self, run: Run) -> None:
        with self._lock:
            runs = self._open.get(run.owner, [])
            if run not in runs:
                return  # a loop that was about to end did not take it
            runs.remove(run)
            if not runs:
                del self._open[run.owner]
