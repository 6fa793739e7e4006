"""The open event streams of this process, counted by account."""

import asyncio
from collections import Counter
from weakref import WeakValueDictionary

from agentpost.domain.errors import RateLimited
from agentpost.domain.limits import ACCOUNT_LIMIT_RETRY_SECONDS, STREAMS_OF_ONE_MAX


class OpenStreams:
    """How many streams each account has open. For the event loop that serves them."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._open_of_topics: Counter[str] = Counter()
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def check(self, account_id: str, most: int) -> None:
        """Raise ``rate_limited`` when the account has as many as it may."""
        if self._open[account_id] >= most:
            text = f"This account has {most:,} event streams open; close some of them."
            raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS)

    def take(self, account_id: str, most: int, topic: str = "") -> "StreamPlace":
        """One more of a ``topic``, until the place is given back; raises as `check`, and for too
        many of the topic: each of them is written whatever happens there.

        Taking and checking are one step, so that calls at once cannot take more than there is.
        """
        self.check(account_id, most)
        of_topic = f"{account_id} {topic}"
        if self._open_of_topics[of_topic] >= STREAMS_OF_ONE_MAX:
            text = f"There are {STREAMS_OF_ONE_MAX} streams of the same events open; close some."
            raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS)
        return StreamPlace((self._open, account_id), (self._open_of_topics, of_topic))

    def count(self, account_id: str) -> "StreamPlace":
        """One more, whatever there is: for callers that have checked."""
        return StreamPlace((self._open, account_id))

    def reading(self, account_id: str) -> asyncio.Lock:
        """Held while a stream reads what is new. A commit may wake a thousand streams of one
        account: one after the other, they leave room for others between two of them."""
        return self._reading.setdefault(account_id, asyncio.Lock())

    def total(self) -> int:
        """How many streams are open, of all accounts."""
        return self._open.total()


class StreamPlace:
    """A stream that counts: given back at the end of its ``with``, or when nobody has it any more,
    as of a response that was never sent."""

    def __init__(self, *counters: tuple[Counter[str], str]) -> None:
        """``counters``: where it counts, and by which name."""
        self._counted = counters
        for counter, name in counters:
            counter[name] += 1

    def __enter__(self) -> None:
        """It counts already."""

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self.__del__()

    def __del__(self) -> None:
        counters, self._counted = self._counted, ()
        for counter, name in counters:
            counter[name] -= 1
            if not counter[name]:
                del counter[name]
