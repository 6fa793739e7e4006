"""The held calls of this process by API key: they end when their key or its secret ends."""

from collections.abc import Callable

from agentpost.domain.errors import KeyEnded
from agentpost.wakeups.base import Wait, Wakeups

HungUp = Callable[[Wait], None]
"""Registers a held wait, to be cancelled when the client hangs up."""


class HeldCalls:
    """Held calls by `Caller.holds`. For the event loop that holds the calls."""

    def __init__(self, wakeups: Wakeups) -> None:
        self.wakeups = wakeups
        self.by_holder: dict[str, set[HeldCall]] = {}

    def holders(self) -> list[str]:
        """Whose calls are held."""
        return list(self.by_holder)

    def count(self) -> int:
        """How many calls are held."""
        return sum(map(len, self.by_holder.values()))

    def answer_waiting(self) -> None:
        """Answer the calls that wait for news now, as they stand: their clients ask again. Those
        that stay wait for what this process is about to do."""
        for calls in self.by_holder.values():
            for call in calls:
                if not call.stays:
                    call.wait.cancel()

    def end(self, holder: str) -> None:
        """The secret is live no more: its calls are answered now, with ``unauthorized``."""
        for call in self.by_holder.get(holder, ()):
            call.is_ended = True
            call.wait.cancel()


class HeldCall:
    """Listen for a message or account in a call that ends with its client and with its key.

    A context. ``place`` is one that the caller has entered and will leave; ``stays``:
    `HeldCalls.answer_waiting` leaves it. Raises `KeyEnded` at the end when the key was revoked or
    expired meanwhile.
    """

    __slots__ = ("_calls", "_holder", "_hung_up", "_owns", "is_ended", "stays", "wait")

    def __init__(
        self,
        calls: HeldCalls,
        holder: str,
        subject: str,
        hung_up: HungUp,
        *,
        texts: bool = False,
        place: Wait | None = None,
        stays: bool = False,
    ) -> None:
        self._calls = calls.by_holder
        self._holder = holder
        self._hung_up = hung_up
        self._owns = place is None
        self.wait = calls.wakeups.listen(subject, texts=texts) if place is None else place
        self.stays = stays
        self.is_ended = False

    def __enter__(self) -> Wait:
        self._hung_up(self.wait)  # it may raise: nothing is entered yet
        if self._owns:
            self.wait.__enter__()
        self._calls.setdefault(self._holder, set()).add(self)
        return self.wait

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._owns:
            self.wait.__exit__()
        calls = self._calls[self._holder]
        calls.discard(self)
        if not calls:
            del self._calls[self._holder]
        if self.is_ended and kind is None:
            raise KeyEnded
