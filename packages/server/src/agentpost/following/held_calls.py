"""The held calls of this process by API key: they end when their key or its secret ends."""

from __future__ import annotations

from agentpost.wakeups.base import Wait


class HeldCalls:
    """Held calls by `Caller.holds`. For the event loop that holds the calls."""

    def __init__(self) -> None:
        self._waits: dict[str, set[Wait]] = {}
        self._ended: set[Wait] = set()
        self._staying: set[Wait] = set()

    def enter(self, holder: str, wait: Wait, *, stays: bool = False) -> None:
        """A call of that holder waits until `leave`; ``stays``: `answer_waiting` leaves it."""
        self._waits.setdefault(holder, set()).add(wait)
        if stays:
            self._staying.add(wait)

    def leave(self, holder: str, wait: Wait) -> bool:
        """The call waits no more; whether `end` was called meanwhile."""
        is_ended = wait in self._ended
        self._ended.discard(wait)
        self._staying.discard(wait)
        waits = self._waits[holder]
        waits.discard(wait)
        if not waits:
            del self._waits[holder]
        return is_ended

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
