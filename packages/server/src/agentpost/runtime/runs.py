"""The turns or jobs that run in this process: every one is known from before it is claimed until it
has really ended, so none can be missed by a stop, lost unseen, or left running at the end.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentpost.threads.loop import AgentLoop, Submission

STOPPED = "stopped"
"""Why a run ends that nobody is going to repeat, in contrast to a shutdown."""
_LOOK_SECONDS = 0.02


@dataclass(slots=True, eq=False)
class Run:
    """One run of a turn or job.

    ``epoch`` is None while it is being claimed. ``over``: its calls have no effect, and it is about
    to return. ``again``: this process is to claim it once more, and run it from its journal.
    ``calls``: how many recorded calls its function has made; ``divergence``: how they differ from
    the recorded ones. ``in_flight``: how many of its calls, its end included, are not recorded yet;
    ``leaving``: it begins no more of them (design: Shutdown). Both belong to the agent loop.
    ``has_got_further``: it has recorded a call.
    ``on_diverged``: called when it has made another call than the one recorded, on the agent loop.
    ``on_change``: called when ``epoch`` or ``over`` has changed, on any thread.
    """

    owner: str
    epoch: int | None
    on_change: Callable[[], None]
    on_diverged: "Callable[[Run], None] | None" = None
    over: bool = False
    cancelled: bool = False
    again: bool = False
    submission: Submission | None = None
    calls: int = 0
    divergence: str | None = None
    in_flight: int = 0
    leaving: bool = False
    has_got_further: bool = False

    def give_up(self) -> None:
        """From now on it is ``over``."""
        self.over = True
        self.on_change()

    def diverge(self, cause: str) -> None:
        """It has made another call than the one recorded; ``cause``: which."""
        self.divergence = cause
        if self.on_diverged is not None:
            self.on_diverged(self)

    def wait(self) -> None:
        """Its function has been stopped, and this process takes care of it still."""
        self.over = False
        self.on_change()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Inside, something that is going to be recorded is under way. On the agent loop."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    @contextmanager
    def idle(self) -> Iterator[None]:
        """Inside `recording`: nothing is under way that would be lost. On the agent loop."""
        self.in_flight -= 1
        try:
            yield
        finally:
            self.in_flight += 1


class Runs:
    """Submits work to the agent loop and remembers it until it has ended. Safe on any thread."""

    def __init__(self, loop: AgentLoop) -> None:
        self._loop = loop
        self._open: dict[str, list[Run]] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._held: asyncio.Event | None = None
        self._state = object()
        self.on_diverged: Callable[[Run], None] | None = None
        """Called with a run that makes another call than the one recorded."""

    def submit(
        self, owner: str, epoch: int | None, work: Callable[[Run], Coroutine[Any, Any, None]]
    ) -> None:
        """Run it; after `close` the next owner runs it, after `hold` it begins with `release`."""
        run = Run(owner, epoch, self._note_change, self.on_diverged)
        with self._lock:
            if self._closed:
                return
            if self._held is not None:
                work = partial(_later, self._held, work)
            # What it ends with waits for this lock, so it cannot be forgotten before it is known.
            run.submission = self._loop.submit(partial(work, run), partial(self._forget, run))
            self._open.setdefault(owner, []).append(run)
        self._note_change()

    @property
    def state(self) -> object:
        """Another object after every change of what runs here, its epochs and what is over."""
        return self._state

    @property
    def closed(self) -> bool:
        """Whether no run begins any more."""
        return self._closed

    def close(self) -> None:
        """Begin no more runs: whoever owns them next does."""
        with self._lock:
            self._closed = True

    async def leave(self) -> None:
        """Let what runs record the calls that are under way and begin no others; returns when all
        of it has ended. To be awaited on the agent loop, after `close`.

        A run is ended when nothing of it is under way in two looks in a row: between them it may
        have returned, whose record is awaited too.
        """
        idle: set[Run] = set()
        while runs := self.open():
            for run in runs:
                run.leaving = True
            still = {run for run in runs if run.epoch is not None and not run.in_flight}
            for run in still & idle:
                self.end(run)
            idle = still
            await asyncio.sleep(_LOOK_SECONDS)

    async def wait_until_ended(self) -> None:
        """Returns when all that runs has ended; after `close`, on any loop."""
        await _wait_until_ended(self.open(), None)

    def hold(self) -> None:
        """Begin no more runs until `release`."""
        with self._lock:
            self._held = self._held or asyncio.Event()

    def release(self) -> None:
        """Begin those that waited, and all others at once again."""
        with self._lock:
            event, self._held = self._held, None
        if event is not None:
            self._loop.call_soon(event.set)

    def open(self) -> list[Run]:
        """All that have not ended."""
        with self._lock:
            return [run for runs in self._open.values() for run in runs]

    def of(self, owner: str) -> list[Run]:
        """The runs of one owner: more than one while an older one leaves."""
        with self._lock:
            return list(self._open.get(owner, ()))

    def claiming(self, owner: str) -> bool:
        """Whether somebody here is about to claim it already."""
        return any(run.epoch is None for run in self.of(owner))

    def cancel(self, owner: str, *, before: int | None = None) -> None:
        """End what runs of it, or only what runs at an epoch from before that one."""
        for run in self.of(owner):
            if before is None or (run.epoch is not None and run.epoch < before):
                self.end(run, STOPPED if before is None else None)

    def end(self, run: Run, why: str | None = None) -> None:
        """Cancel one run: once, so that what it does to clean up is not cut as well. ``why`` is the
        argument of its `asyncio.CancelledError`."""
        run.give_up()
        if not run.cancelled:
            run.cancelled = True
            assert run.submission is not None, "it is set before the run is known to anybody"
            run.submission.cancel(why)

    async def interrupt(self, seconds: float) -> list[str]:
        """Cancel what runs and wait until it has ended, at most that long; whose runs they were.
        Nothing is written: whoever claims them repeats them from their journals."""
        runs = self.open()
        for run in runs:
            self.end(run)
        await _wait_until_ended(runs, seconds)
        return [run.owner for run in runs]

    def _note_change(self) -> None:
        self._state = object()

    def _forget(self, run: Run) -> None:
        with self._lock:
            runs = self._open.get(run.owner, [])
            if run not in runs:
                return  # a loop that was about to end did not take it
            runs.remove(run)
            if not runs:
                del self._open[run.owner]
        self._note_change()


class Runner:
    """What runs turns, or jobs, of this process on the agent loop."""

    def __init__(self, loop: AgentLoop) -> None:
        self.runs = Runs(loop)

    def abort(self, owner: str) -> None:
        """Stop running it within a second, if it runs here. One that is only being claimed is known
        here already: its claim either comes too late, or is cancelled with the rest."""
        self.runs.cancel(owner)

    async def stop(self, seconds: float) -> None:
        """End what runs; the next owner continues it from its recorded calls."""
        self.runs.close()
        await self.runs.interrupt(seconds)


async def _later(
    event: asyncio.Event, work: Callable[[Run], Coroutine[Any, Any, None]], run: Run
) -> None:
    await event.wait()
    await work(run)


async def _wait_until_ended(runs: list[Run], seconds: float | None) -> None:
    """Wait until all of them have ended, at most that long."""
    ends = [asyncio.wrap_future(run.submission.ended) for run in runs if run.submission is not None]
    if ends:
        await asyncio.wait(ends, timeout=seconds)
