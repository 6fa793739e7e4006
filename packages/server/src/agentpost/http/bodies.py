"""Read request bodies, bounded in size and time, few large ones at once (design: Bodies).

Slow clients are fine, idle ones are not: an idle timeout and a minimum average rate keep a body
from holding a slot forever. When the answer is sent early, the rest of the body is read and
discarded for a while: a client that is cut off while sending would see a broken connection instead
of the answer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from weakref import WeakValueDictionary

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Send

from agentpost.domain.errors import Overloaded, RateLimited
from agentpost.domain.limits import ACCOUNT_LIMIT_RETRY_SECONDS
from agentpost.http.headers import header
from agentpost.http.request_state import state_of

LARGE_BYTES = 64 * 1024
"""A body that turns out longer takes a place among the large ones."""
COUNTED_BYTES = 2 * 1024 * 1024
"""One that turns out longer is counted when it is refused."""
LARGE_BODIES_MAX = 6
"""Large bodies in memory at once."""
LARGE_BODIES_PER_ACCOUNT_MAX = 1
"""Of these, for one account."""
LARGE_BYTES_PER_SECOND_MAX = 32 * 1024 * 1024
"""Of one body."""
SLOT_WAIT_SECONDS = 20.0
"""How long a body waits for a place; its client is not read from meanwhile."""
START_SECONDS = 30.0
"""Time that every body gets, however short it is."""
BYTES_PER_SECOND_MIN = 16 * 1024
_LINGER_SECONDS = 10.0


Uncount = Callable[[], Awaitable[None]]
Count = Callable[[], Awaitable[Uncount]]
"""Counts a body, and returns what takes that back."""


class TooSlow(Exception):
    """The body comes too slowly, or not at all; the text says it to the client."""


async def chunks(request: Request, idle_seconds: float) -> AsyncIterator[bytes]:
    """The body as it arrives, in pieces of moderate size. Only time spent waiting for the client
    counts. Raises `TooSlow`, and `ClientDisconnect`."""
    now, state = asyncio.get_running_loop().time, state_of(request.scope)
    size, waiting_seconds, more = 0, 0.0, True
    while more:
        left = START_SECONDS + size / BYTES_PER_SECOND_MIN - waiting_seconds
        began = now()
        try:
            async with asyncio.timeout(min(idle_seconds, left)):
                message = await request.receive()
        except TimeoutError:
            if left < idle_seconds:
                raise TooSlow("the body arrived too slowly") from None
            raise TooSlow(f"no part of the body arrived for {idle_seconds:g} seconds") from None
        waiting_seconds += now() - began
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        state.body_ended = not more
        data: bytes = message.get("body", b"")
        size += len(data)
        if data:
            yield data


class Pace:
    """Takes a large body no faster than `LARGE_BYTES_PER_SECOND_MAX`: a client nearby sends as fast
    as is read, and each MB costs the loop milliseconds in which it does nothing else."""

    def __init__(self) -> None:
        self._now = asyncio.get_running_loop().time
        self._began = self._now()

    async def keep(self, size: int) -> None:
        """So many bytes have been taken: wait until there may be more."""
        early = size / LARGE_BYTES_PER_SECOND_MAX - (self._now() - self._began)
        if early > 0:
            await asyncio.sleep(early)


def declared_length(request: Request) -> int | None:
    """The length the client declares, None when it declares none (chunked, or no body)."""
    length = header(request, b"content-length") or ""
    return int(length[:20]) if length.isascii() and length.isdigit() else None


def has_body(request: Request) -> bool:
    """Whether the client says that a body comes."""
    length = declared_length(request)
    return length > 0 if length is not None else header(request, b"transfer-encoding") is not None


# --- places ---------------------------------------------------------------------------------------
class BodySlot(AsyncExitStack):
    """Where one body of any legal size may be held: a context that leaves the places it took.
    ``count`` is what `count` calls the first time; what it raises refuses the body. It is taken
    back at the end, unless something refused the body: then an exception ends the context."""

    def __init__(self, budget: "BodyBudget", account_id: str, count: Count) -> None:
        super().__init__()
        self._budget = budget
        self._account_id = account_id
        self._count: Count | None = count

    async def count(self) -> None:
        """The body is so large that an account may have only few like it refused: count it, the
        first time. Raises what counting raises."""
        count, self._count = self._count, None
        if count is None:
            return
        uncount = await count()

        async def take_back(kind: type[BaseException] | None, *_: object) -> None:
            if kind is None:
                await uncount()

        self.push_async_exit(take_back)

    async def acquire(self) -> None:
        """The body is large: take a place. Raises ``rate_limited`` when the account has all it may
        have at once, ``unavailable`` when others have the rest."""
        try:
            async with asyncio.timeout(SLOT_WAIT_SECONDS):
                await self.enter_async_context(self._budget.of_account(self._account_id))
        except TimeoutError:
            text = "This account is sending a large body already."
            raise RateLimited(text, ACCOUNT_LIMIT_RETRY_SECONDS) from None
        try:
            async with asyncio.timeout(SLOT_WAIT_SECONDS):
                await self.enter_async_context(self._budget.places)
        except TimeoutError:
            text = "Too many large bodies are on their way; try again later, or use an upload."
            raise Overloaded(text, round(SLOT_WAIT_SECONDS)) from None


class BodyBudget:
    """The places for large bodies: few, and no account can take them all."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(LARGE_BODIES_MAX)
        self._of_accounts: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def of_account(self, account_id: str) -> asyncio.Semaphore:
        """The places of one account; there while somebody has or wants one."""
        places = self._of_accounts.get(account_id)
        if places is None:
            places = asyncio.Semaphore(LARGE_BODIES_PER_ACCOUNT_MAX)
            self._of_accounts[account_id] = places
        return places


# --- what was not read ----------------------------------------------------------------------------
def is_left_over(request: Request) -> bool:
    """Whether more of the body may come than is worth reading to keep the connection."""
    if state_of(request.scope).body_ended or not has_body(request):
        return False
    length = declared_length(request)
    return length is None or length > LARGE_BYTES


async def send_and_close(request: Request, response: Response, send: Send) -> None:
    """Answer first, then let the client finish for a while, then close the connection."""
    response.headers["Connection"] = "close"

    async def keep_open(message: Message) -> None:
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send({**message, "more_body": True} if last else message)

    await response(request.scope, request.receive, keep_open)
    began = state_of(request.scope).body_ended is not None
    if began or "expect" not in request.headers:  # else it waits for our word before it sends
        await _drain(request)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _drain(request: Request) -> None:
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            more = True
            while more:
                message = await request.receive()
                more = message["type"] == "http.request" and message.get("more_body", False)
    except TimeoutError:
        pass
