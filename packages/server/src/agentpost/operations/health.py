"""Check the stores by writing to them and reading back.

A running server checks each part every few seconds (`tasks.background`) and `/readyz` answers what
the last checks found. A part that stops working is one error line in the log, and one info line
when it works again. The doctor makes the same checks once.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agentpost.blobs import identity as storage_identity, space
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.errors import StoreUnavailable, reason_of
from agentpost.operations.health_state import Health

ANSWER_SECONDS = 5.0
"""A part that takes longer to answer a check counts as failing."""


Check = Callable[[], Awaitable[None]]
"""Uses a part once, and raises what keeps it from working."""


async def check_database(ctx: AppContext) -> None:
    """Commit something and read; raises what keeps it from that. Nothing stays in the database."""
    name = f"check:{ctx.node}"

    def write(tx: Tx) -> None:
        tx.exclude_from_changes()
        meta.put(tx, name, "")
        meta.delete(tx, name)

    await ctx.db.write(write)
    await ctx.db.read(lambda tx: meta.get(tx, name))


async def check_blobs(ctx: AppContext) -> None:
    """Store bytes and read them; raises what keeps it from that, and `StoreUnavailable` when the
    storage is not the one that was there at the start. One that could not be compared with the
    database then is compared now."""
    await space.refresh(ctx)
    await ctx.storage.check(ctx.node)
    if ctx.storage_id is None:
        await storage_identity.settle(ctx)
    elif (identity := await ctx.storage.identity() or "") != ctx.storage_id:
        if await storage_identity.is_other(ctx):
            raise StoreUnavailable("the file storage was deleted, replaced or unmounted")
        ctx.storage_id = identity  # `agentpost db adopt-storage` was run beside this server
    await storage_identity.check_pending(ctx)


class PartCheck:
    """Check one part repeatedly, one check at a time, to keep `AppContext.health` up to date. A
    check that hangs is not repeated but waited for: each one may hold a thread."""

    def __init__(self, health: Health, name: str, check: Check) -> None:
        self._health = health
        self._name = name
        self._check = check
        self._running: asyncio.Future[None] | None = None

    async def run(self) -> None:
        """Check once; never raises what the check raises."""
        running = self._running = self._running or asyncio.ensure_future(self._check())
        try:
            await asyncio.wait({running}, timeout=ANSWER_SECONDS)
        except asyncio.CancelledError:
            running.cancel()
            raise
        if not running.done():
            self._health.note_failure(self._name, f"no answer within {ANSWER_SECONDS:.0f} seconds")
            return
        self._running = None
        error = running.exception()
        if error is None:
            self._health.works(self._name)
        else:
            self._health.note_failure(self._name, reason_of(error))
