"""Restoring a backup into an empty data folder or database (docs/recipes/backups.md).

The whole backup is compared with its checksums before anything is written. Until the last step no
server starts on what a restore that was cut off has left, and the restore can be run again.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copyfile
from typing import Final

from agentpost.audit import actions as audit
from agentpost.audit.actions import Actor
from agentpost.backups import actions as backups, rows as backup_rows
from agentpost.backups.actions import POSTGRESQL, Backup
from agentpost.blobs import hold, identity as storage_identity
from agentpost.clock import SystemClock
from agentpost.db import meta, migrate, postgres_backup
from agentpost.db.lock import LOCK_NAME, FolderLock
from agentpost.db.session import Database, DatabaseBusy, Tx
from agentpost.secrets import actions as secrets
from agentpost.secrets.encryption import key_id
from agentpost.settings import Settings
from agentpost.storage.base import Storage
from agentpost.storage.private_folder import make_private, sync_folder

DATABASE: Final = "agentpost.db"
_NO_DATA: Final = frozenset({LOCK_NAME, "cache"})
_Join = Callable[[str, Tx], None]
"""What makes database and storage one installation, by the storage's name."""


@dataclass(frozen=True, slots=True)
class Target:
    """The settings of the installation to be, and what opens its file storage and database."""

    settings: Settings
    storage: Callable[[], Storage]
    postgres: Callable[[], Database]


async def restore(
    target: Target,
    folder: Path,
    by: Actor,
    *,
    allow_missing: bool,
    secret_keys: Sequence[str] = (),
    without_secret_key: bool = False,
) -> list[str]:
    """Restore the backup in a folder into the installation that the settings describe; the keys of
    the blobs that were left out.

    Args:
        by: whom the audit log names.
        allow_missing: leave out blobs that are missing from the backup or damaged there.
        secret_keys: some that the settings may not have.
        without_secret_key: make do without a key that is in neither place.

    Raises `ValueError`, before anything is changed, when there is something already, a server runs
    there, the backup is damaged, or lacks a key. Raises `OSError` when something cannot be written.
    """
    source = backups.read(folder)
    _check_fits(target.settings, source)
    key = _key_to_store(
        target.settings, source.secret_keys, secret_keys, without=without_secret_key
    )
    data = target.settings.data_path
    make_private(data)
    lock = FolderLock(data)
    try:
        lock.acquire()
    except DatabaseBusy as error:
        raise ValueError(str(error)) from None
    try:
        write = _write_postgres if source.kind == POSTGRESQL else _write_sqlite
        return await write(target, folder, source, partial(_join, source, key, by), allow_missing)
    finally:
        lock.release()


# --- checks ---------------------------------------------------------------------------------------
def _check_fits(settings: Settings, source: Backup) -> None:
    if bool(settings.database_url.get_secret_value()) != (source.kind == POSTGRESQL):
        verb = "set" if source.kind == POSTGRESQL else "unset"
        raise ValueError(
            f"this is a backup of a database of the kind {source.kind}:"
            f" {verb} AGENTPOST_DATABASE_URL"
        )
    if source.schema not in migrate.migrations():
        raise ValueError(
            f"this backup is of version {source.version} of agentpost, whose schema this"
            " version cannot use; install that version"
        )


def missing_keys(
    settings: Settings, required: Sequence[str], available: Sequence[str]
) -> list[str]:
    """The ids of the keys that neither the settings have nor are offered."""
    have = _ids_in_settings(settings).union(key_id(key.encode()) for key in available)
    return [each for each in required if each not in have]


def _key_to_store(
    settings: Settings, required: Sequence[str], available: Sequence[str], *, without: bool
) -> str | None:
    """The key that the restored database is to keep, None where the settings have all."""
    if (absent := missing_keys(settings, required, available)) and not without:
        other = " The key that was given is another one." if available else ""
        raise ValueError(
            f"this backup does not hold its secret key {', '.join(absent)}.{other} Give the key"
            " with --secret-key-file (`agentpost db secret-key` prints it where the server runs),"
            " or set AGENTPOST_SECRET_KEY. When it is lost: --without-secret-key; then links and"
            " cursors end, and the secrets of webhook endpoints have to be rotated"
        )
    ids = set(required) - _ids_in_settings(settings)
    keys = [key for key in available if key_id(key.encode()) in ids]
    if len(keys) > 1:
        raise ValueError(
            f"this backup needs {len(keys)} secret keys, and a database keeps one: set"
            f" AGENTPOST_SECRET_KEY to the key {key_id(keys[0].encode())}, the first in the file"
        )
    return keys[0] if keys else None


def _ids_in_settings(settings: Settings) -> set[str]:
    before = settings.secret_keys_before.get_secret_value().split(",")
    keys = [settings.secret_key.get_secret_value(), *(part.strip() for part in before)]
    return {key_id(key.encode()) for key in keys if key and key != secrets.GENERATED}


# --- the steps ------------------------------------------------------------------------------------
async def _write_sqlite(
    target: Target, folder: Path, source: Backup, join: _Join, allow_missing: bool
) -> list[str]:
    data = target.settings.data_path
    mark = data / backup_rows.RESTORE_MARK
    if not mark.exists() and any(path.name not in _NO_DATA for path in data.iterdir()):
        raise ValueError(
            f"{data} is not empty. Name another folder with AGENTPOST_DATA_DIR, or move what is"
            " there away"
        )
    missing = _check_whole(folder, allow_missing)
    mark.touch()
    sync_folder(data)
    name = await _restore_blobs(target, folder, source, missing)
    unfinished = data / f"{DATABASE}.unfinished"
    unfinished.touch(mode=0o600)
    await asyncio.to_thread(copyfile, _database(folder), unfinished)
    await asyncio.to_thread(backup_rows.change_copy, unfinished, partial(join, name))
    unfinished.replace(data / DATABASE)
    sync_folder(data)
    mark.unlink()
    return missing


async def _write_postgres(
    target: Target, folder: Path, source: Backup, join: _Join, allow_missing: bool
) -> list[str]:
    postgres_backup.require(postgres_backup.RESTORE)
    db = target.postgres()
    await asyncio.to_thread(db.open)
    try:
        await db.read(postgres_backup.refuse_tables)
        missing = _check_whole(folder, allow_missing)
        name = await _restore_blobs(target, folder, source, missing)
        url = target.settings.postgres_url
        await asyncio.to_thread(postgres_backup.restore, url, _database(folder))

        def finish(tx: Tx) -> None:
            join(name, tx)
            migrate.mark_version(tx, source.schema)

        await db.write(finish)
    finally:
        await asyncio.to_thread(db.close)
    return missing


def _database(folder: Path) -> Path:
    return folder / next(backups.members(folder)).path


def _check_whole(folder: Path, allow_missing: bool) -> list[str]:
    """The keys of the blobs that the backup lacks."""
    problems = backups.verify(folder)
    for member, problem in problems:
        if not member.key:
            raise ValueError(f"the backup is damaged: {member.path}: {problem}")
    missing = [member.key for member, _ in problems]
    if missing and not allow_missing:
        names = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        raise ValueError(
            f"{len(missing)} files are missing from the backup or damaged there: {names}. Restore"
            " another backup, or leave them out with --allow-missing"
        )
    return missing


async def _restore_blobs(target: Target, folder: Path, source: Backup, missing: list[str]) -> str:
    """Put the blobs into the storage; its name, which is the backup's if it had none."""
    storage = target.storage()
    try:
        identity = await storage.identity()
        if identity not in (None, source.storage_id):
            raise ValueError(
                "the file storage belongs to another installation: name an empty one with"
                " AGENTPOST_STORAGE_URL or AGENTPOST_DATA_DIR"
            )
        left_out = frozenset(missing)
        for member in backups.members(folder):
            if member.key and member.key not in left_out:
                await storage.put(member.key, folder / member.path)
        if identity is None and source.storage_id:
            await storage.set_identity(source.storage_id)
    finally:
        await storage.aclose()
    return source.storage_id


def _join(source: Backup, key: str | None, by: Actor, storage_id: str, tx: Tx) -> None:
    """Make database and storage one installation: each knows the other, and nothing is held."""
    values = {**source.meta, storage_identity.NAME: storage_id}
    if key is not None:
        values[secrets.NAME] = key
    for name in filter(values.get, values):
        meta.put(tx, name, values[name])
    hold.forget_all(tx)
    action = audit.Action("restore", source.made_at, {"version": source.version})
    audit.add(tx, audit.entry(SystemClock().now(), by, action, audit.DONE))
