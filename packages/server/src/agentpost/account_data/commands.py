"""`agentpost accounts export` and `delete`: what takes all data of an account at once."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentpost.accounts.operator_commands import Account
from agentpost.cli import exits
from agentpost.cli.commands import command
from agentpost.cli.context import change, with_context
from agentpost.cli.errors import fail, say
from agentpost.cli.printing import Result

if TYPE_CHECKING:
    from agentpost.account_data.deletion import DeletionPreview
    from agentpost.account_data.export import Manifest
    from agentpost.context import AppContext


STDOUT: Final = "-"


@command("accounts export", "agentpost accounts export team@example.com team.tar")
def accounts_export(
    account: Account,
    place: Annotated[
        Path, typer.Argument(help="Archive to write, such as team.tar; - is standard output.")
    ],
) -> Result:
    """Export all data of an account, without secrets, as a tar archive."""
    from agentpost.account_data import export

    is_streamed = str(place) == STDOUT
    if is_streamed and sys.stdout.isatty():
        fail("the archive is binary: redirect it to a file or a program", exits.USAGE)

    async def write(ctx: AppContext) -> Manifest:
        if is_streamed:
            try:
                return await export.stream(ctx, account, sys.stdout.buffer)
            except BrokenPipeError:
                raise OSError("what read the archive ended before it was complete") from None
        return await export.export(ctx, account, place)

    manifest = change(write, account, {"place": str(place)})
    files = manifest["files"]
    shape = {
        "id": manifest["account_id"],
        "place": str(place),
        "rows": manifest["rows"],
        "files": files["count"],
        "bytes": files["bytes"],
        "missing": files["missing"],
    }
    rows = sum(manifest["rows"].values())
    where = "standard output" if is_streamed else place
    line = f"{where}: {rows:,} rows and {files['count']:,} files of {files['bytes']:,} bytes"
    note = f"{files['missing']} files are missing in the storage: members.jsonl names them"
    notes = [note] if files["missing"] else []
    result = Result(shape, line, notes=notes, code=len(notes))
    if is_streamed:
        with redirect_stdout(sys.stderr):
            result.print()
        return Result()
    return result


@command(
    "accounts delete",
    "agentpost accounts delete team@example.com",
    "agentpost accounts delete team@example.com --yes",
)
def accounts_delete(
    account: Account,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> Result:
    """Delete an account and all its data. This cannot be undone."""
    from agentpost.account_data import deletion as account_deletion

    preview = with_context(lambda ctx: account_deletion.look(ctx, account))
    what = f"{preview.account.email} ({preview.account.id}) with {describe_account(preview)}"
    if not yes:
        if not sys.stdin.isatty():
            fail(f"this deletes {what}; confirm with --yes", exits.USAGE)
        say(f"this deletes {what} and cannot be undone")
        if not typer.confirm("Delete the account?", err=True):
            fail("nothing was deleted", 1)

    async def delete(ctx: AppContext) -> int:
        deletion = await account_deletion.begin(ctx, preview.account.id)
        return await account_deletion.finish(ctx, deletion.id)

    about = {"account_id": preview.account.id, "email": preview.account.email, **preview.counts}
    left = change(delete, account, about)
    shape = {"id": preview.account.id, "deleted": True, **preview.counts, "files_left": left}
    note = f"{left} files are still there: a server deletes them, after a backup that runs now"
    return Result(shape, f"{what} is deleted", notes=[note] if left else ())


def describe_account(preview: DeletionPreview) -> str:
    counts = dict(preview.counts)
    stored_bytes = counts.pop("stored_bytes")
    parts = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items()]
    return f"{', '.join(parts)} and files of {stored_bytes:,} bytes"
