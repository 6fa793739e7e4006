"""Store bytes before the row that names them and delete them after it, so no crash leaves an
orphan.

`store` and `schedule_delete` list blobs that may have to be deleted in `blobs.deletion_rows`; only
`sweep` deletes the bytes of a row. Each blob has a new key and belongs to one row. The bytes of an
upload belong to no row until a message uses the upload: the upload's row numbers them,
`uploads.actions` clears the public copy, and the function that made a wrong copy removes it.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import structlog

from agentpost.blobs import deletion_rows, hold, identity, space
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import backoff
from agentpost.domain.errors import reason_of
from agentpost.domain.limits import BLOB_UNRECORDED_SECONDS_MAX
from agentpost.domain.times import seconds
from agentpost.storage.base import BlobInfo

log = structlog.get_logger(__name__)

CHUNK = 50
AGAIN_SECONDS = 60
AGAIN_SECONDS_MAX = 86_400
_INCOMING = "incoming/"


async def store(ctx: AppContext, blob: str, data: bytes | Path) -> BlobInfo:
    """Store bytes under a fresh key; a commit within a day has to `keep` it, else they go."""
    identity.ensure_shared(ctx)
    space.ensure_for_files(ctx)
    due_at = ctx.clock.now() + seconds(BLOB_UNRECORDED_SECONDS_MAX)
    await ctx.db.write(lambda tx: deletion_rows.schedule_delete(tx, [blob], due_at))
    return await ctx.storage.put(blob, data)


async def discard(ctx: AppContext, blobs: Sequence[str]) -> None:
    """Stored for something that did not happen."""
    if blobs:
        await ctx.db.write(lambda tx: deletion_rows.schedule_delete(tx, blobs, ctx.clock.now()))


def incoming(upload_id: str) -> str:
    """How an upload's public place is named among the pending deletions."""
    return f"{_INCOMING}{upload_id}"


async def sweep(ctx: AppContext) -> None:
    """Delete what is due. A blob that cannot be deleted is retried with growing pauses and blocks
    no other; `operations.doctor` tells about it. While a backup is made, nothing is deleted
    (`blobs.hold`)."""
    now = ctx.clock.now()

    def find_due(tx: Tx, at: int) -> list[bool]:
        return [True] if deletion_rows.any_due(tx, at) else []

    if not await ctx.resting.due("sweep_blobs", find_due):
        return
    deleted = [b for b in await ctx.db.write(partial(_claim, now)) if await _delete(ctx, b)]

    def forget(tx: Tx) -> None:
        for blob in deleted:
            deletion_rows.forget(tx, blob)

    if deleted:
        await ctx.db.write(forget)


def _claim(now: int, tx: Tx) -> list[str]:
    claimed: list[str] = []
    if hold.is_held(tx, now):
        return claimed
    for blob, tries in deletion_rows.due(tx, now, CHUNK):
        again = seconds(backoff.pause(tries, AGAIN_SECONDS, AGAIN_SECONDS_MAX))
        deletion_rows.claim(tx, blob, tries + 1, now + again)
        claimed.append(blob)
    return claimed


async def _delete(ctx: AppContext, blob: str) -> bool:
    """Whether it is gone."""
    try:
        if blob.startswith(_INCOMING):
            await ctx.incoming.delete(blob.removeprefix(_INCOMING))
        else:
            await ctx.storage.delete(blob)
    except Exception as error:
        log.warning("blob_not_deleted", blob=blob, error=reason_of(error))
        return False
    return True
