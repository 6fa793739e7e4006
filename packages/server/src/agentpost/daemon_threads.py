"""Run blocking calls that may never return, each in a daemon thread.

Threads of a pool are shared: a few hanging calls would block all others, and the process would wait
for them at its end. Here each call has its own daemon thread, up to a limit.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
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

        def release() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits for a place
                loop.call_soon_threadsafe(self._free.release)

        try:
            answer = start_daemon(self._name, partial(fn, *args, **kwargs), release)
        except RuntimeError:
            self._free.release()
            raise
        return await asyncio.wrap_future(answer)


def start_daemon(name: str, fn: Callable[[], T], on_end: Callable[[], None]) -> Future[T]:
    """Call ``fn`` in a daemon thread of that name, and ``on_end`` there when it has ended. Raises
    `RuntimeError` when the system has no more threads."""
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()

    def call() -> None:
        try:
            answer.set_result(fn())
        except BaseException as error:
            answer.set_exception(error)
        on_end()

    Thread(target=call, name=name, daemon=True).start()
    return answer
