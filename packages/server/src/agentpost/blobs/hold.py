"""Keep every blob while a backup is made, or an account exported.

A blob goes after its row. So a backup that copies the rows first would miss the blobs of rows that
went while it copied. While a hold lasts, no blob is deleted on any node; what is due waits in
`blobs.deletion_rows`. Each hold has a value of its own in the database, so one that ends leaves
the others. A hold ends at a time that its maker moves forward, so one that was killed delays the
deletions by a few minutes and no longer.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import structlog

from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.errors import reason_of
from agentpost.domain.times import seconds

log = structlog.get_logger(__name__)

NAME: Final = "blobs_held_until:"
"""How the name of each hold's value in the database (microseconds) begins."""
HOLD_SECONDS: Final = 300
_RENEW_SECONDS: Final = 60


def is_held(tx: Tx, now: int) -> bool:
    """Whether no blob may be deleted at ``now`` (microseconds)."""
    return any(_lasts(until, now) for until in meta.starting(tx, NAME).values())


def forget_all(tx: Tx) -> None:
    """End every hold, such as those in a copy of the database."""
    for name in meta.starting(tx, NAME):
        meta.delete(tx, name)


@asynccontextmanager
async def hold(ctx: AppContext) -> AsyncIterator[None]:
    """No blob is deleted by any node until the block ends, whoever else holds them."""
    name = f"{NAME}{new_id('hold', ctx.clock.now())}"
    await _renew(ctx, name)
    renewing = asyncio.create_task(_keep_renewing(ctx, name), name="blob-hold")
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        await ctx.db.write(partial(_release, ctx.clock.now(), name))


def _lasts(until: str, now: int) -> bool:
    # One that lies further ahead was set by a clock that was wrong.
    return now < int(until) <= now + 2 * seconds(HOLD_SECONDS)


def _release(now: int, name: str, tx: Tx) -> None:
    """End one hold, and forget those whose makers were killed."""
    meta.delete(tx, name)
    for other, until in meta.starting(tx, NAME).items():
        if not _lasts(until, now):
            meta.delete(tx, other)


async def _keep_renewing(ctx: AppContext, name: str) -> None:
    while True:
        await asyncio.sleep(_RENEW_SECONDS)
        try:
            await _renew(ctx, name)
        except Exception as error:
            log.warning("blob_hold_not_renewed", error=reason_of(error))


async def _renew(ctx: AppContext, name: str) -> None:
    until = str(ctx.clock.now() + seconds(HOLD_SECONDS))
    await ctx.db.write(lambda tx: meta.put(tx, name, until))
