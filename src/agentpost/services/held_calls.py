"""The held calls of this process by API key: they end when their key or its secret ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentpost.domain.errors import KeyEnded
from agentpost.wakeups.base import Wait


class HeldCalls:
    """Held calls by `Caller.holds`. For the event loop that holds the calls."""

    def __init__(self) -> None:
        self._waits: dict[str, set[Wait]] = {}
        self._ended: set[Wait] = set()

    @contextmanager
    def track(self, holder: str, wait: Wait) -> Iterator[None]:
        """A call of that holder waits while the context lasts.

        Raises `KeyEnded` when the context is left although `end` was called meanwhile.
        """
        waits = self._waits.setdefault(holder, set())
        waits.add(wait)
        try:
            yield
            if wait in self._ended:
                raise KeyEnded
        finally:
            self._ended.discard(wait)
            waits.discard(wait)
            if not waits:
                self._waits.pop(holder, None)

    def holders(self) -> list[str]:
        """Whose calls are held."""
        return list(self._waits)

    def count(self) -> int:
        """How many calls are held."""
        return sum(map(len, self._waits.values()))

    def end(self, holder: str) -> None:
        """The secret is live no more: its calls are answered now, with ``unauthorized``."""
        for wait in self._waits.get(holder, ()):
            self._ended.add(wait)
            wait.cancel()
