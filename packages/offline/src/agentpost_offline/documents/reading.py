"""Documents of all formats as blocks; the content decides the format, not the name."""

from __future__ import annotations

from pathlib import Path

from agentpost.agents import File, Unreadable
from agentpost.extraction import limits
from agentpost.extraction.html import visible_text
from agentpost.extraction.office import Archive, check_old, slide_members, word_lines
from agentpost.extraction.reading import beginning, decode, only_unreadable
from agentpost.extraction.workbook import is_workbook
from agentpost_offline.documents import lines, pages, printed, slides
from agentpost_offline.documents.model import Block, BlockKind, Document

_MARKDOWN = frozenset(("md", "markdown", "mdown", "mkd"))
_HTML_MARKS = ("<!doctype html", "<html", "<head", "<body", "<article", "<table", "<main")


def read(file: File) -> Document:
    """Read a document. Raises `Unreadable`; runs in a worker process."""
    return read_path(file.local, file.name)


def read_path(path: Path, name: str) -> Document:
    """Read the document at a path; ``name`` is what its sender called it. Raises `Unreadable`."""
    with only_unreadable(name):
        head = beginning(path, name, limits.MAX_BYTES)
        if head.startswith(b"%PDF-"):
            found, count = printed.blocks(path, name)
            notes = (
                (f"only the first {count:,} pages are read",) if count >= limits.MAX_PAGES else ()
            )
            return _document(name, found, notes, pages=count)
        if head.startswith(b"PK\x03\x04"):
            return _office(path, name)
        if head.startswith(b"\xd0\xcf\x11\xe0"):
            check_old(path, name, ".docx or .pptx")
        return _text(path, name)


def read_text(text: str, name: str) -> Document:
    """The blocks of a text that came with a message, or of a text file."""
    notes: tuple[str, ...] = ()
    if len(text) > limits.MAX_CHARACTERS:
        text = text[: limits.MAX_CHARACTERS]
        notes = (f"only the first {limits.MAX_CHARACTERS:,} characters are read",)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if looks_like_html(text):
        return _html(text, name, notes)
    suffix = name.lower().rpartition(".")[2]
    markdown = suffix in _MARKDOWN or (
        suffix not in ("txt", "text") and "\n#" in f"\n{text[:5000]}"
    )
    return _document(name, list(lines.blocks(text, markdown=markdown)), notes)


def looks_like_html(text: str) -> bool:
    """Whether a text is a web page."""
    start = text[:2000].lstrip("\ufeff \n\t").lower()
    return start.startswith("<") and any(mark in start for mark in _HTML_MARKS)


def _document(
    name: str, found: list[Block], notes: tuple[str, ...] = (), *, title: str = "", pages: int = 0
) -> Document:
    if not found:
        raise Unreadable(f"{name} has no text in it")
    return Document(name, title or lines.title(found, name), tuple(found), notes, pages)


def _office(path: Path, name: str) -> Document:
    with Archive(path, name) as archive:
        if "word/document.xml" in archive.members:
            kept: list[str] = []
            length = 0
            for line in word_lines(archive):
                kept.append(line)
                length += len(line) + 1
                if length > limits.MAX_CHARACTERS:
                    break
            cut = length > limits.MAX_CHARACTERS
            notes = (
                (f"only the first {limits.MAX_CHARACTERS:,} characters are read",) if cut else ()
            )
            return _document(name, list(lines.blocks("\n".join(kept))), notes)
        if "ppt/presentation.xml" in archive.members:
            found = list(slides.blocks(archive))
            count = len(slide_members(archive))
            return _document(name, found, pages=min(count, limits.MAX_PAGES))
        if is_workbook(archive):
            raise Unreadable(f"{name} is a workbook, not a text")
    raise Unreadable(f"{name} is an archive; attach the files inside it one by one")


def _text(path: Path, name: str) -> Document:
    most = limits.MAX_CHARACTERS * 4
    with path.open("rb") as file:
        data = file.read(most + 1)
    text = decode(data, name, cut=len(data) > most)
    if looks_like_html(text) and len(data) > limits.MAX_HTML_BYTES:
        most = limits.MAX_HTML_BYTES // 2**20
        raise Unreadable(f"{name} is larger than {most} MB, the most for an HTML file")
    return read_text(text, name)


def _html(text: str, name: str, notes: tuple[str, ...]) -> Document:
    title, found = pages.blocks(text)
    if not found:  # everything stood beside the content
        found = list(lines.blocks(visible_text(text)))
    headed = any(block.kind is BlockKind.HEADING for block in found)
    return _document(name, found, notes, title="" if headed else title)
