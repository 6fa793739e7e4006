"""Blobs in a folder of this machine, and the uploads that this server receives beside them."""

import asyncio
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import ParamSpec, TypeVar

from agentpost.domain import ids
from agentpost.storage.base import (
    CHECK_BYTES,
    CHUNK_BYTES,
    IDENTITY_KEY,
    BlobInfo,
    BlobMissing,
    Listed,
    StorageCheckFailed,
    fanned_out,
)
from agentpost.storage.incoming import TARGET_PATH, Arrived, PostForm, Replaced
from agentpost.storage.post_policy import PolicySigner
from agentpost.storage.private_folder import make_private, sync_folder, time_of

P = ParamSpec("P")
T = TypeVar("T")

_THREADS = 8
# A file that is not locked and that old arrives no more; a new one may be about to be locked.
_BROKEN_OFF_SECONDS = 600
_FAN_NAME = re.compile(r"[0-9a-f]{2}")


class LocalStorage:
    """`Storage` in a folder, for one machine. See the port for the contract.

    New bytes go to a temporary file on the same file system and are renamed into place when they
    are safely on the disk. Files are readable by their owner alone. The store's name is an empty
    folder below ``storage-id``: made in one step, and copied along with the blobs.
    """

    def __init__(self, folder: Path) -> None:
        """``folder`` is made if need be, and private to its owner from then on."""
        self.folder = self._root = folder
        self.unfinished = folder / "tmp"
        self._names = folder / IDENTITY_KEY
        try:
            make_private(folder)
            self.unfinished.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            why = error.strerror
            raise OSError(f"the folder for files {folder} cannot be used: {why}") from None
        # Own threads: whatever else blocks the event loops' threads must not delay files.
        self._threads = ThreadPoolExecutor(_THREADS, "blobs")

    async def put(self, key: str, data: bytes | Path) -> BlobInfo:
        return await self._in_thread(self._put, self._path(key), data)

    async def adopt(self, key: str, source: Path) -> os.stat_result:
        """Give a file of the same file system that is on the disk already a second name as a blob,
        under a key that is free; what it was at that moment. Raises `FileNotFoundError`."""
        return await self._in_thread(self._adopt, self._path(key), source)

    async def open(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        descriptor = await self._in_thread(_open, self._path(key), key)
        try:
            while end is None or start < end:
                size = CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - start)
                # Positioned reads: one that outlives a cancelled reader disturbs nobody.
                chunk = await self._in_thread(os.pread, descriptor, size, start)
                if not chunk:
                    break
                start += len(chunk)
                yield chunk
        finally:
            os.close(descriptor)

    async def size(self, key: str) -> int:
        return await self._in_thread(_size, self._path(key), key)

    async def local(self, key: str) -> Path:
        """See `Storage.local`; this is the blob itself, not a copy."""
        path = self._path(key)
        await self._in_thread(_size, path, key)
        return path

    async def delete(self, key: str) -> None:
        await self._in_thread(self._path(key).unlink, missing_ok=True)

    async def check(self, name: str) -> None:
        """See `Storage.check`; the file it makes has no name, so nothing can be left behind."""
        await self._in_thread(_check, self.unfinished)

    async def identity(self) -> str | None:
        return await self._in_thread(self._identity)

    async def set_identity(self, name: str) -> None:
        await self._in_thread(self._set_identity, name)

    async def free_bytes(self) -> int | None:
        """See `Storage.free_bytes`: what the file system leaves to this user."""
        return (await self._in_thread(shutil.disk_usage, self.unfinished)).free

    def listed_name(self, key: str) -> str:
        """See `Storage.listed_name`: the path, from which the key cannot be read."""
        return str(fanned_out(key))

    async def pages(self) -> AsyncIterator[list[Listed]]:
        """See `Storage.pages`: a page for each folder."""
        now = await self._in_thread(time_of, self.unfinished)
        for top in await self._in_thread(_fan_folders, self._root):
            for folder in await self._in_thread(_fan_folders, top):
                yield await self._in_thread(_list_folder, self._root, folder, now)

    async def aclose(self) -> None:
        """Finish what has begun, then stop the threads."""
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)

    def _path(self, key: str) -> Path:
        return self._root / fanned_out(key)

    async def _in_thread(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: work(*args, **kwargs))

    def _identity(self) -> str | None:
        try:
            names = sorted(path.name for path in self._names.iterdir())
        except FileNotFoundError:
            self.unfinished.stat()  # a store without a name is not the same as no store
            return None
        return names[0] if names else None

    def _set_identity(self, name: str) -> None:
        self._names.mkdir(mode=0o700, exist_ok=True)
        (self._names / name).mkdir(mode=0o700, exist_ok=True)
        sync_folder(self._names)
        sync_folder(self._root)

    def _put(self, path: Path, data: bytes | Path) -> BlobInfo:
        file, temporary = _locked_file(self.unfinished)
        try:
            with file:
                digest, size = hashlib.sha256(), 0
                for chunk in _chunks(data):
                    _write_all(file, chunk)
                    digest.update(chunk)
                    size += len(chunk)
                os.fsync(file.fileno())
            self._make_folder(path.parent)
            temporary.replace(path)
            sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        return BlobInfo(size, digest.hexdigest())

    def _adopt(self, path: Path, source: Path) -> os.stat_result:
        self._make_folder(path.parent)
        path.hardlink_to(source)
        sync_folder(path.parent)
        return path.stat()

    def _make_folder(self, folder: Path) -> None:
        """Make the two levels of folders, so that they too survive a power cut."""
        for level in (folder.parent, folder):
            if not level.is_dir():
                level.mkdir(mode=0o700, exist_ok=True)
                sync_folder(level.parent)


def _chunks(data: bytes | Path) -> Iterator[bytes | memoryview]:
    if isinstance(data, Path):
        with data.open("rb") as source:
            while chunk := source.read(CHUNK_BYTES):
                yield chunk
    else:
        yield memoryview(data)


def _open(path: Path, key: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise BlobMissing(key) from None


def _size(path: Path, key: str) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        raise BlobMissing(key) from None


def _check(folder: Path) -> None:
    data = os.urandom(CHECK_BYTES)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        if os.pread(file.fileno(), CHECK_BYTES, 0) != data:
            raise StorageCheckFailed(f"{folder} gives other bytes back than it was given")


def _fan_folders(folder: Path) -> list[Path]:
    """The folders that blobs are spread over, below that one."""
    return sorted(path for path in folder.iterdir() if _FAN_NAME.fullmatch(path.name))


def _list_folder(root: Path, folder: Path, now: float) -> list[Listed]:
    blobs = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            age = now - path.stat().st_mtime
            blobs.append(Listed(str(path.relative_to(root)), age))
    return blobs


def _locked_file(folder: Path) -> tuple[FileIO, Path]:
    """A new file of mode 0600, locked for as long as it is open: however slowly it arrives, it is
    in use."""
    descriptor, name = tempfile.mkstemp(dir=folder)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return FileIO(descriptor, "wb"), Path(name)


def _write_all(file: FileIO, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def _remove_broken_off(folder: Path) -> None:
    oldest = time_of(folder) - _BROKEN_OFF_SECONDS
    for path in folder.iterdir():
        # Just kept, removed by another process, or in use.
        with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_mtime < oldest:
                path.unlink()


# --- uploads --------------------------------------------------------------------------------------
class LocalIncoming:
    """`Incoming` and `Receiver` on the file system of the local blob store. See the port.

    A place is named by the upload's id; a client's own name never reaches the disk. The folder
    lies inside the store's own, so that a file is taken over by a second name, not by a copy.
    """

    def __init__(self, storage: LocalStorage, policies: PolicySigner, base_url: str) -> None:
        """``base_url``: where clients reach this server for uploads, without a path."""
        self._storage = storage
        self.policies = policies
        self._url = base_url + TARGET_PATH
        self._folder = storage.folder / "incoming"
        self._arriving = self._folder / "tmp"
        make_private(self._folder)
        self._arriving.mkdir(mode=0o700, exist_ok=True)

    async def form(
        self, upload_id: str, content_type: str, max_bytes: int, expires_at: int, seconds: float
    ) -> PostForm:
        fields = self.policies.fields(upload_id, content_type, max_bytes, expires_at)
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
        """See `Incoming.tidy`; of blobs as well."""
        for folder in (self._storage.unfinished, self._arriving):
            await asyncio.to_thread(_remove_broken_off, folder)

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
    with busy:
        _write_all(file, data)


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
