"""Verify that the file storage is the one whose files the database names.

The database does not say where the bytes are: two nodes with separate data folders, or a restored
database beside the wrong folder, seem healthy until a file is requested. So a storage gets a name
when it is first used, and the database keeps that name.
"""

import asyncio

import structlog

from agentpost.blobs import rows as blob_rows
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.domain.errors import StoreUnavailable, reason_of
from agentpost.domain.times import seconds
from agentpost.storage.base import BlobMissing
from agentpost.transactions import write_transaction

log = structlog.get_logger(__name__)

NAME = "storage_id"
ANSWER_SECONDS = 3.0
"""A bucket that does not answer must not hold up the start; `/readyz` tells about it."""
_NO_ANSWER = (
    f"no answer within {ANSWER_SECONDS:.0f} seconds; check AGENTPOST_STORAGE_URL, and"
    " whether AWS_ACCESS_KEY_ID is set"
)
NAMING_SECONDS = 2.0
"""How long the node that named the storage in the database may take to name the storage itself."""
_NAMING_LOOK_SECONDS = 0.1
_SAMPLE = 10
_PREFIX = "store_"


class OtherStorage(ValueError):
    """The storage is another one than the database's; the text says what to do."""


async def settle(ctx: AppContext) -> None:
    """Compare the storage with the database at the start, and name both the first time.

    With one process on SQLite another storage is a warning, since the database is in the same
    folder. With PostgreSQL it raises `OtherStorage`: there, several nodes share one storage. A node
    that only answers the API may come with an empty folder as long as there are no files at all;
    it takes none then (`AppContext.storage_pending`).

    A database without a storage gets this one only after it has taken and given back bytes; raises
    `OSError` for one that refuses to. One that does not answer is settled with later, by
    `operations.health.check_blobs`, as is one that a database already has.
    """
    is_bound = await ctx.db.read(lambda tx: meta.get(tx, NAME)) is not None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            found = await ctx.storage.identity()
            if not is_bound:
                await ctx.storage.check(ctx.node)
    except TimeoutError:
        log.warning("storage_not_compared", reason=_NO_ANSWER)
        return
    except Exception as error:
        if isinstance(error, OSError) and not is_bound:
            raise
        log.warning("storage_not_compared", reason=reason_of(error))
        return
    kept, is_first = await _stored_name(ctx, found)
    if found is None and await _may_be_named(ctx, is_first):
        await ctx.storage.set_identity(kept)
        found = kept
    if found is None and _is_shared(ctx):
        found = await _named_meanwhile(ctx)
    ctx.storage_id = found or ""
    if found == kept:
        return
    if not _is_shared(ctx):
        log.warning("storage_mismatch", problem=explain(ctx))
    elif found is None and ctx.settings.role == "api" and await _sample(ctx) == (0, 0):
        ctx.storage_pending = True
        log.warning("storage_not_shared", problem=explain(ctx))
    else:
        raise OtherStorage(explain(ctx))


async def is_other(ctx: AppContext) -> bool:
    """Whether the storage is another one than the database's, for the doctor and for checks."""
    kept = await ctx.db.read(lambda tx: meta.get(tx, NAME))
    return kept is not None and await ctx.storage.identity() != kept


async def adopt(ctx: AppContext) -> str:
    """Take the storage of the settings for the right one, whatever it was before; its name."""
    found = await ctx.storage.identity() or new_id(_PREFIX, ctx.clock.now())
    await ctx.storage.set_identity(found)
    await ctx.db.write(lambda tx: meta.put(tx, NAME, found))
    return found


async def check_pending(ctx: AppContext) -> None:
    """Raises `StoreUnavailable` once there are files, which this node does not have."""
    if ctx.storage_pending and await _sample(ctx) != (0, 0):
        raise StoreUnavailable(explain(ctx))


def ensure_shared(ctx: AppContext) -> None:
    """Raises `StoreUnavailable` on a node whose storage the others do not see."""
    if ctx.storage_pending:
        raise StoreUnavailable(explain(ctx))


def explain(ctx: AppContext) -> str:
    """The problem, and how to solve it."""
    settings = ctx.settings
    where = settings.storage_url or str(settings.data_path / "blobs")
    advice = (
        "All nodes on one database share one storage: give them the same AGENTPOST_DATA_DIR, or the"
        " same AGENTPOST_STORAGE_URL."
        if _is_shared(ctx)
        else "Put back the folder of files that belongs to this database."
    )
    return (
        f"The file storage {where} is not the one that holds the files of this database. {advice}"
        " If it is the right one, restored from a backup or meant to replace the other, run"
        " `agentpost db adopt-storage`."
    )


def _is_shared(ctx: AppContext) -> bool:
    return bool(ctx.settings.database_url.get_secret_value())


@write_transaction
def _stored_name(tx: Tx, ctx: AppContext, found: str | None) -> tuple[str, bool]:
    """The name that the database keeps, and whether it is new to it."""
    fresh = found or new_id(_PREFIX, ctx.clock.now())
    before = meta.get(tx, NAME)
    kept = before or meta.get_or_put(tx, NAME, fresh)
    return kept, before is None and kept == fresh


async def _named_meanwhile(ctx: AppContext) -> str | None:
    """The name that the storage gets within `NAMING_SECONDS`, if it gets one: of two nodes that
    start together, one writes it to the database and then to the storage."""
    until = ctx.clock.passed() + seconds(NAMING_SECONDS)
    while True:
        found = await ctx.storage.identity()
        if found is not None or ctx.clock.passed() >= until:
            return found
        await asyncio.sleep(_NAMING_LOOK_SECONDS)


async def _may_be_named(ctx: AppContext, is_first: bool) -> bool:
    """Whether a storage without a name is the database's: it has files that the database names, or
    there are none and nobody else can have another one."""
    recorded, present = await _sample(ctx)
    return present > 0 or (recorded == 0 and (is_first or not _is_shared(ctx)))


async def _sample(ctx: AppContext) -> tuple[int, int]:
    """How many of the newest bytes were looked for, and how many of them are here."""
    blobs = await ctx.db.read(lambda tx: blob_rows.newest(tx, _SAMPLE))
    present = 0
    for named in blobs:
        try:
            await ctx.storage.size(named.blob)
        except BlobMissing:
            continue
        present += 1
    return len(blobs), present
