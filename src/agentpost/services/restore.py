"""Restoring a backup (docs/recipes/backups.md).

Everything is fetched and checked in the folder ``restoring`` of the data folder before anything
else there changes; the database is put in its place last. What a restore that was cut off has
fetched stays there for the next one. Until that has ended, no server starts on the folder.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from agentpost.clock import SystemClock
from agentpost.db import backup, meta, migrate, postgres_backup
from agentpost.db.lock import FolderLock
from agentpost.db.session import Database, DatabaseBusy, Tx
from agentpost.domain.times import seconds
from agentpost.services import backup_keys, blob_hold, operator_log, storage_identity
from agentpost.services import backup_manifest as manifests
from agentpost.services import secrets as server_secrets
from agentpost.services.backup import POSTGRESQL, SQLITE
from agentpost.services.backup_manifest import Backup, Blob, BlobList
from agentpost.services.operator_log import Actor
from agentpost.services.restoring import FOLDER, MARK, MOVING_IN, MOVING_OUT, SCRATCH
from agentpost.settings import Settings
from agentpost.storage.backup_place import BackupPlace
from agentpost.storage.base import BlobMissing, Storage
from agentpost.storage.private_folder import make_private, sync_folder

DATABASE: Final = "agentpost.db"
_LOCK: Final = "agentpost.lock"
_CACHES: Final = frozenset({"cache"})
_REPLACED: Final = "replaced-"
_AT_ONCE = 8
_NODE_ALIVE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Target:
    """Where to: the settings of the installation to be, and its blobs: in a bucket, or, with a
    folder, where ``folder_of`` opens them."""

    settings: Settings
    bucket: Storage | None
    folder_of: Callable[[Path], Storage]
    postgres: Callable[[], Database]


@dataclass(slots=True)
class Restored:
    """``secret_key``: what the database is to keep. ``copied`` blobs; the rest were there.
    ``lost``: those that could not be restored. ``replaced``: where what was in the data folder
    before is now."""

    backup: Backup
    by: Actor
    secret_key: str | None = None
    copied: int = 0
    lost: list[str] = field(default_factory=list)
    replaced: Path | None = None


async def restore(
    target: Target,
    place: BackupPlace,
    chosen: Backup,
    by: Actor,
    *,
    replace: bool,
    allow_missing: bool,
    secret_keys: Sequence[str] = (),
    without_secret_key: bool = False,
) -> Restored:
    """Restore a backup into the installation that the settings describe.

    Raises `ValueError`, before it has changed anything, when there is something already and not
    ``replace``, while a server runs there, and when the backup is damaged; blobs that are missing
    from it are left out with ``allow_missing``; nor when a secret key that it needs is neither in
    the settings nor in ``secret_keys``, unless ``without_secret_key``. Raises `OSError` when
    something cannot be written. ``by``: whom the audit log names.
    """
    _check_fits(target.settings, chosen)
    key = backup_keys.to_store(
        target.settings, chosen.secret_keys, secret_keys, without=without_secret_key
    )
    data = target.settings.data_path
    make_private(data)
    lock = FolderLock(data)
    try:
        lock.acquire()
    except DatabaseBusy as error:
        raise ValueError(str(error)) from None
    try:
        done = Restored(chosen, by, key)
        if chosen.kind == POSTGRESQL:
            await _to_postgres(target, place, done, replace=replace, allow_missing=allow_missing)
        else:
            await _to_folder(target, place, done, replace=replace, allow_missing=allow_missing)
        return done
    finally:
        lock.release()


def _check_fits(settings: Settings, chosen: Backup) -> None:
    wanted = POSTGRESQL if settings.database_url.get_secret_value() else SQLITE
    if wanted != chosen.kind:
        advice = (
            "set AGENTPOST_DATABASE_URL to an empty database"
            if chosen.kind == POSTGRESQL
            else "unset AGENTPOST_DATABASE_URL"
        )
        raise ValueError(f"this is a backup of a database of the kind {chosen.kind}: {advice}")
    if chosen.schema not in map(str, migrate.migrations()):
        raise ValueError(
            f"this backup was made by version {chosen.version} of agentpost, whose schema this"
            " version cannot use; install that version"
        )


# --- SQLite ---------------------------------------------------------------------------------------
async def _to_folder(
    target: Target, place: BackupPlace, done: Restored, *, replace: bool, allow_missing: bool
) -> None:
    data = target.settings.data_path
    staging = data / FOLDER
    begun = _state(staging)
    if begun.get("phase") in (MOVING_OUT, MOVING_IN) and begun["backup"] != done.backup.id:
        raise ValueError(
            f"the restore of {begun['backup']} into {data} was cut off in its last step: finish it"
            f" first, with --backup {begun['backup']}"
        )
    if "phase" not in begun or begun["phase"] == "fetching":
        if _own_files(data) and not replace:
            raise ValueError(
                f"{data} is not empty. Name another folder with AGENTPOST_DATA_DIR, or give"
                " --replace, which keeps what is there in a folder of its own"
            )
        make_private(staging)
        begun = {"backup": done.backup.id, "phase": "fetching"}
        _write_state(staging, begun)
        file = staging / DATABASE
        await manifests.fetch(place, done.backup.database, file)
        await asyncio.to_thread(backup.check_copy, file)
        blobs = target.bucket or target.folder_of(staging / "blobs")
        try:
            await _check_identity(blobs, done.backup, replace=replace)
            await _fetch_blobs(place, blobs, done, allow_missing=allow_missing)
            await _prepare(blobs, done, file)
        finally:
            if target.bucket is None:
                await blobs.aclose()
        begun = {**begun, "phase": MOVING_OUT, "replaced": f"{_REPLACED}{done.backup.id}"}
        begun["replaced"] += f"-{secrets.token_hex(2)}"
        _write_state(staging, begun)
    done.replaced = await asyncio.to_thread(_move, data, staging, begun)


async def _prepare(blobs: Storage, done: Restored, file: Path) -> None:
    name = await _named(blobs, done.backup)
    await asyncio.to_thread(backup.change_copy, file, partial(_join, name, done))


def _join(name: str, done: Restored, tx: Tx) -> None:
    """Make database and blobs one installation: each knows the other, and nothing is held."""
    for kept, value in done.backup.meta.items():
        meta.put(tx, kept, value)
    if done.secret_key is not None:
        meta.put(tx, server_secrets.NAME, done.secret_key)
    blob_hold.forget_all(tx)
    if name:
        meta.put(tx, storage_identity.NAME, name)
    action = operator_log.Action("restore", done.backup.id, {"made_at": done.backup.made_at})
    now = SystemClock().now()
    operator_log.add(tx, operator_log.entry(now, done.by, action, operator_log.DONE))


async def _named(blobs: Storage, chosen: Backup) -> str:
    """The name of the storage, which is the backup's if it had none."""
    found = await blobs.identity()
    if found is None and chosen.storage_id:
        await blobs.set_identity(chosen.storage_id)
    return found or chosen.storage_id


def _move(data: Path, staging: Path, begun: dict[str, str]) -> Path | None:
    """Put what was restored in the place of what there was; every step may be done again."""
    replaced = data / begun["replaced"]
    if begun["phase"] == MOVING_OUT:
        for path in _own_files(data):
            replaced.mkdir(mode=0o700, exist_ok=True)
            path.rename(replaced / path.name)
        begun = {**begun, "phase": MOVING_IN}
        _write_state(staging, begun)
    for path in sorted(staging.iterdir(), key=lambda found: found.name == DATABASE):
        if path.name != MARK:
            path.rename(data / path.name)
    sync_folder(data)
    (staging / MARK).unlink()
    staging.rmdir()
    return replaced if replaced.exists() else None


def _own_files(data: Path) -> list[Path]:
    """What is in a data folder besides this restore and what others have replaced."""
    kept = {FOLDER, SCRATCH, _LOCK, *_CACHES}
    return [
        path
        for path in sorted(data.iterdir())
        if path.name not in kept and not path.name.startswith(_REPLACED)
    ]


def _state(staging: Path) -> dict[str, str]:
    with suppress(FileNotFoundError, ValueError):
        found: dict[str, str] = json.loads((staging / MARK).read_text("utf-8"))
        return found
    return {}


def _write_state(staging: Path, state: dict[str, str]) -> None:
    unfinished = staging / f"{MARK}.new"
    unfinished.write_text(json.dumps(state), "utf-8")
    unfinished.replace(staging / MARK)
    sync_folder(staging)


# --- PostgreSQL -----------------------------------------------------------------------------------
async def _to_postgres(
    target: Target, place: BackupPlace, done: Restored, *, replace: bool, allow_missing: bool
) -> None:
    postgres_backup.require(postgres_backup.RESTORE)
    db = target.postgres()
    await asyncio.to_thread(db.open)
    try:
        if not await db.read(postgres_backup.is_empty):
            if not replace:
                raise ValueError(
                    "the database of AGENTPOST_DATABASE_URL has tables already. Name an empty one,"
                    " or give --replace, which drops them"
                )
            await db.read(_refuse_live_nodes)
    finally:
        await asyncio.to_thread(db.close)
    data = target.settings.data_path
    file = place.scratch / "database"
    await manifests.fetch(place, done.backup.database, file)
    blobs = target.bucket or target.folder_of(data / "blobs")
    try:
        await _check_identity(blobs, done.backup, replace=replace)
        await _fetch_blobs(place, blobs, done, allow_missing=allow_missing)
        name = await _named(blobs, done.backup)
    finally:
        if target.bucket is None:
            await blobs.aclose()
    url = target.settings.postgres_url
    await asyncio.to_thread(postgres_backup.restore, url, file, replace=replace)
    db = target.postgres()
    await asyncio.to_thread(db.open)
    try:
        await db.write(partial(_join, name, done))
    finally:
        await asyncio.to_thread(db.close)


def _refuse_live_nodes(tx: Tx) -> None:
    row = tx.one("SELECT CAST(EXTRACT(EPOCH FROM now()) * 1000000 AS bigint)")
    assert row is not None
    if tx.one("SELECT to_regclass('nodes')") == (None,):
        return
    newest = tx.one("SELECT MAX(beat) FROM nodes")
    if newest and newest[0] is not None and newest[0] > row[0] - seconds(_NODE_ALIVE_SECONDS):
        raise ValueError("servers run on this database: stop all of them, and wait a minute")


# --- blobs ----------------------------------------------------------------------------------------
async def _check_identity(blobs: Storage, chosen: Backup, *, replace: bool) -> None:
    found = await blobs.identity()
    if found is not None and found != chosen.storage_id and not replace:
        raise ValueError(
            "the file storage belongs to another installation. Name an empty one, or give --replace"
        )


async def _fetch_blobs(
    place: BackupPlace, blobs: Storage, done: Restored, *, allow_missing: bool
) -> None:
    with closing(BlobList()) as listed:
        await listed.load(place, done.backup.list)
        for page in listed.pages():
            for n in range(0, len(page), _AT_ONCE):
                part = page[n : n + _AT_ONCE]
                await asyncio.gather(*(_fetch(place, blobs, each, done) for each in part))
    if done.lost and not allow_missing:
        named = ", ".join(done.lost[:5]) + (", …" if len(done.lost) > 5 else "")
        raise ValueError(
            f"{len(done.lost)} files are missing from the backup or damaged there: {named}. Restore"
            " another backup, or leave them out with --allow-missing"
        )


async def _fetch(place: BackupPlace, blobs: Storage, blob: Blob, done: Restored) -> None:
    with suppress(BlobMissing):
        if await blobs.size(blob.key) == blob.bytes:
            return  # written as a whole by a restore that was cut off
    path = place.scratch / f"blob-{secrets.token_hex(8)}"
    try:
        info = await manifests.download(place.blobs.open(blob.key), path)
        if (info.size, info.sha256) != (blob.bytes, blob.sha256):
            done.lost.append(blob.key)
            return
        await blobs.put(blob.key, path)
        done.copied += 1
    except BlobMissing:
        done.lost.append(blob.key)
    finally:
        path.unlink(missing_ok=True)
