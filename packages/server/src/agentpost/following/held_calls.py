"""The held calls of this process by API key: they end when their key or its secret ends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from agentpost.domain.errors import KeyEnded
from agentpost.wakeups.base import Wait, Wakeups

HungUp = Callable[[Wait], None]
"""Registers a held wait, to be cancelled when the client hangs up."""


@dataclass(slots=True, eq=False)
class HeldCall:
    """Where a call waits; ``stays``: see `HeldCalls.hold`; ``is_ended``: its key has ended."""

    wait: Wait
    stays: bool
    is_ended: bool = False


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

    @contextmanager
    def hold(
        self,
        holder: str,
        subject: str,
        hung_up: HungUp,
        *,
        texts: bool = False,
        place: Wait | None = None,
        stays: bool = False,
    ) -> Iterator[Wait]:
        """Listen for a message or account in a call that ends with its client and with its key.

        ``place`` is one that the caller has entered and will leave; ``stays``: `answer_waiting`
        leaves it. Raises `KeyEnded` at the end when the key was revoked or expired meanwhile.
        """
        wait = self.wakeups.listen(subject, texts=texts) if place is None else place
        hung_up(wait)  # it may raise: nothing is entered yet
        call, calls = HeldCall(wait, stays), self.by_holder.setdefault(holder, set())
        calls.add(call)
        try:
            with wait if place is None else nullcontext():
                yield wait
        finally:
            calls.discard(call)
            if not calls:
                del self.by_holder[holder]
        if call.is_ended:
            raise KeyEnded
