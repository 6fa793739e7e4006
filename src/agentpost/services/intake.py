"""New messages that wait to be stored: so many at once, and no account all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from agentpost.clock import Clock
from agentpost.domain.errors import Overloaded
from agentpost.domain.times import MINUTE

log = structlog.get_logger(__name__)

_SHARE: Final = 0.75
"""How much of the room one account may take."""
_RETRY_SECONDS: Final = 1
_SPREAD_SECONDS: Final = 3
"""By how much `Retry-After` differs, or all would come back at once."""


class Intake:
    """Counts messages from their arrival until their commit. For the event loop that takes them.

    The writer takes what waits in the order in which it came, so this is also what bounds how long
    everybody else's writes wait (design: More than can be served).
    """

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._waiting: Counter[str] = Counter()
        self._refused = 0
        self._reported_at: int | None = None

    @property
    def is_full(self) -> bool:
        """Whether as many messages wait as may, so that no account may send another one."""
        return self._waiting.total() >= self._most

    def check(self, account_id: str) -> None:
        """Raise `Overloaded` when as many wait as may, of all accounts or of this one.

        Asked before anything is read of a message, since reading costs more than refusing.
        """
        waiting = self._waiting.total()
        if waiting < self._most and self._waiting[account_id] < max(1, self._most * _SHARE):
            return
        self._refused += 1
        now = self._clock.passed()
        if self._reported_at is None or now - self._reported_at >= MINUTE:
            log.warning("messages_refused", waiting=waiting, most=self._most, refused=self._refused)
            self._reported_at, self._refused = now, 0
        seconds = _RETRY_SECONDS + int(self._clock.chance() * _SPREAD_SECONDS)
        raise Overloaded("More messages arrive than can be taken; send it again soon.", seconds)

    @contextmanager
    def counted(self, account_id: str, *, refusing: bool) -> Iterator[None]:
        """A message of the account waits while the context lasts; with ``refusing`` raises as
        `check`, since others may have come after that was asked."""
        if refusing:
            self.check(account_id)
        self._waiting[account_id] += 1
        try:
            yield
        finally:
            self._waiting[account_id] -= 1
            if not self._waiting[account_id]:
                del self._waiting[account_id]
