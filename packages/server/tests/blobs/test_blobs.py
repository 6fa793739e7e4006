"""No bytes without a record survive, whatever breaks off; on both databases."""

import pytest

from agentpost.blobs import actions as blobs, hold
from agentpost.blobs.deletion_rows import BlobLost
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db import meta
from agentpost.db.session import Tx
from agentpost.jobs import work_rows
from agentpost.operations import doctor
from agentpost.record.records import FileRecord
from agentpost.storage.base import BlobMissing
from tests.harness.context import file_record
from tests.schema import TABLES

DAY = 86_400


def file(blob: str) -> FileRecord:
    return file_record(blob, work_id="wrk_1", message_id="msg_1", job_id="exe_1")


async def there(ctx: AppContext, blob: str) -> bool:
    try:
        await ctx.storage.size(blob)
    except BlobMissing:
        return False
    return True


async def record(ctx: AppContext, written: FileRecord) -> None:
    def fn(tx: Tx) -> None:
        written.created_at = ctx.clock.now()
        work_rows.put_file(tx, written)

    await ctx.db.write(fn)


async def pending_count(ctx: AppContext) -> int:
    rows = await ctx.db.read(lambda tx: tx.all("SELECT blob FROM pending_deletions"))
    return len(rows)


# --- storing --------------------------------------------------------------------------------------
async def test_bytes_never_recorded_go_after_a_day(ctx: AppContext, clock: ManualClock) -> None:
    """A crash between the bytes and the commit, or a runner that was fenced."""
    await blobs.store(ctx, "files/1", b"x")
    clock.advance(DAY - 1)
    await blobs.sweep(ctx)
    assert await there(ctx, "files/1")
    clock.advance(1)
    await blobs.sweep(ctx)
    assert not await there(ctx, "files/1")
    assert await pending_count(ctx) == 0


async def test_bytes_being_deleted_cannot_be_recorded(
    ctx: AppContext, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that slept for a day in between: the record would name bytes that are gone."""
    await blobs.store(ctx, "files/1", b"x")
    clock.advance(DAY)

    async def broken(_: str) -> None:
        with pytest.raises(BlobLost):
            await record(ctx, file("files/1"))
        raise OSError("later")

    monkeypatch.setattr(ctx.storage, "delete", broken)
    await blobs.sweep(ctx)
    with pytest.raises(BlobLost):
        await record(ctx, file("files/1"))


async def test_a_store_that_fails_leaves_only_a_note(
    ctx: AppContext, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ctx.storage, "put", full)
    with pytest.raises(OSError, match="No space"):
        await blobs.store(ctx, "files/1", b"x")
    clock.advance(DAY)
    await blobs.sweep(ctx)
    assert await pending_count(ctx) == 0


async def test_bytes_stored_for_nothing_go_at_once(ctx: AppContext) -> None:
    await blobs.store(ctx, "files/1", b"x")
    await blobs.discard(ctx, ["files/1"])
    await blobs.sweep(ctx)
    assert not await there(ctx, "files/1")


async def test_a_download_in_progress_ends_well(ctx: AppContext) -> None:
    data = b"0123456789" * 100_000
    await blobs.store(ctx, "files/1", data)
    reading = ctx.storage.open("files/1")
    got = await anext(reading)
    await blobs.discard(ctx, ["files/1"])
    await blobs.sweep(ctx)
    assert not await there(ctx, "files/1")
    assert got + b"".join([chunk async for chunk in reading]) == data


# --- what cannot be deleted -----------------------------------------------------------------------
@pytest.fixture
def stubborn(ctx: AppContext, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Blobs that cannot be deleted as long as they are in this list."""
    kept: list[str] = []
    real = ctx.storage.delete

    async def delete(key: str) -> None:
        if key in kept:
            raise PermissionError(key)
        await real(key)

    monkeypatch.setattr(ctx.storage, "delete", delete)
    return kept


async def test_one_that_cannot_be_deleted_holds_up_none(
    ctx: AppContext, clock: ManualClock, stubborn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs, "CHUNK", 2)
    stubborn += ["files/0", "files/1"]
    for n in range(6):
        await blobs.store(ctx, f"files/{n}", b"x")
        await blobs.discard(ctx, [f"files/{n}"])
        clock.advance(1)
    for _ in range(3):
        await blobs.sweep(ctx)
    assert [n for n in range(6) if await there(ctx, f"files/{n}")] == [0, 1]
    stubborn.clear()
    await blobs.sweep(ctx)
    assert await there(ctx, "files/0"), "not before its time"
    clock.advance(blobs.AGAIN_SECONDS)
    await blobs.sweep(ctx)
    assert await pending_count(ctx) == 0


async def test_the_doctor_tells_what_stays(
    ctx: AppContext, clock: ManualClock, stubborn: list[str]
) -> None:
    stubborn.append("files/1")
    await blobs.store(ctx, "files/1", b"x")
    await blobs.discard(ctx, ["files/1"])
    assert await doctor.examine(ctx) == []
    for _ in range(3):
        await blobs.sweep(ctx)
        clock.advance(DAY)
    found = await doctor.examine(ctx)
    assert [(f.id, f.state) for f in found] == [("files/1", "tried 3 times")]


# --- whole ----------------------------------------------------------------------------------------
def test_every_table_that_names_bytes_is_known_here() -> None:
    """A new one needs its way into and out of `pending_deletions`."""
    named = {
        table for table, columns in TABLES.items() if "blob" in [column.name for column in columns]
    }
    assert named == {"attachments", "pending_deletions", "files", "uploads"}


# --- holding --------------------------------------------------------------------------------------
async def test_an_export_that_ends_leaves_the_hold_of_a_backup(
    ctx: AppContext, clock: ManualClock
) -> None:
    async def is_held() -> bool:
        return await ctx.db.read(lambda tx: hold.is_held(tx, clock.now()))

    of_killed = f"{hold.NAME}killed"
    await ctx.db.write(lambda tx: meta.put(tx, of_killed, str(clock.now() - 1)))
    assert not await is_held()
    async with hold.hold(ctx):
        async with hold.hold(ctx):
            pass
        assert await is_held()
    assert not await is_held()
    assert await ctx.db.read(lambda tx: meta.starting(tx, hold.NAME)) == {}
