"""Uploads received by this server, in a folder beside its blobs."""

import asyncio
import fcntl
import hashlib
import os
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Protocol

from agentpost.domain import ids
from agentpost.storage.incoming import TARGET_PATH, Arrived, PostForm, PostTicket, Replaced
from agentpost.storage.post_policy import PolicySigner
from agentpost.storage.private_folder import make_private, sync_folder, time_of

# A file that is not locked and that old arrives no more; a new one may be about to be locked.
_BROKEN_OFF_SECONDS = 600


class BlobFolder(Protocol):
    """The local blob store, as far as it matters here."""

    folder: Path

    async def adopt(self, key: str, source: Path) -> os.stat_result:
        """Give a file a second name as a blob; what it was at that moment."""

    async def delete(self, key: str) -> None:
        """Remove a blob."""


class LocalIncoming:
    """`Incoming` and `Receiver` on the file system of the local blob store. See the port.

    A place is named by the upload's id; a client's own name never reaches the disk. The folder
    lies inside the store's own, so that a file is taken over by a second name, not by a copy.
    """

    def __init__(self, storage: BlobFolder, policies: PolicySigner, base_url: str) -> None:
        """``base_url``: where clients reach this server for uploads, without a path."""
        self._storage = storage
        self.policies = policies
        self._url = base_url + TARGET_PATH
        self._folder = storage.folder / "incoming"
        self._arriving = self._folder / "tmp"
        make_private(self._folder)
        self._arriving.mkdir(mode=0o700, exist_ok=True)

    async def form(self, ticket: PostTicket) -> PostForm:
        fields = self.policies.fields(
            ticket.upload_id, ticket.content_type, ticket.max_bytes, ticket.expires_at
        )
        return PostForm(self._url, fields)

    async def find(self, upload_id: str) -> Arrived | None:
        try:
            return _describe(await asyncio.to_thread(self._upload_path(upload_id).stat))
        except FileNotFoundError:
            return None

    async def snapshot(self, upload_id: str, file: Arrived, key: str) -> None:
        """See `Incoming.snapshot`. The bytes get a second name: what is posted later is another
        file under the first one."""
        try:
            status = await self._storage.adopt(key, self._upload_path(upload_id))
        except FileNotFoundError:
            raise Replaced from None
        if _describe(status) != file:
            await self._storage.delete(key)
            raise Replaced

    async def delete(self, upload_id: str) -> None:
        await asyncio.to_thread(self._upload_path(upload_id).unlink, missing_ok=True)

    async def tidy(self) -> None:
        await asyncio.to_thread(_remove_broken_off, self._arriving)

    async def receive(self, upload_id: str, pieces: AsyncIterator[bytes]) -> Arrived:
        """See `Receiver.receive`. Bytes go to a nameless place first, and are renamed when they are
        on the disk."""
        target = self._upload_path(upload_id)
        file, path = await asyncio.to_thread(_locked_file, self._arriving)
        # A cancelled writer's thread writes on: its descriptor must not be closed under it, since
        # by then the number may stand for another file.
        busy = threading.Lock()
        try:
            async for piece in pieces:
                await asyncio.to_thread(_write, busy, file, piece)
            return await asyncio.to_thread(_keep, busy, file, path, target)
        finally:
            with busy:
                file.close()
            path.unlink(missing_ok=True)

    def _upload_path(self, upload_id: str) -> Path:
        if not ids.is_id(ids.UPLOAD, upload_id):
            raise ValueError(f"not an upload id: {upload_id[:80]!r}")
        return self._folder / upload_id


def _write(busy: threading.Lock, file: FileIO, data: bytes) -> None:
    rest = memoryview(data)
    with busy:
        while rest:
            rest = rest[file.write(rest) :]


def _keep(busy: threading.Lock, file: FileIO, path: Path, target: Path) -> Arrived:
    with busy:
        os.fsync(file.fileno())
        arrival = _describe(os.fstat(file.fileno()))
        path.replace(target)
    sync_folder(target.parent)
    return arrival


def _describe(status: os.stat_result) -> Arrived:
    identity = f"{status.st_dev} {status.st_ino} {status.st_mtime_ns} {status.st_size}"
    return Arrived(status.st_size, hashlib.sha256(identity.encode()).hexdigest()[:32])


def _locked_file(folder: Path) -> tuple[FileIO, Path]:
    """A new file, locked for as long as it is open: however slowly it arrives, it is in use."""
    descriptor, name = tempfile.mkstemp(dir=folder)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return FileIO(descriptor, "wb"), Path(name)


def _remove_broken_off(folder: Path) -> None:
    oldest = time_of(folder) - _BROKEN_OFF_SECONDS
    for path in folder.iterdir():
        # Just kept, removed by another process, or in use.
        with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_mtime < oldest:
                path.unlink()
