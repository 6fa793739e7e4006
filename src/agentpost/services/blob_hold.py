"""Keep every blob while a backup is made.

A blob goes after its row. So a backup that copies the rows first would miss the blobs of rows that
went while it copied. While a hold lasts, no blob is deleted on any node; what is due waits in
`db.pending_deletions`. A hold ends at a time that its maker moves forward, so one that was killed
delays the deletions by a few minutes and no longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.errors import reason_of
from agentpost.domain.times import seconds
from agentpost.services.context import AppContext

log = structlog.get_logger(__name__)

NAME: Final = "blobs_held_until"
"""Of the value in the database: microseconds."""
HOLD_SECONDS: Final = 300
_RENEW_SECONDS: Final = 60


def is_held(tx: Tx, now: int) -> bool:
    """Whether no blob may be deleted at ``now`` (microseconds)."""
    until = meta.get(tx, NAME)
    # One that lies further ahead was set by a clock that was wrong.
    return until is not None and now < int(until) <= now + 2 * seconds(HOLD_SECONDS)


@asynccontextmanager
async def held(ctx: AppContext) -> AsyncIterator[None]:
    """No blob is deleted by any node until the block ends."""
    await _renew(ctx)
    renewing = asyncio.create_task(_keep_renewing(ctx), name="blob-hold")
    try:
        yield
    finally:
        renewing.cancel()
        with suppress(asyncio.CancelledError):
            await renewing
        await ctx.db.write(lambda tx: meta.delete(tx, NAME))


async def _keep_renewing(ctx: AppContext) -> None:
    while True:
        await asyncio.sleep(_RENEW_SECONDS)
        try:
            await _renew(ctx)
        except Exception as error:
            log.warning("blob_hold_not_renewed", error=reason_of(error))


async def _renew(ctx: AppContext) -> None:
    until = ctx.clock.now() + seconds(HOLD_SECONDS)
    await ctx.db.write(lambda tx: meta.put(tx, NAME, str(until)))
