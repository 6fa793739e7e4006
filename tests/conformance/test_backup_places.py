"""Backups in each kind of place: whole, resumable, checked; restored as they were."""

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentpost import bootstrap
from agentpost.clock import ManualClock
from agentpost.db import backup as backup_database
from agentpost.db import meta
from agentpost.services import (
    backup,
    backup_manifest,
    blob_hold,
    blobs,
    doctor,
    restore,
    secrets,
)
from agentpost.services.context import AppContext
from agentpost.services.operator_log import Actor
from agentpost.settings import load_settings
from agentpost.storage.backup_place import BackupPlace
from agentpost.storage.base import BlobInfo, BlobMissing
from tests.servers import Postgres
from tests.services.databases import new_account, opened
from tests.services.files import put_file

WHO = Actor("ada", "command", "here")
KEY = "secret"
"""Of the contexts that `opened` makes."""
OpenPlace = Callable[[], BackupPlace]


@pytest.fixture(params=["folder", "bucket"])
def open_place(request: pytest.FixtureRequest, tmp_path: Path) -> OpenPlace:
    """Opens the same place as often as it is called; close it before the next."""
    in_bucket = request.param == "bucket"
    where = request.getfixturevalue("s3_url") if in_bucket else str(tmp_path / "backups")
    settings = load_settings(data_dir=str(tmp_path / "data"))
    return lambda: bootstrap.backup_place(settings, where, writing=True)


@pytest.fixture
async def ctx(tmp_path: Path) -> AsyncIterator[AppContext]:
    """An installation with three files, the last too large to be held in memory."""
    folder = tmp_path / "data"
    folder.mkdir()
    async with opened(folder, ManualClock()) as made:
        account = await new_account(made)
        for name, data in (("a.txt", b"aaa"), ("b.txt", b"bb"), ("c.bin", b"c" * 3_000_000)):
            await put_file(made, account, name, data)
        yield made


async def made(ctx: AppContext, open_place: OpenPlace, **options: object) -> backup.Made:
    place = open_place()
    try:
        return await backup.make(ctx, place, **{"keep": 7, **options})  # type: ignore[arg-type]
    finally:
        await place.aclose()


async def restored(ctx: AppContext, open_place: OpenPlace, to: Path, **options: object) -> object:
    settings = ctx.settings.model_copy(update={"data_dir": str(to)})
    place = open_place()
    try:
        chosen = backup.choose(await backup_manifest.read(place), None)
        given = {"replace": False, "allow_missing": False, "secret_keys": [KEY], **options}
        target = bootstrap.restore_target(settings)
        return await restore.restore(target, place, chosen, WHO, **given)  # type: ignore[arg-type]
    finally:
        await place.aclose()


async def kept_key(ctx: AppContext) -> str | None:
    """The secret key in a database, once a server has started on it."""
    there = await bootstrap.open_context(ctx.settings, ctx.clock)
    try:
        return await there.db.read(lambda tx: meta.get(tx, secrets.NAME))
    finally:
        await bootstrap.close(there)


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


async def test_what_is_restored_is_what_was_there(
    ctx: AppContext, open_place: OpenPlace, tmp_path: Path
) -> None:
    first = await made(ctx, open_place)
    assert (first.copied, first.backup.blobs, list(first.backup.problems)) == (3, 3, [])
    again = await made(ctx, open_place)
    assert (again.copied, again.backup.blobs) == (0, 3)
    await restored(ctx, open_place, tmp_path / "restored")
    expected = {"a.txt": b"aaa", "b.txt": b"bb", "c.bin": b"c" * 3_000_000}
    assert await contents(tmp_path / "restored", ctx) == expected
    audited = backup_database.read_copy(
        tmp_path / "restored" / "agentpost.db",
        lambda tx: tx.all("SELECT who, action, outcome FROM operator_actions"),
    )
    assert audited == [("ada", "restore", "done")]
    assert not await ctx.db.read(lambda tx: blob_hold.is_held(tx, ctx.clock.now()))


async def test_a_backup_that_was_cut_off_is_continued(
    ctx: AppContext, open_place: OpenPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = open_place()
    put, taken = place.blobs.put, list[str]()

    async def put_two(key: str, data: bytes | Path) -> BlobInfo:
        if len(taken) == 2:
            raise OSError("the place is full")
        taken.append(key)
        return await put(key, data)

    monkeypatch.setattr(place.blobs, "put", put_two)
    with pytest.raises(OSError, match="the place is full"):
        await backup.make(ctx, place, keep=7)
    assert await backup_manifest.read(place) == []
    await place.aclose()
    continued = await made(ctx, open_place)
    assert (continued.copied, continued.backup.blobs) == (1, 3)


async def test_old_backups_go_with_what_only_they_list(
    ctx: AppContext, open_place: OpenPlace
) -> None:
    await made(ctx, open_place)
    [gone] = await ctx.db.read(lambda tx: tx.all("SELECT blob FROM files WHERE path = 'b.txt'"))
    await ctx.db.write(lambda tx: tx.execute("DELETE FROM files WHERE path = 'b.txt'"))
    assert (await made(ctx, open_place, keep=2)).removed == 0
    last = await made(ctx, open_place, keep=2)
    assert (last.removed, last.backup.blobs) == (1, 2)
    place = open_place()
    assert len(await backup_manifest.read(place)) == 2
    with pytest.raises(BlobMissing):
        await place.blobs.size(gone[0])
    assert await backup.verify(place, last.backup) == []
    await place.aclose()


async def test_what_is_damaged_in_a_backup_is_found_and_copied_again(
    ctx: AppContext, open_place: OpenPlace, tmp_path: Path
) -> None:
    done = await made(ctx, open_place)
    [key] = (await ctx.db.read(lambda tx: tx.all("SELECT blob FROM files WHERE path = 'a.txt'")))[0]
    place = open_place()
    await place.blobs.put(key, b"axa")
    assert [name for name, _ in await backup.verify(place, done.backup)] == [key]
    damaged = replace(done.backup, database=replace(done.backup.database, sha256="0"))
    assert done.backup.database.name in dict(await backup.verify(place, damaged))
    await place.aclose()
    with pytest.raises(ValueError, match="1 files are missing from the backup or damaged"):
        await restored(ctx, open_place, tmp_path / "restored")
    assert not (tmp_path / "restored" / "agentpost.db").exists()
    assert (await made(ctx, open_place)).copied == 0
    assert (await made(ctx, open_place, reread=True)).copied == 1
    await restored(ctx, open_place, tmp_path / "restored")
    assert (await contents(tmp_path / "restored", ctx))["a.txt"] == b"aaa"


async def test_lost_bytes_are_told_and_end_no_backup(
    ctx: AppContext, open_place: OpenPlace
) -> None:
    [key] = (await ctx.db.read(lambda tx: tx.all("SELECT blob FROM files WHERE path = 'a.txt'")))[0]
    await ctx.storage.delete(key)
    done = await made(ctx, open_place)
    [problem] = done.backup.problems
    assert (problem["blob"], problem["problem"]) == (key, "its bytes are not in the file storage")
    assert done.backup.blobs == 2


async def test_no_blob_is_deleted_while_a_backup_is_made(ctx: AppContext) -> None:
    await blobs.store(ctx, "files/" + "0" * 32, b"x")
    await blobs.discard(ctx, ["files/" + "0" * 32])
    async with blob_hold.held(ctx):
        await blobs.sweep(ctx)
        assert await ctx.storage.size("files/" + "0" * 32) == 1
    await blobs.sweep(ctx)
    with pytest.raises(BlobMissing):
        await ctx.storage.size("files/" + "0" * 32)


async def test_a_hold_whose_maker_died_ends(ctx: AppContext) -> None:
    async with blob_hold.held(ctx):
        later = ctx.clock.now() + (blob_hold.HOLD_SECONDS + 1) * 1_000_000
        assert not await ctx.db.read(lambda tx: blob_hold.is_held(tx, later))


async def test_postgresql_by_its_own_programs(
    postgres: Postgres,
    fresh_postgres: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", f"{postgres.programs}:{os.environ['PATH']}")
    url, other = fresh_postgres(postgres.schema()), fresh_postgres()
    source, target = tmp_path / "data", tmp_path / "restored"
    source.mkdir()

    def open_place() -> BackupPlace:
        settings = load_settings(data_dir=str(source))
        return bootstrap.backup_place(settings, str(tmp_path / "backups"), writing=True)

    async with opened(source, ManualClock(), url, database_url=url) as ctx:
        await put_file(ctx, await new_account(ctx), "a.txt", b"aaa")
        await ctx.db.write(lambda tx: meta.put(tx, secrets.NAME, KEY))
        done = await made(ctx, open_place)
        assert (done.copied, secrets.NAME in done.backup.meta) == (1, False)
        with pytest.raises(ValueError, match="has tables already"):
            await restored(ctx, open_place, target)
        elsewhere = ctx.settings.model_copy(update={"database_url": _secret(other)})
        moved = replace(ctx, settings=elsewhere)
        await restored(moved, open_place, target)
        assert await contents(target, moved) == {"a.txt": b"aaa"}
        assert await kept_key(moved) == KEY
        await restored(
            moved, open_place, target, replace=True, secret_keys=[], without_secret_key=True
        )
        assert await kept_key(moved) != KEY


def test_without_postgresqls_programs_the_way_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentpost.db import postgres_backup

    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"pg_dump is not in PATH.*docs/recipes/backups\.md"):
        postgres_backup.require("pg_dump")


def _secret(text: str) -> object:
    from pydantic import SecretStr

    return SecretStr(text)
