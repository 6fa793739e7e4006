"""A text cut into sentences that know where they stand, for answers and summaries (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_UNDERLINE = re.compile(r"(=+|-+)\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_FENCE = re.compile(r"\s*(```|~~~)")
_TABLE_RULE = re.compile(r"\|?[\s:|-]+\|?$")
_END = re.compile(
    r"(?<=[.!?…。！？])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-ÖØ-ÞА-ЯΑ-Ω])|(?<=[。！？])"
)
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|approx|no|nr|fig|dr|mr|mrs|ms|prof|st|inc|ltd|co|jan|feb|mar|apr|jun"
    r"|jul|aug|sep|sept|oct|nov|dec|[A-Z])\.$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence (or list item, or table row) of a file.

    ``line`` counts from 1 within the file, or within the page when ``page`` is set.
    """

    text: str
    file: str
    heading: str
    line: int
    page: int | None = None
    prose: bool = True

    @property
    def citation(self) -> str:
        """``[report.md > Costs, line 22]`` or ``[report.pdf, page 3]``."""
        section = f" > {self.heading}" if self.heading and self.page is None else ""
        place = f"line {self.line}" if self.page is None else f"page {self.page}"
        return f"[{self.file}{section}, {place}]"


def sentences(text: str, file: str) -> list[Sentence]:
    """Cut the text of a file; form feeds separate pages, Markdown headings name sections."""
    pages = text.split("\f")
    if len(pages) == 1:
        return list(_page(text, file, None))
    return [s for number, page in enumerate(pages, 1) for s in _page(page, file, number)]


def _page(text: str, file: str, page: int | None) -> Iterator[Sentence]:
    heading, start = "", 1
    paragraph: list[str] = []
    header: list[str] = []
    fenced = False
    lines = without_front_matter(text).split("\n")
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
            line = ""
        title = None if fenced or page is not None else _heading(lines, number - 1)
        row = line.lstrip().startswith("|") or "\t" in line.strip()
        if paragraph and (not line.strip() or title or row or _ITEM.match(line) or fenced):
            yield from _cut(paragraph, file, heading, start, page)
            paragraph = []
        header = header if row else []
        if title:
            heading = plain(title)
        elif fenced and line.strip():
            yield Sentence(line.strip(), file, heading, number, page, prose=False)
        elif row:
            cells = _cells(line)
            if number < len(lines) and _is_table_rule(lines[number]):
                header = cells
            elif not _is_table_rule(line) and any(cells):
                yield Sentence(_row(cells, header), file, heading, number, page, prose=False)
        elif line.strip() and not _is_underline(lines, number - 1):
            start = start if paragraph else number
            paragraph.append(_ITEM.sub("", line, count=1))
    if paragraph:
        yield from _cut(paragraph, file, heading, start, page)


def without_front_matter(text: str) -> str:
    """The text with a YAML block at its start blanked, so that line numbers stay."""
    if not text.startswith("---\n"):
        return text
    end = text.find("\n---\n", 3)
    if end < 0 or end > 4_000:
        return text
    return "\n" * text.count("\n", 0, end + 4) + text[end + 4 :]


def _cells(line: str) -> list[str]:
    return [plain(cell) for cell in re.split(r"\||\t", line.strip().strip("|"))]


def _is_table_rule(line: str) -> bool:
    return "-" in line and "|" in line and bool(_TABLE_RULE.fullmatch(line.strip()))


def _row(cells: list[str], header: list[str]) -> str:
    if len(header) != len(cells):
        return " · ".join(cell for cell in cells if cell)
    named = zip(header, cells, strict=True)
    return " · ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _heading(lines: list[str], index: int) -> str | None:
    match = _HEADING.match(lines[index])
    if match:
        return match[2]
    line = lines[index].strip()
    after = lines[index + 1].strip() if index + 1 < len(lines) else ""
    before = lines[index - 1].strip() if index else ""
    is_title = line and not before and len(after) > 2 and _UNDERLINE.fullmatch(after)
    return line if is_title and "|" not in line else None


def _is_underline(lines: list[str], index: int) -> bool:
    return bool(_UNDERLINE.fullmatch(lines[index].strip())) and len(lines[index].strip()) > 2


def plain(text: str) -> str:
    """Inline Markdown marks taken off (bounded, or hostile text could take minutes)."""
    text = re.sub(r"!?\[([^\[\]]{0,500})\]\([^()]{0,1000}\)", r"\1", text)
    text = re.sub(r"(\*\*|__|~~|`)(.{1,1000}?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)[*_](\S(?:.{0,200}?\S)?)[*_](?!\w)", r"\1", text)
    return " ".join(text.split())


def _cut(
    paragraph: list[str], file: str, heading: str, start: int, page: int | None
) -> Iterator[Sentence]:
    joined = "\n".join(line.strip() for line in paragraph)
    begin = 0
    for match in [*_END.finditer(joined), None]:
        end = match.start() if match else len(joined)
        # The end of the piece is enough: looking at all of it again and again is quadratic.
        if match and _ABBREVIATION.search(joined[max(begin, end - 12) : end]):
            continue
        piece = joined[begin:end]
        lead = len(piece) - len(piece.lstrip())
        line = start + piece.count("\n", 0, lead)
        text = plain(piece.lstrip("> "))
        if text:
            yield Sentence(text, file, heading, line, page)
        after = match.end() if match else end
        start += joined.count("\n", begin, after)
        begin = after
