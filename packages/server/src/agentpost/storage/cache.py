"""Local copies of remote blobs: bounded in bytes, shared by the processes of one machine.

A file's modification time, by the file system's clock, says when it was last handed out. The
copies unused for longest go first, those handed out within the last hour never (somebody may be
about to open them).
"""

import asyncio
import fcntl
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentpost.storage.base import fanned_out
from agentpost.storage.private_folder import make_private

CACHE_BYTES_DEFAULT = 5 * 1_024**3
_KEEP_SECONDS = 3_600


class FileCache:
    """Copies below one folder; may be used from several event loops and processes at once."""

    def __init__(self, folder: Path, bytes_max: int, keep_seconds: float = _KEEP_SECONDS) -> None:
        """``folder`` is made if need be. It may grow past ``bytes_max`` by what was handed out
        within ``keep_seconds``."""
        self._folder = folder
        self._bytes_max = bytes_max
        self._keep_seconds = keep_seconds
        make_private(folder)

    async def path(self, key: str, version: str, read: Callable[[], AsyncIterator[bytes]]) -> Path:
        """The copy of a blob, downloaded by ``read`` when this ``version`` of it is not there. Two
        readers at once may both download; the copies are equal, and the later one stays."""
        path = self._copy(key, version)
        if not await asyncio.to_thread(self._mark_used, path):
            chunks = read()
            descriptor, name = await asyncio.to_thread(_begin, path)
            temporary = Path(name)
            try:
                with os.fdopen(descriptor, "wb") as out:
                    async for chunk in chunks:
                        await asyncio.to_thread(out.write, chunk)
                await asyncio.to_thread(temporary.replace, path)
            except BaseException:
                temporary.unlink(missing_ok=True)  # no await: the task may be cancelled
                raise
            await asyncio.to_thread(self._trim)
        return path

    async def forget(self, key: str) -> None:
        """Remove all copies, except those handed out lately: they go when room is needed."""
        copies = self._copy(key, "")
        pattern = f"{copies.stem.partition('-')[0]}-*"
        await asyncio.to_thread(self._remove_unused, copies.parent, pattern)

    def _copy(self, key: str, version: str) -> Path:
        path = self._folder / fanned_out(key)
        digest = hashlib.sha256(version.encode()).hexdigest()[:16]
        return path.with_name(f"{path.stem}-{digest}{path.suffix}")

    @contextmanager
    def _lock(self) -> Iterator[float]:
        """Nobody, in any process, may mark a copy as used while another removes it. Yields the
        file system's time."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.utime(lock.fileno())
            yield os.fstat(lock.fileno()).st_mtime

    def _mark_used(self, path: Path) -> bool:
        with self._lock(), suppress(FileNotFoundError):
            os.utime(path)
            return True
        return False

    def _trim(self) -> None:
        files = []
        for path in self._folder.glob("*/*/*"):
            with suppress(FileNotFoundError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        surplus = sum(size for _, size, _ in files) - self._bytes_max
        for _, size, path in sorted(files):
            if surplus <= 0:
                break
            self._remove_unused(path.parent, path.name)
            surplus -= size

    def _remove_unused(self, folder: Path, pattern: str) -> None:
        # Missing: a download was just finished, and so renamed.
        with self._lock() as now, suppress(FileNotFoundError):
            for path in folder.glob(pattern):
                if path.stat().st_mtime <= now - self._keep_seconds:
                    path.unlink()


def _begin(path: Path) -> tuple[int, str]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.mkstemp(dir=path.parent, suffix=".part")
