"""Tools with which a model reads further, writes texts, pages and programs of its own, and runs a
program in the sandbox, as one recorded step."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai import ModelRetry, Tool

from agentpost.agents.adapters import current
from agentpost.agents.adapters.current import current_job
from agentpost.agents.adapters.pydantic_ai import OWN_CALLS
from agentpost.agents.base import File, JobFailed, StepFailed
from agentpost.agents.llm import sandbox
from agentpost.extraction import Unreadable

READ_CHARACTERS: Final = 20_000
"""How much of a file one call shows."""
READ_SECONDS: Final = 120.0


async def list_files() -> str:
    """The attached files and those of this work: name, type and size."""
    files = current().files
    return "\n".join(f"{f.name} ({f.content_type}, {f.size} bytes)" for f in files) or "none"


async def read_file(name: str, offset: int = 0) -> str:
    """The text of a file from a character on; a long file takes several calls."""
    file_ = next((file for file in reversed(current().files) if file.name == name), None)
    if file_ is None:
        raise ModelRetry(f"There is no file {name!r}; list_files names all.")
    try:
        text = await file_.text()
    except Unreadable as error:
        return f"It cannot be read: {error}"
    return _piece(text, offset)


async def read_document(name: str, offset: int = 0) -> str:
    """The text of a document (PDF, Word, PowerPoint, HTML, Markdown) with its headings and tables
    as Markdown, from a character on."""
    (file,) = await files_of_names([name])
    text = str(await current_job().step(as_markdown, file, timeout=READ_SECONDS))
    return _piece(text, offset)


def as_markdown(file: File) -> str:
    """A step: a document as Markdown, with the page where each part of it begins."""
    from agentpost_offline.documents.reading import read

    pieces: list[str] = []
    page = ""
    for block in read(file).blocks:
        place = block.place.partition(",")[0]
        if place != page and place.startswith(("page ", "slide ")):
            pieces.append(f"[{place}]")
            page = place
        if block.rows:
            rows = ["| " + " | ".join(row) + " |" for row in block.rows]
            rows.insert(1, "|" + "---|" * len(block.rows[0]))
            pieces.append("\n".join(rows))
        else:
            mark = {"heading": "#" * max(1, block.level) + " ", "item": "- "}.get(block.kind, "")
            pieces.append(f"{mark}{block.text}")
    return "\n\n".join(pieces)


def _piece(text: str, offset: int) -> str:
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


async def files_of_names(names: Sequence[str]) -> list[File]:
    """The files of those names, of one name the newest. Raises `ModelRetry` with the names there
    are when one is missing."""
    files = {file.name: file for file in await current_job().files()}
    absent = [name for name in names if name not in files]
    if absent or not names:
        there = ", ".join(files) or "none"
        raise ModelRetry(f"There is no file {', '.join(absent)}; the files are: {there}.")
    return [files[name] for name in names]


async def run_code(code: str, files: list[str] | None = None) -> str:
    """Run a program in a sandboxed part of Python, to compute, convert or check something.

    It has no network, no file system and no packages; of the standard library it has asyncio, csv,
    collections, datetime, decimal, itertools, json, math, random, re and a few more. The texts of
    the named files are in the dict `files`, by name. `write_file(path, text)` writes a file of the
    work. You are shown what it prints and the value of its last expression. It has 10 seconds and
    128 MB; nothing is kept from one program to the next.
    """
    job = current_job()
    inputs = await files_of_names(files) if files else []
    try:
        result = await job.step(sandbox.run, code, inputs, timeout=sandbox.STEP_SECONDS)
    except (JobFailed, StepFailed, TimeoutError, MemoryError) as error:
        return f"The program was ended: {error or 'it took too long'}"
    for path, text in result["files"].items():
        try:
            await job.write(path, text)
        except ValueError as error:
            raise ModelRetry(str(error)) from error
    lines = [str(result["said"]).strip()]
    if result["files"]:
        lines.append(f"Written: {', '.join(result['files'])}.")
    return "\n".join(filter(None, lines)) or "It printed nothing."


SANDBOX_TOOL: Final[Tool[Any]] = Tool(run_code, sequential=True, metadata={OWN_CALLS: True})
TOOLS: Final = (list_files, read_file, write_file)
