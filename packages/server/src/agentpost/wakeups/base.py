"""Wake-ups: "something about this message or job changed". Hints, never truth. And holds, and texts
that are kept nowhere.

A lost hint costs latency only: besides them, held reads are re-checked once a second. `Wakeups` is
the contract, and what is needed inside one process; `wakeups.postgres` reaches the other ones.
"""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from agentpost.record.records import Snapshot

TEXT_BYTES_MAX = 7_000
"""Of a text with its id: a notice of PostgreSQL has less than 8,000 bytes."""
_TOGETHER_SECONDS = 0.05
"""Waits whose time is over within it end together, with the last of them."""
_TEXTS_KEPT = 100
"""Texts that a place keeps until they are taken; further ones are lost."""


class Transaction(Protocol):
    """The part of a database transaction that hints and jobs need."""

    def after(self, callback: Callable[[], None]) -> None:
        """Call this once it is committed."""


class Wait:
    """One listener's place; a context manager that belongs to the event loop that entered it. Hints
    from the entry on are not missed."""

    __slots__ = (
        *("_future", "_hinted", "_hub", "_over", "_subject", "_texts"),
        *("loop", "newest", "takes_state"),
    )

    def __init__(self, hub: "Wakeups", subject: str, texts: bool) -> None:
        self._hub = hub
        self._subject = subject
        self.loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] | None = None
        self._hinted = False
        self._over = False
        self._texts: list[str] | None = [] if texts else None
        self.takes_state = not texts
        """Whether it is the state that is waited for, and no texts on their way."""
        self.newest: Snapshot | None = None
        """What the last commit of this process made of the message (`record.tickets`). Not to be
        changed: every call that waits gets the same."""

    def __enter__(self) -> "Wait":
        with self._hub.lock:
            self._hub.waits.setdefault(self._subject, []).append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        with self._hub.lock:
            waits = self._hub.waits[self._subject]
            waits.remove(self)
            if not waits:
                del self._hub.waits[self._subject]

    async def wait(self, seconds: float) -> bool:
        """True once hinted since the last call; False when the time is over or the door closes, and
        when there are texts."""
        if self._hinted:
            self._hinted = False
            return True
        if self.over or self._texts or seconds <= 0:
            return False
        loop, ends = self.loop, self._hub.ends
        number = math.ceil((loop.time() + seconds) / _TOGETHER_SECONDS)
        end = ends.get((loop, number))
        if end is None:
            at = number * _TOGETHER_SECONDS
            end = ends[loop, number] = _End(loop.call_at(at, self._hub.end, loop, number))
        end.waits.add(self)
        self._future = loop.create_future()
        try:
            await self._future
            return self._hinted  # a hint may come just after the time is over
        finally:
            end.waits.discard(self)
            if not end.waits and ends.get((loop, number)) is end:
                end.timer.cancel()
                del ends[loop, number]
            self._future = None
            self._hinted = False

    @property
    def has_texts(self) -> bool:
        """Whether `texts` has any."""
        return bool(self._texts)

    def texts(self) -> list[str]:
        """What was told since the last call, for a place that listens to texts."""
        if not self._texts:
            return []
        texts, self._texts = self._texts, []
        return texts

    @property
    def over(self) -> bool:
        """Whether waiting is over: cancelled, or the door is closed."""
        return self._over or self._hub.closing

    def cancel(self) -> None:
        """End the wait now (the client hung up); for the owning event loop."""
        self._over = True
        self.end(False)

    # --- from the hub -----------------------------------------------------------------------------
    def tell(self, text: str) -> None:
        """A text, from any thread; who does not listen to texts is not woken."""
        if self._texts is not None:
            self.loop.call_soon_threadsafe(self._take, text)

    def _take(self, text: str) -> None:
        if self._texts is not None and len(self._texts) < _TEXTS_KEPT:
            self._texts.append(text)
            self.end(False)

    def end(self, is_hinted: bool) -> None:
        """Let the call that waits go on; ``is_hinted``: something may have changed. On its loop."""
        self._hinted = self._hinted or is_hinted
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


@dataclass(slots=True)
class _End:
    """A moment at which waits of an event loop end. They share a timer, since one for each would
    take two thirds of a KiB."""

    timer: asyncio.TimerHandle
    waits: set[Wait] = field(default_factory=set)


class Wakeups:
    """Carries hints from commits to waiting calls.

    Attributes:
        closing: held waits have been let go: the server is shutting down.
        waits: the places of each id, under ``lock``.
        ends: when waits end, by their loop and a number of `_TOGETHER_SECONDS`.
    """

    def __init__(self) -> None:
        self.waits: dict[str, list[Wait]] = {}
        self.lock = threading.Lock()
        self.closing = False
        self._held: set[str] = set()
        self.ends: dict[tuple[asyncio.AbstractEventLoop, int], _End] = {}

    def publish(self, tx: Transaction, *subjects: str) -> None:
        """Hint at the ids of messages, jobs and accounts once the transaction is committed."""
        tx.after(partial(self.hint, *subjects))

    def listen(self, subject: str, *, texts: bool = False) -> Wait:
        """A place to wait for hints about one id, and for ``texts`` if wanted."""
        return Wait(self, subject, texts)

    def tell(self, subject: str, text: str) -> None:
        """Hand a text to who listens to an id right now, on any node; safe on any thread.

        Nothing waits for it, nothing keeps it, and any of it may be lost: above all what comes
        faster than it is taken. Texts of one sender stay in order. At most `TEXT_BYTES_MAX`.
        """
        with self.lock:
            for wait in self.waits.get(subject, ()):
                wait.tell(text)

    def waited_for(self) -> list[str]:
        """Every id somebody listens to in this process: what the re-check has to look at."""
        with self.lock:
            return list(self.waits)

    def hint(self, *subjects: str) -> None:
        """Wake this process' listeners of these ids; safe on any thread."""
        with self.lock:
            for subject in subjects:
                for wait in self.waits.get(subject, ()):
                    wait.loop.call_soon_threadsafe(wait.end, True)

    @asynccontextmanager
    async def reader_lock(self, subject: str) -> AsyncIterator[bool]:
        """Have an id to oneself while the context lasts; False when somebody has it, on any node.

        Free again before the context is left, and when the process dies. For the event loop that
        called `start`.
        """
        if subject in self._held:
            yield False
            return
        self._held.add(subject)
        try:
            yield True
        finally:
            self._held.discard(subject)

    def ask_for_readers(self, elsewhere: Callable[[], bool]) -> None:
        """Ask this, on any thread, whether other processes answer callers: hints about messages and
        accounts, and texts, are for those alone. Unless it is given, there may be some."""

    def rejoin(self) -> None:
        """This process stood still, and others that took it for dead gave it no hints: let
        everybody look, and let the others know. Safe on any thread."""

    def begin_shutdown(self) -> None:
        """Let every held wait answer now, and new ones at once: the server is shutting down."""
        self.closing = True
        with self.lock:
            for waits in self.waits.values():
                for wait in waits:
                    wait.loop.call_soon_threadsafe(wait.end, False)

    async def start(self) -> None:
        """Connect, where there is something to connect to."""

    async def stop(self) -> None:
        """Disconnect."""

    def end(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        """The time of these waits is over."""
        for wait in self.ends.pop((loop, number)).waits:
            wait.end(False)
