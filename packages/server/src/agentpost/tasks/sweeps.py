"""Process due rows one by one; a failing row is retried with backoff and never blocks the others.

A failure is logged. Until the row succeeds, `operations.doctor` reports it as overdue.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import backoff
from agentpost.domain.times import seconds

log = structlog.get_logger(__name__)
T = TypeVar("T")

CHUNK = 100
AGAIN_SECONDS = 5
AGAIN_SECONDS_MAX = 600
FAILURES_MAX = 10
"""In one sweep: after so many, it is something else that is broken."""


async def sweep(
    ctx: AppContext,
    name: str,
    find: Callable[[Tx, int, int], list[T]],
    do: Callable[[T], Awaitable[object]],
    *,
    key: Callable[[T], str] = str,
    chunk: int = CHUNK,
) -> None:
    """Find what is due and do each; what fails is put off.

    Args:
        name: of the sweep, for the log and to tell what was put off.
        find: the first so many of what is due at a time (see `Resting.due`); is asked for more by
            as many as are put off.
        key: tells the found ones apart.
        chunk: how many to do at most.
    """
    put_off = ctx.put_off.setdefault(name, {})
    limit = chunk + len(put_off)
    due = await ctx.resting.due(name, lambda tx, at: find(tx, at, limit))
    by_name = {key(one): one for one in due}
    for old_name in put_off.keys() - by_name.keys():
        del put_off[old_name]
    failures = 0
    for key_name, one in by_name.items():
        tries, until = put_off.get(key_name, (0, 0))
        if until > ctx.clock.passed():
            continue
        try:
            await do(one)
        except Exception:
            log.exception("sweep_failed", sweep=name, id=key_name, tries=tries + 1)
            again = seconds(backoff.pause(tries, AGAIN_SECONDS, AGAIN_SECONDS_MAX))
            put_off[key_name] = (tries + 1, ctx.clock.passed() + again)
            failures += 1
            if failures == FAILURES_MAX:
                return
        else:
            put_off.pop(key_name, None)
