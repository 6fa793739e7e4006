"""Sharing bounded room and a fixed number of places among accounts: how much of it one may take, so
that others find some, and who gets the next place.

Pure: the caller counts, and does the waiting.
"""

from collections import deque
from enum import Enum
from typing import Final, Generic, TypeVar

_OF_FREE: Final = 3
"""An account may take that many times what is left free: three quarters of the room when it is the
only one, three sevenths each when there are two, and so on. Whoever comes next finds some."""
_MANY: Final = 4
"""With that many times as much it would have its share: three sevenths of the room when it is the
only one."""


class Room(Enum):
    """Whether one more fits."""

    FREE = "free"
    SHARE_TAKEN = "share taken"
    """The account has its share; others may come."""
    FULL = "full"


def room(most: int, taken: int, by_account: int) -> Room:
    """Whether the account may take another place of ``most``.

    Args:
        taken: how many are taken, by all accounts.
        by_account: those of them that this account has.
    """
    free = most - taken
    if free <= 0:
        return Room.FULL
    if by_account >= _OF_FREE * free:
        return Room.SHARE_TAKEN
    return Room.FREE


def has_many(most: int, taken: int, by_account: int) -> bool:
    """Whether the account comes near its share, given the same as `room`."""
    return by_account * _MANY >= _OF_FREE * (most - taken) and by_account > 0


W = TypeVar("W")


class FairQueue(Generic[W]):
    """``slots`` places (at least one) and the waiters for them.

    An account may hold every place but one. The last free place goes to an account that holds none,
    so one account's long calls never keep another from beginning. Among the accounts that wait, the
    one that holds fewest comes first, and of equals the one that has waited longest since it last
    got a place or gave one back (round-robin); within an account, first come, first served. With a
    single place nothing can be kept free: accounts take turns, call by call.

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
