"""The events of an account, for who reads them (design: Reading an account's events).

They are those that its webhook endpoints get, each once, with the same ids and bodies. They are
kept from the first call that reads them on, for as long as there are such calls.
"""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import ErrorCode, Refusal
from agentpost.domain.limits import EVENTS_WAIT_SECONDS_MIN, STREAM_KEEP_ALIVE_SECONDS
from agentpost.domain.times import HOUR, SECOND, seconds
from agentpost.events import rows as event_rows
from agentpost.events.rows import EventHead
from agentpost.following.held_calls import HungUp
from agentpost.record.events import EventName, NumberedEvent
from agentpost.transactions import read_transaction

_SCANNED = 200
"""Events looked at for a page, whatever the filter leaves of them."""
_NUMBERED = 500
"""Events numbered in one transaction."""
_PAUSE_SECONDS = 0.2
"""Between two looks of a stream: what a busy account makes meanwhile is sent together."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are wanted; None: all. ``conversation`` is the name that a caller gave,
    ``key_id`` the key that sent the message."""

    names: frozenset[EventName] | None = None
    conversation: str | None = None
    key_id: str | None = None

    def fits(self, head: EventHead) -> bool:
        """Whether an event is wanted."""
        if self.names is not None and head.name not in self.names:
            return False
        if self.key_id is not None and head.key_id != self.key_id:
            return False
        return self.conversation is None or head.conversation == self.conversation


@dataclass(frozen=True, slots=True)
class Position:
    """A place among an account's events: after the event with that number. ``expired``: the cursor
    is older than events are kept for readers, so some may be missing. ``is_now``: no cursor was
    given; the answer is wanted for its cursor."""

    n: int
    expired: bool = False
    is_now: bool = False


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events, oldest first; ``n`` is where the next one begins."""

    events: list[NumberedEvent]
    has_more: bool
    n: int


async def begin(ctx: AppContext, caller: Caller, cursor: str | None) -> Position:
    """Where a reader begins: at its cursor, else now. From here on events are kept for it. Raises
    ``bad_cursor``."""
    account_id = caller.account_id
    if cursor is not None:
        read = ctx.cursors.read(cursor)
        if read is None or read[:2] != (account_id, ""):
            raise Refusal(ErrorCode.BAD_CURSOR, "This cursor was not issued for this account.")
        await keep(ctx, account_id)
        oldest = ctx.clock.now() - seconds(ctx.settings.entry_retention_seconds)
        return Position(read[2], expired=read[3] * SECOND < oldest)
    await keep(ctx, account_id)
    n = await _number(ctx, account_id)
    while await ctx.db.read(lambda tx: event_rows.is_new(tx, account_id)):
        n = await _number(ctx, account_id)
    return Position(n, is_now=True)


async def keep(ctx: AppContext, account_id: str) -> None:
    """Have the account's events kept for as long as a cursor lives that is handed out within the
    next hour."""
    # Streams ask for it once in an hour, and it is written once in an hour at most.
    until = ctx.clock.now() + seconds(ctx.settings.entry_retention_seconds) + HOUR
    if (await ctx.db.read(lambda tx: event_rows.kept_until(tx, account_id)) or 0) < until:
        await ctx.db.write(lambda tx: event_rows.keep(tx, account_id, until + HOUR))


def cursor_at(ctx: AppContext, account_id: str, n: int) -> str:
    """The cursor of a place; any key of the account may continue from it."""
    return ctx.cursors.make(account_id, "", n, ctx.clock.now() // SECOND)


async def page(
    ctx: AppContext,
    caller: Caller,
    begins: Position,
    event_filter: EventFilter,
    limit: int,
    wait_seconds: int,
    hung_up: HungUp,
) -> EventPage:
    """The next events; an empty page comes after ``wait_seconds``, and behind a cursor after a
    second at least: a client that asks in a loop cannot ask too often. Raises `KeyEnded`."""
    least = 0 if begins.expired or begins.is_now else EVENTS_WAIT_SECONDS_MIN
    until = ctx.clock.passed() + seconds(max(0 if begins.expired else wait_seconds, least))
    n = begins.n
    with ctx.held_calls.hold(caller.holds, caller.account_id, hung_up) as wait:
        while True:
            event_page = await _next(ctx, caller.account_id, n, event_filter, limit)
            n = event_page.n
            left = (until - ctx.clock.passed()) / SECOND
            if event_page.events or wait.over or (left <= 0 and not event_page.has_more):
                return event_page
            if not event_page.has_more:
                await wait.wait(left)


async def follow(
    ctx: AppContext, caller: Caller, begins: Position, event_filter: EventFilter, hung_up: HungUp
) -> AsyncGenerator[EventPage]:
    """Pages of events as they come; an empty one when none came for a while. Ends when the client
    hangs up and when the server stops; raises `KeyEnded`."""
    account_id, n = caller.account_id, begins.n
    kept_at, is_hinted = ctx.clock.passed(), True
    with ctx.held_calls.hold(caller.holds, account_id, hung_up) as wait:
        while not wait.over:
            if is_hinted:
                async with ctx.streams.reading(account_id):
                    event_page = await _next(ctx, account_id, n, event_filter, _SCANNED)
                n = event_page.n
                if event_page.events:
                    yield event_page
                if event_page.has_more:
                    continue
                await asyncio.sleep(_PAUSE_SECONDS)
            is_hinted = await wait.wait(STREAM_KEEP_ALIVE_SECONDS)
            if not is_hinted and not wait.over:
                if ctx.clock.passed() - kept_at >= HOUR:
                    await keep(ctx, account_id)
                    kept_at = ctx.clock.passed()
                yield EventPage([], has_more=False, n=n)


async def _next(
    ctx: AppContext, account_id: str, after: int, event_filter: EventFilter, limit: int
) -> EventPage:
    """Up to ``limit`` events that are wanted, after that number."""
    while await ctx.db.read(lambda tx: event_rows.is_new(tx, account_id)):
        await _number(ctx, account_id)
    return await _page(ctx, account_id, after, event_filter, limit)


@read_transaction
def _page(
    tx: Tx, _: AppContext, account_id: str, after: int, event_filter: EventFilter, limit: int
) -> EventPage:
    looked_at = event_rows.heads(tx, account_id, after, _SCANNED)
    fitting = [head for head in looked_at if event_filter.fits(head)]
    page_heads = fitting[:limit]
    if len(page_heads) < len(fitting):
        return EventPage(event_rows.events(tx, page_heads), has_more=True, n=page_heads[-1].n)
    last = looked_at[-1].n if looked_at else after
    return EventPage(event_rows.events(tx, page_heads), len(looked_at) == _SCANNED, last)


async def _number(ctx: AppContext, account_id: str) -> int:
    return await ctx.db.write(lambda tx: event_rows.give_numbers(tx, account_id, _NUMBERED))
