"""Wake-ups inside one process."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from agentpost.wakeups.base import Transaction

_TOGETHER_SECONDS = 0.05
"""Waits whose time is over within it end together, with the last of them."""
_TEXTS_KEPT = 100
"""Texts that a place keeps until they are taken; further ones are lost."""


class MemoryWait:
    """See `Wait`."""

    __slots__ = ("_future", "_hinted", "_hub", "_over", "_subject", "_texts", "loop")

    def __init__(self, hub: MemoryWakeups, subject: str, texts: bool) -> None:
        self._hub = hub
        self._subject = subject
        self.loop = asyncio.get_running_loop()
        self._future: asyncio.Future[bool] | None = None
        self._hinted = False
        self._over = False
        self._texts: list[str] | None = [] if texts else None

    def __enter__(self) -> MemoryWait:
        self._hub.add(self._subject, self)
        return self

    def __exit__(self, *exc: object) -> None:
        self._hub.remove(self._subject, self)

    async def wait(self, seconds: float) -> bool:
        if self._hinted:
            self._hinted = False
            return True
        if self.over or self._texts or seconds <= 0:
            return False
        self._future = self.loop.create_future()
        number = self._hub.end_after(seconds, self)
        try:
            return await self._future or self._hinted  # a hint may come just after the time is over
        finally:
            self._hub.has_ended(number, self)
            self._future = None
            self._hinted = False

    @property
    def has_texts(self) -> bool:
        return bool(self._texts)

    def texts(self) -> list[str]:
        if not self._texts:
            return []
        texts, self._texts = self._texts, []
        return texts

    @property
    def over(self) -> bool:
        return self._over or self._hub.closing

    def tell(self, text: str) -> None:
        """A text, from any thread; who does not listen to texts is not woken."""
        if self._texts is not None:
            self.loop.call_soon_threadsafe(self._take, text)

    def close(self) -> None:
        """The door closes, from any thread."""
        self.loop.call_soon_threadsafe(self.end, False)

    def cancel(self) -> None:
        self._over = True
        self.end(False)

    def hint(self) -> None:
        """Something may have changed; on its loop."""
        self._hinted = True
        self.end(True)

    def _take(self, text: str) -> None:
        if self._texts is not None and len(self._texts) < _TEXTS_KEPT:
            self._texts.append(text)
            self.end(False)

    def end(self, is_hinted: bool) -> None:
        """Let the call that waits go on, on its loop."""
        if self._future is not None and not self._future.done():
            self._future.set_result(is_hinted)


@dataclass(slots=True)
class _End:
    """A moment at which waits of an event loop end. They share a timer, since one for each would
    take two thirds of a KiB."""

    timer: asyncio.TimerHandle
    waits: set[MemoryWait] = field(default_factory=set)


class MemoryWakeups:
    """See `Wakeups`."""

    def __init__(self) -> None:
        self._waits: dict[str, list[MemoryWait]] = {}
        self._lock = threading.Lock()
        self.closing = False
        self._held: set[str] = set()
        self._ends: dict[tuple[asyncio.AbstractEventLoop, int], _End] = {}

    def publish(self, tx: Transaction, *subjects: str) -> None:
        tx.after(partial(self.hint_all, subjects))

    def listen(self, subject: str, *, texts: bool = False) -> MemoryWait:
        return MemoryWait(self, subject, texts)

    def tell(self, subject: str, text: str) -> None:
        with self._lock:
            for wait in self._waits.get(subject, ()):
                wait.tell(text)

    def waited_for(self) -> list[str]:
        with self._lock:
            return list(self._waits)

    def hint(self, subject: str) -> None:
        self.hint_all((subject,))

    def hint_all(self, subjects: Iterable[str]) -> None:
        """See `hint`."""
        with self._lock:
            for subject in subjects:
                for wait in self._waits.get(subject, ()):
                    wait.loop.call_soon_threadsafe(wait.hint)

    @asynccontextmanager
    async def reader_lock(self, subject: str) -> AsyncIterator[bool]:
        if subject in self._held:
            yield False
            return
        self._held.add(subject)
        try:
            yield True
        finally:
            self._held.discard(subject)

    def ask_for_readers(self, elsewhere: Callable[[], bool]) -> None:
        """There are no other processes."""

    def begin_shutdown(self) -> None:
        self.closing = True
        with self._lock:
            for waits in self._waits.values():
                for wait in waits:
                    wait.close()

    async def start(self) -> None:
        """There is nothing to connect to."""

    async def stop(self) -> None:
        """Nothing is connected."""

    def end_after(self, seconds: float, wait: MemoryWait) -> int:
        """Shut a wait of this loop after so many seconds, or up to `_TOGETHER_SECONDS` later,
        unless it has `has_ended` before, which is to be called with the number that is returned."""
        loop = wait.loop
        number = math.ceil((loop.time() + seconds) / _TOGETHER_SECONDS)
        end = self._ends.get((loop, number))
        if end is None:
            timer = loop.call_at(number * _TOGETHER_SECONDS, self._end, loop, number)
            end = self._ends[loop, number] = _End(timer)
        end.waits.add(wait)
        return number

    def has_ended(self, number: int, wait: MemoryWait) -> None:
        """See `end_after`."""
        end = self._ends.get((wait.loop, number))
        if end is not None:
            end.waits.discard(wait)
            if not end.waits:
                end.timer.cancel()
                del self._ends[wait.loop, number]

    def _end(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        for wait in self._ends.pop((loop, number)).waits:
            wait.end(False)

    def add(self, subject: str, wait: MemoryWait) -> None:
        """A listener comes."""
        with self._lock:
            self._waits.setdefault(subject, []).append(wait)

    def remove(self, subject: str, wait: MemoryWait) -> None:
        """A listener goes."""
        with self._lock:
            waits = self._waits[subject]
            waits.remove(wait)
            if not waits:
                del self._waits[subject]
