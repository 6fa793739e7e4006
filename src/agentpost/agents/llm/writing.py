"""Tools with which a model reads further and writes texts, pages and programs of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic_ai import ModelRetry

from agentpost.agents.adapters import current
from agentpost.agents.base import File, Job
from agentpost.extraction import Unreadable

READ_CHARACTERS: Final = 20_000
"""How much of a file one call shows."""


async def list_files() -> str:
    """The attached files and those of this work: name, type and size."""
    files = current().files
    return "\n".join(f"{f.name} ({f.content_type}, {f.size} bytes)" for f in files) or "none"


async def read_file(name: str, offset: int = 0) -> str:
    """The text of a file from a character on; a long file takes several calls."""
    found = next((file for file in reversed(current().files) if file.name == name), None)
    if found is None:
        raise ModelRetry(f"There is no file {name!r}; list_files names all.")
    try:
        text = await found.text()
    except Unreadable as error:
        return f"It cannot be read: {error}"
    piece = text[max(offset, 0) :][:READ_CHARACTERS]
    end = max(offset, 0) + len(piece)
    more = f"\n[{len(text) - end} characters follow: offset {end}]" if end < len(text) else ""
    return piece + more


async def write_file(path: str, text: str) -> str:
    """Write a text file of the work: prose, Markdown, an HTML page, CSV, a program.

    A page of several files is written with one call for each; links between them are relative.
    """
    try:
        current().write(path, text)
    except ValueError as error:
        raise ModelRetry(str(error)) from error
    return f"{path} is written."


async def named(job: Job, names: Sequence[str]) -> list[File]:
    """The files of those names: a file of a name that several have is the newest one.

    Raises `ModelRetry` with the names there are when one is missing.
    """
    files = {file.name: file for file in await job.files()}
    absent = [name for name in names if name not in files]
    if absent or not names:
        there = ", ".join(files) or "none"
        raise ModelRetry(f"There is no file {', '.join(absent)}; the files are: {there}.")
    return [files[name] for name in names]


TOOLS: Final = (list_files, read_file, write_file)
