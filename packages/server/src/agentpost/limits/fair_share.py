"""Sharing bounded room among accounts: how much of it one may take, so that others find some.

Pure: the caller counts.
"""

from enum import Enum
from typing import Final

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
