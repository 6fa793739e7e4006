"""The open event streams of this process, counted by account."""

from __future__ import annotations

from collections import Counter

from agentpost.domain.errors import RateLimited
from agentpost.domain.limits import ACCOUNT_LIMIT_RETRY_SECONDS


class OpenStreams:
    """How many streams each account has open. For the event loop that serves them."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def check(self, account_id: str, most: int) -> None:
        """Raise ``rate_limited`` when the account has as many as it may."""
        if self._open[account_id] >= most:
            text = f"This account has {most:,} event streams open; close some of them."
            raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS)

    def take(self, account_id: str, most: int) -> StreamPlace:
        """One more, until the place is given back; raises as `check`.

        Taking and checking are one step, so that calls at once cannot take more than there is.
        """
        self.check(account_id, most)
        return StreamPlace(self._open, account_id)

    def count(self, account_id: str) -> StreamPlace:
        """One more, whatever there is: for callers that have checked."""
        return StreamPlace(self._open, account_id)

    def total(self) -> int:
        """How many streams are open, of all accounts."""
        return self._open.total()


class StreamPlace:
    """A stream that counts: given back at the end of its ``with``, or when nobody has it any more,
    as of a response that was never sent."""

    def __init__(self, open_: Counter[str], account_id: str) -> None:
        self._open = open_
        self._account_id: str | None = account_id
        open_[account_id] += 1

    def __enter__(self) -> None:
        """It counts already."""

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self.__del__()

    def __del__(self) -> None:
        account_id, self._account_id = self._account_id, None
        if account_id is None:
            return
        self._open[account_id] -= 1
        if not self._open[account_id]:
            del self._open[account_id]
