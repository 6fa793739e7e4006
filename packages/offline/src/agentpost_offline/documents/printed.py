"""PDF files as blocks. A PDF holds lines at places, not paragraphs: sentences go on over lines and
pages, headings are larger or bolder than the text, and running heads repeat on many pages."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from agentpost.extraction import limits
from agentpost.extraction.pdf import Line, read_lines
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import Block, BlockKind

_PAGE_NUMBER = re.compile(
    r"[-–—|\s]*(?:(?:page|seite|página|pagina|p\.|s\.|第|صفحة)\s*)?\d{1,4}\s*页?"
    r"(?:\s*(?:/|of|von|de|sur|من|共)\s*\d{1,4}\s*页?)?[-–—|\s]*",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\s*(?:[•‣◦▪●–*-]|\d{1,2}[.)]|\([a-z0-9]\))\s+(?=\S)")
_END = re.compile(r"[.!?:;…。！？；：][\"'”’)\]]*$")
_EDGE_LINES = 2
_LARGER = 1.12
_HEADING_CHARACTERS = 160
_FAR = 1000
"""Numbers from here on are no page's."""
_LEAST_ROWS = 3
_CELL_WORDS = 9
"""Parts with more words on average are columns of prose."""
_Span = tuple[float, float]


def blocks(path: Path, name: str) -> tuple[list[Block], int]:
    """The blocks of a PDF and how many pages were read. Raises `Unreadable`."""
    pages = read_lines(path, name, limits.MAX_CHARACTERS)
    return list(_Reader(_without_edges(pages)).read()), len(pages)


def _on_page(text: str, page: int) -> str:
    """A line with its small numbers as their distance from the page's, so that running heads with
    page numbers are alike and rows of tables are not."""

    def distance(match: re.Match[str]) -> str:
        is_small = len(match[0]) < 5 and int(match[0]) < _FAR
        return f"#{int(match[0]) - page}" if is_small else match[0]

    return re.sub(r"\d+", distance, " ".join(text.split()).lower())


def _without_edges(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages without page numbers and the lines that repeat at their top or bottom."""
    edges: list[dict[int, str]] = []
    for number, page in enumerate(pages):
        by_top = sorted(page, key=lambda line: line.top)
        edge = [*by_top[:_EDGE_LINES], *by_top[-_EDGE_LINES:]]
        edges.append({id(line): _on_page(line.text, number) for line in edge})
    counts = Counter(text for edge in edges for text in {*edge.values()})
    often = max(3, len(pages) // 3) if len(pages) > 2 else 99

    def stays(line: Line, edge: dict[int, str]) -> bool:
        repeats = counts[edge.get(id(line), "")] >= often and len(line.text) < 150
        is_number = _PAGE_NUMBER.fullmatch(line.text.strip())
        return id(line) not in edge or not (is_number or repeats)

    return [[line for line in page if stays(line, edge)]
            for page, edge in zip(pages, edges, strict=True)]  # fmt: skip


class _Reader:
    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
        self._pages = pages
        sizes: Counter[float] = Counter()
        for line in (line for page in pages for line in page):
            sizes[line.size] += len(line.text)
        self._body = sizes.most_common(1)[0][0] if sizes else 0.0
        larger = sorted({s for s in sizes if s > self._body * _LARGER}, reverse=True)
        self._levels = {size: min(level, 6) for level, size in enumerate(larger, 1)}
        widths = sorted(10 * round(len(line.text) / 10) for page in pages for line in page)
        self._full = widths[int(len(widths) * 0.8)] if widths else 0
        self._heading = self._text = self._place = ""
        self._kind, self._heading_level = BlockKind.PARAGRAPH, 1
        self._last: Line | None = None
        self._rows: list[list[str]] = []
        self._columns: list[_Span] = []

    def read(self) -> Iterator[Block]:
        for number, page in enumerate(self._pages, 1):
            gaps = [b.top - a.top for a, b in pairwise(page) if b.top > a.top]
            usual = sorted(gaps)[len(gaps) // 2] if gaps else 0.02
            at = 0
            while at < len(page):
                table = _table_at(page, at, self._columns if at == 0 else ())
                if table is not None:
                    yield from self._end()
                    self._rows += table.rows[table.rows[0] in self._rows[:1] :]
                    self._columns = table.columns
                    at += table.lines
                    continue
                yield from self._end_table(number)
                yield from self._line(page[at], number, usual, is_first=at == 0)
                at += 1
        yield from self._end()
        yield from self._end_table(len(self._pages))

    def _end_table(self, number: int) -> Iterator[Block]:
        """The table that goes on up to here, maybe over several pages."""
        if self._rows:
            grid = content.grid(self._rows[0], self._rows[1:])
            yield Block(BlockKind.TABLE, grid=grid, place=self._page_place(number))
        self._rows, self._columns = [], []

    def _line(self, line: Line, number: int, usual: float, *, is_first: bool) -> Iterator[Block]:
        text = " ".join(line.text.replace("\ufffe", "\u00ad").replace("\x02", "\u00ad").split())
        level, before = self._level(line, text), self._last
        if level:
            goes_on = (
                self._kind is BlockKind.HEADING and before is not None and not is_first
                and (before.size, before.bold) == (line.size, line.bold)
                and line.top - before.top < 2.2 * max(usual, 0.012)
            )  # fmt: skip
            if not goes_on:
                yield from self._end()
                self._kind, self._heading_level = BlockKind.HEADING, level
            self._text = f"{self._text} {text}" if goes_on else text
            self._heading = self._text[:200]
            self._place = self._page_place(number)
        else:
            item = _ITEM.match(text)
            is_new = self._kind is BlockKind.HEADING or self._breaks(line, usual, is_first=is_first)
            if item or is_new:
                yield from self._end()
                self._kind = BlockKind.ITEM if item else BlockKind.PARAGRAPH
                self._place = self._page_place(number)
                text = text[item.end() :] if item else text
            self._text = _join(self._text, text)
        self._last = line

    def _page_place(self, number: int) -> str:
        return f"page {number}, {self._heading}" if self._heading else f"page {number}"

    def _level(self, line: Line, text: str) -> int:
        """The level of a heading, 0 for a line that is none."""
        if len(text) > _HEADING_CHARACTERS or not any(c.isalpha() for c in text):
            return 0
        if line.size in self._levels:
            return self._levels[line.size]
        bold = line.bold and line.size >= self._body and len(text) < 80
        if bold and not _END.search(text) and not _ITEM.match(text):
            return min(len(self._levels) + 1, 6)
        return 0

    def _breaks(self, line: Line, usual: float, *, is_first: bool) -> bool:
        """Whether a new paragraph begins with a line."""
        if not self._text or self._last is None:
            return True
        is_whole = bool(_END.search(self._text))
        if is_first:
            return is_whole
        gap = line.top - self._last.top
        if gap < 0 or abs(line.size - self._last.size) > 0.15 * self._body:
            return is_whole or gap >= 0
        return gap > 1.45 * usual or (is_whole and len(self._last.text) < 0.8 * self._full)

    def _end(self) -> Iterator[Block]:
        if self._text:
            level = self._heading_level if self._kind is BlockKind.HEADING else 0
            runs = content.words(self._text.replace("\u00ad", ""))
            yield Block(self._kind, runs, level, place=self._place)
        self._text, self._kind = "", BlockKind.PARAGRAPH


def _join(text: str, more: str) -> str:
    """A paragraph with its next line: a hyphen at the end of a line joins the parts of a word."""
    is_hyphen = re.search(r"[^\W\d_]{2}-$", text) and more[:1].islower()
    if is_hyphen or text.endswith("\u00ad"):
        return text[:-1] + more
    is_chinese = "\u3000" <= text[-1:] <= "\u9fff" and "\u3000" <= more[:1] <= "\u9fff"
    return text + more if is_chinese or not text else f"{text} {more}"


class _PrintedTable(NamedTuple):
    """A table: its rows, the header first, from where to where its columns reach, and how many
    lines it takes."""

    rows: list[list[str]]
    columns: list[_Span]
    lines: int


def _table_at(
    lines: Sequence[Line], start: int, before: Sequence[_Span] = ()
) -> _PrintedTable | None:
    """The table that begins at a line; ``before``: the columns of the one that the last page ended
    with, which may go on here with a single row."""
    end = start
    while end < len(lines) and len(lines[end].ends) > 1:
        end += 1
    group = lines[start:end]
    if before and group:
        rows = [_row(line, before) for line in group]
        if all(rows):
            return _PrintedTable([row for row in rows if row], list(before), len(group))
    if len(group) < _LEAST_ROWS:
        return None
    width = Counter(len(line.ends) for line in group).most_common(1)[0][0]
    columns = _columns([line for line in group if len(line.ends) == width])
    rows = [_row(line, columns) for line in group]
    if not columns or not all(rows):
        return None
    cells = [cell for row in rows if row for cell in row if cell]
    if sum(len(cell.split()) for cell in cells) > _CELL_WORDS * len(cells):
        return None
    return _PrintedTable([row for row in rows if row], columns, len(group))


def _columns(rows: Sequence[Line]) -> list[_Span]:
    """From where to where each column reaches; none where columns would overlap."""
    if len(rows) < _LEAST_ROWS - 1:
        return []
    spans = [
        (min(left for left, _ in parts), max(right for _, right in parts))
        for parts in zip(*(line.ends for line in rows), strict=True)
    ]
    apart = all(one[1] < after[0] for one, after in pairwise(spans))
    return spans if apart else []


def _row(line: Line, columns: Sequence[_Span]) -> list[str] | None:
    """The cells of a line, empty where a column has none; None where a part fits no column."""
    cells = [""] * len(columns)
    at = 0
    for text, (left, right) in zip(line.text.split("\t"), line.ends, strict=False):
        while at < len(columns) and not (left <= columns[at][1] and right >= columns[at][0]):
            at += 1
        if at == len(columns):
            return None
        cells[at] = " ".join(text.split())
        at += 1
    return cells
