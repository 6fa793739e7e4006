"""PDF files as blocks: headings by the size of their letters, without what repeats on each page.

A PDF holds lines at places, not paragraphs. Sentences go on over lines and pages; headings are
larger or bolder than the text; running heads and page numbers stand at the edge of many pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from agentpost.extraction import limits
from agentpost.extraction.pdf import Line, read_lines
from agentpost_offline.documents.model import Block, BlockKind

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


def blocks(path: Path, name: str) -> tuple[list[Block], int]:
    """The blocks of a PDF and how many pages were read. Raises `Unreadable`."""
    pages = read_lines(path, name, limits.MAX_CHARACTERS)
    kept = _without_edges(pages)
    return list(_Reader(kept).read()), len(pages)


def _normal(text: str) -> str:
    return re.sub(r"\d+", "#", " ".join(text.split()).lower())


def _without_edges(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages without page numbers and the lines that repeat at their top or bottom."""
    seen: Counter[str] = Counter()
    for page in pages:
        ordered = sorted(page, key=lambda line: line.top)
        edge = [*ordered[:_EDGE_LINES], *ordered[-_EDGE_LINES:]]
        seen.update({_normal(line.text) for line in edge})
    often = max(3, len(pages) // 3) if len(pages) > 2 else 99
    made = []
    for page in pages:
        ordered = sorted(page, key=lambda line: line.top)
        edges = {id(line) for line in [*ordered[:_EDGE_LINES], *ordered[-_EDGE_LINES:]]}
        made.append(
            [
                line
                for line in page
                if id(line) not in edges
                or not (
                    _PAGE_NUMBER.fullmatch(line.text.strip())
                    or (seen[_normal(line.text)] >= often and len(line.text) < 150)
                )
            ]
        )
    return made


class _Reader:
    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
        self._pages = pages
        sizes: Counter[float] = Counter()
        for page in pages:
            for line in page:
                sizes[line.size] += len(line.text)
        self._body = sizes.most_common(1)[0][0] if sizes else 0.0
        larger = sorted({s for s in sizes if s > self._body * _LARGER}, reverse=True)
        self._levels = {size: min(level, 6) for level, size in enumerate(larger, 1)}
        self._widest = Counter(
            10 * round(len(line.text) / 10) for page in pages for line in page
        )  # fmt: skip
        wide = sorted(self._widest.elements())
        self._full = wide[int(len(wide) * 0.8)] if wide else 0
        self._heading = ""
        self._text = ""
        self._place = ""
        self._kind = BlockKind.PARAGRAPH
        self._last: Line | None = None

    def read(self) -> Iterator[Block]:
        for number, page in enumerate(self._pages, 1):
            gaps = [b.top - a.top for a, b in pairwise(page) if b.top > a.top]
            usual = sorted(gaps)[len(gaps) // 2] if gaps else 0.02
            first = True
            for line in page:
                yield from self._line(line, number, usual, first=first)
                first = False
        yield from self._end()

    def _line(self, line: Line, number: int, usual: float, *, first: bool) -> Iterator[Block]:
        text = " ".join(line.text.replace("\ufffe", "\u00ad").replace("\x02", "\u00ad").split())
        level = self._level(line, text)
        if level:
            before = self._last
            goes_on = (
                self._kind is BlockKind.HEADING and before is not None and not first
                and before.size == line.size and before.bold == line.bold
                and line.top - before.top < 2.2 * max(usual, 0.012)
            )  # fmt: skip
            if goes_on:
                self._text = f"{self._text} {text}"
            else:
                yield from self._end()
                self._kind, self._text = BlockKind.HEADING, text
                self._headed = level
            self._heading = self._text[:200]
            self._place = self._placed(number)
        else:
            item = _ITEM.match(text)
            if item or self._kind is BlockKind.HEADING or self._breaks(line, usual, first=first):
                yield from self._end()
                self._kind = BlockKind.ITEM if item else BlockKind.PARAGRAPH
                self._place = self._placed(number)
                text = text[item.end() :] if item else text
            self._text = _joined(self._text, text)
        self._last = line

    _headed = 1

    def _placed(self, number: int) -> str:
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

    def _breaks(self, line: Line, usual: float, *, first: bool) -> bool:
        """Whether a new paragraph begins with a line."""
        if not self._text or self._last is None:
            return True
        ended = bool(_END.search(self._text))
        if first:
            return ended
        gap = line.top - self._last.top
        if gap < 0 or abs(line.size - self._last.size) > 0.15 * self._body:
            return ended or gap >= 0
        if gap > 1.45 * usual:
            return True
        return ended and len(self._last.text) < 0.8 * self._full

    def _end(self) -> Iterator[Block]:
        if self._text:
            level = self._headed if self._kind is BlockKind.HEADING else 0
            yield Block(self._kind, self._text.replace("\u00ad", ""), level, self._place)
        self._text, self._kind = "", BlockKind.PARAGRAPH


def _joined(text: str, more: str) -> str:
    """A paragraph with its next line: a hyphen at the end of a line joins the parts of a word."""
    if not text:
        return more
    if text.endswith("\u00ad"):
        return text[:-1] + more
    if re.search(r"[^\W\d_]{2}-$", text) and more[:1].islower():
        return text[:-1] + more
    if text and more and "\u3000" <= text[-1] <= "\u9fff" and "\u3000" <= more[0] <= "\u9fff":
        return text + more
    return f"{text} {more}"
