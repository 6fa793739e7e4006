"""Blocking calls that may never return, in threads of their own.

Threads of a pool are shared, so a few calls that hang hold up all others, and the end of the
process waits for them. These are neither: each call has a daemon thread, so many at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreadExecutor:
    """At most ``threads`` calls at once, on one event loop; further ones wait for a place."""

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._free = asyncio.Semaphore(threads)

    async def run(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What ``fn`` returns or raises.

        Whoever is cancelled while waiting goes; the thread cannot be stopped and keeps its place
        until it ends.
        """
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
