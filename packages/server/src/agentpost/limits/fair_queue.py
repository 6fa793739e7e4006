"""Sharing a fixed number of places among accounts: who gets the next one.

Pure: the caller does the waiting. An account may hold every place but one. The last free place goes
to an account that holds none, so one account's long calls never keep another from beginning. Among
the accounts that wait, the one that holds fewest comes first, and of equals the one that has waited
longest since it last got a place or gave one back (round-robin); within an account, first come,
first served.

With a single place nothing can be kept free: accounts take turns, call by call.
"""

from collections import deque
from typing import Generic, TypeVar

W = TypeVar("W")


class FairQueue(Generic[W]):
    """``slots`` places (at least one) and the waiters for them.

    The queue of an account is not bounded: every waiter belongs to a turn, job or message of the
    account, and those are limited where they are accepted.
    """

    def __init__(self, slots: int) -> None:
        assert slots > 0
        self._free = slots
        self._held: dict[str, int] = {}
        # In round-robin order: an account moves to the end when it gets a place or gives one back.
        self._waiting: dict[str, deque[W]] = {}

    def take(self, account: str) -> bool:
        """Give the account a place at once; False when it has to wait, as when anybody waits."""
        if self._waiting or not self._may_take(account):
            return False
        self._free -= 1
        self._held[account] = self._held.get(account, 0) + 1
        return True

    def add(self, account: str, waiter: W) -> None:
        """Queue a waiter; `grant_next` says when it has a place."""
        self._waiting.setdefault(account, deque()).append(waiter)

    def remove(self, account: str, waiter: W) -> None:
        """Forget a waiter, if it still waits."""
        waiters = self._waiting.get(account, deque())
        if waiter in waiters:
            waiters.remove(waiter)
            if not waiters:
                del self._waiting[account]

    def grant_next(self) -> tuple[str, W] | None:
        """Give the next place to a waiter: its account and itself. None when no place is free or
        none of those who wait may have it."""
        allowed = (account for account in self._waiting if self._may_take(account))
        account = min(allowed, key=self.held_count, default=None)  # the first of equals
        if account is None:
            return None
        waiters = self._waiting.pop(account)
        waiter = waiters.popleft()
        if waiters:
            self._waiting[account] = waiters
        self._free -= 1
        self._held[account] = self._held.get(account, 0) + 1
        return account, waiter

    def held_count(self, account: str) -> int:
        """How many places the account holds."""
        return self._held.get(account, 0)

    def give_back(self, account: str) -> bool:
        """A place of the account is free again; whether anybody waits for one, whom `grant_next`
        names."""
        assert account in self._held
        self._free += 1
        self._held[account] -= 1
        if not self._held[account]:
            del self._held[account]
        if account in self._waiting:
            self._waiting[account] = self._waiting.pop(account)
        return bool(self._waiting)

    def _may_take(self, account: str) -> bool:
        return self._free > (1 if account in self._held else 0)
