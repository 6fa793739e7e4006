"""Limit the connections of a process: a new one closes the one that was idle longest.

Every connection is an open file. A process that has no more of them refuses everybody at random,
its own database included, so strangers who only connect must not get that far.
"""

import itertools
from collections import Counter
from typing import Protocol

import structlog

from agentpost.clock import Clock
from agentpost.domain.times import SECOND

log = structlog.get_logger(__name__)

LOG_SECONDS = 10
"""At most one line is logged in that time, however many connections are closed."""
_COMPARED = 64
"""The connections idle longest, of which one closes: that of the address that has most."""


class Closable(Protocol):
    """A connection."""

    def make_room(self) -> None:
        """Close it: it is idle, and others need its place."""


class Connections:
    """The open connections, and which of them are idle: no request is being read or answered.
    ``most``: connections at once."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._address: dict[Closable, str] = {}
        self._per_address: Counter[str] = Counter()
        self._idle: dict[Closable, None] = {}  # longest first
        self._closed = 0
        self._logged_at: int | None = None

    @property
    def are_busy(self) -> bool:
        """Whether all there may be are in use: none could be closed for a new one."""
        return len(self._address) >= self._most and not self._idle

    def add(self, connection: Closable, address: str) -> None:
        """A new one, idle still. One too many closes an idle one, in the end itself."""
        self._address[connection] = address
        self._per_address[address] += 1
        self._idle[connection] = None
        if len(self._address) > self._most:
            oldest = itertools.islice(self._idle, _COMPARED)
            closing = max(oldest, key=lambda idle: self._per_address[self._address[idle]])
            self.remove(closing)
            closing.make_room()
            self._say()

    def busy(self, connection: Closable) -> None:
        """A request has come on it."""
        self._idle.pop(connection, None)

    def idle(self, connection: Closable) -> None:
        """Its last request is answered."""
        if connection in self._address:
            self._idle[connection] = None

    def remove(self, connection: Closable) -> None:
        """It is gone; saying so again changes nothing."""
        address = self._address.pop(connection, None)
        if address is None:
            return
        self._idle.pop(connection, None)
        self._per_address[address] -= 1
        if not self._per_address[address]:
            del self._per_address[address]

    def _say(self) -> None:
        self._closed += 1
        now = self._clock.passed()
        if self._logged_at is None or now - self._logged_at >= LOG_SECONDS * SECOND:
            advice = "raise the limit of open files, and CONNECTIONS_MAX if it is set"
            log.warning(
                "connections_full", most=self._most, closed_idle=self._closed, advice=advice
            )
            self._logged_at, self._closed = now, 0
