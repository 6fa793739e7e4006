"""An event loop whose time passes only when nothing else can happen.

There is no thread and no socket in it: what would wait for the outside waits for a timer, and the
next timer is due at once. The same callbacks in the same order make the same history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from types import SimpleNamespace
from typing import TypeVar, TypeVarTuple

from agentpost.clock import ManualClock
from agentpost.domain.times import SECOND
from agentpost.nodes import heartbeat, reconciler
from agentpost.threads.loop import AgentLoop
from agentpost.webhooks import dispatcher

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Deadlock(Exception):
    """Nothing is due and nothing is waited for, but the history has not ended."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """The loop; ``clock`` moves with it. It is its own selector, the part that waits."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock
        self._selector = self
        self._clock_resolution = 1e-6

    def time(self) -> float:
        """Seconds, by the clock that is never set."""
        return self._clock.passed() / SECOND

    def select(self, timeout: float | None) -> list[object]:
        """Let the time pass until the next timer."""
        if timeout is None:
            raise Deadlock
        if timeout > 0:
            self._clock.advance(timeout + 1e-6)
        return []

    def _process_events(self, event_list: list[object]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody sleeps who would have to be woken."""

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Does at once what others give to a thread."""
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


class SimulatedAgentLoop(AgentLoop):
    """Submits to the loop that simulates everything, instead of one in a thread of its own."""

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def stop(self, timeout: float) -> bool:
        return True


def use_time_of(clock: ManualClock) -> Callable[[], None]:
    """Let modules that measure time themselves measure it by ``clock``; call the result to undo."""
    modules = (dispatcher, heartbeat, reconciler)
    before = [module.__dict__["time"] for module in modules]
    simulated = SimpleNamespace(monotonic=lambda: clock.passed() / SECOND)
    for module in modules:
        module.__dict__["time"] = simulated

    def undo() -> None:
        for module, time in zip(modules, before, strict=True):
            module.__dict__["time"] = time

    return undo
