"""The contract of `agentpost.storage.base`, on every adapter."""

import asyncio
import hashlib
import os
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from agentpost.storage.base import BlobMissing, Storage
from agentpost.storage.cache import FileCache
from agentpost.storage.local import LocalIncoming, LocalStorage
from agentpost.storage.post_policy import PolicySigner
from agentpost.storage.s3 import S3Storage

MIB = 1_024 * 1_024


async def read(storage: Storage, key: str, start: int = 0, end: int | None = None) -> bytes:
    return b"".join([chunk async for chunk in storage.open(key, start, end)])


@pytest.mark.parametrize("data", [b"", b"x", b"hello" * 1_000], ids=["empty", "one", "some"])
async def test_bytes_come_back(storage: Storage, data: bytes) -> None:
    info = await storage.put("works/wrk_1/a.txt", data)
    assert (info.size, info.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert await read(storage, "works/wrk_1/a.txt") == data
    assert await storage.size("works/wrk_1/a.txt") == len(data)
    assert (await storage.local("works/wrk_1/a.txt")).read_bytes() == data


async def test_file_is_copied(storage: Storage, tmp_path: Path) -> None:
    source = tmp_path / "source"
    data = os.urandom(20 * MIB + 7)
    source.write_bytes(data)
    info = await storage.put("big", source)
    assert (info.size, info.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    source.write_bytes(b"changed later")
    chunks = [chunk async for chunk in storage.open("big")]
    assert b"".join(chunks) == data
    assert max(map(len, chunks)) <= 16 * MIB
    assert (await storage.local("big")).read_bytes() == data


@pytest.mark.parametrize("open_storage", ["local"], indirect=True)
async def test_memory_stays_constant(storage: Storage, tmp_path: Path) -> None:
    """Of the local one: the S3 server lives in this process, too."""
    source = tmp_path / "source"
    with source.open("wb") as out:
        out.truncate(64 * MIB)
    tracemalloc.start()
    await storage.put("big", source)
    async with aclosing(_iterator(storage, "big")) as chunks:
        async for _ in chunks:
            pass
    await storage.local("big")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * MIB


def _iterator(storage: Storage, key: str) -> Any:
    return storage.open(key)


RANGES = [(0, 0), (0, 1), (0, 4), (3, 3), (3, 7), (9, 10), (3, None), (0, 99), (8, 99)]
BEYOND = [(10, None), (10, 12), (11, None), (99, 100), (7, 3)]


async def test_ranges(storage: Storage) -> None:
    digits, data = b"0123456789", os.urandom(MIB)
    await storage.put("digits", digits)
    for start, end in (*RANGES, *BEYOND):
        assert await read(storage, "digits", start, end) == digits[start:end], (start, end)
    await storage.put("big", data)
    assert await read(storage, "big", 300_000, 900_001) == data[300_000:900_001]


async def test_what_never_was_and_what_was_deleted_is_missing(storage: Storage) -> None:
    await storage.put("deleted", b"data")
    await storage.local("deleted")
    await storage.delete("deleted")
    for key in ("none", "deleted"):
        attempts: tuple[Awaitable[object], ...] = (
            *(read(storage, key), read(storage, key, 3, 9), read(storage, key, 3, 3)),
            *(storage.size(key), storage.local(key)),
        )
        for attempt in attempts:
            with pytest.raises(BlobMissing):
                await attempt
        await storage.delete(key)


async def test_put_replaces(storage: Storage) -> None:
    """New bytes of the same length, so that nothing goes by the size alone."""
    await storage.put("key", b"old!")
    assert (await storage.local("key")).read_bytes() == b"old!"
    await storage.put("key", b"new!")
    assert await read(storage, "key") == b"new!"
    assert (await storage.local("key")).read_bytes() == b"new!"


async def test_failed_put_leaves_the_old_blob(storage: Storage, tmp_path: Path) -> None:
    await storage.put("key", b"old")
    with pytest.raises(OSError):  # noqa: PT011 - which one differs by system
        await storage.put("key", tmp_path)
    with pytest.raises(FileNotFoundError):
        await storage.put("key", tmp_path / "none")
    assert await read(storage, "key") == b"old"


BAD_KEYS = (
    "",
    "/",
    "/abs",
    "a/",
    "a//b",
    ".",
    "..",
    "../a",
    "a/../b",
    "a/./b",
    "a/..",
    "a\\b",
    "a\0b",
    "a\nb",
    "k" * 1_001,
)
GOOD_KEYS = ("a", "a/b/c.txt", "a b/\u00fc.pdf", "%2e%2e/x", "a+b&c?d#e", "...", "x" * 900)


async def test_bad_keys(storage: Storage) -> None:
    attempts: tuple[Callable[[str], Awaitable[object]], ...] = (
        lambda key: storage.put(key, b""),
        lambda key: read(storage, key),
        storage.size,
        storage.local,
        storage.delete,
    )
    for key, attempt in product(BAD_KEYS, attempts):
        with pytest.raises(ValueError, match="not a blob key"):
            pytest.fail(f"{key!r} was taken: {await attempt(key)!r}")


async def test_good_keys_also_similar_ones_keep_apart(storage: Storage) -> None:
    keys = [*GOOD_KEYS, "A", "a/b", "a/B", "a.txt", "a%2Fb", "a b"]
    for key in keys:
        await storage.put(key, key.encode())
    for key in keys:
        assert await read(storage, key) == key.encode()
        assert (await storage.local(key)).read_bytes() == key.encode()
    await storage.delete("a")
    assert await read(storage, "a/b") == b"a/b"


async def test_local_keeps_the_extension(storage: Storage) -> None:
    await storage.put("wrk_1/table.csv", b"a,b\n")
    assert (await storage.local("wrk_1/table.csv")).suffix == ".csv"


async def test_other_process_sees_it(open_storage: Callable[[], Storage]) -> None:
    await open_storage().put("key", b"data")
    assert await read(open_storage(), "key") == b"data"


async def test_reader_sees_one_whole_blob(storage: Storage) -> None:
    """Readers during a row of puts get one version or another, never a mixture."""
    versions = [bytes([letter]) * 300_000 for letter in b"abcdef"]
    await storage.put("key", versions[0])

    async def write() -> None:
        for version in versions:
            await storage.put("key", version)

    writing = asyncio.create_task(write())
    while not writing.done():
        assert await read(storage, "key") in versions
    await writing
    assert await read(storage, "key") == versions[-1]


async def test_several_event_loops_at_once(storage: Storage) -> None:
    """As the API's and the agents' loop do."""

    async def work(name: str) -> bytes:
        for number in range(5):
            await storage.put(f"{name}/{number}", name.encode())
        await storage.local(f"{name}/0")
        return await read(storage, f"{name}/4")

    in_threads = [asyncio.to_thread(asyncio.run, work(name)) for name in ("left", "right")]
    assert await asyncio.gather(work("here"), *in_threads) == [b"here", b"left", b"right"]


async def test_stopping_early_is_fine(storage: Storage) -> None:
    await storage.put("big", os.urandom(2 * MIB))
    before = _open_descriptors()
    async with aclosing(_iterator(storage, "big")) as chunks:
        async for _ in chunks:
            break
    if isinstance(storage, LocalStorage):
        assert _open_descriptors() == before


def _open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def _files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


# What belongs to one adapter alone.
@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[LocalStorage]:
    storage = LocalStorage(tmp_path / "blobs")
    yield storage
    await storage.aclose()


async def test_local_files_are_private_and_fanned_out(local: LocalStorage) -> None:
    await local.put("key", b"data")
    path = await local.local("key")
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(path.relative_to(local.folder).parts) == 3
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in [path.parent, path.parents[1]])
    assert list((local.folder / "tmp").iterdir()) == []


async def test_local_failure_leaves_no_rest(
    local: LocalStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the bytes are to be made durable."""

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        await local.put("key", b"data")
    assert _files(tmp_path) == []


async def test_local_bytes_are_on_the_disk_before_their_name(
    local: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        kind = "folder" if os.path.isdir(f"/dev/fd/{descriptor}") else "file"  # noqa: PTH112
        done.append(f"sync {kind}")
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> Path:
        done.append("rename")
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    await local.put("key", b"data")
    assert done[0] == "sync file"
    assert done[-2:] == ["rename", "sync folder"]


async def test_local_clears_up_after_a_crash(tmp_path: Path) -> None:
    left = tmp_path / "blobs" / "tmp"
    left.mkdir(parents=True)
    (left / "old").write_bytes(b"torn")
    os.utime(left / "old", (0, 0))
    (left / "busy").write_bytes(b"somebody still writes this")
    storage = LocalStorage(tmp_path / "blobs")
    await LocalIncoming(storage, PolicySigner(b"secret"), "http://here").tidy()
    await storage.aclose()
    assert [path.name for path in left.iterdir()] == ["busy"]


@pytest.mark.parametrize(
    "url", ["http://bucket/", "s3://", "s3:///prefix", "s3://bucket?endpoin=http://x", "bucket"]
)
def test_s3_url_is_checked(url: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - several texts
        S3Storage.from_url(url, tmp_path)


async def _some(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_cache_lets_the_oldest_go_but_never_what_is_in_use(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, bytes_max=250)
    copies = [await cache.path(f"key{n}", "1", lambda: _some(b"x" * 100)) for n in range(4)]
    assert all(path.exists() for path in copies), "all were handed out within the hour"
    for age, path in zip((9_000, 9_500, 8_000), copies, strict=False):
        at = path.stat().st_mtime - age
        os.utime(path, (at, at))
    await cache.path("key4", "1", lambda: _some(b"x" * 100))
    assert [path.exists() for path in copies] == [False, False, False, True]


async def test_cache_downloads_once(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, bytes_max=1_000)
    first = await cache.path("key.csv", "1", lambda: _some(b"one"))
    again = await cache.path("key.csv", "1", lambda: _some(b"never read"))
    newer = await cache.path("key.csv", "2", lambda: _some(b"two"))
    assert first == again != newer
    assert (first.read_bytes(), newer.read_bytes()) == (b"one", b"two")


async def test_cache_broken_download_leaves_nothing(tmp_path: Path) -> None:
    async def breaks() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionResetError

    cache = FileCache(tmp_path, bytes_max=1_000)
    with pytest.raises(ConnectionResetError):
        await cache.path("key", "1", breaks)
    assert _files(tmp_path) == ["lock"]


async def test_cache_forgets_what_nobody_uses(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, bytes_max=1_000)
    path = await cache.path("key", "1", lambda: _some(b"one"))
    await cache.forget("key")
    assert path.exists()
    os.utime(path, (0, 0))
    await cache.forget("key")
    assert not path.exists()
