"""Wake-ups inside one process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial

from agentpost.wakeups.base import Transaction

_TEXTS_KEPT = 100
"""Texts that a place keeps until they are taken; further ones are lost."""


class MemoryWait:
    """See `Wait`."""

    __slots__ = ("_future", "_hinted", "_hub", "_loop", "_over", "_subject", "_texts")

    def __init__(self, hub: MemoryWakeups, subject: str, texts: bool) -> None:
        self._hub = hub
        self._subject = subject
        self._loop = asyncio.get_running_loop()
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
        self._future = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._end, False)
        try:
            return await self._future or self._hinted  # a hint may come just after the time is over
        finally:
            timer.cancel()
            self._future = None
            self._hinted = False

    @property
    def has_texts(self) -> bool:
        return bool(self._texts)

    def texts(self) -> list[str]:
        if not self._texts:
            return []
        taken, self._texts = self._texts, []
        return taken

    @property
    def over(self) -> bool:
        return self._over or self._hub.closing

    def fire(self) -> None:
        """A hint, from any thread."""
        self._loop.call_soon_threadsafe(self._hint)

    def tell(self, text: str) -> None:
        """A text, from any thread; who does not listen to texts is not woken."""
        if self._texts is not None:
            self._loop.call_soon_threadsafe(self._take, text)

    def shut(self) -> None:
        """The door closes, from any thread."""
        self._loop.call_soon_threadsafe(self._end, False)

    def cancel(self) -> None:
        self._over = True
        self._end(False)

    def _hint(self) -> None:
        self._hinted = True
        self._end(True)

    def _take(self, text: str) -> None:
        if self._texts is not None and len(self._texts) < _TEXTS_KEPT:
            self._texts.append(text)
            self._end(False)

    def _end(self, hinted: bool) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(hinted)


class MemoryWakeups:
    """See `Wakeups`."""

    def __init__(self) -> None:
        self._waits: dict[str, list[MemoryWait]] = {}
        self._lock = threading.Lock()
        self._closing = False
        self._held: set[str] = set()

    @property
    def closing(self) -> bool:
        return self._closing

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
                    wait.fire()

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
        self._closing = True
        with self._lock:
            for waits in self._waits.values():
                for wait in waits:
                    wait.shut()

    async def start(self) -> None:
        """There is nothing to connect to."""

    async def stop(self) -> None:
        """Nothing is connected."""

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
