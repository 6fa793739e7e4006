"""Who of those that arrive sends little, so that it is not refused for the many of others.

Pure: the caller says who arrived.
"""

from collections import Counter, deque
from typing import Final

REMEMBERED: Final = 1_000
_OF_A_SHARE: Final = 2
"""One over that is how much of an equal share is little: so at most that part of what arrives is
let in as little, however many send it."""


class RecentArrivals:
    """The last thousand arrivals, each by an account; those of nobody known count as one account's,
    or a made-up key for each would let all of them in."""

    def __init__(self) -> None:
        self._order: deque[str | None] = deque()
        self._by_account: Counter[str | None] = Counter()

    def add(self, account: str | None) -> None:
        """One arrived, of an account or of nobody known."""
        self._order.append(account)
        self._by_account[account] += 1
        if len(self._order) > REMEMBERED:
            oldest = self._order.popleft()
            self._by_account[oldest] -= 1
            if not self._by_account[oldest]:
                del self._by_account[oldest]

    def are_few(self, account: str | None) -> bool:
        """Whether the account has at most half an equal share of them."""
        own = self._by_account[account]
        return own * len(self._by_account) * _OF_A_SHARE <= len(self._order)
