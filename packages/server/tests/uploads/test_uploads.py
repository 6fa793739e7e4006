"""What becomes of an upload, with time and races in the test's hand (spec: Upload states)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentpost.accounts import rows as account_rows
from agentpost.blobs import actions as blobs
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain.errors import Refusal
from agentpost.record.records import AccountRecord, AttachmentRecord, UploadRecord
from agentpost.storage.incoming import Arrived
from agentpost.storage.local import LocalIncoming
from agentpost.uploads import actions as uploads, rows as upload_rows
from agentpost.uploads.actions import NewUpload
from agentpost.uploads.rules import UploadStatus
from tests.conformance.test_incoming import arriving
from tests.harness.context import Harness

ACCOUNT, OTHER = "acc_1", "acc_2"
DAY = 86_400.0
ELF = b"\x7fELF\2\1\1"
CSV = b"a,b\n1,2\n"


@pytest.fixture
async def ctx(harness: Harness) -> AppContext:
    """With the two accounts: what one announces is counted under the lock of its row."""

    def insert(tx: Tx) -> None:
        for name in (ACCOUNT, OTHER):
            account_rows.insert(tx, AccountRecord(name, name, name, "free", 0))

    await harness.ctx.db.write(insert)
    return harness.ctx


@pytest.fixture
def clock(harness: Harness) -> ManualClock:
    return harness.clock


@pytest.fixture
def post(ctx: AppContext) -> Callable[..., Any]:
    """`await post(upload_id, data)` puts bytes into an upload's place, as the target does."""
    receiver = ctx.incoming
    assert isinstance(receiver, LocalIncoming)

    async def put(upload_id: str, data: bytes) -> None:
        await receiver.receive(upload_id, arriving(data))

    return put


async def announce(ctx: AppContext, size: int = len(CSV), name: str = "a.csv") -> str:
    made, _ = await uploads.create(ctx, ACCOUNT, NewUpload(name, size, None))
    return made.id


async def refusal_of(code: str, awaited: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await awaited
    assert caught.value.code == code
    return caught.value


async def row(ctx: AppContext, upload_id: str) -> UploadRecord | None:
    return await ctx.db.read(lambda tx: upload_rows.get(tx, upload_id, ACCOUNT))


async def attach(
    ctx: AppContext, *upload_ids: str, account: str = ACCOUNT, message_id: str = "msg_1"
) -> list[AttachmentRecord]:
    def fn(tx: Tx) -> list[AttachmentRecord]:
        now = ctx.clock.now()
        return uploads.attach(tx, account, upload_ids, message_id, now)

    return await ctx.db.write(fn)


async def read(ctx: AppContext, blob: str) -> bytes:
    return b"".join([chunk async for chunk in ctx.storage.open(blob)])


async def sweep(ctx: AppContext) -> None:
    await uploads.sweep(ctx)
    await blobs.sweep(ctx)


def files_in(folder: Path) -> list[Path]:
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


# --- complete -------------------------------------------------------------------------------------
@pytest.mark.rule("Errors not_uploaded")
async def test_the_file_must_have_arrived(ctx: AppContext, clock: ManualClock, post: Any) -> None:
    upload_id = await announce(ctx)
    early = await refusal_of("not_uploaded", uploads.complete(ctx, ACCOUNT, upload_id))
    clock.advance(15 * 60)
    late = await refusal_of("not_uploaded", uploads.complete(ctx, ACCOUNT, upload_id))
    assert early.message != late.message
    await post(upload_id, CSV)  # began in time
    assert (await uploads.complete(ctx, ACCOUNT, upload_id)).status is UploadStatus.READY


@pytest.mark.rule("Upload states 1", "completeUpload.checks", "Errors executable_refused")
async def test_a_private_copy_that_cannot_be_deleted_yet_goes_later(
    ctx: AppContext, post: Any, monkeypatch: pytest.MonkeyPatch, clock: ManualClock, tmp_path: Path
) -> None:
    """The refusal is told all the same."""

    async def broken(_: str) -> None:
        raise OSError("later")

    monkeypatch.setattr(ctx.storage, "delete", broken)
    upload_id = await announce(ctx, 100)
    await post(upload_id, ELF)
    await refusal_of("executable_refused", uploads.complete(ctx, ACCOUNT, upload_id))
    await blobs.sweep(ctx)
    assert len(files_in(tmp_path)) == 1
    monkeypatch.undo()
    clock.advance(blobs.AGAIN_SECONDS)
    await blobs.sweep(ctx)
    assert files_in(tmp_path) == []


async def test_a_second_header_far_inside_is_seen(ctx: AppContext, post: Any) -> None:
    data = bytearray(300_000)
    data[:2], data[0x3C:0x40] = b"MZ", (200_000).to_bytes(4, "little")
    data[200_000:200_004] = b"PE\0\0"
    upload_id = await announce(ctx, len(data))
    await post(upload_id, bytes(data))
    await refusal_of("executable_refused", uploads.complete(ctx, ACCOUNT, upload_id))


@pytest.mark.rule("Upload states 1", "completeUpload.checks")
async def test_a_store_that_let_too_much_in_is_caught(
    ctx: AppContext, post: Any, tmp_path: Path
) -> None:
    upload_id = await announce(ctx, 7)
    await post(upload_id, CSV)
    await refusal_of("too_large", uploads.complete(ctx, ACCOUNT, upload_id))
    await refusal_of("not_pending", uploads.complete(ctx, ACCOUNT, upload_id))
    assert files_in(tmp_path) == []


async def test_a_post_after_complete_changes_nothing(ctx: AppContext, post: Any) -> None:
    upload_id = await announce(ctx)
    await post(upload_id, b"checked")
    ready = await uploads.complete(ctx, ACCOUNT, upload_id)
    await post(upload_id, ELF)
    assert await uploads.complete(ctx, ACCOUNT, upload_id) == ready
    (attached,) = await attach(ctx, upload_id)
    assert attached.blob is not None
    assert await read(ctx, attached.blob) == b"checked"


@pytest.mark.rule("Errors changed")
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_file_replaced_while_completing(
    ctx: AppContext, post: Any, monkeypatch: pytest.MonkeyPatch, moment: str, tmp_path: Path
) -> None:
    upload_id = await announce(ctx)
    await post(upload_id, b"first")
    real = ctx.incoming.snapshot

    async def snapshot(upload_id: str, arrived: Arrived, key: str) -> None:
        if moment == "before":
            await post(upload_id, b"second")
        await real(upload_id, arrived, key)
        if moment == "after":
            await post(upload_id, b"second")

    monkeypatch.setattr(ctx.incoming, "snapshot", snapshot)
    await refusal_of("changed", uploads.complete(ctx, ACCOUNT, upload_id))
    monkeypatch.undo()
    await blobs.sweep(ctx)
    assert len(files_in(tmp_path)) == 1, "only what was posted last"
    ready = await uploads.complete(ctx, ACCOUNT, upload_id)
    assert await read(ctx, ready.blob) == b"second"


async def test_a_crash_while_completing_loses_nothing(
    ctx: AppContext, post: Any, monkeypatch: pytest.MonkeyPatch, clock: ManualClock, tmp_path: Path
) -> None:
    upload_id = await announce(ctx)
    await post(upload_id, CSV)

    async def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(uploads, "_make_ready", crash)
    with pytest.raises(KeyboardInterrupt):
        await uploads.complete(ctx, ACCOUNT, upload_id)
    monkeypatch.undo()
    ready = await uploads.complete(ctx, ACCOUNT, upload_id)
    assert ready.copies == 2
    assert await read(ctx, ready.blob) == CSV
    assert len(files_in(tmp_path)) == 2, "the crashed call's private copy is still there"
    clock.advance(DAY + 400)
    await sweep(ctx)
    assert files_in(tmp_path) == []


# --- attach ---------------------------------------------------------------------------------------
async def make_ready(ctx: AppContext, post: Any, data: bytes = CSV) -> str:
    upload_id = await announce(ctx, len(data))
    await post(upload_id, data)
    await uploads.complete(ctx, ACCOUNT, upload_id)
    return upload_id


@pytest.mark.rule("createMessage.upload_ids", "Errors too_large", "Limits uploads-per-message")
async def test_uploads_together_have_up_to_a_gigabyte(ctx: AppContext, post: Any) -> None:
    two = [await make_ready(ctx, post), await make_ready(ctx, post)]

    def resize(tx: Tx, size: int) -> None:
        tx.execute("UPDATE uploads SET size = ? WHERE id = ?", (size, two[0]))

    await ctx.db.write(lambda tx: resize(tx, 2**30 - len(CSV) + 1))
    await refusal_of("too_large", attach(ctx, *two))
    await ctx.db.write(lambda tx: resize(tx, 2**30 - len(CSV)))
    assert len(await attach(ctx, *two)) == 2


# --- 24 hours -------------------------------------------------------------------------------------
@pytest.mark.rule("Upload states 4", "Limits unattached-upload")
async def test_an_upload_that_nobody_attached_is_gone_after_a_day(
    ctx: AppContext, post: Any, clock: ManualClock, tmp_path: Path
) -> None:
    pending, ready = await announce(ctx), await make_ready(ctx, post)
    posted, rejected = await announce(ctx), await announce(ctx)
    await post(posted, CSV)
    await post(rejected, ELF)
    await refusal_of("executable_refused", uploads.complete(ctx, ACCOUNT, rejected))
    clock.advance(DAY - 1)
    await sweep(ctx)
    assert (await uploads.complete(ctx, ACCOUNT, ready)).status is UploadStatus.READY
    clock.advance(1)
    for upload_id in (pending, ready, posted, rejected):
        await refusal_of("not_found", uploads.complete(ctx, ACCOUNT, upload_id))
    await refusal_of("upload_not_ready", attach(ctx, ready))
    clock.advance(400)
    await sweep(ctx)
    assert [await row(ctx, upload_id) for upload_id in (pending, ready, posted, rejected)] == [
        None
    ] * 4
    assert files_in(tmp_path) == []


async def test_an_attached_upload_stays_without_its_leftovers(
    harness: Harness, ctx: AppContext, post: Any, clock: ManualClock, tmp_path: Path
) -> None:
    upload_id = await make_ready(ctx, post)
    message_id, _ = await harness.working()
    (attached,) = await attach(ctx, upload_id, message_id=message_id)
    await post(upload_id, b"late")
    clock.advance(DAY + 400)
    await sweep(ctx)
    await sweep(ctx)
    assert len(files_in(tmp_path)) == 1
    assert await read(ctx, attached.blob or "") == CSV
    await refusal_of("not_pending", uploads.complete(ctx, ACCOUNT, upload_id))


async def test_an_upload_whose_message_is_gone_leaves_no_row(
    ctx: AppContext, post: Any, clock: ManualClock
) -> None:
    """With a retention shorter than uploads are kept."""
    upload_id = await make_ready(ctx, post)
    await attach(ctx, upload_id, message_id="msg_gone")
    clock.advance(DAY + 400)
    await sweep(ctx)
    assert await row(ctx, upload_id) is None
