"""Waiting for what other threads, processes and servers do: ask again until the answer is true."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 60.0
"""Seconds to wait for what must come; only a failing test uses them up."""
PROMPT = 15.0
"""Within these seconds comes what has nothing to wait for, on a busy machine too. What it must not
wait for has to take longer: a test that asks for a wait asks for 30 seconds or more."""
_LOOK_SECONDS_MAX = 5.0
"""How much of the time waited one look and its pause may use up. A machine that stands still for a
minute, as a virtual one may, stops what is waited for as well."""
_PAUSE_SECONDS = 0.002
_PAUSE_SECONDS_MAX = 0.1


def eventually(
    condition: Callable[[], T | None], seconds: float = PATIENCE, what: str = "the condition"
) -> T:
    """What ``condition`` returns once that is true; fails after ``seconds``."""
    for pause in _pauses(seconds):
        found = condition()
        if found:
            return found
        time.sleep(pause)
    raise AssertionError(f"{what} did not come within {seconds} s: {found!r}")


async def eventually_async(
    condition: Callable[[], T], seconds: float = PATIENCE, what: str = "the condition"
) -> T:
    """`eventually` for async tests: the event loop goes on meanwhile."""
    for pause in _pauses(seconds):
        found = condition()
        if found:
            return found
        await asyncio.sleep(pause)
    raise AssertionError(f"{what} did not come within {seconds} s: {found!r}")


async def eventually_awaited(
    condition: Callable[[], Awaitable[T]], seconds: float = PATIENCE, what: str = "the condition"
) -> T:
    """`eventually_async` for a condition that has to be awaited itself."""
    for pause in _pauses(seconds):
        found = await condition()
        if found:
            return found
        await asyncio.sleep(pause)
    raise AssertionError(f"{what} did not come within {seconds} s: {found!r}")


def holds_after(condition: Callable[[], object], seconds: float, what: str = "it") -> None:
    """Whoever looks ``seconds`` from now or later finds the condition true.

    What counts is when a look begins, so a machine on which looking takes long changes nothing.
    """
    began = time.monotonic()
    for pause in _pauses(PATIENCE):
        looked = time.monotonic()
        if condition():
            return
        assert looked - began <= seconds, f"{what} was not so after {looked - began:.2f} s"
        time.sleep(pause)


def _pauses(seconds: float) -> Iterator[float]:
    """Pauses that grow with the time waited, to leave the processor to what is waited for."""
    looked = time.monotonic()
    pause = _PAUSE_SECONDS
    while True:
        yield pause
        now = time.monotonic()
        seconds -= min(now - looked, _LOOK_SECONDS_MAX)
        looked = now
        if seconds < 0:
            return
        pause = min(pause * 1.3, _PAUSE_SECONDS_MAX)
