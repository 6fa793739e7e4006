"""Blobs in a dictionary: nothing of a simulation touches the disk."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

from agentpost.storage.base import BlobInfo, BlobMissing, Listed


class MemoryStorage:
    """See `Storage`. The nodes of a simulation share one."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    async def put(self, key: str, data: bytes | Path) -> BlobInfo:
        content = data if isinstance(data, bytes) else data.read_bytes()
        self.blobs[key] = content
        return BlobInfo(len(content), hashlib.sha256(content).hexdigest())

    async def open(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        if key not in self.blobs:
            raise BlobMissing(key)
        yield self.blobs[key][start:end]

    async def size(self, key: str) -> int:
        if key not in self.blobs:
            raise BlobMissing(key)
        return len(self.blobs[key])

    async def local(self, key: str) -> Path:
        raise NotImplementedError("no plan of a simulation reads a file")

    async def delete(self, key: str) -> None:
        self.blobs.pop(key, None)

    async def check(self, name: str) -> None:
        """See `Storage.check`."""

    async def identity(self) -> str | None:
        return "simulated"

    async def set_identity(self, name: str) -> None:
        """See `Storage.set_identity`."""

    async def free_bytes(self) -> int | None:
        return None

    def listed_name(self, key: str) -> str:
        return key

    async def pages(self) -> AsyncIterator[list[Listed]]:
        yield [Listed(key, 0.0) for key in self.blobs]

    async def aclose(self) -> None:
        """See `Storage.aclose`."""
