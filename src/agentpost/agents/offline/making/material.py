"""What a result is made from: the files of a frame, sorted by what they are, read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from agentpost.agents.base import CannotSucceed, File
from agentpost.agents.offline.data.model import Table
from agentpost.agents.offline.frame import Frame
from agentpost.agents.offline.making import queries
from agentpost.agents.offline.story import naming
from agentpost.agents.offline.story.model import Story
from agentpost.extraction import Unreadable

if TYPE_CHECKING:
    from agentpost.agents.offline.data.dataset import Dataset

_DOCUMENTS = (
    ".md", ".markdown", ".docx", ".doc", ".pdf", ".pptx", ".ppt", ".html", ".htm", ".rtf", ".odt",
    ".odp", ".epub", ".eml",
)  # fmt: skip
"""What is read as a text although there are tables in it."""
_TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xls", ".ods", ".json", ".jsonl", ".ndjson")


class Material(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything there is to work with."""

    story: Story | None = None
    tables: tuple[Table, ...] = ()
    images: tuple[int, ...] = ()
    """Which of the files are pictures."""
    used: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def is_picture(file: File) -> bool:
    """Whether a file is a picture by its first bytes."""
    with file.local.open("rb") as opened:
        head = opened.read(16)
    return (
        head.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*"))
        or head[8:12] == b"WEBP"
    )


def table_files(files: Sequence[File], frame: Frame) -> tuple[list[File], str]:
    """The files that may hold tables, and the table pasted into the message. Their content says
    whether they do, except of what is a document by its name."""
    asked = [file for file in files if not file.name.lower().endswith(_DOCUMENTS)]
    pasted = frame.text if "\t" in frame.text or frame.text.count(",") > 5 else ""
    return asked, pasted


def gathered(
    files: Sequence[File], frame: Frame, also: Callable[[Dataset], object] | None = None
) -> Material:
    """Read the files of a frame, and compute the story of its tables. ``also`` is called while
    the tables are open, so that large ones are read once.

    Raises `JobFailed` when not one of them can be used.
    """
    from agentpost.agents.offline.making import pictures

    images: list[int] = []
    others: list[File] = []
    used: list[str] = []
    skipped: list[str] = []
    for number, file in enumerate(files):
        if not is_picture(file):
            others.append(file)
            continue
        try:
            wide, tall = pictures.size_of(file.local, file.name)
        except Unreadable as error:
            skipped.append(str(error))
            continue
        images.append(number)
        used.append(f"{file.name} ({wide} × {tall})")
    story, tables, left = _tables(others, frame, used, skipped, also)
    skipped.extend(f"{file.name} has no table" for file in left)
    if not (images or tables):
        raise CannotSucceed(
            "; ".join(skipped) + "." if skipped else "There is nothing to work with."
        )
    return Material(story, tables, tuple(images), tuple(used), tuple(skipped))


def _tables(
    files: Sequence[File],
    frame: Frame,
    used: list[str],
    skipped: list[str],
    also: Callable[[Dataset], object] | None,
) -> tuple[Story | None, tuple[Table, ...], list[File]]:
    """The story of those that are tables, their descriptions, and the other files."""
    from agentpost.agents.offline.data.dataset import opened

    asked, pasted = table_files(files, frame)
    if not asked and not pasted:
        return None, (), list(files)
    try:
        with opened(asked, pasted, frame.language) as dataset:
            tables = dataset.tables
            skipped.extend(dataset.skipped)
            story = _story(dataset, frame) if tables else None
            if also is not None and tables:
                also(dataset)
    except Unreadable as error:
        skipped.append(str(error))
        return None, (), [file for file in files if not _is_table(file)]
    used.extend(naming.with_rows(table, frame.language) for table in tables)
    # The members of an archive have its id together, so theirs tells nothing.
    ids = [file.id for file in files]
    found = {table.file for table in tables if ids.count(table.file) == 1}
    left = [file for file in files if file.id not in found and not _is_table(file)]
    return story, tables, left


def _is_table(file: File) -> bool:
    """Whether nobody expects a text in a file."""
    return file.kind == "data" or file.name.lower().endswith(_TABLES)


def _story(dataset: Dataset, frame: Frame) -> Story:
    from agentpost.agents.offline.story.tell import tell

    return tell(dataset, queries.wanted(frame.queries, dataset.tables), frame.language)
