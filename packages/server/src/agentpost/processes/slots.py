"""Waiting for a place that accounts share (who gets one: `agentpost.limits.fair_share`)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentpost.limits.fair_share import FairQueue


class FairSemaphore:
    """A fixed number of places, shared fairly by account. Belongs to one event loop."""

    def __init__(self, slots: int) -> None:
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(slots)

    def held_count(self, account: str) -> int:
        """How many places the account holds."""
        return self._queue.held_count(account)

    @asynccontextmanager
    async def slot(self, account: str) -> AsyncIterator[None]:
        """Wait for a place and hold it inside. A waiter that is cancelled leaves the queue."""
        await self.acquire(account)
        try:
            yield
        finally:
            self.release(account)

    async def acquire(self, account: str) -> None:
        """Wait for a place, which `release` gives back. A waiter that is cancelled leaves the
        queue."""
        if self._queue.take(account):
            return
        waiter = asyncio.get_running_loop().create_future()
        self._queue.add(account, waiter)
        self._admit()
        try:
            await waiter
        except BaseException:
            if waiter.cancelled():
                self._queue.remove(account, waiter)
            else:  # it was given the place and cancelled before it could use it
                self.release(account)
            raise

    def release(self, account: str) -> None:
        """The account gives a place back."""
        if self._queue.give_back(account):
            self._admit()

    def _admit(self) -> None:
        while (grant := self._queue.grant_next()) is not None:
            account, waiter = grant
            if waiter.cancelled():  # its task has not run since, so it was still in the queue
                self._queue.give_back(account)
            else:
                waiter.set_result(None)
