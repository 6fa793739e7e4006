"""The request log for programs: pages of it, and what comes (design: Reading the request log)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from agentpost.accounts import rows as account_rows, scope_rules
from agentpost.accounts.scope_rules import Scope
from agentpost.caller import Caller
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.domain.limits import EVENTS_WAIT_SECONDS_MIN
from agentpost.domain.times import HOUR, MINUTE, SECOND, seconds
from agentpost.following.held_calls import HungUp
from agentpost.record.records import RequestRecord
from agentpost.requests import actions as requests, rows as request_rows
from agentpost.requests.actions import FLUSH_SECONDS
from agentpost.requests.filter_rules import RequestFilter

_SETTLED: Final = SECOND
"""After this time what ended is written, by other nodes too."""
_LONGEST: Final = 3 * MINUTE
"""Requests that took longer are not waited for; the list has them. None is held as long."""
_ROUNDED: Final = SECOND // 100
"""By so much the end of a request, kept in milliseconds, may be off."""
_SPAN: Final = HOUR
"""What one look of a reader that is far behind reads."""
_LOOKS_MAX: Final = 100
"""Looks of one call, whatever the filter leaves of them."""
_CURSOR: Final = "requests:"


@dataclass(frozen=True, slots=True)
class RequestPage:
    """Requests without their bodies, the names of the keys they came with, and where what ends
    from now on begins, in microseconds."""

    requests: list[RequestRecord]
    has_more: bool
    until: int
    key_names: Mapping[str, str]


async def list_requests(
    ctx: AppContext, caller: Caller, filters: RequestFilter, *, before: str | None, limit: int
) -> RequestPage:
    """The requests that fit and are older than the id ``before``, newest first. Raises
    ``forbidden``, see `_visible`."""
    filters = _visible(caller, filters)
    until = _settled_until(ctx)
    records: list[RequestRecord] = []
    place: str | None = before or ids.last(ids.REQUEST)
    while place is not None and len(records) < limit:
        left = limit - len(records)
        more, place = await requests.recent(
            ctx.db, caller.account_id, filters, before=place, limit=left
        )
        records += more
    return RequestPage(records, place is not None, until, await _key_names(ctx, caller))


async def list_ended(
    ctx: AppContext,
    caller: Caller,
    filters: RequestFilter,
    *,
    after: int,
    limit: int,
    wait_seconds: int,
    hung_up: HungUp,
) -> RequestPage:
    """The requests that fit and ended after that moment, in this order; an empty page comes after
    ``wait_seconds``, and a second at least.

    Reads of the log itself are left out: they would answer each other for ever. Raises
    ``forbidden``, see `_visible`, and `KeyEnded`.
    """
    filters = replace(_visible(caller, filters), not_reading=True)
    least = seconds(max(wait_seconds, EVENTS_WAIT_SECONDS_MIN))
    over_at, looks = ctx.clock.passed() + least, 0
    with ctx.held_calls.hold(caller.holds, ids.REQUEST + caller.account_id, hung_up) as wait:
        while True:
            frontier = max(after, _settled_until(ctx))
            look = partial(_look, caller.account_id, filters, after, frontier, limit)
            records, has_more, after = await ctx.db.read(look)
            looks += 1
            left = (over_at - ctx.clock.passed()) / SECOND
            if records or wait.over or (not has_more and left <= 0) or looks == _LOOKS_MAX:
                names = await _key_names(ctx, caller)  # now: a key may have come meanwhile
                return RequestPage(records, has_more, after, names)
            if not has_more:
                looks = 0
                await wait.wait(min(left, FLUSH_SECONDS))


async def get(ctx: AppContext, caller: Caller, request_id: str) -> tuple[RequestRecord, str | None]:
    """A request with its bodies, and the name of its key; raises ``not_found``."""
    record = None
    if ids.is_id(ids.REQUEST, request_id):
        record = await requests.get(ctx.db, caller.account_id, request_id)
    if record is None or (record.key_id != caller.key_id and not caller.reads_all):
        raise not_found("request")
    names = await _key_names(ctx, caller)
    return record, names.get(record.key_id or "")


def cursor_at(ctx: AppContext, caller: Caller, at: int) -> str:
    """The cursor of a moment; any key of the account may continue from it."""
    return ctx.cursors.make(caller.account_id, f"{_CURSOR}{at}", 0, ctx.clock.now() // SECOND)


def read_cursor(ctx: AppContext, caller: Caller, cursor: str) -> int:
    """The moment of a cursor, not before the log begins; raises ``bad_cursor``."""
    read = ctx.cursors.read(cursor)
    if read is None or read[0] != caller.account_id or not read[1].startswith(_CURSOR):
        text = "This cursor was not issued for the requests of this account."
        raise Refusal(ErrorCode.BAD_CURSOR, text)
    kept_since = ctx.clock.now() - seconds(ctx.settings.request_log_seconds)
    return max(int(read[1].removeprefix(_CURSOR)), kept_since)


def _visible(caller: Caller, filters: RequestFilter) -> RequestFilter:
    """Without the scope ``read_all`` a key sees its own requests; raises ``forbidden`` when others
    are asked for."""
    if filters.key_id not in (None, caller.key_id):
        scope_rules.check(caller.scopes, Scope.READ_ALL)
    return filters if caller.reads_all else replace(filters, key_id=caller.key_id)


def _settled_until(ctx: AppContext) -> int:
    """Until when all requests that have ended are written."""
    until = ctx.clock.now() - _SETTLED
    unwritten = ctx.requests.unwritten_since
    return until if unwritten is None else min(until, unwritten - _ROUNDED)


def _look(
    account_id: str, filters: RequestFilter, after: int, frontier: int, limit: int, tx: Tx
) -> tuple[list[RequestRecord], bool, int]:
    """Requests that ended between, whether there may be more, and until when it was looked."""
    until = min(frontier, after + _SPAN)
    span = {"after": after, "until": until, "longest": _LONGEST}
    records = request_rows.ended_between(tx, account_id, filters, **span, limit=limit)
    if len(records) >= limit:
        return records, True, request_rows.ended_at(records[-1])
    if until < frontier and not records:
        # Nobody asked anything for long: continue where somebody did.
        following = request_rows.first_after(tx, account_id, until - _LONGEST)
        until = max(until, min(frontier, following - 1 if following is not None else frontier))
    return records, until < frontier, until


async def _key_names(ctx: AppContext, caller: Caller) -> dict[str, str]:
    return await ctx.db.read(lambda tx: account_rows.key_names(tx, caller.account_id))
