"""What the doctor finds of rows without bytes and of bytes without rows, and what it leaves be."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from agentpost.blobs import account_rows, actions as blobs, audit, space
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import limits
from agentpost.domain.errors import Refusal, StoreUnavailable
from agentpost.jobs import work_rows
from agentpost.operations import doctor, health
from agentpost.storage.base import fanned_out
from agentpost.storage.local import LocalStorage
from agentpost.uploads import actions as uploads
from agentpost.uploads.actions import NewUpload
from agentpost.uploads.attachments import InlineFile, store
from tests.harness.context import file_record, work_record
from tests.harness.rows import insert

KEY = "files/" + "0" * 30 + "ab"


async def findings(ctx: AppContext, *, full: bool = False) -> list[tuple[str, str, str]]:
    return [(each.id, each.state, each.problem) for each in await doctor.examine(ctx, full=full)]


async def record_file(ctx: AppContext, account: str, blob: str) -> None:
    """In a work of the account, with its one byte counted."""
    work = work_record(account, 1, id="wrk_1")
    file = file_record(blob, work_id="wrk_1", account_id=account)

    def fn(tx: Tx) -> None:
        insert(tx, "files", **asdict(file))
        work_rows.WORKS.insert(tx, work)
        assert account_rows.add(tx, account, 1, 100)
        tx.execute("DELETE FROM pending_deletions WHERE blob = ?", (blob,))

    await ctx.db.write(fn)


def path_of(ctx: AppContext, blob: str) -> Path:
    assert isinstance(ctx.storage, LocalStorage)
    return ctx.storage.folder / fanned_out(blob)


@pytest.mark.parametrize("full", [False, True])
async def test_a_file_whose_bytes_are_gone(ctx: AppContext, account: str, full: bool) -> None:
    await blobs.store(ctx, KEY, b"x")
    await record_file(ctx, account, KEY)
    assert await findings(ctx, full=full) == []
    path_of(ctx, KEY).unlink()
    assert await findings(ctx, full=full) == [("wrk_1/a.txt", KEY, audit.MISSING)]


@pytest.mark.parametrize("full", [False, True])
async def test_bytes_that_nothing_names(ctx: AppContext, full: bool) -> None:
    await ctx.storage.put(KEY, b"x")
    assert await findings(ctx, full=full) == [], "a commit may be on its way"
    path = path_of(ctx, KEY)
    os.utime(path, (path.stat().st_mtime - 3_700,) * 2)
    name = str(fanned_out(KEY))
    assert await findings(ctx, full=full) == [(name, "unrecorded", audit.UNRECORDED)]
    await ctx.db.write(lambda tx: insert(tx, "pending_deletions", blob=KEY, due_at=1, tries=0))
    assert await findings(ctx, full=full) == [], "they are to go"


async def test_a_sample_is_bounded_and_everything_is_not(
    ctx: AppContext, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "FEW", 0)
    monkeypatch.setattr(audit, "PAGE", 1)
    other = KEY.replace("ab", "cd")
    for blob in (KEY, other):
        await ctx.storage.put(blob, b"x")
        path = path_of(ctx, blob)
        os.utime(path, (path.stat().st_mtime - 3_700,) * 2)
    await record_file(ctx, account, KEY)
    assert await findings(ctx) == []
    assert await findings(ctx, full=True) == [
        (str(fanned_out(other)), "unrecorded", audit.UNRECORDED)
    ]


# --- room -----------------------------------------------------------------------------------------
def with_settings(ctx: AppContext, **settings: object) -> AppContext:
    ctx.settings = ctx.settings.model_copy(update=settings)
    return ctx


async def test_below_the_floor_files_are_refused(ctx: AppContext, account: str) -> None:
    await health.check_blobs(ctx)
    assert ctx.health.free_bytes is not None
    with_settings(ctx, free_space_min_bytes=ctx.health.free_bytes * 2)
    with pytest.raises(Refusal) as refused:
        await uploads.create(ctx, account, NewUpload("a.csv", 10, None))
    assert refused.value.code == "unavailable"
    attached = await store(ctx, [InlineFile("a.txt", None, "YWFh", None)])
    assert attached.files == []
    assert attached.notes == [f"a.txt: skipped, {space.NO_ROOM}."]
    with pytest.raises(StoreUnavailable):
        await blobs.store(ctx, KEY, b"x")
    with_settings(ctx, free_space_min_bytes=0)
    await uploads.create(ctx, account, NewUpload("a.csv", 10, None))


async def test_the_bytes_an_account_announces_are_bounded(
    ctx: AppContext, account: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_settings(ctx, upload_pending_bytes_max=100)
    await uploads.create(ctx, account, NewUpload("a.csv", 60, None))
    with pytest.raises(Refusal, match="announce 60 bytes") as refused:
        await uploads.create(ctx, account, NewUpload("a.csv", 41, None))
    assert refused.value.code == "too_large"
    await uploads.create(ctx, account, NewUpload("a.csv", 40, None))
    clock.advance(ctx.settings.upload_keep_seconds + 400)
    await uploads.sweep(ctx)
    await uploads.create(ctx, account, NewUpload("a.csv", 100, None))
    monkeypatch.setattr(limits, "UPLOADS_PENDING_MAX", 1)
    with_settings(ctx, upload_pending_bytes_max=1_000)
    with pytest.raises(Refusal, match="1 unfinished uploads"):
        await uploads.create(ctx, account, NewUpload("a.csv", 1, None))
