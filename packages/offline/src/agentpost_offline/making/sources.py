"""Documents as blocks, nothing left out: Markdown, HTML, Word files and text.

Markdown and Word files become HTML first, by markdown-it and mammoth, so that one reader knows
headings, lists, tables and pictures. What cannot be carried over is counted and named.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost.agents.base import File
from agentpost.extraction import Unreadable, limits
from agentpost.extraction.office import Archive
from agentpost.extraction.reading import beginning, decode, only_unreadable
from agentpost_offline.documents import lines
from agentpost_offline.documents.model import BlockKind as LineKind
from agentpost_offline.documents.reading import looks_like_html
from agentpost_offline.making.content import (
    Block,
    BlockKind,
    Grid,
    Run,
    Runs,
    number_columns,
    plain,
    words,
)

if TYPE_CHECKING:
    from lxml.etree import _Element

_MARKDOWN = ("md", "markdown", "mdown", "mkd")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset((
    *_HEADINGS, "p", "ul", "ol", "table", "pre", "blockquote", "hr", "figure", "div", "section",
    "article", "main", "header", "footer", "nav", "aside", "body", "html", "head", "dl", "dt", "dd",
    "form", "details", "summary", "address", "figcaption", "center", "fieldset", "li",
))  # fmt: skip
_SILENT = frozenset(("script", "style", "template", "noscript", "title", "meta", "link"))
_LOST = {
    "input": "form fields", "select": "form fields", "textarea": "form fields",
    "button": "form fields", "iframe": "embedded pages", "video": "films", "audio": "recordings",
    "canvas": "drawings", "svg": "drawings", "object": "embedded objects",
    "embed": "embedded objects", "math": "formulas",
}  # fmt: skip
_LINK = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_SPAN_MAX = 100
_PICTURES_MAX = 200
_WORD_STYLES = """
p[style-name='Title'] => h1.title:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Quote'] => blockquote:fresh
p[style-name='Intense Quote'] => blockquote:fresh
strike => s
"""
_WORD_PARTS = {
    "word/charts/": "charts", "word/diagrams/": "diagrams", "word/embeddings/": "embedded objects",
}  # fmt: skip
_WORD_TEXTS = {
    "word/header": "the page header", "word/footer": "the page footer",
    "word/comments.xml": "comments",
}  # fmt: skip


@dataclass
class Source:
    """A document that was read.

    Args:
        blocks: all of it, in order.
        pictures: the bytes of each picture that a block refers to by its number.
        title: of a Word file or page that has one beside its headings.
        notes: what could not be carried over.
    """

    blocks: list[Block] = field(default_factory=list)
    pictures: list[bytes] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)


def read(file: File, beside: Mapping[str, Path] | None = None) -> Source:
    """The blocks of a file; its content decides the format.

    Args:
        file: Markdown, HTML, Word or text.
        beside: other files by their names, to which its pictures may refer.

    Raises `Unreadable`.
    """
    path, name = file.local, file.name
    with only_unreadable(name):
        head = beginning(path, name, limits.MAX_BYTES)
        if head.startswith(b"PK\x03\x04"):
            return _word(path, name, beside or {})
        if head.startswith((b"%PDF-", b"\xd0\xcf\x11\xe0", b"{\\rtf")):
            raise Unreadable(
                f"{name} cannot be converted; Markdown, HTML, Word (.docx) and text files can"
            )
        text = decode(path.read_bytes()[: limits.MAX_CHARACTERS * 4], name, cut=False)
        suffix = name.lower().rpartition(".")[2]
        if looks_like_html(text):
            return from_html(text, beside or {})
        return from_text(text, is_markdown=suffix in _MARKDOWN or None, beside=beside)


def from_text(
    text: str, *, is_markdown: bool | None = None, beside: Mapping[str, Path] | None = None
) -> Source:
    """The blocks of a text. ``is_markdown``: None decides by its headings. Raises `Unreadable`
    when it is longer than what is read."""
    if len(text) > limits.MAX_CHARACTERS:
        raise Unreadable(f"the text has more than {limits.MAX_CHARACTERS:,} characters")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if is_markdown is None:
        is_markdown = re.search(r"^(#{1,6} |```|\|.*\|$|[-*] )", text, re.MULTILINE) is not None
    if not is_markdown:
        return _plain(text)
    from markdown_it import MarkdownIt

    engine = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    engine.validateLink = lambda url: True  # type: ignore[method-assign] # ours decides below
    return from_html(engine.render(lines.without_front_matter(text)), beside or {})


def from_html(html: str, beside: Mapping[str, Path]) -> Source:
    """The blocks of a page: everything that is shown, menus and footers too."""
    import lxml.html

    if not html.strip():
        return Source()
    parser = lxml.html.HTMLParser(recover=True, huge_tree=False, remove_comments=True,
                                  remove_pis=True)  # fmt: skip
    root = lxml.html.document_fromstring(html, parser=parser)
    reader = _Reader(beside)
    reader.source.title = _spaced(root.findtext(".//title") or "").strip()
    reader.block(root)
    return reader.done()


def _word(path: Path, name: str, beside: Mapping[str, Path]) -> Source:
    import mammoth

    with Archive(path, name) as archive:
        if "word/document.xml" not in archive.members:
            raise Unreadable(f"{name} cannot be converted; of Office files only Word (.docx) can")
        lost = [what for start, what in _WORD_PARTS.items()
                if any(one.startswith(start) for one in archive.members)]  # fmt: skip
        for start, what in _WORD_TEXTS.items():
            parts = [one for one in archive.members if one.startswith(start)]
            if any(b"<w:t" in (archive.read(one, limits.MAX_PART_BYTES) or b"") for one in parts):
                lost.append(what)
        body = archive.read("word/document.xml", limits.MAX_PART_BYTES) or b""
        lost += ["formulas"] if b"<m:oMath" in body else []
        lost += ["tracked deletions"] if b"<w:del " in body else []
    pictures: list[bytes] = []

    def kept(image: Any) -> dict[str, str]:
        with image.open() as opened:
            pictures.append(opened.read())
        return {"src": f"word:{len(pictures) - 1}"}

    with path.open("rb") as opened:
        page = mammoth.convert_to_html(
            opened, style_map=_WORD_STYLES, convert_image=mammoth.images.img_element(kept),
            external_file_access=False, include_embedded_style_map=False,
        ).value  # fmt: skip
    source = _from_word(page, pictures, beside)
    source.notes += lost
    return source


def _from_word(page: str, pictures: Sequence[bytes], beside: Mapping[str, Path]) -> Source:
    import lxml.html

    reader = _Reader(beside, pictures)
    if page.strip():
        root = lxml.html.document_fromstring(f"<main>{page}</main>")
        title = root.find(".//h1[@class='title']")
        if title is not None:
            reader.source.title = _spaced(title.text_content()).strip()
            title.getparent().remove(title)
        reader.block(root)
    return reader.done()


def _plain(text: str) -> Source:
    """A text without marks: its lines, as a person would read them."""
    kinds = {LineKind.HEADING: BlockKind.HEADING, LineKind.ITEM: BlockKind.ITEM}
    found = lines.blocks(text, markdown=False)
    return Source([
        _table([[words(cell) for cell in row] for row in one.rows]) if one.rows
        else Block(kinds.get(one.kind, BlockKind.PARAGRAPH), words(one.text), max(0, one.level - 1)
                   if one.kind is LineKind.HEADING else 0)
        for one in found
    ])  # fmt: skip


class _Reader:
    """Walks a page; inline text gathers in ``_runs`` until a block ends."""

    def __init__(self, beside: Mapping[str, Path], word: Sequence[bytes] = ()) -> None:
        self.source = Source()
        self._beside, self._word = beside, word
        self._runs: list[Run] = []
        self._lost: Counter[str] = Counter()
        self._lists: list[int | None] = []
        self._quote = False
        self._item = False

    def done(self) -> Source:
        """The end of the page."""
        self._end()
        self.source.notes += [f"{count} {what}" if count > 1 else what
                              for what, count in self._lost.items()]  # fmt: skip
        return self.source

    def block(self, element: _Element) -> None:
        """An element that stands below what came before it, with all that is in it."""
        tag = element.tag
        if not isinstance(tag, str) or tag in _SILENT:
            return
        if tag in _LOST:
            self._lost[_LOST[tag]] += 1
            return
        if tag not in _BLOCKS:
            self._inline(element, Run(""))
            return
        self._end()
        if tag in _HEADINGS:
            self._children(element)
            self._end(Block(BlockKind.HEADING, level=_HEADINGS[tag]))
        elif tag == "table":
            self._table(element)
        elif tag == "pre":
            code = Run("".join(element.itertext()).rstrip("\n"))
            self.source.blocks.append(Block(BlockKind.CODE, (code,)))
        elif tag == "hr":
            self.source.blocks.append(Block(BlockKind.RULE))
        elif tag in ("ul", "ol"):
            self._list(element)
        elif tag == "blockquote":
            outer, self._quote = self._quote, True
            self._children(element)
            self._end()
            self._quote = outer
        else:
            self._children(element, Run("", bold=tag == "dt"))
            self._end()

    def _list(self, element: _Element) -> None:
        start = element.get("start", "1")
        first = int(start) if start.isdigit() else 1
        self._lists.append(first if element.tag == "ol" else None)
        for child in element:
            if child.tag != "li":
                self.block(child)
                continue
            self._item = True
            self._children(child)
            self._end()
            self._item = False
            if self._lists[-1] is not None:
                self._lists[-1] += 1
        self._lists.pop()

    def _children(self, element: _Element, look: Run | None = None) -> None:
        look = look or Run("")
        self._say(element.text, look)
        for child in element:
            if isinstance(child.tag, str) and child.tag in _BLOCKS:
                self.block(child)
            else:
                self._inline(child, look)
            self._say(child.tail, look)

    def _inline(self, element: _Element, look: Run) -> None:
        tag = element.tag
        if not isinstance(tag, str) or tag in _SILENT:
            return
        if tag in _LOST:
            self._lost[_LOST[tag]] += 1
        elif tag == "br":
            self._runs.append(_like(look, "\n"))
        elif tag == "img":
            self._picture(element)
        else:
            self._children(element, _looking(look, element))

    def _say(self, text: str | None, look: Run) -> None:
        if text:
            self._runs.append(_like(look, _spaced(text)))

    def _picture(self, element: _Element) -> None:
        address, alt = element.get("src", ""), _spaced(element.get("alt", "")).strip()
        content = self._bytes(address)
        if content is None or len(self.source.pictures) >= _PICTURES_MAX:
            name = alt or address.rpartition("/")[2][:60] or "a picture"
            self._lost[f"the picture “{name}”, which is not in the file"] += 1
            return
        runs, self._runs = self._runs, []
        self._end_with(runs)
        self.source.pictures.append(content)
        number = len(self.source.pictures) - 1
        self.source.blocks.append(Block(BlockKind.PICTURE, picture=number, alt=alt))

    def _bytes(self, address: str) -> bytes | None:
        if address.startswith("word:"):
            return self._word[int(address[5:])]
        if match := _DATA_URL.match(address):
            try:
                return base64.b64decode(address[match.end() :], validate=False)
            except (binascii.Error, ValueError):
                return None
        path = self._beside.get(address.rpartition("/")[2])
        return path.read_bytes() if path is not None else None

    def _end_with(self, runs: list[Run]) -> None:
        self._runs = runs
        self._end()

    def _end(self, block: Block | None = None) -> None:
        """Put what was gathered into a block, if it says anything."""
        runs = joined(self._runs)
        self._runs = []
        if not plain(runs).strip():
            return
        if block is None:
            depth = len(self._lists) - 1
            if self._item:
                block = Block(BlockKind.ITEM, level=depth, number=self._lists[-1])
                self._item = False
            elif self._quote:
                block = Block(BlockKind.QUOTE)
            else:
                block = Block(BlockKind.PARAGRAPH, level=depth + 1)
        self.source.blocks.append(_with(block, runs))

    def _table(self, element: _Element) -> None:
        for caption in element.iterfind("./caption"):
            self._children(caption, Run("", bold=True))
            self._end()
        rows: list[list[Runs]] = []
        held: dict[tuple[int, int], Runs] = {}
        own = [row for row in element.iterfind(".//tr")
               if next(row.iterancestors("table")) is element]  # fmt: skip
        for y, line in enumerate(own):
            row: list[Runs] = []
            for cell in line:
                if cell.tag not in ("td", "th"):
                    continue
                while (y, len(row)) in held:
                    row.append(held.pop((y, len(row))))
                runs = self._cell(cell)
                wide, tall = _span(cell.get("colspan")), _span(cell.get("rowspan"))
                for down in range(1, tall):
                    for across in range(wide):
                        held[y + down, len(row) + across] = ()
                row += [runs, *[()] * (wide - 1)]
            while (y, len(row)) in held:
                row.append(held.pop((y, len(row))))
            rows.append(row)
        if any(plain(cell).strip() for row in rows for cell in row):
            self.source.blocks.append(_table(rows))

    def _cell(self, cell: _Element) -> Runs:
        """The runs of a cell: paragraphs and lists in it are lines; its pictures follow the
        table."""
        inner = _Reader(self._beside, self._word)
        inner._children(cell)
        inner._end()
        self._lost.update(inner._lost)
        runs: list[Run] = []
        for block in inner.source.blocks:
            if block.kind is BlockKind.PICTURE:
                self.source.pictures.append(inner.source.pictures[block.picture])
                self._lost["pictures in tables, which stand before the table"] += 1
                number = len(self.source.pictures) - 1
                self.source.blocks.append(Block(BlockKind.PICTURE, picture=number, alt=block.alt))
                continue
            runs += [Run("\n")] if runs else []
            if block.kind is BlockKind.ITEM:
                runs.append(Run(f"{block.number}. " if block.number else "• "))
            if block.grid is not None:
                cells = [plain(one) for row in (block.grid.header, *block.grid.rows) for one in row]
                runs.append(Run(" | ".join(filter(None, cells))))
            runs += block.runs
        return tuple(runs)


def _span(value: str | None) -> int:
    return min(_SPAN_MAX, max(1, int(value))) if value and value.isdigit() else 1


def _table(rows: Sequence[Sequence[Runs]]) -> Block:
    width = max(map(len, rows))
    full = [(*row, *[()] * (width - len(row))) for row in rows]
    body = [[plain(cell) for cell in row] for row in full[1:]]
    numbers = number_columns(body, width)
    return Block(BlockKind.TABLE, grid=Grid(full[0], tuple(full[1:]), numbers))


def _with(block: Block, runs: Runs) -> Block:
    return Block(block.kind, runs, block.level, block.number)


def _spaced(text: str) -> str:
    return _SPACES.sub(" ", text)


def _like(look: Run, text: str) -> Run:
    return Run(text, look.bold, look.italic, look.code, look.struck, look.link)


def _looking(look: Run, element: _Element) -> Run:
    """The look of what is inside an inline element."""
    tag = element.tag
    href = (element.get("href") or "").strip() if tag == "a" else ""
    return Run(
        "",
        look.bold or tag in ("b", "strong", "th"),
        look.italic or tag in ("i", "em", "cite", "var"),
        look.code or tag in ("code", "kbd", "samp", "tt"),
        look.struck or tag in ("s", "del", "strike"),
        href if _LINK.fullmatch(href) else look.link,
    )


def joined(runs: Sequence[Run]) -> Runs:
    """Runs of one look put together, without blanks at the ends and around line breaks."""
    merged: list[Run] = []
    for run in runs:
        if merged and _like(run, "") == _like(merged[-1], ""):
            merged[-1] = _like(run, merged[-1].text + run.text)
        else:
            merged.append(run)
    texts = list(_trimmed([run.text for run in merged]))
    return tuple(_like(run, text) for run, text in zip(merged, texts, strict=True) if text)


def _trimmed(texts: Sequence[str]) -> Iterator[str]:
    """Texts that follow each other, with one blank where several meet."""
    blank = True
    cleaned: list[str] = []
    for text in texts:
        text = re.sub(r" *\n *", "\n", _BLANKS.sub(" ", text))
        cleaned.append(text.lstrip(" ") if blank else text)
        blank = cleaned[-1][-1:] in (" ", "\n") if cleaned[-1] else blank
    for at in range(len(cleaned) - 1, -1, -1):
        cleaned[at] = cleaned[at].rstrip()
        if cleaned[at]:
            break
    yield from cleaned


_BLANKS = re.compile(r"[ \t]+")
