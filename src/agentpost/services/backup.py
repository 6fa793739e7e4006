"""Backing up an installation, database and blobs, while its servers run (docs/recipes/backups.md).

The database is copied first, as of one moment, then the blobs that the copy names. No blob is
deleted meanwhile (`services.blob_hold`). A blob never changes, so one that the place has already is
not copied again: neither by the next backup, nor after a backup that was cut off.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from agentpost import __version__
from agentpost.db import backup, meta, migrate, postgres_backup
from agentpost.db import blobs as rows
from agentpost.db.blobs import Named
from agentpost.db.session import Tx
from agentpost.domain.times import iso
from agentpost.services import backup_keys, blob_hold, secrets, storage_identity
from agentpost.services import backup_manifest as manifests
from agentpost.services.backup_manifest import Backup, Blob, BlobList
from agentpost.services.blob_audit import DAMAGED, MISSING
from agentpost.services.context import AppContext
from agentpost.settings import Settings
from agentpost.storage.backup_place import BackupPlace
from agentpost.storage.base import BlobMissing

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"
_AT_ONCE = 8
_IN_MEMORY_BYTES = 1_024 * 1_024


@dataclass(slots=True)
class Made:
    """A backup just made: how many blobs were copied, of how many bytes; the others were there."""

    backup: Backup
    copied: int
    copied_bytes: int
    removed: int


@dataclass(slots=True)
class _Copying:
    """Where the copying of blobs stands. ``known``: what the place's earlier backups list."""

    known: BlobList
    listed: BlobList
    reread: bool
    copied: int = 0
    copied_bytes: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)


def backup_database(settings: Settings, path: Path) -> int:
    """Copy the database alone, without its secret key, to ``path`` beside a running server; its
    size in bytes.

    Raises `ValueError` when there is nothing to copy, or no place to copy it to.
    """
    if settings.database_url.get_secret_value():
        raise ValueError(
            "this installation keeps its records in PostgreSQL: back up into a folder, or use"
            " pg_dump for the database alone"
        )
    return backup.copy_sqlite(settings.data_path / "agentpost.db", path, without=secrets.NAME)


async def make(ctx: AppContext, place: BackupPlace, *, keep: int, reread: bool = False) -> Made:
    """Make a backup, and remove those that are older than the newest ``keep``. ``reread``: read
    the blobs that the place has already, and copy those that are damaged again.

    Blobs that are missing or damaged do not end it: they are listed in `Backup.problems`. Raises
    `ValueError` and `OSError` when the database cannot be copied.
    """
    before = await manifests.read(place)
    made_at = iso(ctx.clock.now())
    backup_id = f"{made_at[:19].replace(':', '').replace('-', '')}Z-{token_hex(3)}"
    with closing(BlobList()) as known, closing(BlobList()) as listed, closing(_Wanted()) as wanted:
        for earlier in before:
            await known.load(place, earlier.list)
        async with blob_hold.held(ctx):
            file, kind, facts = await _copy_database(ctx, place.scratch, wanted)
            facts |= await asyncio.to_thread(_facts, ctx, file, kind)
            copying = _Copying(known, listed, reread)
            await _copy_blobs(ctx, place, wanted, copying)
        facts |= {"id": backup_id, "made_at": made_at, "kind": kind}
        made = await _finish(place, before, file, copying, facts)
    removed = await _remove_old(place, [*before, made], keep)
    return Made(made, copying.copied, copying.copied_bytes, removed)


async def verify(place: BackupPlace, chosen: Backup) -> list[tuple[str, str]]:
    """Read a backup as a whole; (what, problem) of all that is missing or damaged in it."""
    found: list[tuple[str, str]] = []
    copy = place.scratch / "database"
    try:
        await manifests.fetch(place, chosen.database, copy)
        if chosen.kind == SQLITE:
            await asyncio.to_thread(backup.check_copy, copy)
    except ValueError as error:
        found.append((chosen.database.name, str(error)))
    copy.unlink(missing_ok=True)
    with closing(BlobList()) as listed:
        try:
            await listed.load(place, chosen.list)
        except ValueError as error:
            return [*found, (chosen.list.name, str(error))]
        for page in listed.pages():
            for n in range(0, len(page), _AT_ONCE):
                part = page[n : n + _AT_ONCE]
                wrong = await asyncio.gather(*(_problem_of(place, blob) for blob in part))
                found += [(b.key, text) for b, text in zip(part, wrong, strict=True) if text]
    return found


def choose(backups: list[Backup], backup_id: str | None) -> Backup:
    """The one with that id, or the newest; raises `ValueError` when there is none."""
    if not backups:
        raise ValueError("there is no finished backup here")
    if backup_id is None:
        return backups[-1]
    for each in backups:
        if each.id == backup_id:
            return each
    raise ValueError(f"there is no backup {backup_id} here; there are: {ids_of(backups)}")


def ids_of(backups: list[Backup]) -> str:
    """Their ids, for a line of text."""
    return ", ".join(each.id for each in backups)


# --- the database ---------------------------------------------------------------------------------
class _Wanted:
    """The blobs that the copied database names, in a temporary database."""

    def __init__(self) -> None:
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode=OFF")
        self._file.execute(
            "CREATE TABLE wanted (blob TEXT PRIMARY KEY, owner TEXT, path TEXT, n INT, size INT,"
            " revision TEXT, of_message INT) WITHOUT ROWID"
        )

    def close(self) -> None:
        self._file.close()

    def gather(self, tx: Tx) -> None:
        """Take in every blob that rows of one snapshot name."""
        self._all(lambda after: rows.files_page(tx, after, manifests.PAGE), lambda last: last.blob)
        self._all(
            lambda after: rows.ready_uploads_page(tx, after, manifests.PAGE),
            lambda last: last.owner,
        )
        cursor = ("", 0)
        while page := rows.attachments_page(tx, cursor, manifests.PAGE):
            self._add(page)
            cursor = (page[-1].owner, page[-1].n)

    def page(self, after: str) -> list[Named]:
        sql = "SELECT * FROM wanted WHERE blob > ? ORDER BY blob LIMIT ?"
        return [Named(*row) for row in self._file.execute(sql, (after, manifests.PAGE))]

    def _all(self, read: Callable[[str], list[Named]], cursor: Callable[[Named], str]) -> None:
        after = ""
        while page := read(after):
            self._add(page)
            after = cursor(page[-1])

    def _add(self, page: list[Named]) -> None:
        named = [(n.blob, n.owner, n.path, n.n, n.size, n.revision, n.of_message) for n in page]
        self._file.executemany("INSERT OR IGNORE INTO wanted VALUES (?, ?, ?, ?, ?, ?, ?)", named)


async def _copy_database(
    ctx: AppContext, scratch: Path, wanted: _Wanted
) -> tuple[Path, str, dict[str, Any]]:
    """A copy of one moment in ``scratch``, with its kind and what the manifest is to have of it;
    ``wanted`` gets the blobs it names. The copy has no secret key."""
    url = ctx.settings.postgres_url
    if not url:
        target = scratch / "database.db"
        source = ctx.settings.data_path / "agentpost.db"
        await asyncio.to_thread(backup.copy_sqlite, source, target, without=secrets.NAME)
        await asyncio.to_thread(backup.check_copy, target)
        await asyncio.to_thread(backup.read_copy, target, wanted.gather)
        return target, SQLITE, {}
    postgres_backup.require(postgres_backup.DUMP)
    target = scratch / "database.dump"

    def fn(tx: Tx) -> dict[str, str]:
        target.unlink(missing_ok=True)
        wanted.gather(tx)
        postgres_backup.dump(url, target, postgres_backup.export_snapshot(tx), without_rows="meta")
        return meta.starting(tx, "")

    kept = await ctx.db.read(fn)
    kept.pop(secrets.NAME, None)
    return target, POSTGRESQL, {"meta": kept}


def _facts(ctx: AppContext, file: Path, kind: str) -> dict[str, Any]:
    def fn(tx: Tx) -> dict[str, Any]:
        return {
            "schema": str(migrate.version(tx)),
            "storage_id": meta.get(tx, storage_identity.NAME) or "",
            "secret_keys": backup_keys.needed(tx, ctx.cipher.current),
        }

    return backup.read_copy(file, fn) if kind == SQLITE else ctx.db.read_now(fn)


# --- the blobs ------------------------------------------------------------------------------------
async def _copy_blobs(
    ctx: AppContext, place: BackupPlace, wanted: _Wanted, copying: _Copying
) -> None:
    after = ""
    while page := wanted.page(after):
        for n in range(0, len(page), _AT_ONCE):
            part = page[n : n + _AT_ONCE]
            await asyncio.gather(*(_copy_blob(ctx, place, named, copying) for named in part))
        after = page[-1].blob


async def _copy_blob(ctx: AppContext, place: BackupPlace, named: Named, copying: _Copying) -> None:
    there = await _there(place, named, copying)
    if there is None:
        there = await _copied(ctx, place, named)
        if there is None:
            copying.problems.append(_problem(named, MISSING))
            return
        copying.copied += 1
        copying.copied_bytes += there.bytes
    if there.bytes != named.size or not named.fits(there.sha256):
        copying.problems.append(_problem(named, DAMAGED))
    copying.listed.add([there])


async def _there(place: BackupPlace, named: Named, copying: _Copying) -> Blob | None:
    """The blob, if the place has it already; one that no backup lists is read and compared."""
    try:
        size = await place.blobs.size(named.blob)
    except BlobMissing:
        return None
    listed = copying.known.find(named.blob)
    if listed is not None and listed.bytes == size and not copying.reread:
        return listed
    info = await manifests.digest_of(place.blobs.open(named.blob))
    there = Blob(named.blob, info.size, info.sha256)
    if listed is not None:
        return there if there == listed else None
    return there if info.size == named.size and named.fits(info.sha256) else None


async def _copied(ctx: AppContext, place: BackupPlace, named: Named) -> Blob | None:
    """Copy it; None when it is missing."""
    path = place.scratch / f"blob-{token_hex(8)}"
    try:
        if named.size <= _IN_MEMORY_BYTES:
            data = b"".join([chunk async for chunk in ctx.storage.open(named.blob)])
            info = await place.blobs.put(named.blob, data)
        else:
            await manifests.download(ctx.storage.open(named.blob), path)
            info = await place.blobs.put(named.blob, path)
    except BlobMissing:
        return None
    finally:
        path.unlink(missing_ok=True)
    return Blob(named.blob, info.size, info.sha256)


def _problem(named: Named, text: str) -> dict[str, str]:
    return {"id": named.what, "blob": named.blob, "problem": text}


async def _problem_of(place: BackupPlace, blob: Blob) -> str:
    try:
        info = await manifests.digest_of(place.blobs.open(blob.key))
    except BlobMissing:
        return "it is missing from the backup"
    same = (info.size, info.sha256) == (blob.bytes, blob.sha256)
    return "" if same else "it is not as it was written to the backup"


# --- the manifest ---------------------------------------------------------------------------------
async def _finish(
    place: BackupPlace,
    before: list[Backup],
    file: Path,
    copying: _Copying,
    facts: dict[str, Any],
) -> Backup:
    listed = place.scratch / "blobs.jsonl"
    await asyncio.to_thread(copying.listed.save, listed)
    documents = []
    for path in (file, listed):
        name = f"{facts['id']}/{path.name}"
        documents.append(await asyncio.to_thread(manifests.document_of, name, path))
        await place.put(name, path)
    count, size = copying.listed.totals()
    made = Backup(
        version=__version__,
        database=documents[0],
        list=documents[1],
        blobs=count,
        blob_bytes=size,
        problems=copying.problems,
        **facts,
    )
    await manifests.write(place, [*before, made])
    return made


async def _remove_old(place: BackupPlace, backups: list[Backup], keep: int) -> int:
    """Remove all but the newest ``keep``, with the blobs that only they list; how many backups."""
    old, kept = backups[:-keep], backups[-keep:]
    if not old:
        return 0
    with closing(BlobList()) as still, closing(BlobList()) as listed:
        for each in kept:
            await still.load(place, each.list)
        for each in old:
            await listed.load(place, each.list)
        await manifests.write(place, kept)
        for page in listed.pages():
            for blob in page:
                if still.find(blob.key) is None:
                    await place.blobs.delete(blob.key)
    for each in old:
        await place.delete(each.database.name)
        await place.delete(each.list.name)
    return len(old)
