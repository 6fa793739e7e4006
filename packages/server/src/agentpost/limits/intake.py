"""New messages that wait to be stored: so many at once, no account all of them, and each account in
turn (design: More than can be served)."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

from agentpost.clock import Clock
from agentpost.domain.errors import Overloaded
from agentpost.domain.times import MINUTE
from agentpost.limits import fair_share
from agentpost.processes.slots import FairSemaphore

log = structlog.get_logger(__name__)
Result = TypeVar("Result")

STORED_AT_ONCE: Final = 48
"""How many are handed to the database at once. The writer takes what it has in the order in which
it came, so everybody else's writes wait for no more than these and what follows from them: some
milliseconds. They are enough to share the cost of a commit, and that a few dozen callers who are
answered one after the other never wait here."""
_RETRY_SECONDS: Final = 1
_SPREAD_SECONDS: Final = 3
"""By how much `Retry-After` differs, or all would come back at once."""


class Intake:
    """Counts messages from their arrival until their commit, and says which is stored next. For the
    event loop that takes them."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = most
        self._total = 0
        self._of_account: dict[str, int] = {}
        self._storing = FairSemaphore(STORED_AT_ONCE)
        self._refused = 0
        self._reported_at: int | None = None

    @property
    def is_full(self) -> bool:
        """Whether as many messages wait as may, so that no account may send another one."""
        return self._total >= self._most

    @property
    def is_filling(self) -> bool:
        """Whether so many wait that `has_many` may hold for an account."""
        return fair_share.has_many(self._most, self._total, self._total)

    def has_many(self, account_id: str) -> bool:
        """Whether the account has so many waiting that new connections should bring no more of
        them. What `check` allows beyond is for connections that are open."""
        return fair_share.has_many(self._most, self._total, self._of_account.get(account_id, 0))

    def check(self, account_id: str) -> None:
        """Raise `Overloaded` when as many wait as may, or when the account has its share of them.
        Asked before anything is read of a message, since reading costs more than refusing."""
        state = fair_share.room(self._most, self._total, self._of_account.get(account_id, 0))
        if state is fair_share.Room.FREE:
            return
        self._report()
        seconds = _RETRY_SECONDS + int(self._clock.chance() * _SPREAD_SECONDS)
        if state is fair_share.Room.SHARE_TAKEN:
            text = "This account's messages arrive faster than they can be taken; send it again"
            raise Overloaded(f"{text} soon.", seconds)
        raise Overloaded("More messages arrive than can be taken; retry soon.", seconds)

    async def store(
        self, account_id: str, write: Callable[[], Awaitable[Result]], *, refusing: bool
    ) -> Result:
        """Have a message of the account stored by ``write``, when it is the account's turn. With
        ``refusing`` raises as `check`, since others may have come after that was asked."""
        if refusing:
            self.check(account_id)
        self._total += 1
        self._of_account[account_id] = self._of_account.get(account_id, 0) + 1
        try:
            await self._storing.acquire(account_id)
            try:
                return await write()
            finally:
                self._storing.release(account_id)
        finally:
            self._total -= 1
            self._of_account[account_id] -= 1
            if not self._of_account[account_id]:
                del self._of_account[account_id]

    def _report(self) -> None:
        self._refused += 1
        now = self._clock.passed()
        if self._reported_at is None or now - self._reported_at >= MINUTE:
            log.warning(
                "messages_refused", waiting=self._total, most=self._most, refused=self._refused
            )
            self._reported_at, self._refused = now, 0
