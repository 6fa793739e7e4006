"""Space for files: a minimum of free space, and a limit on what an account may announce.

Below the floor uploads and files are refused while messages go on, so that the database on the same
disk can still grow. The check of the file storage reads the free space every few seconds.
"""

from __future__ import annotations

from agentpost.db import accounts
from agentpost.db import uploads as rows
from agentpost.db.session import Tx
from agentpost.domain import limits
from agentpost.domain.errors import ErrorCode, Overloaded, Refusal, StoreUnavailable
from agentpost.services.context import AppContext

RETRY_SECONDS = 60
NO_ROOM = "the server has no space for files at the moment"


def is_short(ctx: AppContext) -> bool:
    """Whether less space is free than `free_space_min_bytes`."""
    free = ctx.health.free_bytes
    return free is not None and free < ctx.settings.free_space_min_bytes


def ensure_for_uploads(ctx: AppContext) -> None:
    """Raises ``unavailable`` below the floor."""
    if is_short(ctx):
        raise Overloaded(f"No upload can be accepted: {NO_ROOM}; try again later.", RETRY_SECONDS)


def ensure_for_files(ctx: AppContext) -> None:
    """Raises `StoreUnavailable` below the floor: a run stops, and goes on when there is room."""
    if is_short(ctx):
        raise StoreUnavailable(f"{NO_ROOM} (free_space_min_bytes)")


async def refresh(ctx: AppContext) -> None:
    """Bring ``ctx.health.free_bytes`` up to date."""
    ctx.health.free_bytes = await ctx.storage.free_bytes()


def ensure_may_announce(tx: Tx, ctx: AppContext, account_id: str, size: int) -> None:
    """Raises ``too_large`` when the account's unfinished uploads would be too many, or announce too
    many bytes together. Exact under concurrency: the account's row is locked."""
    accounts.lock(tx, account_id)
    count, total = rows.pending(tx, account_id)
    most = ctx.settings.upload_pending_bytes_max
    if total + size > most:
        raise Refusal(
            ErrorCode.TOO_LARGE,
            f"The account's unfinished uploads announce {total:,} bytes, up to {most:,} are"
            " allowed with this one; complete them, or wait until they expire.",
        )
    if count >= limits.UPLOADS_PENDING_MAX:
        raise Refusal(
            ErrorCode.TOO_LARGE,
            f"The account has {count:,} unfinished uploads; complete them, or wait until they"
            " expire.",
        )
