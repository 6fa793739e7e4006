"""Where downloaded files are put: in a folder of the person, and never over a file of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentpost.cli.show import Screen
    from agentpost_client import Client, File


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
