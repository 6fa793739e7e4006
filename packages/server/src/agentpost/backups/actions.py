"""Backing up an installation into a folder, and checking it (docs/recipes/backups.md).

The folder gets a copy of the database, as of one moment, and the blobs that the copy names. The
manifest is replaced last, in one step: until then the folder holds the backup that was there
before. It has a line for each `Member`, and the `Backup` as its last one.
"""

import asyncio
import fcntl
import hashlib
import json
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agentpost.backups import rows as backup_rows
from agentpost.blobs import hold, identity, rows as blob_rows
from agentpost.blobs.audit import DAMAGED, MISSING
from agentpost.blobs.rows import Cursor, Named
from agentpost.context import AppContext
from agentpost.db import meta, migrate, postgres_backup
from agentpost.db.session import Tx
from agentpost.domain.times import iso
from agentpost.secrets import actions as secrets
from agentpost.storage.base import BlobMissing, checked_key, fanned_out
from agentpost.storage.private_folder import make_private, sync_folder
from agentpost.version import __version__

MANIFEST: Final = "manifest.jsonl"
POSTGRESQL: Final = "postgresql"
_NAMES: Final = "names.unfinished"
_AT_ONCE = 8
_PAGE = 500


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the folder: its path there, size in bytes, SHA-256 in hex, and the key of the blob
    that it holds, "" for the database."""

    path: str
    bytes: int
    sha256: str
    key: str


@dataclass(frozen=True, slots=True)
class Backup:
    """``schema``: the version of the schema; ``kind``: ``sqlite`` or ``postgresql``;
    ``secret_keys``: the ids of the keys that it needs, none of which is in the backup; ``meta``:
    the rows of that table, which a dump of PostgreSQL leaves out; ``blobs``, ``bytes``: how many
    there are, and of how many bytes with the database."""

    made_at: str
    version: str
    schema: int
    kind: str
    storage_id: str
    secret_keys: list[str]
    meta: dict[str, str]
    blobs: int
    bytes: int


@dataclass(slots=True)
class Copying:
    """``copied`` blobs; the others were there. ``problems``: (what has the blob, what is wrong) of
    those that the server has lost or that are damaged."""

    copied: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)


async def make(ctx: AppContext, folder: Path) -> tuple[Backup, Copying]:
    """Make a backup in a folder, in the place of the one that is there. No blob is deleted on any
    node meanwhile. Raises `ValueError` and `OSError` when the database cannot be copied, or the
    folder not be used."""
    await asyncio.to_thread(make_private, folder)
    lock = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock no folders
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another backup is being made in {folder}") from None
        async with hold.hold(ctx):
            return await _make(ctx, folder)
    finally:
        os.close(lock)


async def _make(ctx: AppContext, folder: Path) -> tuple[Backup, Copying]:
    made_at = iso(ctx.clock.now())
    stem = f"database-{made_at[:19].replace(':', '')}-{os.urandom(2).hex()}"
    database = folder / f"{stem}.{'dump' if ctx.settings.postgres_url else 'db'}"
    facts = await _copy_database(ctx, database, folder / _NAMES)
    copying, paths, size = Copying(), {database.name}, 0
    unfinished = folder / f"{MANIFEST}.unfinished"
    with unfinished.open("w", encoding="utf-8") as out, (folder / _NAMES).open() as names:
        unfinished.chmod(0o600)
        members: list[Member | None] = [await asyncio.to_thread(_member, folder, database, "")]
        while members:
            for member in filter(None, members):
                paths.add(member.path)
                size += member.bytes
                out.write(json.dumps(asdict(member)) + "\n")
            some = [Named(*json.loads(line)) for line in islice(names, _AT_ONCE)]
            members = await asyncio.gather(*(_copy_blob(ctx, folder, n, copying) for n in some))
        manifest = Backup(made_at, __version__, blobs=len(paths) - 1, bytes=size, **facts)
        out.write(json.dumps(asdict(manifest)) + "\n")
        out.flush()
        os.fsync(out.fileno())
    await asyncio.to_thread(_commit, folder, unfinished, paths)
    return manifest, copying


def read(folder: Path) -> Backup:
    """What the manifest of a folder says; raises `ValueError` when there is none that this version
    can read."""
    try:
        with (folder / MANIFEST).open(encoding="utf-8") as lines:
            return Backup(**json.loads(deque(lines, maxlen=1).pop()))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"there is no finished backup in {folder}") from None
    except (IndexError, ValueError, TypeError):
        raise ValueError(f"this version cannot read the {MANIFEST} in {folder}") from None


def members(folder: Path) -> Iterator[Member]:
    """The database, then the blobs of a backup; raises `ValueError` for a damaged manifest."""
    with (folder / MANIFEST).open(encoding="utf-8") as lines:
        for line in lines:
            if "key" in (shape := json.loads(line)):
                checked_key(shape["path"])  # a path in the folder, whoever wrote the manifest
                yield Member(**shape)


def verify(folder: Path) -> list[tuple[Member, str]]:
    """Read the whole backup and compare it with its checksums; what is missing or damaged in it.
    Raises `ValueError` when there is none that this version can read."""
    read(folder)
    problems = []
    for member in members(folder):
        try:
            if _member(folder, folder / member.path, member.key) != member:
                problems.append((member, "it is not as it was written to the backup"))
        except FileNotFoundError:
            problems.append((member, "it is missing from the backup"))
    return problems


# --- parts ----------------------------------------------------------------------------------------
async def _copy_database(ctx: AppContext, path: Path, names: Path) -> dict[str, Any]:
    """A copy of one moment without the secret key; what the manifest is to say about it. The blobs
    that it names are written to ``names``."""
    url, current = ctx.settings.postgres_url, ctx.cipher.current

    def facts(tx: Tx) -> dict[str, Any]:
        with names.open("w") as out:
            for entry in _named_blobs(tx):
                out.write(json.dumps(astuple(entry)) + "\n")
        return {
            "schema": migrate.version(tx),
            "kind": POSTGRESQL if url else "sqlite",
            "storage_id": meta.get(tx, identity.NAME) or "",
            "secret_keys": secrets.required_key_ids(tx, current),
            "meta": {},
        }

    if not url:
        source = ctx.settings.data_path / "agentpost.db"
        await asyncio.to_thread(backup_rows.copy_sqlite, source, path, without=secrets.NAME)
        await asyncio.to_thread(backup_rows.check_copy, path)
        return await asyncio.to_thread(backup_rows.read_copy, path, facts)
    postgres_backup.require(postgres_backup.DUMP)

    def dump(tx: Tx) -> dict[str, Any]:
        postgres_backup.dump(tx, url, path)
        values = meta.starting(tx, "")
        values.pop(secrets.NAME, None)
        return {**facts(tx), "meta": values}

    return await ctx.db.read(dump)


def _named_blobs(tx: Tx) -> Iterator[Named]:
    """Every blob that rows of one snapshot name."""
    cursor: Cursor | None = blob_rows.START
    while cursor is not None:
        page, cursor = blob_rows.page(tx, cursor, _PAGE)
        yield from page


async def _copy_blob(
    ctx: AppContext, folder: Path, entry: Named, copying: Copying
) -> Member | None:
    """Have the blob in the folder; None when the server has lost it. One that is there is read, so
    that damage which came to it since it was copied is repaired."""
    path = folder / "blobs" / fanned_out(entry.blob)
    with suppress(FileNotFoundError):
        member = await asyncio.to_thread(_member, folder, path, entry.blob)
        if member.bytes == entry.size and entry.fits(member.sha256):
            return member
    try:
        await _write(ctx.storage.open(entry.blob), path)
    except BlobMissing:
        copying.problems.append((entry.what, MISSING))
        return None
    member = await asyncio.to_thread(_member, folder, path, entry.blob)
    copying.copied += 1
    if member.bytes != entry.size or not entry.fits(member.sha256):
        copying.problems.append((entry.what, DAMAGED))
    return member


async def _write(chunks: AsyncIterator[bytes], path: Path) -> None:
    """Write a file that is whole and on the disk, or not there."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with unfinished.open("wb") as out:
        unfinished.chmod(0o600)
        async for chunk in chunks:
            await asyncio.to_thread(out.write, chunk)
        out.flush()
        await asyncio.to_thread(os.fsync, out.fileno())
    unfinished.replace(path)


def _member(folder: Path, path: Path, key: str) -> Member:
    with path.open("rb") as source:
        sha256 = hashlib.file_digest(source, "sha256").hexdigest()
    return Member(path.relative_to(folder).as_posix(), path.stat().st_size, sha256, key)


def _commit(folder: Path, manifest: Path, paths: set[str]) -> None:
    """Put the manifest in its place, and remove what it does not name."""
    for each in (path for path in folder.rglob("*") if path.is_dir()):
        sync_folder(each)
    manifest.replace(folder / MANIFEST)
    sync_folder(folder)
    for path in (*folder.glob("database-*"), *folder.glob("blobs/*/*/*"), folder / _NAMES):
        if path.relative_to(folder).as_posix() not in paths:
            path.unlink()
