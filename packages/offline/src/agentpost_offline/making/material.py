"""What a result is made from: the files of a frame, sorted by what they are, read once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentpost.agents.base import CannotSucceed, File
from agentpost_offline.data.model import Table
from agentpost_offline.frame import Frame
from agentpost_offline.making import queries
from agentpost_offline.story import naming
from agentpost_offline.story.model import Story

_DOCUMENTS = (
    ".md", ".markdown", ".docx", ".doc", ".pdf", ".pptx", ".ppt", ".html", ".htm", ".rtf", ".odt",
    ".odp", ".epub", ".eml",
)  # fmt: skip
"""What is read as a text although there are tables in it."""


class Material(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tables there are to work with, and what they say."""

    story: Story
    tables: tuple[Table, ...]
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
    whether they do; what is a document by its name is looked at where there is nothing else."""
    asked = [file for file in files if not file.name.lower().endswith(_DOCUMENTS)] or list(files)
    pasted = frame.text if "\t" in frame.text or frame.text.count(",") > 5 else ""
    return asked, pasted


def gathered(files: Sequence[File], frame: Frame) -> Material:
    """Read the tables of a frame's files and compute their story; what has no table is skipped.

    Raises `CannotSucceed` when there is not one.
    """
    from agentpost_offline.data.dataset import opened
    from agentpost_offline.story.tell import tell

    asked, pasted = table_files([file for file in files if not is_picture(file)], frame)
    with opened(asked, pasted, frame.language) as dataset:
        tables, skipped = dataset.tables, list(dataset.skipped)
        with_tables = {table.file for table in tables}
        named = " ".join(skipped)
        skipped += [
            f"{file.name} has no table" for file in files
            if file.id not in with_tables and file.name not in named
        ]  # fmt: skip
        if not tables:
            raise CannotSucceed(f"{'; '.join(skipped)}." if skipped else "There is no table.")
        story = tell(dataset, queries.wanted(frame.queries, tables), frame.language)
    used = tuple(naming.with_rows(table, frame.language) for table in tables)
    return Material(story, tables, used, tuple(skipped))
