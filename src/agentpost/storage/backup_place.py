"""Where backups are kept: a folder, or a bucket.

A place has blobs, shared by all of its backups, and named documents: the manifest, the copies of
the database, and lists of blobs. A document is there as a whole or not at all, like a blob
(`storage.base`).
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from agentpost.storage.base import CHUNK_BYTES, BlobMissing, Storage
from agentpost.storage.private_folder import make_private, sync_folder

BLOBS = "blobs"
"""Where a place keeps its blobs: a folder, or the end of a prefix."""
_UNFINISHED = "unfinished"


class BackupPlace(Protocol):
    """See the module docstring. ``blobs`` holds the blobs under their own keys; ``scratch`` is an
    empty folder of this machine for files that are being made."""

    blobs: Storage
    scratch: Path

    async def put(self, name: str, source: Path) -> None:
        """Keep a file of ``scratch`` under a name, over an older one; the file itself goes."""
        ...

    def open(self, name: str) -> AsyncIterator[bytes]:
        """Stream a document; raises `BlobMissing` at the first chunk."""
        ...

    async def delete(self, name: str) -> None:
        """Remove a document; no error when there is none."""
        ...

    async def aclose(self) -> None:
        """Remove ``scratch`` and let the next one in."""
        ...


class _Scratch:
    """An empty folder for one process at a time; what a killed one left is removed."""

    def __init__(self, folder: Path, what: str) -> None:
        make_private(folder)
        self.folder = folder
        self._lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise ValueError(f"another command is working on {what}; wait until it ends") from None
        except OSError:
            pass  # some network file systems lock no folders
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


class FolderPlace:
    """`BackupPlace` in a folder of this machine, readable by its owner alone."""

    def __init__(
        self, folder: Path, open_blobs: Callable[[Path], Storage], scratch: Path | None = None
    ) -> None:
        """Without ``scratch`` to write to, make the folder if need be; with it, only read there.
        Raises `OSError` when a folder cannot be used, `ValueError` while another process works on
        it."""
        if scratch is None:
            make_private(folder)
        elif not (folder / BLOBS).is_dir():
            raise ValueError(f"there is no backup in {folder}")
        self._folder = folder
        self._own = _Scratch(scratch or folder / _UNFINISHED, str(folder))
        self.scratch = self._own.folder
        self.blobs = open_blobs(folder / BLOBS)

    async def put(self, name: str, source: Path) -> None:
        """See `BackupPlace.put`."""
        await asyncio.to_thread(self._put, name, source)

    def _put(self, name: str, source: Path) -> None:
        target = self._folder / name
        with source.open("rb") as written:
            os.fsync(written.fileno())
        target.parent.mkdir(mode=0o700, exist_ok=True)
        source.replace(target)
        sync_folder(target.parent)
        sync_folder(self._folder)

    async def open(self, name: str) -> AsyncIterator[bytes]:
        """See `BackupPlace.open`."""
        try:
            source = await asyncio.to_thread((self._folder / name).open, "rb")
        except FileNotFoundError:
            raise BlobMissing(name) from None
        with source:
            while chunk := await asyncio.to_thread(source.read, 4 * CHUNK_BYTES):
                yield chunk

    async def delete(self, name: str) -> None:
        """See `BackupPlace.delete`; an empty folder goes with its last document."""
        target = self._folder / name
        target.unlink(missing_ok=True)
        with suppress(OSError):
            target.parent.rmdir()

    async def aclose(self) -> None:
        """See `BackupPlace.aclose`."""
        await self.blobs.aclose()
        self._own.close()


class BucketPlace:
    """`BackupPlace` in a bucket."""

    def __init__(self, documents: Storage, blobs: Storage, scratch: Path) -> None:
        """``documents`` keeps keys as they are; ``scratch`` is made, with its parents. Raises as
        `FolderPlace`."""
        self._own = _Scratch(scratch, "the backup")
        self.scratch = self._own.folder
        self._documents = documents
        self.blobs = blobs

    async def put(self, name: str, source: Path) -> None:
        """See `BackupPlace.put`."""
        await self._documents.put(name, source)
        source.unlink()

    def open(self, name: str) -> AsyncIterator[bytes]:
        """See `BackupPlace.open`."""
        return self._documents.open(name)

    async def delete(self, name: str) -> None:
        """See `BackupPlace.delete`."""
        await self._documents.delete(name)

    async def aclose(self) -> None:
        """See `BackupPlace.aclose`."""
        await self.blobs.aclose()
        await self._documents.aclose()
        self._own.close()
