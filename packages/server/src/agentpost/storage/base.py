"""The blob store: bytes by key. Knows nothing of works, files or accounts.

Contract, the same for every adapter (`tests.conformance.test_storage`):

* A key is a relative slash-separated path made by us (never by a client). One that is empty, too
  long, absolute, or has an empty, ``.`` or ``..`` part or a control character raises `ValueError`.
* ``put`` is atomic: a reader sees the whole old blob, the whole new one or none, also after a crash
  in the middle. When it returns, the bytes survive a power cut.
* A blob is never changed in place; a missing key raises `BlobMissing`.
* Blobs of any size pass in constant memory.
* A store that does not answer makes every method raise, within 30 seconds and the time the bytes
  need.
* All methods may be awaited on any event loop, on several at once, and never block one.
"""

import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

_KEY_BYTES_MAX = 1_000
CHUNK_BYTES = 256 * 1_024

_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")


CHECK_BYTES = 4_096
"""The content of a check: a block, which a full disk does not find room for."""
IDENTITY_KEY = "storage-id"
CHECK_PREFIX = "checks/"
"""Names of stores that keep these beside the blobs; no blob's key begins so."""


class StorageCheckFailed(Exception):
    """A store gave other bytes back than it was given."""


class StorageRefused(OSError):
    """The store answered that it serves us nothing: no such bucket, or not with these credentials.
    The text is one sentence, which says what to correct."""


class BlobMissing(Exception):
    """No blob under that key."""


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """Size in bytes and the SHA-256 of the contents in hex."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A blob as the store lists it: under its `Storage.listed_name`, of so many seconds of age by
    the store's own clock."""

    name: str
    age_seconds: float


class Storage(Protocol):
    """See the module docstring."""

    async def put(self, key: str, data: bytes | Path) -> BlobInfo:
        """Store bytes, or a copy of a local file, under a key."""

    def open(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """Stream the bytes ``start <= i < end`` in chunks; raises `BlobMissing` at the first.

        A range past the end of the blob is cut. A caller that stops early closes the iterator
        (``contextlib.aclosing``) or leaves that to the event loop.
        """

    async def size(self, key: str) -> int:
        """The blob's size in bytes; raises `BlobMissing`."""

    async def local(self, key: str) -> Path:
        """A read-only local path to the blob, with the key's file extension; an adapter that must
        download keeps a bounded cache and never removes what it handed out within the last hour.
        Raises `BlobMissing`."""

    async def delete(self, key: str) -> None:
        """Remove the blob; no error when there is none."""

    async def check(self, name: str) -> None:
        """Store a few bytes, read them and remove them; raises what keeps that from working.
        ``name`` is the caller's own: checks of two callers do not meet. No blob is made by it."""

    async def identity(self) -> str | None:
        """The name this store was given; None when it has none. Raises when it cannot be read."""

    async def set_identity(self, name: str) -> None:
        """Give a store without a name one: 1 to 64 letters, digits or ``_``."""

    async def free_bytes(self) -> int | None:
        """How many bytes more the store can take; None when it does not say."""

    def listed_name(self, key: str) -> str:
        """How `pages` names the blob of a key."""

    def pages(self) -> AsyncIterator[list[Listed]]:
        """All blobs, in pages of bounded size; what is stored meanwhile may be missed. Internal
        files of the store and unfinished uploads are not blobs."""

    async def aclose(self) -> None:
        """Release connections."""


async def open_checked(
    storage: Storage, key: str, start: int = 0, end: int | None = None
) -> AsyncIterator[bytes]:
    """`Storage.open` with its first chunk read already: raises `BlobMissing` before an answer of
    these bytes begins."""
    chunks = storage.open(key, start, end)
    first = await anext(chunks, b"")

    async def whole() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return whole()


def checked_key(key: str) -> str:
    """The key itself, or `ValueError` when it breaks the rule for keys."""
    parts = key.split("/")
    if (
        len(key.encode(errors="replace")) > _KEY_BYTES_MAX
        or _CONTROL.search(key)
        or any(part in ("", ".", "..") for part in parts)
    ):
        raise ValueError(f"not a blob key: {key[:80]!r}")
    return key


def fanned_out(key: str) -> PurePosixPath:
    """Where a file system keeps the blob of a key: two levels of folders, spread evenly.

    The name is a digest, so that no key can escape, be too long, or meet another one on a file
    system that ignores case. The extension stays, because some readers go by it.
    """
    digest = hashlib.sha256(checked_key(key).encode()).hexdigest()
    suffix = PurePosixPath(key).suffix
    name = digest + (suffix if _SUFFIX.fullmatch(suffix) else "")
    return PurePosixPath(digest[:2], digest[2:4], name)
