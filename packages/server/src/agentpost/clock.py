"""Time and ids as ports: the only place that reads the clock or makes randomness.

Times are integers: microseconds since 1970 UTC. `ManualClock` lets a test move days at once.
"""

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

    def passed(self) -> int:
        """Microseconds since some moment of this process. Never set: for waits of the process
        itself, which nobody else reads."""

    def chance(self) -> float:
        """A random number from 0 to 1, for what should not happen everywhere at once."""


class SystemClock:
    """The `Clock` of the machine."""

    def now(self) -> int:
        return time.time_ns() // 1_000

    def passed(self) -> int:
        return time.monotonic_ns() // 1_000

    def chance(self) -> float:
        return random.random()  # noqa: S311 (it keeps no secret)


class ManualClock:
    """A `Clock` that stands still until it is moved; its `chance` is 0.5."""

    def __init__(self, now: int = 1_800_000_000 * SECOND) -> None:
        self._now = now
        self._chances: Iterator[float] = repeat(0.5)
        self._passed = 0

    def now(self) -> int:
        return self._now

    def passed(self) -> int:
        return self._passed

    def chance(self) -> float:
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


_CHANCE_BYTES = 9
_DRAWN_AT_ONCE = 256
_chances: list[bytes] = []
"""What ids are made unique with, drawn ahead: each call for random bytes lets go of the
interpreter, and where several threads work, it takes a switch of threads to get it back."""
os.register_at_fork(after_in_child=_chances.clear)


def new_id(prefix: str, now: int) -> str:
    """A fresh id that sorts by ``now`` (microseconds). Safe on any thread."""
    try:
        chance = _chances.pop()
    except IndexError:
        drawn = os.urandom(_CHANCE_BYTES * _DRAWN_AT_ONCE)
        starts = range(_CHANCE_BYTES, len(drawn), _CHANCE_BYTES)
        _chances.extend(drawn[start : start + _CHANCE_BYTES] for start in starts)
        chance = drawn[:_CHANCE_BYTES]
    return ids.compose(prefix, now, chance)
