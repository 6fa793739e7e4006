"""Documents of all formats as blocks that know where they stand; the content decides the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from agentpost.agents import File, Unreadable
from agentpost.extraction import limits
from agentpost.extraction.html import visible_text
from agentpost.extraction.office import Archive, check_old, slide_members, word_lines
from agentpost.extraction.reading import beginning, decode, only_unreadable
from agentpost.extraction.workbook import is_workbook
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import plain
from agentpost_offline.documents import printed, slides, sources
from agentpost_offline.documents.model import Block, BlockKind, Document

_CUT = f"only the first {limits.MAX_CHARACTERS:,} characters are read"
_KINDS = {
    content.BlockKind.HEADING: BlockKind.HEADING, content.BlockKind.ITEM: BlockKind.ITEM,
    content.BlockKind.CODE: BlockKind.CODE,
}  # fmt: skip


def read(file: File) -> Document:
    """Read a document. Raises `Unreadable`; runs in a worker process."""
    return read_path(file.local, file.name)


def read_path(path: Path, name: str) -> Document:
    """Read the document at a path; ``name`` is what its sender called it. Raises `Unreadable`."""
    with only_unreadable(name):
        head = beginning(path, name, limits.MAX_BYTES)
        if head.startswith(b"%PDF-"):
            blocks, count = printed.blocks(path, name)
            note = f"only the first {count:,} pages are read"
            return _document(name, blocks, (note,) if count >= limits.MAX_PAGES else (),
                             pages=count)  # fmt: skip
        if head.startswith(b"PK\x03\x04"):
            return _office(path, name)
        if head.startswith(b"\xd0\xcf\x11\xe0"):
            check_old(path, name, ".docx or .pptx")
        most = limits.MAX_CHARACTERS * 4
        with path.open("rb") as file:
            data = file.read(most + 1)
        text = decode(data, name, cut=len(data) > most)
        if sources.is_page(text) and len(data) > limits.MAX_HTML_BYTES:
            most = limits.MAX_HTML_BYTES // 2**20
            raise Unreadable(f"{name} is larger than {most} MB, the most for an HTML file")
        return read_text(text, name)


def read_text(text: str, name: str) -> Document:
    """The blocks of a text that came with a message, or of a text file."""
    notes = (_CUT,) if len(text) > limits.MAX_CHARACTERS else ()
    text = text[: limits.MAX_CHARACTERS]
    suffix = name.lower().rpartition(".")[2]
    if sources.is_page(text):
        source = sources.from_html(text, is_content=True)
        if not source.blocks:  # everything stood beside the content
            source = sources.from_text(visible_text(text))
    else:
        is_markdown = suffix in sources.MARKDOWN or (
            suffix not in ("txt", "text") and "\n#" in f"\n{text[:5000]}"
        )
        source = sources.from_text(text, is_markdown=is_markdown)
    return _document(name, list(_place_below_headings(source.blocks)), notes, title=source.title)


def _place_below_headings(blocks: Iterable[content.Block]) -> Iterator[Block]:
    """Blocks below their headings; a table of one column is paragraphs."""
    place = ""
    for block in blocks:
        if block.grid is not None:
            rows = [tuple(" ".join(plain(cell).split()) for cell in row)
                    for row in (block.grid.header, *block.grid.rows)]  # fmt: skip
            if len(rows[0]) > 1:
                yield Block(BlockKind.TABLE, place=place, rows=tuple(rows))
            else:
                yield from (Block(BlockKind.PARAGRAPH, text, place=place) for (text,) in rows)
            continue
        kind = _KINDS.get(block.kind, BlockKind.PARAGRAPH)
        is_heading = kind is BlockKind.HEADING
        text = block.text if kind is BlockKind.CODE else " ".join(block.text.split())
        place = text[:200] if is_heading else place
        if text:
            yield Block(kind, text, block.level if is_heading else 0, place)


def _document(
    name: str, blocks: list[Block], notes: tuple[str, ...] = (), *, title: str = "", pages: int = 0
) -> Document:
    """A document is called by its first heading, else by its title, else by its file's name."""
    if not blocks:
        raise Unreadable(f"{name} has no text in it")
    heading = next((block.text for block in blocks if block.kind is BlockKind.HEADING), title)
    title = heading or name.rpartition(".")[0] or name
    return Document(name, title, tuple(blocks), notes, pages)


def _office(path: Path, name: str) -> Document:
    with Archive(path, name) as archive:
        if "word/document.xml" in archive.members:
            text = "\n".join(islice(word_lines(archive), limits.MAX_CHARACTERS))
            source = sources.from_text(text[: limits.MAX_CHARACTERS], is_markdown=False)
            return _document(name, list(_place_below_headings(source.blocks)),
                             (_CUT,) if len(text) > limits.MAX_CHARACTERS else ())  # fmt: skip
        if "ppt/presentation.xml" in archive.members:
            count = len(slide_members(archive))
            return _document(name, list(slides.blocks(archive)),
                             pages=min(count, limits.MAX_PAGES))  # fmt: skip
        if is_workbook(archive):
            raise Unreadable(f"{name} is a workbook, not a text")
    raise Unreadable(f"{name} is an archive; attach the files inside it one by one")
