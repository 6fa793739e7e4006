"""Commands that back up an installation and restore it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from agentpost.cli.context import AsJson, actor, guarded, show, show_rows, with_context
from agentpost.cli.errors import say

if TYPE_CHECKING:
    from agentpost.services.backup import Made
    from agentpost.services.backup_manifest import Backup
    from agentpost.services.context import AppContext
    from agentpost.services.restore import Restored
    from agentpost.settings import Settings

EXAMPLES: Final = {
    "backup": """
        agentpost backup /var/backups/agentpost
        agentpost backup s3://bucket/agentpost --keep 30
        agentpost backup /var/backups/agentpost --verify
        agentpost backup copy.db
    """,
    "restore": """
        agentpost restore /var/backups/agentpost --secret-key-file secret.key
        agentpost restore s3://bucket/agentpost --backup 20261123T005300Z-1f2e3d
    """,
}
Place = Annotated[str, typer.Argument(help="A folder, or a bucket: s3://bucket/prefix.")]
KEPT_APART: Final = (
    "Not in it: the secret key{}. Keep it apart from the backup, it is needed to restore:"
    " agentpost db secret-key"
)
COLUMNS = ("id", "made_at", "version", "blobs", "bytes")


def attach(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("backup")(backup)
    app.command("restore")(restore)


def backup(
    target: Annotated[
        str,
        typer.Argument(
            help="A folder, or a bucket: s3://bucket/prefix. A path that ends in .db gets a copy"
            " of the SQLite database alone."
        ),
    ],
    keep: Annotated[int, typer.Option(min=1, help="How many backups to keep there.")] = 7,
    reread: Annotated[
        bool, typer.Option("--reread", help="Also copy files again that are damaged there.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Make none, but check the newest one there.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Make none, list those there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Back up the database and all files while the server runs.

    Files that are there from an earlier backup, or from one that was cut off, are not copied again.
    """
    from agentpost.services import backup as backups
    from agentpost.settings import load_settings

    settings = guarded(load_settings)
    if listed:
        found = guarded(lambda: _read(settings, target))
        show_rows([_row(each) for each in found], as_json, COLUMNS)
    elif verify:
        _verify(settings, target, as_json)
    elif target.endswith(".db") and "://" not in target:
        size = guarded(lambda: backups.backup_database(settings, Path(target)))
        text = f"{target}: {size:,} bytes\n{KEPT_APART.format('')}"
        show({"path": target, "bytes": size}, as_json, text)
    else:
        use = partial(_make, target=target, keep=keep, reread=reread)
        _show_made(with_context(use, upgrade=False), as_json)


def restore(
    source: Place,
    backup_id: Annotated[
        str | None, typer.Option("--backup", help="Its id; the newest one unless given.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of an installation that is there.")
    ] = False,
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Leave out files that the backup has lost."),
    ] = False,
    secret_key_file: Annotated[
        Path | None,
        typer.Option(help="A file with what `agentpost db secret-key` prints."),
    ] = None,
    without_secret_key: Annotated[
        bool,
        typer.Option("--without-secret-key", help="Restore though the secret key is lost."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Restore a backup to where the settings say that database and files are.

    Nothing there is changed before the whole backup has been checked.
    """
    from agentpost.settings import load_settings

    settings = guarded(load_settings)
    options = {"replace": replace, "allow_missing": allow_missing}
    options["without_secret_key"] = without_secret_key
    keys = guarded(lambda: secret_key_file.read_text("utf-8").split() if secret_key_file else [])
    done = guarded(lambda: _restore(settings, source, backup_id, keys, options))
    shape = {
        "backup": done.backup.id,
        "made_at": done.backup.made_at,
        "blobs": done.backup.blobs,
        "blobs_copied": done.copied,
        "lost": done.lost,
        "replaced": str(done.replaced) if done.replaced else None,
    }
    for key in done.lost:
        say(f"{key} is lost: the backup does not have it")
    for problem in done.backup.problems:
        say(f"{problem['id']}: {problem['problem']}, already when the backup was made")
    files = f"{done.backup.blobs - len(done.lost):,} files"
    lines = [f"restored {done.backup.id}: the database and {files}"]
    if done.replaced:
        lines.append(f"what was there before is in {done.replaced}")
    show(shape, as_json, "\n".join(lines))


# --- parts ----------------------------------------------------------------------------------------
async def _make(ctx: AppContext, target: str, keep: int, reread: bool) -> Made:
    from agentpost import bootstrap
    from agentpost.services import backup as backups

    place = bootstrap.backup_place(ctx.settings, target, writing=True)
    try:
        return await backups.make(ctx, place, keep=keep, reread=reread)
    finally:
        await place.aclose()


def _show_made(made: Made, as_json: bool) -> None:
    backup = made.backup
    shape = {
        **_row(backup),
        "blobs_copied": made.copied,
        "bytes_copied": made.copied_bytes,
        "backups_removed": made.removed,
        "problems": list(backup.problems),
    }
    line = (
        f"{backup.id}: database of {backup.database.bytes:,} bytes, {backup.blobs:,} files of"
        f" {backup.blob_bytes:,} bytes ({made.copied:,} copied)"
    )
    show(shape, as_json, f"{line}\n{KEPT_APART.format(' ' + ', '.join(backup.secret_keys))}")
    for problem in backup.problems:
        say(f"{problem['id']} ({problem['blob']}): {problem['problem']}")
    if backup.problems:
        raise typer.Exit(1)


def _read(settings: Settings, target: str) -> list[Backup]:
    import asyncio

    from agentpost import bootstrap
    from agentpost.services import backup_manifest

    async def run() -> list[Backup]:
        place = bootstrap.backup_place(settings, target, writing=False)
        try:
            return await backup_manifest.read(place)
        finally:
            await place.aclose()

    return asyncio.run(run())


def _verify(settings: Settings, target: str, as_json: bool) -> None:
    import asyncio

    from agentpost import bootstrap
    from agentpost.services import backup as backups
    from agentpost.services import backup_manifest

    async def run() -> tuple[Backup, list[tuple[str, str]]]:
        place = bootstrap.backup_place(settings, target, writing=False)
        try:
            chosen = backups.choose(await backup_manifest.read(place), None)
            return chosen, await backups.verify(place, chosen)
        finally:
            await place.aclose()

    chosen, wrong = guarded(lambda: asyncio.run(run()))
    problems = [{"name": name, "problem": text} for name, text in wrong]
    shape = {**_row(chosen), "ok": not wrong, "problems": problems}
    text = "is whole" if not wrong else f"has {len(wrong)} problems"
    show(shape, as_json, f"{chosen.id} {text}")
    for name, problem in wrong:
        say(f"{name}: {problem}")
    if wrong:
        raise typer.Exit(1)


def _restore(
    settings: Settings,
    source: str,
    backup_id: str | None,
    keys: list[str],
    options: Mapping[str, bool],
) -> Restored:
    import asyncio

    from agentpost import bootstrap
    from agentpost.services import backup as backups
    from agentpost.services import backup_keys, backup_manifest, restore

    async def run() -> Restored:
        target = bootstrap.restore_target(settings)
        place = bootstrap.backup_place(settings, source, writing=False)
        try:
            chosen = backups.choose(await backup_manifest.read(place), backup_id)
            absent = backup_keys.missing(settings, chosen.secret_keys, keys)
            if absent and not options["without_secret_key"] and sys.stdin.isatty():
                asked = f"Secret key {absent[0]} (agentpost db secret-key prints it)"
                keys.append(typer.prompt(asked, hide_input=True, err=True).strip())
            return await restore.restore(
                target, place, chosen, actor(), secret_keys=keys, **options
            )
        finally:
            await place.aclose()

    return asyncio.run(run())


def _row(backup: Backup) -> dict[str, Any]:
    return {
        "id": backup.id,
        "made_at": backup.made_at,
        "version": backup.version,
        "schema": backup.schema,
        "secret_keys": list(backup.secret_keys),
        "blobs": backup.blobs,
        "bytes": backup.database.bytes + backup.blob_bytes,
    }
