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
        self._staying: set[Wait] = set()

    @contextmanager
    def track(self, holder: str, wait: Wait, *, stays: bool = False) -> Iterator[None]:
        """A call of that holder waits while the context lasts; ``stays``: `answer_waiting` leaves
        it.

        Raises `KeyEnded` when the context is left although `end` was called meanwhile.
        """
        waits = self._waits.setdefault(holder, set())
        waits.add(wait)
        if stays:
            self._staying.add(wait)
        try:
            yield
            if wait in self._ended:
                raise KeyEnded
        finally:
            self._ended.discard(wait)
            self._staying.discard(wait)
            waits.discard(wait)
            if not waits:
                self._waits.pop(holder, None)

    def holders(self) -> list[str]:
        """Whose calls are held."""
        return list(self._waits)

    def count(self) -> int:
        """How many calls are held."""
        return sum(map(len, self._waits.values()))

    def answer_waiting(self) -> None:
        """Answer the calls that wait for news now, as they stand: their clients ask again. Those
        that stay wait for what this process is about to do."""
        for waits in self._waits.values():
            for wait in waits - self._staying:
                wait.cancel()

    def end(self, holder: str) -> None:
        """The secret is live no more: its calls are answered now, with ``unauthorized``."""
        for wait in self._waits.get(holder, ()):
            self._ended.add(wait)
            wait.cancel()
