"""Several files as one zip archive, made while it is sent: nothing is stored or held whole."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

from agentpost.context import AppContext
from agentpost.domain.times import SECOND
from agentpost.record.records import FileRecord


class _Sink(io.RawIOBase):
    """Where the archive is written to; `take` empties it."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        content = bytes(self._written)
        self._written.clear()
        return content


async def stream_archive(ctx: AppContext, files: Sequence[FileRecord]) -> AsyncIterator[bytes]:
    """The archive's bytes; the files stand there under their paths, as they are. Raises
    `BlobMissing` when one is deleted meanwhile."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for file in files:
            when = datetime.fromtimestamp(file.created_at // SECOND, UTC)
            entry = zipfile.ZipInfo(file.path, when.timetuple()[:6])
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=file.size >= zipfile.ZIP64_LIMIT) as into:
                async for piece in ctx.storage.open(file.blob, 0, file.size):
                    into.write(piece)
                    yield sink.take()
    yield sink.take()
