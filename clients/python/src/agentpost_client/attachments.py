"""Files that go with a message: small ones inside it, the others as uploads (spec: InlineFile,
Upload).

What is over every limit is refused here before anything is sent, because a caller who names a file
wants the agent to have it.
"""

from __future__ import annotations

import base64
import io
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeAlias

from agentpost_client.errors import FileRefused
from agentpost_client.limits import (
    INLINE_FILE_BYTES_MAX,
    INLINE_FILES_MAX,
    INLINE_TOTAL_BYTES_MAX,
    MEBIBYTE,
    UPLOAD_BYTES_MAX,
    UPLOADS_PER_MESSAGE_MAX,
    UPLOADS_TOTAL_BYTES_MAX,
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Bytes in memory to send as a file; the type is guessed from the name when not given."""

    name: str
    data: bytes = field(repr=False)
    content_type: str | None = None


Sendable: TypeAlias = "str | Path | Attachment"
"""A path of a local file, or bytes with a name."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A file that was looked at and can be read; ``size`` in bytes."""

    name: str
    size: int
    content_type: str | None
    source: Path | bytes = field(repr=False)

    def open(self) -> BinaryIO:
        """Its bytes; raises `FileRefused`."""
        if isinstance(self.source, bytes):
            return io.BytesIO(self.source)
        try:
            return self.source.open("rb")
        except OSError as error:
            raise _unreadable(self.source, error) from None


@dataclass(frozen=True, slots=True)
class Packed:
    """``inline`` goes into the request body as it is, ``uploads`` one by one before it."""

    inline: list[dict[str, str]]
    uploads: list[Outgoing]


def pack(files: Sequence[Sendable]) -> Packed:
    """Look at the files and read those that fit inside a message. Blocks on the disk.

    In the order given, a file goes inline while its size, their number and their sum allow it.
    Raises `FileRefused` for a file that cannot be read and for more than the limits allow.
    """
    packed = Packed([], [])
    inline_bytes = 0
    for file in files:
        outgoing = look_at(file)
        if outgoing.size > INLINE_FILE_BYTES_MAX or len(packed.inline) == INLINE_FILES_MAX:
            fits = False
        else:
            fits = inline_bytes + outgoing.size <= INLINE_TOTAL_BYTES_MAX
        if fits:
            inline_bytes += outgoing.size
            packed.inline.append(_encode(outgoing))
        else:
            check_upload(outgoing)
            packed.uploads.append(outgoing)
    _check_together(packed.uploads)
    return packed


def look_at(file: Sendable) -> Outgoing:
    """Name, size and type of a file, without reading it; raises `FileRefused`."""
    if isinstance(file, Attachment):
        return Outgoing(file.name, len(file.data), file.content_type, file.data)
    path = Path(file)
    try:
        if path.is_dir():
            raise FileRefused(f"{path} is a folder, not a file.")
        size = path.stat().st_size
        with path.open("rb"):  # told now, not in the middle of sending
            return Outgoing(path.name, size, None, path)
    except OSError as error:
        raise _unreadable(path, error) from None


def check_upload(outgoing: Outgoing) -> None:
    """Raises `FileRefused` for what no upload takes."""
    if outgoing.size == 0:
        raise FileRefused(f"{outgoing.name} is empty; an upload has at least one byte.")
    if outgoing.size > UPLOAD_BYTES_MAX:
        limit = _mb(UPLOAD_BYTES_MAX)
        raise FileRefused(f"{outgoing.name} has {_mb(outgoing.size)}; an upload takes {limit}.")


def _check_together(uploads: Sequence[Outgoing]) -> None:
    if len(uploads) > UPLOADS_PER_MESSAGE_MAX:
        raise FileRefused(
            f"{len(uploads)} of the files have to be uploaded; a message takes"
            f" {UPLOADS_PER_MESSAGE_MAX} uploads besides {INLINE_FILES_MAX} small files."
        )
    total = sum(outgoing.size for outgoing in uploads)
    if total > UPLOADS_TOTAL_BYTES_MAX:
        limit = _mb(UPLOADS_TOTAL_BYTES_MAX)
        raise FileRefused(f"The uploads have {_mb(total)} together; a message takes {limit}.")


def _encode(outgoing: Outgoing) -> dict[str, str]:
    with outgoing.open() as stream:
        # One byte more would show that it has grown; the server would then note that it is over.
        data = stream.read(INLINE_FILE_BYTES_MAX + 1)
    content_type = outgoing.content_type or mimetypes.guess_type(outgoing.name)[0]
    encoded = {"name": outgoing.name, "base64": base64.b64encode(data).decode()}
    return encoded | ({"content_type": content_type} if content_type else {})


def _unreadable(path: Path, error: OSError) -> FileRefused:
    if isinstance(error, FileNotFoundError):
        return FileRefused(f"There is no file {path}.")
    return FileRefused(f"Cannot read {path}: {error.strerror or error}.")


def _mb(size: int) -> str:
    return f"{size / MEBIBYTE:.1f} MB"
