"""Files that go with a message: small ones inside it, the others as uploads (spec: InlineFile,
Upload).

What is over every limit is refused here before anything is sent, because a caller who names a file
wants the agent to have it.
"""

from __future__ import annotations

import base64
import io
import mimetypes
import os
import tempfile
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeGuard

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

Progress: TypeAlias = Callable[[int, int], object]
"""Called while bytes travel, with those done and all of them; a new try begins at 0 again."""

CHUNK_BYTES = 2**18


@dataclass(frozen=True, slots=True)
class Attachment:
    """Bytes to send as a file; the type is guessed from the name when not given.

    ``data`` are bytes, a file opened in binary mode (read from where it stands, and left open), or
    an iterator of bytes (with `AsyncClient` an asynchronous one too). What cannot be read twice is
    kept in a temporary file first: the API wants the size before the bytes, and a try that broke
    is made again.
    """

    name: str
    data: bytes | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes] = field(repr=False)
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file at a public https address, which the server fetches itself; part of a message only."""

    url: str
    name: str | None = None


Uploadable: TypeAlias = "str | os.PathLike[str] | IO[bytes] | Attachment"
"""A path of a local file, a file opened in binary mode, or bytes with a name."""
Sendable: TypeAlias = "Uploadable | RemoteFile"
"""What goes with a message."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A file that was looked at and can be read, as often as needed; ``size`` in bytes.

    ``source`` is its path, its bytes, or an open file and the place in it where it begins.
    """

    name: str
    size: int
    content_type: str | None
    source: Path | bytes | tuple[IO[bytes], int] = field(repr=False)

    def __post_init__(self) -> None:
        """Raises `FileRefused` for a name that JSON cannot carry: disks have names of any bytes."""
        if any("\ud800" <= character <= "\udfff" for character in self.name):
            raise FileRefused(
                f"The name {self.name!a} is not Unicode text: rename the file, or send it as"
                " Attachment(name, file)."
            )

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes; raises `FileRefused`. A file the caller opened is left open."""
        if isinstance(self.source, bytes):
            yield io.BytesIO(self.source)
        elif isinstance(self.source, tuple):
            stream, start = self.source
            stream.seek(start)
            yield stream
        else:
            try:
                stream = self.source.open("rb")
            except OSError as error:
                raise _unreadable(self.source, error) from None
            with stream:
                yield stream


@dataclass(frozen=True, slots=True)
class Package:
    """``inline`` goes into the request body as it is, ``uploads`` one by one before it."""

    inline: list[dict[str, str]]
    uploads: list[Outgoing]


def pack(files: Sequence[Outgoing | RemoteFile]) -> Package:
    """Read those that fit inside a message. Blocks on the disk.

    In the order given, a file goes inline while its size, their number and their sum allow it.
    Raises `FileRefused` for a file that cannot be read and for more than the limits allow.
    """
    package = Package([], [])
    inline_bytes = 0
    links = sum(isinstance(each, RemoteFile) for each in files)  # cannot be sent otherwise
    if links > INLINE_FILES_MAX:
        raise FileRefused(f"{links} remote files; a message takes {INLINE_FILES_MAX}.")
    for outgoing in files:
        if isinstance(outgoing, RemoteFile):
            package.inline.append(remote(outgoing))
            links -= 1
            continue
        if outgoing.size > INLINE_FILE_BYTES_MAX or len(package.inline) + links == INLINE_FILES_MAX:
            fits = False
        else:
            fits = inline_bytes + outgoing.size <= INLINE_TOTAL_BYTES_MAX
        if fits:
            inline_bytes += outgoing.size
            package.inline.append(_encode(outgoing))
        else:
            check_upload(outgoing)
            package.uploads.append(outgoing)
    _check_together(package.uploads)
    return package


def remote(file: RemoteFile) -> dict[str, str]:
    """The file as the API takes it."""
    return {"url": file.url} | ({"name": file.name} if file.name else {})


def look_at(file: Uploadable) -> Outgoing:
    """Name, size and type of a file that can be read again; raises `FileRefused`."""
    if isinstance(file, Attachment):
        if isinstance(file.data, bytes):
            return Outgoing(file.name, len(file.data), file.content_type, file.data)
        assert is_stream(file.data), "what can be read once is kept by `TemporaryCopy`"
        return _outgoing_from(file.name, file.content_type, file.data)
    if not isinstance(file, str | os.PathLike):
        return _outgoing_from(_stream_name(file), None, file)
    path = Path(file)
    try:
        if path.is_dir():
            raise FileRefused(f"{path} is a folder, not a file.")
        size = path.stat().st_size
        with path.open("rb"):  # told now, not in the middle of sending
            return Outgoing(path.name, size, None, path)
    except OSError as error:
        raise _unreadable(path, error) from None


def once_only(file: Uploadable) -> Attachment | None:
    """The file as an attachment with an iterator, if it can be read only once."""
    if isinstance(file, Attachment):
        if isinstance(file.data, bytes):
            return None
        if not is_stream(file.data):
            return file
        if file.data.seekable():
            return None
        return Attachment(file.name, _pieces(file.data), file.content_type)
    if isinstance(file, str | os.PathLike):
        return None
    if not is_stream(file):
        raise FileRefused(
            f"{type(file).__name__} is not a file: use a path or Attachment(name, data)."
        )
    return None if file.seekable() else Attachment(_stream_name(file), _pieces(file))


class TemporaryCopy:
    """A temporary file for what can be read once: `write` it, take `outgoing`, then `close`."""

    def __init__(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._stream = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it

    def write(self, chunk: bytes) -> None:
        """Keep some bytes; raises `FileRefused` when they are more than an upload takes."""
        name = self._attachment.name
        if not isinstance(chunk, bytes | bytearray | memoryview):
            raise FileRefused(f"The iterator of {name} gives {type(chunk).__name__}, not bytes.")
        self._stream.write(chunk)
        if self._stream.tell() > UPLOAD_BYTES_MAX:
            raise FileRefused(f"{name} is larger than {_mb(UPLOAD_BYTES_MAX)}, the upload limit.")

    def outgoing(self) -> Outgoing:
        """The file as it is now."""
        return _outgoing_from(self._attachment.name, self._attachment.content_type, self._stream, 0)

    def close(self) -> None:
        self._stream.close()


def check_upload(outgoing: Outgoing) -> None:
    """Raises `FileRefused` for what no upload takes."""
    if outgoing.size == 0:
        raise FileRefused(f"{outgoing.name} is empty; an upload has at least one byte.")
    if outgoing.size > UPLOAD_BYTES_MAX:
        limit = _mb(UPLOAD_BYTES_MAX)
        raise FileRefused(f"{outgoing.name} has {_mb(outgoing.size)}; an upload takes {limit}.")


def is_stream(file: object) -> TypeGuard[IO[bytes]]:
    """Whether it is a file object; raises `FileRefused` for one of text."""
    if isinstance(file, io.TextIOBase):
        name = getattr(file, "name", "The file")
        raise FileRefused(f"{name} is opened as text: open it in binary mode, 'rb'.")
    return hasattr(file, "read") and hasattr(file, "seekable")


def _outgoing_from(
    name: str, content_type: str | None, stream: IO[bytes], start: int | None = None
) -> Outgoing:
    try:
        start = stream.tell() if start is None else start
        size = stream.seek(0, io.SEEK_END) - start
        stream.seek(start)
    except (OSError, ValueError) as error:  # ValueError: it is closed
        raise FileRefused(f"Cannot read {name}: {error}.") from None
    return Outgoing(name, size, content_type, (stream, start))


def _stream_name(stream: Any) -> str:
    name = getattr(stream, "name", None)
    if not isinstance(name, str) or not Path(name).name:
        raise FileRefused("The file object has no name: wrap it as Attachment(name, file).")
    return Path(name).name


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


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
