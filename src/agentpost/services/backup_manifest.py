"""What a place of backups holds: the manifest, and the lists of blobs (docs/recipes/backups.md).

``manifest.json`` names every finished backup, newest last. A backup is a copy of the database and a
list of the blobs that the copy names, one JSON object a line. Each is named with its size in bytes
and its SHA-256. The manifest is written last, so what it names is whole.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from agentpost.storage.backup_place import BackupPlace
from agentpost.storage.base import BlobInfo, BlobMissing

NAME: Final = "manifest.json"
FORMAT: Final = 1
PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Document:
    """A document of the place with its size in bytes and its SHA-256 in hex."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob in a backup's list."""

    key: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup. ``kind``: ``sqlite`` or ``postgresql``; ``schema``: the revision of the
    database's schema; ``problems``: blobs that were missing or damaged when it was made.

    ``secret_keys``: the ids of the keys it needs and does not hold (`backup_keys`); none for one
    that an earlier version made, which holds its key. ``meta``: rows of that table that a dump of
    PostgreSQL leaves out."""

    id: str
    made_at: str
    version: str
    schema: str
    kind: str
    storage_id: str
    database: Document
    list: Document
    blobs: int
    blob_bytes: int
    problems: Sequence[dict[str, str]] = field(default_factory=tuple)
    secret_keys: Sequence[str] = field(default_factory=tuple)
    meta: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For the manifest, and for printing."""
        return asdict(self)

    @classmethod
    def of(cls, shape: dict[str, Any]) -> Backup:
        """Of a manifest's entry; raises `KeyError` or `TypeError`."""
        database, listed = Document(**shape["database"]), Document(**shape["list"])
        return cls(**{**shape, "database": database, "list": listed})


async def read(place: BackupPlace) -> list[Backup]:
    """The finished backups of a place, oldest first; raises `ValueError` for a manifest that this
    version cannot read."""
    try:
        text = b"".join([chunk async for chunk in place.open(NAME)])
    except BlobMissing:
        return []
    try:
        shape = json.loads(text)
        if shape["format"] != FORMAT:
            raise ValueError(f"it has the format {shape['format']}")
        return [Backup.of(each) for each in shape["backups"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"this version cannot read the backup's {NAME}: {error}") from None


async def write(place: BackupPlace, backups: Sequence[Backup]) -> None:
    """Write the manifest anew."""
    shape = {"format": FORMAT, "backups": [each.as_dict() for each in backups]}
    path = place.scratch / NAME
    path.write_text(json.dumps(shape, indent=2) + "\n", "utf-8")
    await place.put(NAME, path)


async def fetch(place: BackupPlace, document: Document, target: Path) -> None:
    """Copy a document to a file; raises `ValueError` when it is missing or damaged."""
    try:
        info = await download(place.open(document.name), target)
    except BlobMissing:
        raise ValueError(f"the backup is damaged: {document.name} is missing") from None
    if (info.size, info.sha256) != (document.bytes, document.sha256):
        raise ValueError(f"the backup is damaged: {document.name} is not as it was written")


async def download(chunks: AsyncIterator[bytes], target: Path) -> BlobInfo:
    """Write chunks to a file that only its owner may read."""
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as out:
        target.chmod(0o600)
        async with aclosing(chunks) as closing:  # type: ignore[type-var]
            async for chunk in closing:
                await asyncio.to_thread(out.write, chunk)
                digest.update(chunk)
                size += len(chunk)
    return BlobInfo(size, digest.hexdigest())


async def digest_of(chunks: AsyncIterator[bytes]) -> BlobInfo:
    """Size and SHA-256 of what is streamed; raises what the stream raises."""
    digest, size = hashlib.sha256(), 0
    async with aclosing(chunks) as closing:  # type: ignore[type-var]
        async for chunk in closing:
            digest.update(chunk)
            size += len(chunk)
    return BlobInfo(size, digest.hexdigest())


def document_of(name: str, path: Path) -> Document:
    """How a file of this machine is named in the manifest."""
    with path.open("rb") as source:
        sha256 = hashlib.file_digest(source, "sha256").hexdigest()
    return Document(name, path.stat().st_size, sha256)


class BlobList:
    """The blobs of one backup or of several, in a temporary database that grows out of memory."""

    def __init__(self) -> None:
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode=OFF")
        self._file.execute(
            "CREATE TABLE blobs (key TEXT PRIMARY KEY, bytes INT, sha256 TEXT) WITHOUT ROWID"
        )

    def close(self) -> None:
        """Forget it."""
        self._file.close()

    def add(self, blobs: Sequence[Blob]) -> None:
        """Take blobs in; one whose key is known already stays as it is."""
        rows = [(blob.key, blob.bytes, blob.sha256) for blob in blobs]
        self._file.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)", rows)

    def find(self, key: str) -> Blob | None:
        """The blob with that key."""
        row = self._file.execute("SELECT * FROM blobs WHERE key = ?", (key,)).fetchone()
        return Blob(*row) if row else None

    def totals(self) -> tuple[int, int]:
        """How many there are, and of how many bytes."""
        row = self._file.execute("SELECT COUNT(*), COALESCE(SUM(bytes), 0) FROM blobs").fetchone()
        return int(row[0]), int(row[1])

    def pages(self) -> Iterator[list[Blob]]:
        """All of them by their keys, in pages."""
        after = ""
        sql = "SELECT * FROM blobs WHERE key > ? ORDER BY key LIMIT ?"
        while page := [Blob(*row) for row in self._file.execute(sql, (after, PAGE))]:
            yield page
            after = page[-1].key

    async def load(self, place: BackupPlace, document: Document) -> None:
        """Take in the list of a backup; raises `ValueError` when it is missing or damaged."""
        path = place.scratch / "list"
        await fetch(place, document, path)
        with path.open(encoding="utf-8") as lines:
            page: list[Blob] = []
            for line in lines:
                page.append(Blob(**json.loads(line)))
                if len(page) == PAGE:
                    self.add(page)
                    page = []
            self.add(page)
        path.unlink()

    def save(self, path: Path) -> None:
        """Write the list to a file, one JSON object a line."""
        with path.open("w", encoding="utf-8") as out:
            for page in self.pages():
                out.writelines(json.dumps(asdict(blob)) + "\n" for blob in page)
