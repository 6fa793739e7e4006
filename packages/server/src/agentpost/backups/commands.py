"""Commands that back up an installation and restore it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agentpost.cli.commands import command
from agentpost.cli.context import actor, run_or_exit, with_context
from agentpost.cli.printing import Result


@command(
    "backup",
    "agentpost backup /var/backups/agentpost",
    "agentpost backup /var/backups/agentpost --verify",
)
def backup(
    folder: Annotated[str, typer.Argument(help="Folder of the backup.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the existing backup instead.")
    ] = False,
) -> Result:
    """Back up the database and all files while the server runs.

    The previous backup stays until the new one is complete. Files it has are not copied again.
    """
    from agentpost.backups import actions as backups

    if "://" in folder or folder.endswith(".db"):
        raise typer.BadParameter(
            "name a folder; restic or rclone bring it to a bucket (docs/recipes/backups.md)"
        )
    path = Path(folder).expanduser()
    if verify:
        manifest = run_or_exit(lambda: backups.read(path))
        damage = run_or_exit(lambda: backups.verify(path))
        problems = [(member.key or member.path, text) for member, text in damage]
        state = f"has {len(problems)} problems" if problems else "is whole"
        shape, line = asdict(manifest), f"the backup of {manifest.made_at} {state}"
    else:
        manifest, copying = with_context(lambda ctx: backups.make(ctx, path), upgrade=False)
        problems = copying.problems
        shape = {**asdict(manifest), "blobs_copied": copying.copied}
        line = (
            f"{manifest.blobs:,} files and the database, {manifest.bytes:,} bytes"
            f" ({copying.copied:,} files copied)\n"
            f"Not in it: the secret key {', '.join(manifest.secret_keys)}. Store it elsewhere,"
            " restoring needs it: agentpost db secret-key"
        )
    del shape["meta"]
    shape["problems"] = [{"name": name, "problem": text} for name, text in problems]
    notes = [f"{name}: {text}" for name, text in problems]
    return Result(shape, line, notes=notes, code=1 if problems else 0)


@command("restore", "agentpost restore /var/backups/agentpost --secret-key-file secret.key")
def restore(
    folder: Annotated[Path, typer.Argument(help="Folder of the backup.")],
    allow_missing: Annotated[
        bool,
        typer.Option("--allow-missing", help="Skip files that the backup has lost."),
    ] = False,
    secret_key_file: Annotated[
        Path | None,
        typer.Option(help="File with the output of `agentpost db secret-key`."),
    ] = None,
    without_secret_key: Annotated[
        bool,
        typer.Option("--without-secret-key", help="Restore without the secret key."),
    ] = False,
) -> Result:
    """Restore a backup into the configured database and file storage.

    The backup is checked before anything is changed.
    """
    import asyncio

    from agentpost import bootstrap
    from agentpost.backups import actions as backups, restore as restoring
    from agentpost.settings import load_settings

    settings = run_or_exit(load_settings)
    manifest = run_or_exit(lambda: backups.read(folder))
    keys = run_or_exit(
        lambda: secret_key_file.read_text("utf-8").split() if secret_key_file else []
    )
    absent = restoring.missing_keys(settings, manifest.secret_keys, keys)
    if absent and not without_secret_key and sys.stdin.isatty():
        text = f"Secret key {absent[0]} (agentpost db secret-key prints it)"
        keys.append(typer.prompt(text, hide_input=True, err=True).strip())
    options = {"allow_missing": allow_missing, "without_secret_key": without_secret_key}
    target = bootstrap.restore_target(settings)
    work = restoring.restore(target, folder, actor(), secret_keys=keys, **options)
    lost_keys = run_or_exit(lambda: asyncio.run(work))
    shape = {"made_at": manifest.made_at, "blobs": manifest.blobs, "lost": lost_keys}
    files = f"{manifest.blobs - len(lost_keys):,} files"
    return Result(
        shape,
        f"restored the backup of {manifest.made_at}: the database and {files}",
        notes=[f"{key} is lost: the backup does not have it" for key in lost_keys],
    )
