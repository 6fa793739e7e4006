"""Dear work that a caller asks for, on threads: one at a time for an account.

A thread that works in Python takes the interpreter from the loop for half a millisecond at a time;
several of one account would take it one after the other.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakValueDictionary

Result = TypeVar("Result")


class AccountThreads:
    """A place on the threads for each account. For the event loop that serves them."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, account_id: str, work: Callable[[], Result]) -> Result:
        """Call ``work`` on a thread, after all else of the account; raises what it raises.

        The place is taken until ``work`` has ended, also when the caller is cancelled meanwhile.
        """
        lock = self._locks.get(account_id)
        if lock is None:
            lock = self._locks[account_id] = asyncio.Lock()
        await lock.acquire()
        running = asyncio.ensure_future(asyncio.to_thread(work))

        def leave(future: asyncio.Future[Result]) -> None:
            lock.release()
            if not future.cancelled():
                future.exception()  # else it is logged when the caller is gone

        running.add_done_callback(leave)
        try:
            return await asyncio.shield(running)
        finally:
            del running, work  # else an error keeps this frame, which keeps the error and the work
