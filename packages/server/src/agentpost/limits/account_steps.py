"""Turns of accounts on the serving loop, and on threads (design: Turns of accounts).

The loop runs what is ready in the order in which it became ready: eight calls of one account, a
millisecond each, are eight milliseconds for everybody else, and again each time that a call of
somebody else waits for the database. So a call continues by steps, each from one wait to the next,
and asks before each of them. A call that waits holds nothing.
"""

import asyncio
import time
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

Result = TypeVar("Result")

TURN_SECONDS: Final = 0.0005
"""After so long it is the turn of others; the last step of a turn may be longer."""
COMPANY_SECONDS: Final = 1.0
"""An account is alone when no other one took a step for so long. It needs no turns, which cost a
busy account a tenth of a millisecond for a call."""
_PASSES: Final = 2
"""Of the loop between two turns of an account: in the first it reads what has arrived, in the
second the calls that this begins take their first step."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class _Account:
    """``seconds``: of its turn so far. ``waiting``: its next steps."""

    seconds: float = 0.0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class AccountSteps:
    """The calls of all accounts, for the event loop that serves them; ``now``: in seconds."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._accounts: WeakValueDictionary[str, _Account] = WeakValueDictionary()
        self._waiting: deque[_Account] = deque()  # the next one first
        self._latest: _Account | None = None  # it took the latest step
        self._company_at = 0.0  # when that was another one than before

    @types.coroutine
    def run(
        self, account_id: str, call: Coroutine[Any, Any, Result]
    ) -> Generator[Any, Any, Result]:
        """Let the call continue in turn with those of other accounts; returns and raises as it
        does, in the same task. A call that is cancelled waits for no turn."""
        account = self._accounts.get(account_id)
        if account is None:
            account = self._accounts[account_id] = _Account()
        error: BaseException | None = None
        try:
            while True:
                began = self._now()
                is_alone = self._is_alone(account, began)
                # Its turn is not over, and none of its calls came before.
                may_step = account.seconds < TURN_SECONDS and not account.waiting
                if not (is_alone or may_step) and (error is None or isinstance(error, Exception)):
                    try:
                        yield from self._wait_for_turn(account)
                    except BaseException as cancelled:
                        error = cancelled
                    began = self._now()
                try:
                    wait = call.send(None) if error is None else call.throw(error)
                except StopIteration as end:
                    result: Result = end.value
                    return result
                finally:
                    if not is_alone:
                        self._count_step(account, began)
                error = None
                try:
                    yield wait
                except BaseException as raised:  # it is the call's
                    error = raised
                finally:
                    del wait  # with its error
        finally:
            del error  # else it keeps this frame, which keeps it

    def _is_alone(self, account: _Account, now: float) -> bool:
        return (
            account is self._latest
            and not self._waiting
            and now - self._company_at > COMPANY_SECONDS
        )

    def _wait_for_turn(self, account: _Account) -> Generator[Any, Any, None]:
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        account.waiting.append(turn)
        if len(account.waiting) == 1:
            self._waiting.append(account)
            if len(self._waiting) == 1:
                loop.call_soon(self._give_turn)
        yield from turn

    def _give_turn(self) -> None:
        """Wake a step of the next account whose turn is not over, one in each pass of the loop."""
        for _ in range(len(self._waiting)):
            account = self._waiting.popleft()
            while account.waiting and account.waiting[0].done():  # cancelled
                account.waiting.popleft()
            has_turn = bool(account.waiting) and account.seconds < TURN_SECONDS
            if has_turn:
                account.waiting.popleft().set_result(None)
            if account.waiting:
                self._waiting.append(account)
            if has_turn:
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._give_turn)

    def _count_step(self, account: _Account, began: float) -> None:
        now = self._now()
        if account is not self._latest:
            self._latest, self._company_at = account, now
        if not account.seconds:
            asyncio.get_running_loop().call_soon(self._end_turn, account, _PASSES)
        account.seconds += now - began

    def _end_turn(self, account: _Account, passes: int) -> None:
        if passes and account.seconds >= TURN_SECONDS:
            asyncio.get_running_loop().call_soon(self._end_turn, account, passes - 1)
        else:
            account.seconds = 0.0


# --- dear work on threads: one at a time for an account -------------------------------------------
# A thread that works in Python takes the interpreter from the loop for half a millisecond at a
# time; several of one account would take it one after the other.
class AccountThreads:
    """A place on the threads for each account. For the event loop that serves them."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, account_id: str, work: Callable[[], Result]) -> Result:
        """Call ``work`` on a thread, after all else of the account; raises what it raises. The
        place is taken until ``work`` has ended, also when the caller is cancelled meanwhile."""
        lock = self._locks.setdefault(account_id, asyncio.Lock())
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
