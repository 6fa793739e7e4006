"""How long this node may assume that it still owns its turns and jobs.

Other nodes take over the work of a node whose beat has not moved for three seconds
(`nodes.heartbeat`). A confirmed ownership therefore holds while this node's beats were close
enough together, and must be confirmed again after a gap: a stopped process or a sleeping machine
resumes in the middle of a function without noticing the time that passed.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from math import inf

LEASE_SECONDS = 2.0
"""Less than the silence after which others take a node's work over, so that there is time left."""


_BOOT_TIME = getattr(time, "CLOCK_BOOTTIME", None)  # Linux: the monotonic clock sleeps as well
running_seconds: Callable[[], float] = (
    time.monotonic if _BOOT_TIME is None else partial(time.clock_gettime, _BOOT_TIME)
)
"""Seconds that have passed since some moment, those in which the machine slept included."""


class Lease:
    """Safe on any thread. Without ``seconds`` it never ends: no other node can exist.

    Args:
        seconds: how long after a beat was sent the node's ownership holds.
        now: a clock in seconds that is never set: the time to hand to `renew` and `holds`.
    """

    def __init__(self, seconds: float = inf, now: Callable[[], float] = running_seconds) -> None:
        self._seconds = seconds
        self.now = now
        self._lock = threading.Lock()
        self._renewed = -inf
        self._unbroken_since = -inf

    def renew(self, sent_at: float) -> None:
        """A beat that was sent at ``sent_at`` has been committed."""
        with self._lock:
            # Against the time at which it is noticed: the process may have stood still between
            # the commit and this line.
            if self.now() - self._renewed > self._seconds:
                self._unbroken_since = sent_at
            self._renewed = max(self._renewed, sent_at)

    @property
    def unbroken_since(self) -> float:
        """When the first beat after the last gap was sent. Another time than before: the others may
        have taken this node for dead meanwhile."""
        return self._unbroken_since

    def holds(self, confirmed: float) -> bool:
        """Whether what was read as our own at ``confirmed`` must still be."""
        with self._lock:
            fresh = self.now() - self._renewed <= self._seconds
            return self._seconds == inf or (fresh and confirmed >= self._unbroken_since)
