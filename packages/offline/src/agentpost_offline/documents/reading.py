"""Documents of all formats as blocks that know where they stand; the content decides the format."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from agentpost.agents import File, Unreadable
from agentpost.extraction import limits
from agentpost.extraction.html import visible_text
from agentpost.extraction.office import Archive, check_old, word_lines
from agentpost.extraction.reading import beginning, decode, only_unreadable
from agentpost.extraction.workbook import is_workbook
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import Block, BlockKind
from agentpost_offline.documents import printed, slides, sources
from agentpost_offline.documents.sources import Document

_PAGE_WORDS = 25
"""More than the source and the date below a table."""
_CUT = f"only the first {limits.MAX_CHARACTERS:,} characters are read"


def read(file: File) -> Document:
    """Read a document. Raises `Unreadable`; runs in a worker process."""
    path, name = file.local, file.name
    with only_unreadable(name):
        head = beginning(path, name, limits.MAX_BYTES)
        if head.startswith(b"%PDF-"):
            blocks, count = printed.blocks(path, name)
            note = f"only the first {count:,} pages are read"
            return _document(name, blocks, [note] if count >= limits.MAX_PAGES else [])
        if head.startswith(b"PK\x03\x04"):
            return _office(path, name)
        if head.startswith(b"\xd0\xcf\x11\xe0"):
            check_old(path, name, ".docx or .pptx")
        most = limits.MAX_CHARACTERS * 4
        with path.open("rb") as stream:
            data = stream.read(most + 1)
        text = decode(data, name, cut=len(data) > most)
        if sources.is_page(text) and len(data) > limits.MAX_HTML_BYTES:
            most = limits.MAX_HTML_BYTES // 2**20
            raise Unreadable(f"{name} is larger than {most} MB, the most for an HTML file")
        return read_text(text, name)


def is_text_page(file: File) -> bool:
    """Whether a file is a web page that says something beside its tables."""
    if not file.name.lower().endswith((".html", ".htm")):
        return False
    try:
        blocks = read(file).blocks
    except Unreadable:
        return False
    texts = [one.text for one in blocks if one.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM)]
    return sum(len(text.split()) for text in texts) >= _PAGE_WORDS


def read_text(text: str, name: str) -> Document:
    """The blocks of a text that came with a message, or of a text file."""
    notes = [_CUT] if len(text) > limits.MAX_CHARACTERS else []
    text = text[: limits.MAX_CHARACTERS]
    suffix = name.lower().rpartition(".")[2]
    if sources.is_page(text):
        document = sources.from_html(text, is_content=True)
        if not document.blocks:  # everything stood beside the content
            document = sources.from_text(visible_text(text))
    else:
        is_markdown = suffix in sources.MARKDOWN or (
            suffix not in ("txt", "text") and "\n#" in f"\n{text[:5000]}"
        )
        document = sources.from_text(text, is_markdown=is_markdown)
    return _document(name, _below_headings(document.blocks), notes, title=document.title)


def _below_headings(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks with the heading that they stand below; a table of one column is paragraphs."""
    place = ""
    for block in blocks:
        if block.grid is not None and len(block.grid.header) == 1:
            for (text,) in block.rows:
                yield replace(content.paragraph(text), place=place)
            continue
        text = block.text
        if block.kind is not BlockKind.CODE:
            text = " ".join(text.split())
        if block.kind is BlockKind.HEADING:
            place = text[:200]
        is_same = text == block.text and not place  # a text may have very many
        if text or block.grid is not None:
            yield block if is_same else replace(block, runs=content.words(text), place=place)


def _document(name: str, blocks: Iterable[Block], notes: list[str], *, title: str = "") -> Document:
    """A document is called by its first heading, else by its title, else by its file's name."""
    all_blocks = list(blocks)
    if not all_blocks:
        raise Unreadable(f"{name} has no text in it")
    heads = (block.text for block in all_blocks if block.kind is BlockKind.HEADING)
    title = next(heads, title) or name.rpartition(".")[0] or name
    return Document(all_blocks, title=title, notes=notes, name=name)


def _office(path: Path, name: str) -> Document:
    with Archive(path, name) as archive:
        if "word/document.xml" in archive.members:
            text = "\n".join(islice(word_lines(archive), limits.MAX_CHARACTERS))
            document = sources.from_text(text[: limits.MAX_CHARACTERS], is_markdown=False)
            is_cut = len(text) > limits.MAX_CHARACTERS
            return _document(name, _below_headings(document.blocks), [_CUT] if is_cut else [])
        if "ppt/presentation.xml" in archive.members:
            return _document(name, slides.blocks(archive), [])
        if is_workbook(archive):
            raise Unreadable(f"{name} is a workbook, not a text")
    raise Unreadable(f"{name} is an archive; attach the files inside it one by one")
