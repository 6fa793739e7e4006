"""Files: those the agent has made, and those to send ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentpost.cli.commands import command
from agentpost.cli.connection import connect
from agentpost.cli.errors import say
from agentpost.cli.options import ProfileName
from agentpost.cli.printing import Result, listing, screen
from agentpost.domain.text import human_size

if TYPE_CHECKING:
    from agentpost.cli.show import Screen
    from agentpost_client import Client, File


@command(
    "upload",
    "agentpost upload interviews.txt",
    'agentpost send "Convert it to PDF" --upload-id up_0660c5',
)
def upload(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...")],
    profile: ProfileName = None,
) -> Result:
    """Upload files of up to 500 MB each; attach them with `send --upload-id`."""
    output_screen = screen()
    with connect(profile) as client:
        for file in files:
            with output_screen.transfer(file.name, "Uploading") as on_progress:
                ready = client.upload(file, on_progress)
            text = f"{ready.upload_id} · {ready.filename} ({human_size(ready.size)})"
            Result(ready.raw, partial(output_screen.line, text)).print()
    return Result()


@command("files list", "agentpost files list msg_0660c5", "agentpost files list wrk_0660c5 --json")
def files_list(
    owner: Annotated[str, typer.Argument(metavar="MESSAGE_ID|WORK_ID")],
    profile: ProfileName = None,
) -> Result:
    """List the files of a message or a work."""
    with connect(profile) as client:
        files = _files_of(client, owner)
    return listing(files, ("file_id", "kind", "bytes=size", "label"), empty="no files")


@command(
    "files get",
    "agentpost files get wrk_0660c5/report.pdf",
    "agentpost files get wrk_0660c5/report.pdf -o report.pdf",
    "agentpost files get msg_0660c5 -o results",
)
def files_get(
    file_id: Annotated[str, typer.Argument(metavar="FILE_ID|MESSAGE_ID")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder, or file to write; by default this folder."),
    ] = None,
    profile: ProfileName = None,
) -> Result:
    """Download a file, or all files of a message.

    In a folder nothing is overwritten: a file whose name exists gets a number.
    """
    output_screen = screen()
    with connect(profile) as client:
        if "/" not in file_id:
            return _get_all(client, file_id, output or Path())
        record = client.file(file_id)
        target = Path(local_name(record.name))
        if output is not None:
            target = output / target if output.is_dir() else output
        is_named = output is not None and target == output
        path = fetch(client, record, target if is_named else free_path(target), output_screen)
    notes = [f"{target} already exists and was not changed"] if path != target else ()
    show = partial(output_screen.line, f"saved {path}")
    return Result({**record.raw, "path": str(path)}, show, notes=notes)


def _get_all(client: Client, owner: str, folder: Path) -> Result:
    output_screen = screen()
    files = _files_of(client, owner)
    records = []
    for file, path in zip(files, save_all(client, files, folder, output_screen), strict=True):
        records.append({**file.raw, "path": str(path)})
        output_screen.line(f"saved {path}")
    return Result(records, "" if files else partial(say, "no files"))


def _files_of(client: Client, owner: str) -> Sequence[File]:
    return client.work(owner).files if owner.startswith("wrk_") else client.get(owner).files


def save_all(client: Client, files: Sequence[File], folder: Path, screen: Screen) -> Iterator[Path]:
    """Download files into a folder, in the subfolders they have in their work; gives each path."""
    for file in files:
        parts = [local_name(part) for part in file.file_id.split("/")[1:]]
        path = folder.joinpath(*parts or [local_name(file.name)])
        yield fetch(client, file, free_path(path), screen)


def fetch(client: Client, file: File, path: Path, screen: Screen) -> Path:
    """Download a file to a path, with a bar on a terminal."""
    with screen.transfer(file.name, "Downloading") as on_progress:
        return client.download(file, path, on_progress)


def free_path(path: Path) -> Path:
    """The path, or the same with the first free number when something is there."""
    names = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return next(candidate for candidate in chain([path], names) if not candidate.exists())


def local_name(name: str) -> str:
    """What of a name that came from a server names a file in a folder, and nothing else."""
    from agentpost_client import partial

    return partial.local_name(name)
