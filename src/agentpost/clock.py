"""Time and ids as ports: the only place that reads the clock or makes randomness.

Times are integers: microseconds since 1970 UTC. `ManualClock` lets a test move days at once.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Protocol

from agentpost.domain import ids
from agentpost.domain.times import SECOND, seconds


class Clock(Protocol):
    """Where "now" comes from."""

    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        ...

    def passed(self) -> int:
        """Microseconds since some moment of this process. Never set: for waits of the process
        itself, which nobody else reads."""
        ...

    def chance(self) -> float:
        """A random number from 0 to 1, for what should not happen everywhere at once."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        """See `Clock.now`."""
        return time.time_ns() // 1_000

    def passed(self) -> int:
        """See `Clock.passed`."""
        return time.monotonic_ns() // 1_000

    def chance(self) -> float:
        """See `Clock.chance`."""
        return random.random()  # noqa: S311 (it keeps no secret)


class ManualClock:
    """A clock that stands still until it is moved; its `chance` is 0.5."""

    def __init__(self, now: int = 1_800_000_000 * SECOND) -> None:
        self._now = now
        self._chances: Iterator[float] = repeat(0.5)
        self._passed = 0

    def now(self) -> int:
        """See `Clock.now`."""
        return self._now

    def passed(self) -> int:
        """See `Clock.passed`."""
        return self._passed

    def chance(self) -> float:
        """See `Clock.chance`."""
        return next(self._chances)

    def deal(self, chances: Iterable[float]) -> None:
        """Let `chance` give out these from now on, in turn."""
        self._chances = iter(chances)

    def advance(self, duration: float) -> None:
        """Move on by that many seconds; negative: the clock is set back, while time goes on."""
        self._now += seconds(duration)
        self._passed += max(seconds(duration), 0)

    def set(self, duration: float) -> None:
        """Set the clock by that many seconds, forward or back, while no time passes."""
        self._now += seconds(duration)


def new_id(prefix: str, now: int) -> str:
    """A fresh id that sorts by ``now`` (microseconds)."""
    return ids.compose(prefix, now, os.urandom(9))
