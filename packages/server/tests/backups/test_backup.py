"""Backups: whole, repaired by the next one, checked, and restored as they were."""

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from agentpost import bootstrap
from agentpost.audit.actions import Actor
from agentpost.backups import actions as backups, restore, rows as backup_rows
from agentpost.blobs import account_rows, actions as blobs, hold
from agentpost.clock import ManualClock
from agentpost.context import AppContext
from agentpost.db import meta, migrate, postgres_backup
from agentpost.db.session import Tx
from agentpost.operations import doctor
from agentpost.secrets import actions as secrets
from agentpost.storage.base import BlobMissing
from tests.harness.databases import new_account, open_context
from tests.harness.files import put_file
from tests.servers import Postgres

WHO = Actor("ada", "command", "here")
KEY = "secret"
"""Of the contexts that `opened` makes."""
CONTENTS = {"a.txt": b"aaa", "b.txt": b"bb", "c.bin": b"c" * 3_000_000}


@pytest.fixture
async def ctx(tmp_path: Path) -> AsyncIterator[AppContext]:
    folder = tmp_path / "data"
    folder.mkdir()
    async with open_context(folder, ManualClock()) as context:
        account = await new_account(context)
        for name, data in CONTENTS.items():
            await put_file(context, account, name, data)
        yield context


async def restored(ctx: AppContext, folder: Path, to: Path, **options: object) -> list[str]:
    settings = ctx.settings.model_copy(update={"data_dir": str(to)})
    arguments = {"allow_missing": False, "secret_keys": [KEY], **options}
    target = bootstrap.restore_target(settings)
    return await restore.restore(target, folder, WHO, **arguments)  # type: ignore[arg-type]


async def contents(folder: Path, ctx: AppContext) -> dict[str, bytes]:
    """What every file of a data folder holds, and that the doctor finds nothing."""
    settings = ctx.settings.model_copy(update={"data_dir": str(folder)})
    there = await bootstrap.open_context(settings, ctx.clock)
    try:
        assert await doctor.examine(there, full=True) == []
        rows = await there.db.read(lambda tx: tx.all("SELECT path, blob FROM files"))
        return {
            path: b"".join([chunk async for chunk in there.storage.open(blob)])
            for path, blob in rows
        }
    finally:
        await bootstrap.close(there)


async def key_of(ctx: AppContext, path: str) -> str:
    [row] = await ctx.db.read(lambda tx: tx.all("SELECT blob FROM files WHERE path = ?", (path,)))
    return str(row[0])


def copy_of(folder: Path, key: str) -> Path:
    return folder / next(each.path for each in backups.members(folder) if each.key == key)


async def test_what_is_restored_is_what_was_there(ctx: AppContext, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    first, copying = await backups.make(ctx, folder)
    assert (copying.copied, first.blobs, copying.problems) == (3, 3, [])
    copied = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".jsonl"]
    assert first.bytes == sum(path.stat().st_size for path in copied)
    gone = copy_of(folder, await key_of(ctx, "b.txt"))

    def remove(tx: Tx) -> None:
        tx.execute("DELETE FROM files WHERE path = 'b.txt'")
        [row] = tx.all("SELECT id FROM accounts")
        account_rows.recount(tx, row[0])

    await ctx.db.write(remove)
    (folder / "blobs" / "ab" / "cd").mkdir(parents=True, exist_ok=True)
    (folder / "blobs" / "ab" / "cd" / "half.unfinished").touch()  # of one that was killed
    second, copying = await backups.make(ctx, folder)
    assert (copying.copied, second.blobs, gone.exists()) == (0, 2, False)
    assert backups.verify(folder) == []
    listed = {folder / each.path for each in backups.members(folder)} | {folder / "manifest.jsonl"}
    assert {path for path in folder.rglob("*") if path.is_file()} == listed
    target = tmp_path / "restored"
    assert await restored(ctx, folder, target) == []
    expected = {path: data for path, data in CONTENTS.items() if path != "b.txt"}
    assert await contents(target, ctx) == expected
    actions = backup_rows.read_copy(
        target / "agentpost.db",
        lambda tx: tx.all("SELECT who, action, outcome FROM operator_actions"),
    )
    assert actions == [("ada", "restore", "done")]
    assert not await ctx.db.read(lambda tx: hold.is_held(tx, ctx.clock.now()))
    with pytest.raises(ValueError, match="is not empty"):
        await restored(ctx, folder, target)


async def test_a_failure_in_the_middle_leaves_the_backup_before(
    ctx: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backup"
    await backups.make(ctx, folder)
    before = backups.read(folder)
    await put_file(ctx, await new_account(ctx, "other@example.com"), "d.txt", b"dd")
    with monkeypatch.context() as patch:
        patch.setattr(ctx.storage, "open", lambda key: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await backups.make(ctx, folder)
    assert (backups.read(folder), backups.verify(folder)) == (before, [])
    assert (await backups.make(ctx, folder))[1].copied == 1


async def test_what_is_damaged_in_a_backup_is_found_and_copied_again(
    ctx: AppContext, tmp_path: Path
) -> None:
    folder, target = tmp_path / "backup", tmp_path / "restored"
    await backups.make(ctx, folder)
    key = await key_of(ctx, "a.txt")
    copy_of(folder, key).write_bytes(b"axa")
    assert [member.key for member, _ in backups.verify(folder)] == [key]
    with pytest.raises(ValueError, match="1 files are missing from the backup or damaged"):
        await restored(ctx, folder, target)
    assert [path.name for path in target.iterdir()] == ["agentpost.lock"]
    assert await restored(ctx, folder, tmp_path / "without", allow_missing=True) == [key]
    assert (await backups.make(ctx, folder))[1].copied == 1
    database = next(backups.members(folder))
    (folder / database.path).write_bytes(b"no database")
    assert [member for member, _ in backups.verify(folder)] == [database]
    with pytest.raises(ValueError, match=r"the backup is damaged: database-.*\.db"):
        await restored(ctx, folder, target, allow_missing=True)
    await backups.make(ctx, folder)
    await restored(ctx, folder, target)
    assert await contents(target, ctx) == CONTENTS


def test_a_copy_that_fails_leaves_nothing_with_the_key(tmp_path: Path) -> None:
    source, target = tmp_path / "agentpost.db", tmp_path / "copy.db"
    with closing(sqlite3.connect(source)) as database, database:
        database.execute("CREATE TABLE of_another_program (value TEXT)")
    with pytest.raises(OSError, match="could not be copied"):
        backup_rows.copy_sqlite(source, target, without=secrets.NAME)
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with a key, in a folder of its own."""
    path = tmp_path / "data" / "agentpost.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT)")
        connection.execute("INSERT INTO meta VALUES (?, 'the key')", (secrets.NAME,))
    return path


def test_a_copy_that_is_killed_leaves_no_key_in_the_folder(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backup"
    folder.mkdir()
    remove, files = backup_rows._remove, list[Path]()

    def look(path: Path, name: str) -> None:
        files.extend(folder.iterdir())
        remove(path, name)

    for companion in ("", "-journal"):
        earlier = database.with_name(f"{database.name}.database-earlier.db.copy{companion}")
        earlier.touch()
        os.utime(earlier, (0, 0))
    monkeypatch.setattr(backup_rows, "_remove", look)
    backup_rows.copy_sqlite(database, folder / "copy.db", without=secrets.NAME)
    assert files == []
    assert b"the key" not in (folder / "copy.db").read_bytes()
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_a_copy_on_another_disk_is_read_by_no_one_else(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, modes = shutil.copyfile, list[int]()

    def rename(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "another disk")

    def copyfile(source: Path, target: Path, **options: bool) -> Path:
        copy(source, target, **options)
        modes.append(target.stat().st_mode & 0o777)
        return target

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(shutil, "copyfile", copyfile)
    backup_rows.copy_sqlite(database, tmp_path / "copy.db", without=secrets.NAME)
    assert modes == [0o600]


def test_a_copy_that_would_fill_the_disk_of_the_server_is_not_begun(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=database.stat().st_size)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match="twice its size of free space"):
        backup_rows.copy_sqlite(database, tmp_path / "copy.db", without=secrets.NAME)
    assert [path.name for path in database.parent.iterdir()] == [database.name]


async def test_a_manifest_that_is_cut_off_or_leads_out_of_the_folder_is_refused(
    ctx: AppContext, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    await backups.make(ctx, folder)
    manifest = folder / "manifest.jsonl"
    lines = manifest.read_text().splitlines()
    outside = {**json.loads(lines[1]), "path": "../data/agentpost.db"}
    for wrong in (lines[:-1], [], ["{"], [lines[0], json.dumps(outside), *lines[2:]]):
        manifest.write_text("\n".join(wrong))
        with pytest.raises(ValueError, match=r"cannot read|not a blob key"):
            backups.verify(folder)


async def test_lost_bytes_are_reported_and_end_no_backup(ctx: AppContext, tmp_path: Path) -> None:
    await ctx.storage.delete(await key_of(ctx, "a.txt"))
    made, copying = await backups.make(ctx, tmp_path / "backup")
    [(name, problem)] = copying.problems
    assert (name.endswith("/a.txt"), problem) == (True, "its bytes are not in the file storage")
    assert made.blobs == 2


async def test_no_blob_is_deleted_while_a_backup_is_made(ctx: AppContext) -> None:
    key = "files/" + "0" * 32
    await blobs.store(ctx, key, b"x")
    await blobs.discard(ctx, [key])
    async with hold.hold(ctx):
        await blobs.sweep(ctx)
        assert await ctx.storage.size(key) == 1
        later = ctx.clock.now() + (hold.HOLD_SECONDS + 1) * 1_000_000
        assert not await ctx.db.read(lambda tx: hold.is_held(tx, later))
    await blobs.sweep(ctx)
    with pytest.raises(BlobMissing):
        await ctx.storage.size(key)


async def test_postgresql_by_its_own_programs(
    postgres: Postgres,
    fresh_postgres: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", f"{postgres.programs}:{os.environ['PATH']}")
    url, other, third = fresh_postgres(postgres.schema()), fresh_postgres(), fresh_postgres()
    folder, target = tmp_path / "backup", tmp_path / "restored"
    (tmp_path / "data").mkdir()
    async with open_context(tmp_path / "data", ManualClock(), url, database_url=url) as ctx:
        await put_file(ctx, await new_account(ctx), "a.txt", b"aaa")
        await ctx.db.write(lambda tx: meta.put(tx, secrets.NAME, KEY))
        made, copying = await backups.make(ctx, folder)
        assert (copying.copied, secrets.NAME in made.meta) == (1, False)
        with pytest.raises(ValueError, match="has tables already"):
            await restored(ctx, folder, target)
        to = with_database(ctx, other)
        with monkeypatch.context() as patch:
            patch.setattr(migrate, "mark_version", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await restored(to, folder, target)
        with pytest.raises(OSError, match="belongs to another program"):
            bootstrap.upgrade_database(to.settings)
        to = with_database(ctx, third)
        await restored(to, folder, target)
        bootstrap.upgrade_database(to.settings)
        assert await contents(target, to) == {"a.txt": b"aaa"}
        there = await bootstrap.open_context(to.settings, ctx.clock)
        try:
            assert await there.db.read(lambda tx: meta.get(tx, secrets.NAME)) == KEY
        finally:
            await bootstrap.close(there)


def with_database(ctx: AppContext, url: str) -> AppContext:
    settings = ctx.settings.model_copy(update={"database_url": SecretStr(url)})
    return replace(ctx, settings=settings)


def test_without_postgresqls_programs_the_way_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"pg_dump is not in PATH.*docs/recipes/backups\.md"):
        postgres_backup.require("pg_dump")
