"""The request log for programs: pages of it, and what comes (design: Reading the request log)."""

from collections.abc import Sequence
from dataclasses import replace
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
from agentpost.requests.shapes import (
    LoggedRequestDetailsShape,
    LoggedRequestListShape,
    LoggedRequestShape,
)

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


async def list_requests(
    ctx: AppContext, caller: Caller, filters: RequestFilter, *, before: str | None, limit: int
) -> LoggedRequestListShape:
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
    return await _page(ctx, caller, records, place is not None, until)


async def list_ended(
    ctx: AppContext,
    caller: Caller,
    filters: RequestFilter,
    *,
    after: int,
    limit: int,
    wait_seconds: int,
    hung_up: HungUp,
) -> LoggedRequestListShape:
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
                return await _page(ctx, caller, records, has_more, after)
            if not has_more:
                looks = 0
                await wait.wait(min(left, FLUSH_SECONDS))


async def get(ctx: AppContext, caller: Caller, request_id: str) -> LoggedRequestDetailsShape:
    """A request with its bodies; raises ``not_found``."""
    record = None
    if ids.is_id(ids.REQUEST, request_id):
        record = await requests.get(ctx.db, caller.account_id, request_id)
    if record is None or (record.key_id != caller.key_id and not caller.reads_all):
        raise not_found("request")
    names = await _key_names(ctx, caller)
    return LoggedRequestDetailsShape.of(record, names.get(record.key_id or ""))


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


async def _page(
    ctx: AppContext, caller: Caller, records: Sequence[RequestRecord], has_more: bool, until: int
) -> LoggedRequestListShape:
    """``until``: where what ends from now on begins, in microseconds; any key of the account may
    continue from it."""
    names = await _key_names(ctx, caller)  # now: a key may have come while the call was held
    data = [LoggedRequestShape.of(each, names.get(each.key_id or "")) for each in records]
    place, now = f"{_CURSOR}{until}", ctx.clock.now() // SECOND
    cursor = ctx.cursors.make(caller.account_id, place, 0, now)
    return LoggedRequestListShape(data=data, has_more=has_more, cursor=cursor)


async def _key_names(ctx: AppContext, caller: Caller) -> dict[str, str]:
    return await ctx.db.read(lambda tx: account_rows.key_names(tx, caller.account_id))
