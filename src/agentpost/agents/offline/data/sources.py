"""The tables in files: whatever a file is called, its content says what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentpost.agents import File, Unreadable
from agentpost.agents.offline.data import delimited, limits
from agentpost.agents.offline.data.delimited import Grid
from agentpost.extraction.reading import only_unreadable

_DATA_SUFFIXES = frozenset(("csv", "tsv", "tab", "psv"))


@dataclass(slots=True)
class Source:
    """A table that was found. ``maybe``: the file may be no table at all, so it is no fault when
    it cannot be read as one."""

    file: str
    grid: Grid
    maybe: bool = False


def find(files: Sequence[File], pasted: str, folder: Path, skipped: list[str]) -> Iterator[Source]:
    """The tables of files and of a message, one by one; what cannot be read is added to
    ``skipped``."""
    for file in files:
        try:
            with only_unreadable(file.name):
                yield from of_file(file.id, file.local, file.name, file.content_type, folder)
        except Unreadable as error:
            skipped.append(str(error))


def of_file(
    id: str, path: Path, name: str, content_type: str, folder: Path
) -> Iterator[Source]:
    """The tables of one file. Raises `Unreadable`."""
    suffix = name.lower().rpartition(".")[2] if "." in name else ""
    declared = suffix in _DATA_SUFFIXES or content_type.partition(";")[0] in (
        "text/csv", "text/tab-separated-values",
    )  # fmt: skip
    size = path.stat().st_size
    if not size:
        raise Unreadable(f"{name} is empty")
    if size > limits.FILE_BYTES:
        raise Unreadable(f"{name} is larger than {limits.FILE_BYTES // 2**20} MB")
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith((b"PK\x03\x04", b"%PDF", b"\xd0\xcf\x11\xe0")):
        return
    if declared:
        yield Source(id, delimited.grid(path, name, folder))


__all__ = ["Source", "find", "of_file", "only_unreadable"]
