"""Uploads: a client posts a file, the server checks it, and one message attaches it.

spec: Upload, Upload states, createUpload, completeUpload; design: Executables; Uploads.

The checked bytes are the attached bytes: `complete` first copies the posted version to a private
key and checks that copy. Concurrent calls may run and crash on any node; the first guarded write
decides. The row numbers each private copy before it is made, so `sweep` finds copies that a crash
left behind.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from agentpost.blobs import account_rows, actions as blobs, deletion_rows, identity, space
from agentpost.caller import Caller
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import ids, limits
from agentpost.domain.errors import ErrorCode, Refusal, not_found
from agentpost.domain.file_names import safe_file_name
from agentpost.domain.times import seconds
from agentpost.files import scanning
from agentpost.files.executable_rules import HEAD_BYTES, is_executable
from agentpost.messages import rows as message_rows
from agentpost.record.records import AttachmentRecord, UploadRecord
from agentpost.storage import sniff
from agentpost.storage.incoming import Arrived, PostForm, Replaced
from agentpost.tasks import sweeps
from agentpost.transactions import read_transaction, write_transaction
from agentpost.uploads import rows as upload_rows
from agentpost.uploads.rules import UploadSignal, UploadStatus, upload

TOTAL_MB = limits.UPLOADS_TOTAL_BYTES_MAX // limits.MEBIBYTE
FILE_MB = limits.UPLOAD_BYTES_MAX // limits.MEBIBYTE
# Nodes' clocks may differ by less than this: nobody may take what another one deletes.
_SWEEP_GRACE_SECONDS = 300
_PASSING = frozenset({ErrorCode.CHANGED, ErrorCode.NOT_UPLOADED})


@dataclass(frozen=True, slots=True)
class NewUpload:
    """The upload as the client announces it; ``size`` in bytes. No type: guessed from the name."""

    filename: str
    size: int
    content_type: str | None


async def create(ctx: AppContext, account_id: str, new: NewUpload) -> tuple[UploadRecord, PostForm]:
    """A place for one file, and the form to post it with. Raises `Refusal`: ``too_large`` for this
    file, for all unfinished uploads of the account together or for its storage, ``unavailable``
    when there is no room for files."""
    record = _announce(ctx, account_id, new)
    form = await ctx.incoming.form(
        record.id,
        record.content_type,
        record.size,
        expires_at=record.post_by,
        seconds=ctx.settings.upload_post_seconds,
    )
    await ctx.db.write(partial(_insert, ctx, record))
    return record, form


async def take(ctx: AppContext, account_id: str, new: NewUpload, data: bytes) -> UploadRecord:
    """An upload whose file a door has received itself; it is ready. Raises `Refusal`: ``too_large``
    and ``unavailable`` as `create`, ``executable_refused``."""
    record = _announce(ctx, account_id, new)
    record.copies, record.blob = 1, _blob(record.id, 1)
    await ctx.db.write(
        partial(_insert, ctx, record)
    )  # before the bytes, so that `sweep` finds them
    await ctx.storage.put(record.blob, data)
    await _make_ready_or_discard(ctx, record, None)
    return record


def _announce(ctx: AppContext, account_id: str, new: NewUpload) -> UploadRecord:
    if new.size > limits.UPLOAD_BYTES_MAX:
        raise Refusal(ErrorCode.TOO_LARGE, f"An upload may have up to {FILE_MB} MB.")
    identity.ensure_shared(ctx)
    space.ensure_for_uploads(ctx)
    settings, now = ctx.settings, ctx.clock.now()
    name = safe_file_name(new.filename)
    return UploadRecord(
        id=new_id(ids.UPLOAD, now),
        account_id=account_id,
        filename=name,
        content_type=new.content_type or sniff.type_of_name(name),
        size=new.size,
        created_at=now,
        post_by=now + seconds(settings.upload_post_seconds),
        keep_by=now + seconds(settings.upload_keep_seconds),
    )


def _insert(ctx: AppContext, record: UploadRecord, tx: Tx) -> None:
    space.ensure_may_announce(tx, ctx, record.account_id, record.size)
    space.ensure_may_upload(tx, ctx, record.account_id, record.size)
    upload_rows.UPLOADS.insert(tx, record)


@read_transaction
def get(tx: Tx, ctx: AppContext, caller: Caller, upload_id: str) -> UploadRecord:
    """An upload that is ready or belongs to a message which the caller may read; raises
    ``not_found``."""
    upload = upload_rows.get(tx, upload_id, caller.account_id)
    if upload is None or not _is_there(upload, ctx.clock.now()) or _is_hidden(tx, caller, upload):
        raise not_found("file")
    return upload


def _is_hidden(tx: Tx, caller: Caller, upload: UploadRecord) -> bool:
    """Whether it belongs to a message of another key, which the caller may not read."""
    is_attached = upload.status is UploadStatus.ATTACHED
    return is_attached and not (
        caller.reads_all or upload_rows.is_of_key(tx, upload.message_id, caller.key_id)
    )


async def for_another_message(ctx: AppContext, caller: Caller, upload_id: str) -> str:
    """The id of an upload with that file which a message can take: itself, or a copy of one that
    belongs to a message already and is no larger than a file of a message may be. Where there is
    none, `attach` refuses it."""

    def fn(tx: Tx) -> UploadRecord | None:
        upload = upload_rows.get(tx, upload_id, caller.account_id)
        return None if upload is None or _is_hidden(tx, caller, upload) else upload

    upload = await ctx.db.read(fn)
    is_used = upload is not None and upload.status is UploadStatus.ATTACHED
    if upload is None or not is_used or upload.size > limits.INLINE_FILE_BYTES_MAX:
        return upload_id
    data = await _bytes(ctx, upload.blob, upload.size)
    new = NewUpload(upload.filename, upload.size, upload.content_type)
    return (await take(ctx, caller.account_id, new, data)).id


async def page(
    ctx: AppContext, caller: Caller, after: str, limit: int, *, oldest_first: bool
) -> tuple[list[UploadRecord], bool]:
    """Up to ``limit`` of what `get` gives, behind the id ``after``, "" for the first ones; and
    whether there are more."""
    now = ctx.clock.now()
    key_id = "" if caller.reads_all else caller.key_id

    def fn(tx: Tx) -> list[UploadRecord]:
        return upload_rows.page(
            *(tx, caller.account_id, after, now, limit + 1),
            oldest_first=oldest_first,
            key_id=key_id,
        )

    records = await ctx.db.read(fn)
    return records[:limit], len(records) > limit


@write_transaction
def delete(tx: Tx, ctx: AppContext, account_id: str, upload_id: str) -> None:
    """Delete an upload that no message has taken; raises ``not_found``, ``not_pending``."""
    upload = upload_rows.lock(tx, [upload_id], account_id).get(upload_id)
    if upload is None or not _is_there(upload, ctx.clock.now()):
        raise not_found("file")
    if upload.status is UploadStatus.ATTACHED:
        text = "The file belongs to a message: it goes when that is deleted."
        raise Refusal(ErrorCode.NOT_PENDING, text)
    forget(ctx, upload, tx)


def _is_there(upload: UploadRecord, now: int) -> bool:
    is_ready = upload.status is UploadStatus.READY and upload.keep_by > now
    return is_ready or upload.status is UploadStatus.ATTACHED


async def complete(ctx: AppContext, account_id: str, upload_id: str) -> UploadRecord:
    """Check what was posted and make the upload ready; again: the same answer.

    Raises `Refusal`: ``not_found``, ``not_pending``, ``not_uploaded``, ``changed``, ``too_large``,
    ``executable_refused``, ``unavailable`` when the file could not be scanned: the upload stays
    pending.
    """
    record = await _open(ctx, account_id, upload_id)
    if record.status is UploadStatus.READY:
        return record
    try:
        return await _check(ctx, record)
    except Refusal as refusal:
        if refusal.code not in _PASSING:
            raise
        # Another call may have finished in the meantime: then its outcome is the answer.
        again = await _open(ctx, account_id, upload_id)
        if again.status is UploadStatus.READY:
            return again
        raise


async def _open(ctx: AppContext, account_id: str, upload_id: str) -> UploadRecord:
    """The account's upload while complete can do something about it."""
    record = None
    if ids.is_id(ids.UPLOAD, upload_id):
        record = await ctx.db.read(lambda tx: upload_rows.get(tx, upload_id, account_id))
    if record is None or (record.message_id is None and record.keep_by <= ctx.clock.now()):
        raise not_found("upload")
    if record.status is UploadStatus.REJECTED:
        raise Refusal(ErrorCode.NOT_PENDING, "This upload was refused; create a new one.")
    if record.status is UploadStatus.ATTACHED:
        raise Refusal(ErrorCode.NOT_PENDING, "This upload belongs to a message already.")
    return record


async def _check(ctx: AppContext, pending: UploadRecord) -> UploadRecord:
    file = await ctx.incoming.find(pending.id)
    if file is None:
        raise _not_uploaded(pending, ctx.clock.now())
    if file.size > pending.size:  # only a store that ignores the form's range lets this happen
        await _reject(ctx, pending)
        raise Refusal(ErrorCode.TOO_LARGE, f"The file has {file.size} bytes, not {pending.size}.")

    def count_copy(tx: Tx) -> int | None:
        copy = upload_rows.count_copy(tx, pending.id)
        if copy is not None:  # else another call has counted it: it must not be refused for that
            space.ensure_may_upload(tx, ctx, pending.account_id, file.size)
        return copy

    copy = await ctx.db.write(count_copy)
    if copy is None:
        raise _changed_refusal()
    ready = replace(pending, copies=copy, blob=_blob(pending.id, copy), size=file.size)
    try:
        await ctx.incoming.snapshot(pending.id, file, ready.blob)
    except Replaced:
        raise _changed_refusal() from None
    await _make_ready_or_discard(ctx, ready, file)
    await ctx.incoming.delete(pending.id)
    return ready


async def _make_ready_or_discard(
    ctx: AppContext, ready: UploadRecord, file: Arrived | None
) -> None:
    """A private copy exists. A refusal schedules its deletion; what any other fault leaves, even a
    commit whose answer got lost, is for the sweep to judge."""
    try:
        await _make_ready(ctx, ready, file)
    except Refusal:
        await blobs.discard(ctx, [ready.blob])
        raise


async def _make_ready(ctx: AppContext, ready: UploadRecord, file: Arrived | None) -> None:
    """Look at the private copy and write what is known of it; changes ``ready``. ``arrived`` is
    what lies in the upload's public place still, None: nothing."""
    head = await _bytes(ctx, ready.blob, HEAD_BYTES)
    if is_executable(head, ready.size):
        await _reject(ctx, ready)
        raise Refusal(ErrorCode.EXECUTABLE_REFUSED, "The file is an executable; it was deleted.")
    fields = {"file": ready.filename, "upload_id": ready.id, "account_id": ready.account_id}
    if await scanning.is_blob_infected(ctx, ready.blob, **fields):
        await _reject(ctx, ready)
        text = "The file was deleted: the malware scanner found something in it."
        raise Refusal(ErrorCode.EXECUTABLE_REFUSED, text)
    if await ctx.incoming.find(ready.id) != file:
        raise _changed_refusal()
    ready.status = UploadStatus.READY
    ready.sniffed_type, ready.kind = sniff.describe(ready.filename, head, ready.content_type)
    # Not a digest of the bytes: half a gigabyte would have to be read for it.
    ready.revision = f'"{hashlib.sha256(ready.blob.encode()).hexdigest()[:32]}"'

    def fn(tx: Tx) -> bool:
        if not upload_rows.move(tx, ready.id, UploadStatus.PENDING, UploadSignal.CHECKED):
            return False
        upload_rows.save_contents(tx, ready)
        space.count_upload(tx, ctx, ready.account_id, ready.size)
        return True

    if not await ctx.db.write(fn):
        raise _changed_refusal()


async def _bytes(ctx: AppContext, blob: str, count: int) -> bytes:
    return b"".join([chunk async for chunk in ctx.storage.open(blob, 0, count)])


async def _reject(ctx: AppContext, pending: UploadRecord) -> None:
    """Refused for good, and deleted (spec: Errors executable_refused)."""
    await ctx.db.write(
        lambda tx: upload_rows.move(tx, pending.id, UploadStatus.PENDING, UploadSignal.REFUSED)
    )
    await ctx.incoming.delete(pending.id)


def attach(
    tx: Tx, account_id: str, upload_ids: Sequence[str], message_id: str, now: int
) -> list[AttachmentRecord]:
    """Give ready uploads to a message, in the message's own transaction (spec: createMessage).

    They come after the inline files, in the order named. Raises ``upload_not_ready``,
    ``too_large``; then the transaction must not commit.
    """
    if not upload_ids:
        return []
    by_id = upload_rows.lock(tx, sorted(upload_ids), account_id)
    for upload_id in upload_ids:
        record = by_id.get(upload_id)
        if record is None or record.status is not UploadStatus.READY or record.keep_by <= now:
            short_id = upload_id[:80]
            raise Refusal(
                ErrorCode.UPLOAD_NOT_READY, f"The upload {short_id} is not ready to be attached."
            )
    if sum(record.size for record in by_id.values()) > limits.UPLOADS_TOTAL_BYTES_MAX:
        raise Refusal(
            ErrorCode.TOO_LARGE, f"The uploads of a message have up to {TOTAL_MB} MB together."
        )
    for record in by_id.values():
        held = upload_rows.move(tx, record.id, record.status, UploadSignal.ATTACHED)
        assert held, "a locked upload keeps its status"
        upload_rows.save_message(tx, record.id, message_id)
    first = limits.INLINE_FILES_MAX
    return [
        _attachment(by_id[upload_id], message_id, first + n)
        for n, upload_id in enumerate(upload_ids)
    ]


def _attachment(ready: UploadRecord, message_id: str, n: int) -> AttachmentRecord:
    assert ready.kind is not None
    assert ready.revision is not None
    return AttachmentRecord(
        message_id=message_id,
        n=n,
        name=ready.filename,
        content_type=ready.sniffed_type,
        kind=ready.kind,
        size=ready.size,
        revision=ready.revision,
        blob=ready.blob,
    )


async def sweep(ctx: AppContext) -> None:
    """Delete uploads no message took in time, and leftovers of all others (spec: Limits
    unattached-upload).
    """

    await sweeps.sweep(
        ctx,
        "sweep_uploads",
        lambda tx, at, limit: upload_rows.due(tx, at - seconds(_SWEEP_GRACE_SECONDS), limit),
        lambda old: ctx.db.write(partial(forget, ctx, old)),
        key=lambda old: old.id,
    )


def forget(ctx: AppContext, old: UploadRecord, tx: Tx) -> None:
    """Doom every byte that is not attached, with the commit that lets go of the row. An upload of a
    message that is there keeps its row."""
    attached = old.status is UploadStatus.ATTACHED
    if attached and message_rows.get(tx, old.message_id or "") is not None:
        upload_rows.set_swept(tx, old.id)
    else:
        assert attached or upload(old.status, UploadSignal.TIMED_OUT) is None
        if not upload_rows.delete(tx, old.id, old.status):
            return  # attached or refused since it was read
        if old.status is UploadStatus.READY:
            account_rows.subtract(tx, [(old.account_id, old.size)])
    copies = [_blob(old.id, copy) for copy in range(1, old.copies + 1)]
    left = [copy for copy in copies if not (attached and copy == old.blob)]
    deletion_rows.schedule_delete(tx, [blobs.incoming(old.id), *left], ctx.clock.now())


def _blob(upload_id: str, copy: int) -> str:
    return f"uploads/{upload_id}/{copy}"


def _not_uploaded(pending: UploadRecord, now: int) -> Refusal:
    if pending.post_by <= now:
        text = "The file did not arrive while it could be posted; create a new upload."
    else:
        text = "The file has not arrived; post it to the upload's url first."
    return Refusal(ErrorCode.NOT_UPLOADED, text)


def _changed_refusal() -> Refusal:
    return Refusal(
        ErrorCode.CHANGED, "The file was replaced while it was checked; call complete again."
    )
