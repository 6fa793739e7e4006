"""Files that come with a message: inline bytes are stored at once, URLs fetched by the turn.

spec: createMessage 4, Limits; design: Attachments; Executables. A file that cannot be accepted
becomes a note; it never fails the message.
"""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentpost.blobs import actions as blobs, deletion_rows, space
from agentpost.clock import new_id
from agentpost.context import AppContext
from agentpost.db.session import Tx
from agentpost.domain import limits
from agentpost.domain.errors import Fenced, Overloaded
from agentpost.domain.file_names import RENAMED, is_renamed, safe_file_name
from agentpost.egress.errors import EgressError
from agentpost.files import scanning
from agentpost.files.executable_rules import HEAD_BYTES, is_executable
from agentpost.messages import idempotency_rules, rows as message_rows
from agentpost.messages.rules import TurnState
from agentpost.record import history_rows, writer
from agentpost.record.records import AttachmentRecord, MessageRecord
from agentpost.storage import sniff

TOTAL_MB = limits.INLINE_TOTAL_BYTES_MAX // limits.MEBIBYTE
_PIECE = 16 * 1024
FILE_MB = limits.INLINE_FILE_BYTES_MAX // limits.MEBIBYTE


class InPieces(ABC):
    """A text of megabytes, in pieces of moderate size."""

    @abstractmethod
    def pieces(self) -> Iterator[str]:
        """All of it, from the start."""

    def sha256(self) -> str:
        """The hash of the text in UTF-8, as hex digits."""
        digest = hashlib.sha256()
        for piece in self.pieces():
            digest.update(piece.encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class InlineFile:
    """A file of the request; exactly one of url and base64 is to be given."""

    name: str | None
    url: str | None
    base64: str | InPieces | None
    content_type: str | None

    @classmethod
    def of(cls, public: Mapping[str, Any]) -> "InlineFile":
        """From the fields of `InlineFileIn`."""
        return cls(*map(public.get, ("name", "url", "base64", "content_type")))

    def without_contents(self) -> dict[str, str | None]:
        """The fields of `InlineFileIn`, its bytes left out."""
        contents = None if self.base64 is None else ""
        return {
            "name": self.name,
            "url": self.url,
            "base64": contents,
            "content_type": self.content_type,
        }

    def identity(self) -> dict[str, str | None]:
        """What makes it the same file when it is sent again; takes a while for large contents."""
        contents = self.base64.sha256() if isinstance(self.base64, InPieces) else self.base64
        fields = {**self.without_contents(), "base64": contents}
        return {name: idempotency_rules.short(value) for name, value in fields.items()}


@dataclass(slots=True)
class AttachmentResult:
    """What became of the files: rows to insert, and problems for the caller."""

    files: list[AttachmentRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def store(ctx: AppContext, files: Sequence[InlineFile]) -> AttachmentResult:
    """Decode and store inline bytes; keep URLs for later. When one cannot be stored, none is."""
    attachments = AttachmentResult()
    try:
        await _take_all(ctx, attachments, files)
    except Exception:
        with contextlib.suppress(Exception):  # else they go within a day
            await discard(ctx, attachments)
        raise
    return attachments


async def _take_all(
    ctx: AppContext, attachments: AttachmentResult, files: Sequence[InlineFile]
) -> None:
    for n, inline_file in enumerate(files[: limits.INLINE_FILES_MAX]):
        name = safe_file_name(inline_file.name) if inline_file.name else ""
        if name and is_renamed(inline_file.name or "", name):
            attachments.notes.append(f"{name}: {RENAMED}.")
        attachment = AttachmentRecord("", n, name, inline_file.url, inline_file.content_type)
        problem = None
        if inline_file.url is None:
            left = limits.INLINE_TOTAL_BYTES_MAX - sum(file.size for file in attachments.files)
            problem = await _take_bytes(ctx, attachment, inline_file.base64 or "", left)
        elif inline_file.base64 is not None:
            problem = "it has both a url and base64 content"
        if problem is None:
            attachments.files.append(attachment)
        else:
            attachments.notes.append(f"{name or f'file {n + 1}'}: skipped, {problem}.")
    if len(files) > limits.INLINE_FILES_MAX:
        extra = len(files) - limits.INLINE_FILES_MAX
        attachments.notes.append(
            f"{extra} more file{'s' if extra > 1 else ''} skipped: a message takes"
            f" {limits.INLINE_FILES_MAX} inline files."
        )


def attach(tx: Tx, ctx: AppContext, message: MessageRecord, attachments: AttachmentResult) -> None:
    """Give the files to a message that is inserted in this transaction. One that the account's
    storage has no room for becomes a note, and its bytes go."""
    if not attachments.files:
        return
    notes = list(attachments.notes)
    for file in attachments.files:
        file.message_id = message.id
        if file.blob is not None:
            no_room = _keep_or_delete(tx, ctx, message.account_id, file, file.blob)
            if no_room is not None:
                notes.append(no_room)
                message.attachments -= 1
                continue
        history_rows.ATTACHMENTS.insert(tx, file)
    message.notes_json = json.dumps(notes)


def _keep_or_delete(
    tx: Tx, ctx: AppContext, account_id: str, file: AttachmentRecord, blob: str
) -> str | None:
    """Keep a file's bytes with this commit; the note that says why they go instead."""
    note = space.count_attached(tx, ctx, account_id, file)
    if note is None:
        deletion_rows.keep(tx, blob)
    else:
        deletion_rows.schedule_delete(tx, [blob], ctx.clock.now())
    return note


async def discard(ctx: AppContext, attachments: AttachmentResult) -> None:
    """The message was certainly not accepted: remove what was stored for it."""
    await blobs.discard(ctx, [a.blob for a in attachments.files if a.blob is not None])


async def fetch(ctx: AppContext, message: MessageRecord) -> None:
    """Fetch the message's URLs, once: what was fetched or noted is not tried again.

    Brings ``message.notes_json`` up to date. Part of the turn, so a crash in between repeats only
    what was not recorded.
    """
    attachments = await ctx.db.read(lambda tx: history_rows.attachments(tx, message.id))
    inline = [a for a in attachments if a.n < limits.INLINE_FILES_MAX]  # the others are uploads
    total = sum(a.size for a in inline if a.blob is not None)
    for attachment in inline:
        if attachment.blob is not None or attachment.url is None:
            continue
        problem = await _fetch_one(ctx, attachment, total)
        total += attachment.size
        await _record_fetched(ctx, message, attachment, problem)


async def _fetch_one(ctx: AppContext, attachment: AttachmentRecord, total: int) -> str | None:
    """Fetch into ``attachment``; the problem to note, if there is one."""
    assert attachment.url is not None
    if space.is_short(ctx):
        return f"{attachment.name or 'a file'}: skipped, {space.NO_ROOM}."
    left = limits.INLINE_TOTAL_BYTES_MAX - total
    with tempfile.TemporaryDirectory(prefix="agentpost-fetch-") as folder:
        into = Path(folder) / "body"
        try:
            download = await ctx.egress.fetch(
                attachment.url,
                max_bytes=limits.INLINE_FILE_BYTES_MAX,
                seconds=ctx.settings.fetch_seconds,
                into=into,
            )
        except EgressError as error:
            return f"{attachment.name or 'a file'}: could not be fetched, {error}"
        name = attachment.name or download.name or f"file-{attachment.n + 1}"
        if download.size > left:
            return f"{name}: skipped, the files together are over {TOTAL_MB} MB."
        attachment.name = name
        attachment.content_type = attachment.content_type or download.content_type
        try:
            problem = await _store(ctx, attachment, into)
        except Overloaded:
            # Its message has been accepted, so nobody can be asked to send it again.
            problem = scanning.UNSCANNED
        return None if problem is None else f"{name}: skipped, {problem}."


async def _record_fetched(
    ctx: AppContext, message: MessageRecord, attachment: AttachmentRecord, problem: str | None
) -> None:
    def fn(tx: Tx) -> str:
        current = message_rows.lock(tx, message.id)
        ours = current is not None and current.turn_epoch == message.turn_epoch
        if current is None or not ours or current.turn_state is not TurnState.RUNNING:
            raise Fenced(f"the turn of {message.id} is not ours any more")
        note = problem
        if note is None:
            assert attachment.blob is not None
            note = _keep_or_delete(tx, ctx, message.account_id, attachment, attachment.blob)
        if note is None:
            history_rows.save_fetched(tx, attachment)
            return current.notes_json
        history_rows.drop_attachment(tx, attachment.message_id, attachment.n)
        notes = [*json.loads(current.notes_json), note]
        writer.add_notes(tx, ctx, current, notes, ctx.clock.now())
        return current.notes_json

    message.notes_json = await ctx.db.write(fn)


async def _take_bytes(
    ctx: AppContext, attachment: AttachmentRecord, text: str | InPieces, left: int
) -> str | None:
    """Decode and store one inline file of at most ``left`` bytes; why it is not taken."""
    try:
        data = await asyncio.to_thread(_decode, text)
    except ValueError:
        return "its base64 content cannot be decoded"
    if space.is_short(ctx):
        return space.NO_ROOM
    if len(data) > limits.INLINE_FILE_BYTES_MAX:
        return f"it is over {FILE_MB} MB; use an upload"
    if len(data) > left:
        return f"the files together are over {TOTAL_MB} MB; use an upload"
    attachment.name = attachment.name or f"file-{attachment.n + 1}"
    return await _store(ctx, attachment, data)


def _decode(text: str | InPieces) -> bytes:
    """Standard base64, padding required, line breaks allowed; anything else is refused.

    By and by: a conversion of megabytes would let nothing else run. Decoding stops when a file
    exceeds its limit.
    """
    decoded = io.BytesIO()  # its value is no copy; joining megabytes would be one in one piece
    rest, has_padding = "", False
    for piece in pieces_of(text):
        if "\n" in piece or "\r" in piece:
            piece = piece.replace("\n", "").replace("\r", "")
        rest += piece
        if has_padding and rest:
            raise ValueError("something follows the padding")
        whole = len(rest) // 4 * 4
        decoded.write(base64.b64decode(rest[:whole], validate=True))
        has_padding = has_padding or rest[:whole].endswith("=")
        rest = rest[whole:]
        if decoded.tell() > limits.INLINE_FILE_BYTES_MAX:
            return decoded.getvalue()
    if rest:
        raise ValueError("the text ends early")
    return decoded.getvalue()


def pieces_of(text: str | InPieces) -> Iterator[str]:
    """The contents of a file in pieces of moderate size."""
    if isinstance(text, str):
        return (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return text.pieces()


def _head_and_size(data: bytes | Path) -> tuple[bytes, int]:
    if isinstance(data, bytes):
        return data[:HEAD_BYTES], len(data)
    with data.open("rb") as file:
        return file.read(HEAD_BYTES), data.stat().st_size


async def _store(ctx: AppContext, attachment: AttachmentRecord, data: bytes | Path) -> str | None:
    """Check a file and store its bytes; why it is not taken. Raises `Overloaded` when it could not
    be scanned."""
    head, size = await asyncio.to_thread(_head_and_size, data)
    if is_executable(head, size):
        return "it is an executable"
    fields = {"file": attachment.name}
    if attachment.message_id:
        fields["message_id"] = attachment.message_id
    if await scanning.is_infected(ctx, data, **fields):
        return scanning.INFECTED
    blob = f"attachments/{new_id('', ctx.clock.now())}"
    info = await blobs.store(ctx, blob, data)
    attachment.blob, attachment.size = blob, info.size
    attachment.revision = f'"{info.sha256[:32]}"'
    attachment.content_type, attachment.kind = sniff.describe(
        attachment.name, head, attachment.content_type
    )
    return None
