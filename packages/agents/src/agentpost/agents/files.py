"""Files as an agent sees them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class FileSource(Protocol):
    """How a `File` reaches its bytes. Given by the runtime, never by an agent."""

    async def path(self, file: File) -> Path:
        """A local copy of the file, read-only."""

    async def text(self, file: File) -> str:
        """The file's text; raises `Unreadable`."""


@dataclass(frozen=True, slots=True)
class File:
    """A file an agent may read: an attachment of the message or something a job wrote.

    ``kind`` is one of ``image video audio document deck site data archive text other``;
    ``size`` is in bytes; ``revision`` is the quoted entity tag of the bytes.
    """

    id: str
    name: str
    content_type: str
    kind: str
    size: int
    revision: str
    work_id: str
    label: str | None = None
    blob: str = field(default="", repr=False)
    source: FileSource | None = field(default=None, repr=False, compare=False)
    local_path: Path | None = field(default=None, repr=False, compare=False)

    async def path(self) -> Path:
        """A local path to the bytes (a download if they live elsewhere); do not write to it."""
        assert self.source is not None, "a File is readable only inside a turn or job"
        return await self.source.path(self)

    async def text(self) -> str:
        """The file's text, extracted for PDF, Word, Excel and the like; raises `Unreadable`."""
        assert self.source is not None, "a File is readable only inside a turn or job"
        return await self.source.text(self)

    @property
    def local(self) -> Path:
        """The local path, inside a plain step function (which runs in a worker process)."""
        assert self.local_path is not None, "File.local exists only inside a plain step function"
        return self.local_path
