"""Web pages as blocks: the main content, without menus, comments and what is not shown.

The page is streamed through libxml2's tokenizer without building a tree, like the page's text in
`agentpost.extraction.html`, which says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agentpost_offline.documents.model import Block, BlockKind

_CHUNK: Final = 64 * 1024
_SKIPPED: Final = frozenset(
    {
        "script",
        "style",
        "template",
        "noscript",
        "svg",
        "head",
        "nav",
        "footer",
        "aside",
        "button",
        "select",
        "option",
        "iframe",
        "dialog",
        "menu",
    }
)
_BREAKING: Final = frozenset(
    {
        "p",
        "div",
        "section",
        "article",
        "header",
        "main",
        "ul",
        "ol",
        "table",
        "tr",
        "br",
        "hr",
        "pre",
        "blockquote",
        "dt",
        "dd",
        "figure",
        "figcaption",
        "address",
        "details",
        "summary",
        "body",
    }
)
_ROLES: Final = frozenset(
    ("navigation", "banner", "contentinfo", "search", "menu", "complementary")
)
_NAMES: Final = frozenset(
    {
        "nav",
        "navbar",
        "navigation",
        "menu",
        "sidebar",
        "footer",
        "breadcrumb",
        "breadcrumbs",
        "comments",
        "comment",
        "cookie",
        "cookies",
        "cookie-banner",
        "share",
        "social",
        "related",
        "advertisement",
        "ads",
    }
)
_VOID: Final = frozenset(
    {
        "br",
        "hr",
        "img",
        "input",
        "meta",
        "link",
        "area",
        "base",
        "col",
        "embed",
        "source",
        "track",
        "wbr",
    }
)
_SPAN_MOST: Final = 100
_COLUMNS_MOST: Final = 500
_CELLS_MOST: Final = 2_000_000


class _Page:
    """What the parser reports to; collects blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.title = ""
        self._pieces: list[str] = []
        self._skipped: list[str] = []
        self._kind, self._level = BlockKind.PARAGRAPH, 0
        self._place = ""
        self._tables: list[_Grid] = []
        self._in_title = False
        self._cells = 0
        self._mains = 0
        self._in_main: list[bool] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "title" and not self.title:
            self._in_title = True
        if tag in _VOID:
            if tag in ("br", "hr") and not self._skipped and not self._tables:
                self._flush()
            elif tag == "br":
                self._pieces.append(" ")
            return
        if tag in _SKIPPED or (tag not in ("html", "body", "main") and _beside(attributes)):
            self._skipped.append(tag)
            return
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.append(tag)
            return
        if tag == "main":
            self._flush()
            self._mains += 1
        self._open(tag, attributes)

    def _open(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "table":
            self._flush()
            self._tables.append(_Grid())
        elif self._tables:
            if tag == "tr":
                self._tables[-1].row()
            elif tag in ("td", "th"):
                self._pieces = []
                self._tables[-1].cell(attributes)
            elif tag in _BREAKING:
                self._pieces.append(" ")
        elif len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._flush()
            self._kind, self._level = BlockKind.HEADING, int(tag[1])
        elif tag == "li":
            self._flush()
            self._kind = BlockKind.ITEM
        elif tag in _BREAKING:
            self._flush()

    def end(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.pop()
            return
        if self._tables:
            if tag in ("td", "th", "tr", "table"):
                self._tables[-1].text(" ".join("".join(self._pieces).split()))
                self._pieces = []
            if tag == "table":
                self._table(self._tables.pop())
        elif tag == "main":
            self._flush()
            self._mains = max(0, self._mains - 1)
        elif tag in _BREAKING or tag == "li" or (len(tag) == 2 and tag[0] == "h"):
            self._flush()

    def _table(self, grid: _Grid) -> None:
        rows = grid.rows()
        self._cells += sum(map(len, rows))
        if self._cells > _CELLS_MOST:
            return
        wide = max((len(row) for row in rows), default=0)
        if wide < 2:  # laid out as a table
            for row in rows:
                for text in row:
                    if text:
                        self._add(Block(BlockKind.PARAGRAPH, text, place=self._place))
        elif rows:
            self._add(Block(BlockKind.TABLE, place=self._place, rows=tuple(map(tuple, rows))))

    def _add(self, block: Block) -> None:
        self.blocks.append(block)
        self._in_main.append(self._mains > 0)

    def data(self, data: str) -> None:
        if self._in_title:
            self.title = (self.title + data)[:200]
        if not self._skipped:
            self._pieces.append(data)

    def comment(self, _: str) -> None:
        """Comments are for the page's authors."""

    def _flush(self) -> None:
        text = " ".join("".join(self._pieces).split())
        self._pieces = []
        if text:
            if self._kind is BlockKind.HEADING:
                self._place = text[:200]
            self._add(Block(self._kind, text, self._level, self._place))
        self._kind, self._level = BlockKind.PARAGRAPH, 0

    def close(self) -> list[Block]:
        while self._tables:
            self._table(self._tables.pop())
        self._flush()
        if any(self._in_main):
            kept = zip(self.blocks, self._in_main, strict=True)
            self.blocks = [block for block, inside in kept if inside]
        return self.blocks


def _beside(attributes: Mapping[str, str]) -> bool:
    """Whether an element is hidden, or stands beside the content by its role or its name."""
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    if "display:none" in attributes.get("style", "")[:200].replace(" ", ""):
        return True
    said = f"{attributes.get('class', '')[:200]} {attributes.get('id', '')[:50]}".lower().split()
    return attributes.get("role") in _ROLES or bool(_NAMES.intersection(said))


class _Grid:
    """The rows of a table, with cells that span several rows or columns in each of them."""

    def __init__(self) -> None:
        self._rows: list[dict[int, str]] = []
        self._spans: dict[int, tuple[int, str]] = {}
        self._at: tuple[int, int, int] | None = None

    def row(self) -> None:
        self._rows.append({})
        for column, (left, text) in list(self._spans.items()):
            self._rows[-1][column] = text
            self._spans[column] = (left - 1, text)
            if left <= 1:
                del self._spans[column]

    def cell(self, attributes: Mapping[str, str]) -> None:
        if not self._rows:
            self.row()
        column = 0
        while column in self._rows[-1]:
            column += 1
        if column + _span(attributes, "colspan") > _COLUMNS_MOST:
            return
        self._at = column, _span(attributes, "colspan"), _span(attributes, "rowspan")
        for offset in range(self._at[1]):
            self._rows[-1].setdefault(column + offset, "")

    def text(self, text: str) -> None:
        if self._at is None:
            return
        column, wide, high = self._at
        self._at = None
        for offset in range(wide):
            self._rows[-1][column + offset] = text
            if high > 1:
                self._spans[column + offset] = (high - 1, text)

    def rows(self) -> list[list[str]]:
        return [
            [row.get(i, "") for i in range(max(row) + 1)] for row in self._rows if any(row.values())
        ]


def _span(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "1").strip()
    return max(1, min(int(text), _SPAN_MOST)) if text.isdigit() and len(text) < 6 else 1


def blocks(markup: str) -> tuple[str, list[Block]]:
    """The title of a page and its blocks."""
    from lxml import etree

    page = _Page()
    parser = etree.HTMLParser(target=page, encoding="utf-8", huge_tree=True)
    for at in range(0, len(markup), _CHUNK):
        parser.feed(markup[at : at + _CHUNK].encode())
    try:
        parser.close()
    except etree.XMLSyntaxError:  # nothing was in it
        return "", []
    return " ".join(page.title.split()), page.blocks
