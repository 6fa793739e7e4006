"""Run blocking calls that may never return, each in a daemon thread.

Threads of a pool are shared: a few hanging calls would block all others, and the process would wait
for them at its end. Here each call has its own daemon thread, up to a limit.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreadExecutor:
    """At most ``threads`` calls at once, on one event loop; further ones wait for a slot."""

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._free = asyncio.Semaphore(threads)

    async def run(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``fn`` and return or raise what it does. A cancelled caller returns at once; the
        thread cannot be stopped and occupies its slot until it ends."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()

        def call() -> None:
            try:
                answer.set_result(fn(*args, **kwargs))
            except BaseException as error:
                answer.set_exception(error)
            with suppress(RuntimeError):  # the loop is closed: nobody waits for a place
                loop.call_soon_threadsafe(self._free.release)

        try:
            Thread(target=call, name=self._name, daemon=True).start()
        except RuntimeError:  # the system has no more threads
            self._free.release()
            raise
        return await asyncio.wrap_future(answer)
