"""Space for files: a minimum of free space, and what an account may announce and store.

Below the floor uploads and files are refused while messages go on, so that the database on the same
disk can still grow. The check of the file storage reads the free space every few seconds.
"""

import errno
from typing import Final

from agentpost.accounts import rows as accounts
from agentpost.agents import StorageFull
from agentpost.blobs import account_rows
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import limits
from agentpost.domain.errors import ErrorCode, Overloaded, Refusal, StoreUnavailable
from agentpost.limits.allowances import allowances_of
from agentpost.operations import health_state
from agentpost.record.records import AttachmentRecord, FileRecord
from agentpost.uploads import rows as upload_rows

_RETRY_SECONDS = 60
_ADVICE = (
    "Delete works you no longer need, which makes space within a minute, or wait until messages"
    " with files expire"
)
NO_ROOM = "the server has no space for files at the moment"
WAITS_FOR_ROOM: Final = (
    f"Waits for space: {NO_ROOM} (free_space_min_bytes). The work goes on when there is space."
)
WAITS_FOR_STORAGE: Final = (
    "Waits for the file storage, which does not take files at the moment. The work goes on when it"
    " does."
)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class NoRoom(StoreUnavailable):
    """Less space is free than `free_space_min_bytes`."""


def is_short(ctx: AppContext) -> bool:
    """Whether less space is free than `free_space_min_bytes`."""
    free = ctx.health.free_bytes
    return free is not None and free < ctx.settings.free_space_min_bytes


def ensure_for_uploads(ctx: AppContext) -> None:
    """Raises ``unavailable`` below the floor."""
    if is_short(ctx):
        raise Overloaded(f"No upload can be accepted: {NO_ROOM}; try again later.", _RETRY_SECONDS)


def ensure_for_files(ctx: AppContext) -> None:
    """Raises `StoreUnavailable` below the floor: a run stops, and goes on when there is room."""
    if (problem := shortage(ctx)) is not None:
        raise NoRoom(problem)


def shortage(ctx: AppContext) -> str | None:
    """What to tell an operator of a server that is below the floor; None when it is not."""
    if not is_short(ctx):
        return None
    free, least = ctx.health.free_bytes, ctx.settings.free_space_min_bytes
    return f"{NO_ROOM}: {free:,} bytes are free, free_space_min_bytes is {least:,}"


def waiting_text(fault: Exception) -> str:
    """What the log of a message says of a job that waits because of that fault."""
    is_full = isinstance(fault, OSError) and fault.errno in _FULL
    return WAITS_FOR_ROOM if is_full or isinstance(fault, NoRoom) else WAITS_FOR_STORAGE


async def refresh(ctx: AppContext) -> None:
    """Bring ``ctx.health`` up to date: the free bytes, and whether there is space for files. There
    is none either while work waits for it although the floor is not reached."""
    ctx.health.free_bytes = await ctx.storage.free_bytes()
    reason = shortage(ctx) or next(iter(ctx.health.waiting(health_state.STORAGE).values()), None)
    if reason is None:
        ctx.health.works(health_state.SPACE)
    else:
        ctx.health.note_failure(health_state.SPACE, reason)


def ensure_may_announce(tx: Tx, ctx: AppContext, account_id: str, size: int) -> None:
    """Raises ``too_large`` when the account's unfinished uploads would be too many, or announce too
    many bytes together. Exact under concurrency: the account's row is locked."""
    accounts.lock(tx, account_id)
    count, total = upload_rows.pending(tx, account_id)
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


# --- what an account has stored -------------------------------------------------------------------
def ensure_may_upload(tx: Tx, ctx: AppContext, account_id: str, size: int) -> None:
    """Raises ``too_large`` when ``size`` bytes more would be over the account's limit by now."""
    used, most = account_rows.used(tx, account_id), _stored_max(tx, ctx, account_id)
    if used + size > most:
        raise _upload_refused(_no_room(used, most))


def count_upload(tx: Tx, ctx: AppContext, account_id: str, size: int) -> None:
    """Count an upload that becomes ready in this transaction; raises as `ensure_may_upload`."""
    if (problem := _count(tx, ctx, account_id, size)) is not None:
        raise _upload_refused(problem)


def count_attached(tx: Tx, ctx: AppContext, account_id: str, file: AttachmentRecord) -> str | None:
    """Count a file whose bytes this transaction records with a message. When there is no room for
    it: the note that says so, and nothing is counted."""
    problem = _count(tx, ctx, account_id, file.size)
    return None if problem is None else f"{file.name}: skipped, {problem.format('it')}."


def count_written(tx: Tx, ctx: AppContext, file: FileRecord) -> None:
    """Count a file that this transaction wrote to a work; raises `StorageFull`."""
    if (problem := _count(tx, ctx, file.account_id, file.size)) is not None:
        raise StorageFull(f"{file.name} was not saved: {problem.format('it')}. {_ADVICE}.")


def _count(tx: Tx, ctx: AppContext, account_id: str, size: int) -> str | None:
    """Count bytes; `_no_room` where there is none."""
    most = _stored_max(tx, ctx, account_id)
    if account_rows.add(tx, account_id, size, most):
        return None
    return _no_room(account_rows.used(tx, account_id), most)


def _stored_max(tx: Tx, ctx: AppContext, account_id: str) -> int:
    limits_json = accounts.get(tx, account_id).limits_json
    return allowances_of(ctx.settings, limits_json).stored_bytes or account_rows.NO_LIMIT


def _no_room(used: int, most: int) -> str:
    return f"the account's storage has no space for {{}} ({used:,} of {most:,} bytes are used)"


def _upload_refused(problem: str) -> Refusal:
    why = problem.format("this upload")
    return Refusal(ErrorCode.TOO_LARGE, f"{why[0].upper()}{why[1:]}. {_ADVICE}; then call again.")
