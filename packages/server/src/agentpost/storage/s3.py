"""Blobs in a bucket of any S3-compatible object store."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import obstore
from obstore.store import S3Store

from agentpost.storage.base import (
    CHECK_BYTES,
    CHECK_PREFIX,
    CHUNK_BYTES,
    IDENTITY_KEY,
    BlobInfo,
    BlobMissing,
    Listed,
    StorageCheckFailed,
    checked_key,
)
from agentpost.storage.cache import CACHE_BYTES_DEFAULT, FileCache
from agentpost.storage.s3_bucket import S3Location, answering

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, S3Config

# Larger blobs are sent in parts of this size, so that neither side holds a whole one.
_PART_BYTES = 8 * 1_024 * 1_024
_PARTS_AT_ONCE = 2
_LISTED_AT_ONCE = 1_000
_NO_BLOBS = (CHECK_PREFIX, "incoming/")


class S3Storage:
    """`Storage` in a bucket; an upload becomes visible as a whole. See the port for the contract.
    Parts of an upload that a crash cut off stay hidden until `S3Incoming.tidy` removes them."""

    def __init__(self, store: S3Store, cache: FileCache, bucket: str) -> None:
        self._store = store
        self._cache = cache
        self._answering = partial(answering, bucket)

    @classmethod
    def from_url(
        cls, url: str, cache_folder: Path, *, cache_bytes_max: int = CACHE_BYTES_DEFAULT
    ) -> S3Storage:
        """Open ``s3://bucket/prefix?endpoint=http://host:9000&region=eu-west-1``.

        Credentials come from the usual ``AWS_…`` environment variables, or the machine's role.
        ``virtual_hosted_style=true`` puts the bucket's name into the host. ``cache_folder`` holds
        what `local` downloaded. Raises `ValueError` for another kind of URL or unknown options.
        """
        location = S3Location.parse(url)
        return cls(_open_store(location), FileCache(cache_folder, cache_bytes_max), location.bucket)

    async def put(self, key: str, data: bytes | Path) -> BlobInfo:
        checked_key(key)
        if isinstance(data, bytes):
            digest = await asyncio.to_thread(hashlib.sha256, data)
            async with self._answering(len(data)):
                await obstore.put_async(self._store, key, data, **_parts(len(data)))
            return BlobInfo(len(data), digest.hexdigest())
        source = _Source(data)
        size = (await asyncio.to_thread(data.stat)).st_size
        async with self._answering(size):
            await obstore.put_async(self._store, key, source.chunks(), **_parts(size))
        return BlobInfo(source.size, source.digest.hexdigest())

    async def open(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        options: dict[str, Any] = {}
        if start > 0 or end is not None:
            # The store refuses ranges that are empty or begin past the end.
            size = await self.size(key)
            stop = size if end is None else min(end, size)
            if start >= stop:
                return
            options = {"range": (start, stop)}
        try:
            async with self._answering():
                response = await obstore.get_async(self._store, checked_key(key), options=options)  # type: ignore[arg-type]
        except FileNotFoundError:
            raise BlobMissing(key) from None
        chunks = aiter(response.stream(min_chunk_size=CHUNK_BYTES))
        while True:
            async with self._answering():
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield bytes(chunk)

    async def size(self, key: str) -> int:
        return (await self._head(key))["size"]

    async def local(self, key: str) -> Path:
        """See `Storage.local`. The store is asked each time, so that a deleted blob is missing here
        even if an old copy is at hand."""
        head = await self._head(key)
        version = f"{head['e_tag']} {head['size']} {head['last_modified']}"
        return await self._cache.path(key, version, lambda: self.open(key))

    async def delete(self, key: str) -> None:
        with suppress(FileNotFoundError):  # S3 itself never says so, some of its kind do
            async with self._answering():
                await obstore.delete_async(self._store, checked_key(key))
        await self._cache.forget(key)

    async def check(self, name: str) -> None:
        """See `Storage.check`: an object of its own is put, got and deleted."""
        key, data = f"{CHECK_PREFIX}{name}", os.urandom(CHECK_BYTES)
        await self.put(key, data)
        contents = await self._whole(key)
        await self.delete(key)
        if contents != data:
            raise StorageCheckFailed("the bucket gives other bytes back than it was given")

    async def identity(self) -> str | None:
        """See `Storage.identity`: an object in the bucket, so that it does not matter by which
        address the bucket is reached."""
        try:
            return (await self._whole(IDENTITY_KEY)).decode("ascii", errors="replace")
        except BlobMissing:
            return None

    async def set_identity(self, name: str) -> None:
        await self.put(IDENTITY_KEY, name.encode("ascii"))

    async def free_bytes(self) -> int | None:
        """See `Storage.free_bytes`: buckets do not say."""
        return None

    def listed_name(self, key: str) -> str:
        """See `Storage.listed_name`: the key itself."""
        return key

    async def pages(self) -> AsyncIterator[list[Listed]]:
        """See `Storage.pages`. An object is stored and asked for to learn the bucket's time."""
        mark = f"{CHECK_PREFIX}listing"
        await self.put(mark, b"")
        now = (await self._head(mark))["last_modified"]
        stream = aiter(obstore.list(self._store, chunk_size=_LISTED_AT_ONCE))
        while True:
            async with self._answering():
                page = await anext(stream, None)
            if page is None:
                return
            yield [
                Listed(meta["path"], (now - meta["last_modified"]).total_seconds())
                for meta in page
                if meta["path"] != IDENTITY_KEY and not meta["path"].startswith(_NO_BLOBS)
            ]

    async def _whole(self, key: str) -> bytes:
        return b"".join([chunk async for chunk in self.open(key)])

    async def _head(self, key: str) -> ObjectMeta:
        try:
            async with self._answering():
                return await obstore.head_async(self._store, checked_key(key))
        except FileNotFoundError:
            raise BlobMissing(key) from None

    async def aclose(self) -> None:
        """Nothing to do: connections close with their last use."""


class _Source:
    """A local file, read piece by piece in threads and digested on its way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.digest = hashlib.sha256()
        self.size = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        with await asyncio.to_thread(self._path.open, "rb") as source:
            while chunk := await asyncio.to_thread(source.read, 4 * CHUNK_BYTES):
                await asyncio.to_thread(self.digest.update, chunk)
                self.size += len(chunk)
                yield chunk


def _parts(size: int) -> dict[str, Any]:
    return {
        "use_multipart": size > _PART_BYTES,
        "chunk_size": _PART_BYTES,
        "max_concurrency": _PARTS_AT_ONCE,
    }


def _open_store(location: S3Location) -> S3Store:
    config: S3Config = {}
    if location.region:
        config["region"] = location.region
    if location.endpoint:
        config["endpoint"] = location.endpoint
    if location.virtual_hosted_style is not None:
        config["virtual_hosted_style_request"] = location.virtual_hosted_style
    client: ClientConfig = {
        "connect_timeout": timedelta(seconds=5),
        # For a whole transfer; the library's 30 s would cut large blobs on a slow line.
        "timeout": timedelta(hours=1),
        "allow_http": location.endpoint.startswith("http://"),
    }
    return S3Store(
        location.bucket, prefix=location.prefix or None, config=config, client_options=client
    )
