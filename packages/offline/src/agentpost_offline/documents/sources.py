"""Texts as blocks, nothing left out: Markdown, HTML, Word files and text without marks.

Markdown and Word files become HTML first, by markdown-it and mammoth, so that one reader knows
headings, lists, tables and pictures. What cannot be carried over is counted and named.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from agentpost.agents.base import File
from agentpost.extraction import Unreadable, limits
from agentpost.extraction.office import Archive
from agentpost.extraction.reading import beginning, decode, only_unreadable
from agentpost_offline.content.blocks import (
    Block,
    BlockKind,
    Run,
    Runs,
    grid,
    plain,
    words,
)

if TYPE_CHECKING:
    from lxml.etree import _Element

MARKDOWN = ("md", "markdown", "mdown", "mkd")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCK_TAGS = (
    "p ul ol table pre blockquote hr figure div section article main header footer nav aside body "
    "html head dl dt dd form details summary address figcaption center fieldset li"
)
_BLOCKS = frozenset(_BLOCK_TAGS.split()) | {*_HEADINGS}
_SILENT = ("script", "style", "template", "noscript", "title", "meta", "link")
_LOSSES = {
    tag: what
    for what, tags in {
        "form fields": "input select textarea button", "embedded pages": "iframe",
        "films": "video", "recordings": "audio", "drawings": "canvas svg",
        "embedded objects": "object embed", "formulas": "math",
    }.items() for tag in tags.split()
}  # fmt: skip
_LOOKS = {
    **dict.fromkeys(("b", "strong", "th"), "bold"),
    **dict.fromkeys(("i", "em", "cite", "var"), "italic"),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), "code"),
    **dict.fromkeys(("s", "del", "strike"), "struck"),
}
_LINK = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\r\n\f]+")
_SPAN_MOST, _PICTURES_MOST = 100, 200
_COLUMNS_MOST, _CELLS_MOST = 500, 500_000
"""Of a table, and of all tables together: cells that span others could be many more."""
_TOO_LARGE = "parts of tables beyond the largest that are read"
_LINE_LONGEST = 20_000
"""Characters of a line of Markdown: parsers take a time that grows with the square of it."""
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
_PAGES = ("<!doctype html", "<html", "<head", "<body", "<article", "<table", "<main")
_ASIDE = (
    "nav", "footer", "aside", "button", "select", "option", "iframe", "dialog", "menu", "svg"
)  # fmt: skip
_ASIDE_ROLES = ("navigation", "banner", "contentinfo", "search", "menu", "complementary")
# Marks of a text without a format.
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_UNDERLINE = re.compile(r"(=|-)\1{2,}$")
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,4}\.)\s+\S.{0,70}")
_ITEM = re.compile(r"^\s*(?:[-*+•‣◦]|\d{1,3}[.)])\s+")
_RULE = re.compile(r"\|?[\s:|-]+\|?$")
_BREAK = re.compile(r"\s*([-*_])(\s*\1){2,}\s*$")
_PROSE = 60
"""Lines of text that was broken by a program are longer than this."""


@dataclass
class Document:
    """A document as blocks.

    Args:
        blocks: all of it, in order.
        pictures: the bytes of each picture that a block refers to by its number.
        title: of a Word file or page that has one beside its headings.
        notes: what could not be carried over, or was cut off.
        name: of its file.
    """

    blocks: list[Block] = field(default_factory=list)
    pictures: list[bytes] = field(default_factory=list)
    title: str = ""
    notes: list[str] = field(default_factory=list)
    name: str = ""


def read(file: File, beside: Mapping[str, Path] | None = None) -> Document:
    """The blocks of a Markdown, HTML, Word or text file; its content decides the format.
    ``beside``: other files by name, to which its pictures may refer. Raises `Unreadable`."""
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
        if is_page(text):
            return from_html(text, beside)
        is_markdown = name.lower().rpartition(".")[2] in MARKDOWN
        return from_text(text, is_markdown=is_markdown or None, beside=beside)


def is_page(text: str) -> bool:
    """Whether a text is a web page."""
    start = text[:2000].lstrip("\ufeff \n\t").lower()
    return start.startswith("<") and any(mark in start for mark in _PAGES)


def from_text(
    text: str, *, is_markdown: bool | None = None, beside: Mapping[str, Path] | None = None
) -> Document:
    """The blocks of a text. ``is_markdown``: None decides by its marks. Raises `Unreadable` when
    it is longer than what is read."""
    if len(text) > limits.MAX_CHARACTERS:
        raise Unreadable(f"the text has more than {limits.MAX_CHARACTERS:,} characters")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if is_markdown is None:
        is_markdown = re.search(r"^(#{1,6} |```|\|.*\|$|[-*] )", text, re.MULTILINE) is not None
    if not is_markdown or max(map(len, text.split("\n"))) > _LINE_LONGEST:
        blocks = list(_without_marks(text.split("\n")))
        lift = min((one.level for one in blocks if one.kind is BlockKind.HEADING), default=1) - 1
        return Document([replace(one, level=one.level - lift) if one.kind is BlockKind.HEADING
                       else one for one in blocks])  # fmt: skip
    from markdown_it import MarkdownIt

    engine = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    engine.validateLink = lambda url: True  # type: ignore[method-assign] # ours decides below
    end = text.find("\n---\n", 3) if text.startswith("---\n") else -1
    return from_html(engine.render(text[end + 5 :] if 0 < end <= 4_000 else text), beside)


def from_html(
    html: str, beside: Mapping[str, Path] | None = None, *, is_content: bool = False
) -> Document:
    """The blocks of a page: everything that is shown. ``is_content``: only the main content, with
    tables for their figures: a cell that spans several rows or columns stands in each of them."""
    import lxml.html

    if not html.strip():
        return Document()
    parser = lxml.html.HTMLParser(recover=True, huge_tree=False, remove_comments=True,
                                  remove_pis=True)  # fmt: skip
    root = lxml.html.document_fromstring(html, parser=parser)
    reader = _Reader(beside or {}, repeats=is_content)
    reader.document.title = _collapse_spaces(root.findtext(".//title") or "").strip()
    for part in _content_of(root) if is_content else [root]:
        reader.block(part)
    return reader.finish()


def _content_of(root: Any) -> Iterable[Any]:
    """The parts of a page that are its content, without what is hidden or stands beside it. A
    table around tables lays out the page and is none."""
    for element in list(root.iter()):
        if element.tag in _ASIDE or (
            element.tag not in ("html", "body", "main") and _is_aside(element.attrib)
        ):
            element.drop_tree()
    for inner in root.xpath("//table//table"):
        for outer in inner.xpath("ancestor::table | ancestor::tr | ancestor::td | ancestor::th"):
            outer.tag = "div"
    return root.findall(".//main") or [root]


def _is_aside(own: Mapping[str, str]) -> bool:
    """Whether an element is hidden, or stands beside the content by its role."""
    return (
        "hidden" in own or own.get("aria-hidden") == "true" or own.get("role") in _ASIDE_ROLES
        or "display:none" in own.get("style", "")[:200].replace(" ", "")
    )  # fmt: skip


def _word(path: Path, name: str, beside: Mapping[str, Path]) -> Document:
    import lxml.html
    import mammoth

    with Archive(path, name) as archive:
        if "word/document.xml" not in archive.members:
            raise Unreadable(f"{name} cannot be converted; of Office files only Word (.docx) can")
        losses = list(_word_losses(archive))
    pictures: dict[str, Path | bytes] = {**beside}
    reader = _Reader(pictures)

    def embed(image: Any) -> dict[str, str]:
        name = f"embedded {len(pictures)}"
        with image.open() as stream:
            pictures[name] = stream.read()
        return {"src": name}

    with path.open("rb") as file:
        page = mammoth.convert_to_html(
            file, style_map=_WORD_STYLES, convert_image=mammoth.images.img_element(embed),
            external_file_access=False, include_embedded_style_map=False,
        ).value  # fmt: skip
    if page.strip():
        root = lxml.html.document_fromstring(f"<main>{page}</main>")
        title = root.find(".//h1[@class='title']")
        if title is not None:
            reader.document.title = _collapse_spaces(title.text_content()).strip()
            title.getparent().remove(title)
        reader.block(root)
    document = reader.finish()
    document.notes += losses
    return document


def _word_losses(archive: Archive) -> Iterator[str]:
    """What mammoth leaves out."""
    for start, what in _WORD_PARTS.items():
        if any(one.startswith(start) for one in archive.members):
            yield what
    for start, what in _WORD_TEXTS.items():
        parts = [one for one in archive.members if one.startswith(start)]
        if any(b"<w:t" in (archive.read(one, limits.MAX_PART_BYTES) or b"") for one in parts):
            yield what
    body = archive.read("word/document.xml", limits.MAX_PART_BYTES) or b""
    if b"<m:oMath" in body:
        yield "formulas"
    if b"<w:del " in body:
        yield "tracked deletions"


class _Reader:
    """Walks a page; inline text gathers in ``_runs`` until a block ends. ``repeats``: a cell that
    spans several rows or columns stands in each of them."""

    def __init__(self, beside: Mapping[str, Path | bytes], *, repeats: bool = False) -> None:
        self.document = Document()
        self._beside, self._repeats = beside, repeats
        self._runs: list[Run] = []
        self._losses: Counter[str] = Counter()
        self._lists: list[int | None] = []
        self._is_quote = self._is_item = False
        self._cells = 0

    def finish(self) -> Document:
        """The end of the page."""
        self._end()
        self.document.notes += [f"{count} {what}" if count > 1 else what
                              for what, count in self._losses.items()]  # fmt: skip
        return self.document

    def block(self, element: _Element) -> None:
        """An element that stands below what came before it, with all that is in it."""
        tag = str(element.tag)
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
            self.document.blocks.append(Block(BlockKind.CODE, (code,)))
        elif tag == "hr":
            self.document.blocks.append(Block(BlockKind.RULE))
        elif tag in ("ul", "ol"):
            self._list(element)
        else:
            outer, self._is_quote = self._is_quote, self._is_quote or tag == "blockquote"
            self._children(element, Run("", bold=tag == "dt"))
            self._end()
            self._is_quote = outer

    def _list(self, element: _Element) -> None:
        start = element.get("start", "1")
        number = int(start) if start.isdigit() else 1
        self._lists.append(number if element.tag == "ol" else None)
        for child in element:
            if child.tag != "li":
                self.block(child)
                continue
            self._is_item = True
            self._children(child)
            self._end()
            self._is_item = False
            if self._lists[-1] is not None:
                self._lists[-1] += 1
        self._lists.pop()

    def _children(self, element: _Element, look: Run | None = None) -> None:
        look = look or Run("")
        self._append(element.text, look)
        for child in element:
            if child.tag in _BLOCKS:
                self.block(child)
            else:
                self._inline(child, look)
            self._append(child.tail, look)

    def _inline(self, element: _Element, look: Run) -> None:
        tag = str(element.tag)
        if tag in _LOSSES:
            self._losses[_LOSSES[tag]] += 1
        elif tag == "br":
            self._runs.append(replace(look, text="\n"))
        elif tag == "img":
            self._picture(element)
        elif tag not in _SILENT and isinstance(element.tag, str):
            href = (element.get("href") or "").strip() if tag == "a" else ""
            if _LINK.fullmatch(href):
                look = replace(look, link=href)
            self._children(element, replace(look, **{_LOOKS[tag]: True}) if tag in _LOOKS else look)

    def _append(self, text: str | None, look: Run) -> None:
        if text:
            self._runs.append(replace(look, text=_collapse_spaces(text)))

    def _picture(self, element: _Element) -> None:
        address, alt = element.get("src", ""), _collapse_spaces(element.get("alt", "")).strip()
        content = self._bytes(address)
        if content is None or len(self.document.pictures) >= _PICTURES_MOST:
            name = alt or address.rpartition("/")[2][:60] or "a picture"
            self._losses[f"the picture “{name}”, which is not in the file"] += 1
            return
        self._end()
        self._add_picture(content, alt)

    def _add_picture(self, content: bytes, alt: str) -> None:
        self.document.pictures.append(content)
        number = len(self.document.pictures) - 1
        self.document.blocks.append(Block(BlockKind.PICTURE, picture=number, alt=alt))

    def _bytes(self, address: str) -> bytes | None:
        if match := _DATA_URL.match(address):
            try:
                return base64.b64decode(address[match.end() :], validate=False)
            except (binascii.Error, ValueError):
                return None
        picture = self._beside.get(address.rpartition("/")[2])
        return picture.read_bytes() if isinstance(picture, Path) else picture

    def _end(self, block: Block | None = None) -> None:
        """Put the text so far into a block, if it says anything."""
        runs, self._runs = _join(self._runs), []
        if not plain(runs).strip():
            return
        depth = len(self._lists) - 1
        if block is None and self._is_item:
            block = Block(BlockKind.ITEM, level=depth, number=self._lists[-1])
            self._is_item = False
        elif block is None and self._is_quote:
            block = Block(BlockKind.QUOTE)
        block = block or Block(BlockKind.PARAGRAPH, level=depth + 1)
        self.document.blocks.append(replace(block, runs=runs))

    def _table(self, element: _Element) -> None:
        for caption in element.iterfind("./caption"):
            self._children(caption, Run("", bold=True))
            self._end()
        rows: list[list[Runs]] = []
        spans: dict[tuple[int, int], Runs] = {}
        lines = [row for row in element.iterfind(".//tr")
                 if next(row.iterancestors("table")) is element]  # fmt: skip
        for y, line in enumerate(lines):
            row: list[Runs] = []
            if self._cells > _CELLS_MOST:
                self._losses[_TOO_LARGE] += 1
                break
            for cell in (one for one in line if one.tag in ("td", "th")):
                while (y, len(row)) in spans:
                    row.append(spans.pop((y, len(row))))
                wide = _span(cell.get("colspan"))
                if len(row) + wide > _COLUMNS_MOST:
                    self._losses[_TOO_LARGE] += 1
                    break
                runs = self._cell(cell)
                again = runs if self._repeats else ()
                for down in range(1, _span(cell.get("rowspan"))):
                    spans |= {(y + down, len(row) + across): again for across in range(wide)}
                row += [runs, *[again] * (wide - 1)]
            while (y, len(row)) in spans:
                row.append(spans.pop((y, len(row))))
            rows.append(row)
            self._cells += len(row)
        if any(plain(cell).strip() for row in rows for cell in row):
            self.document.blocks.append(Block(BlockKind.TABLE, grid=grid(rows[0], rows[1:])))

    def _cell(self, cell: _Element) -> Runs:
        """The runs of a cell: paragraphs and lists in it are lines; its pictures stand before the
        table."""
        inner = _Reader(self._beside)
        inner._children(cell)
        inner._end()
        self._losses.update(inner._losses)
        runs: list[Run] = []
        for block in inner.document.blocks:
            if block.kind is BlockKind.PICTURE:
                self._losses["pictures in tables, which stand before the table"] += 1
                self._add_picture(inner.document.pictures[block.picture], block.alt)
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
    return min(_SPAN_MOST, max(1, int(value))) if value and value.isdigit() else 1


def _collapse_spaces(text: str) -> str:
    return _SPACES.sub(" ", text)


def _join(runs: Sequence[Run]) -> Runs:
    """Runs of one look put together, with one blank where several meet, and none at the ends and
    around line breaks."""
    merged: list[Run] = []
    for run in runs:
        before = merged[-1].text if merged else "\n"
        text = re.sub(r" *\n *", "\n", re.sub(r"[ \t]+", " ", run.text))
        text = text.lstrip(" ") if before[-1:] in (" ", "\n") else text
        if text.startswith("\n") and merged:
            merged[-1] = replace(merged[-1], text=before.rstrip(" "))
        if merged and replace(run, text="") == replace(merged[-1], text=""):
            merged[-1] = replace(run, text=merged[-1].text + text)
        elif text:
            merged.append(replace(run, text=text))
    while merged and not merged[-1].text.rstrip():
        merged.pop()
    if merged:
        merged[-1] = replace(merged[-1], text=merged[-1].text.rstrip())
    return tuple(run for run in merged if run.text)


def _without_marks(lines: Sequence[str]) -> Iterator[Block]:
    """The blocks of a text as a person reads it: headings, items, rows between bars, and
    paragraphs, of which a program may have broken the lines."""
    width = max(len(line.strip()) for line in lines)
    rows: list[list[Runs]] = []
    text: list[str] = []
    kind = BlockKind.PARAGRAPH

    def end() -> Iterator[Block]:
        nonlocal kind
        if rows:
            yield Block(BlockKind.TABLE, grid=grid(rows[0], rows[1:]))
        for part in [text] if kind is BlockKind.ITEM else _paragraphs(text, width):
            if any(map(str.strip, part)):
                yield Block(kind, words(" ".join(" ".join(part).split())))
        kind = BlockKind.PARAGRAPH
        rows.clear()
        text.clear()

    is_underline = False
    for at, line in enumerate(lines):
        if is_underline:
            is_underline = False
            continue
        is_row = line.strip().startswith("|")
        if (is_row and text) or (rows and not is_row):
            yield from end()
        is_free = not (text or is_row) or _HEADING.match(line)
        heading = _heading(lines, at) if is_free else None
        if is_row:
            cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
            if not (_RULE.fullmatch(line.strip()) and "-" in line):
                rows.append([words(" ".join(cell.replace("\\|", "|").split())) for cell in cells])
        elif heading is not None:
            yield from end()
            level, title, is_underline = heading
            yield Block(BlockKind.HEADING, words(title), level)
        elif not line.strip() or _BREAK.match(line):
            yield from end()
        elif match := _ITEM.match(line):
            yield from end()
            kind = BlockKind.ITEM
            text.append(line[match.end() :])
        else:
            text.append(line)
    yield from end()


def _heading(lines: Sequence[str], at: int) -> tuple[int, str, bool] | None:
    """The heading that begins at a line: its level, its text, and whether the next line underlines
    it."""
    line, text = lines[at], " ".join(lines[at].split())
    if match := _HEADING.match(line):
        return len(match[1]), match[2][:200], False
    if not text or len(line) > 120:
        return None
    after = lines[at + 1].strip() if at + 1 < len(lines) else ""
    if _UNDERLINE.match(after) and not _ITEM.match(line):
        return (1 if after[0] == "=" else 2), text, True
    is_alone = not after and (at == 0 or not lines[at - 1].strip())
    is_loud = text.isupper() and any(c.isalpha() for c in text) and len(text) > 3
    if is_alone and text[-1] not in ".!?:;," and len(text) < 80:
        return (2, text, False) if is_loud or _NUMBERED.fullmatch(text) else None
    return None


def _paragraphs(lines: Sequence[str], width: int) -> Iterator[list[str]]:
    """Lines in parts where their writer began a new line although the next word had room: notes
    and lists, not lines that a mail program broke."""
    part: list[str] = []
    for line in lines:
        last = part[-1].strip() if part else ""
        word = line.split(maxsplit=1)[0] if line.strip() else ""
        has_room = width < _PROSE or len(last) + 1 + len(word) <= width
        if part and not word[:1].islower() and has_room:
            yield part
            part = []
        part.append(line)
    if part:
        yield part
