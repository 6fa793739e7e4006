"""Lines of Markdown, plain text and what Word files become, as blocks (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agentpost_offline.documents.model import Block, BlockKind

_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.+?)\s*#*\s*$")
_UNDERLINE = re.compile(r"\s{0,3}(=+|-+)\s*$")
_ITEM = re.compile(r"^\s*(?:[-*+•‣◦]|\d{1,3}[.)])\s+")
_FENCE = re.compile(r"\s*(```|~~~)")
_RULE = re.compile(r"\|?[\s:|-]+\|?$")
_BREAK = re.compile(r"\s*([-*_])(\s*\1){2,}\s*$")
_COMMENT = re.compile(r"<!--.{0,20000}?-->", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,15}(?:\s[^<>]{0,500})?/?>")
_PROSE = 60
"""Lines of text that was broken by a program are longer than this."""
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[IVX]{1,4}\.)\s+\S.{0,70}")


def plain(text: str) -> str:
    """Inline Markdown marks taken off (bounded, or hostile text could take minutes)."""
    text = re.sub(r"!?\[([^\[\]]{0,500})\]\([^()]{0,1000}\)", r"\1", text)
    text = re.sub(r"(\*\*|__|~~|`)(.{1,1000}?)\1", r"\2", text)
    text = re.sub(r"(?<!\w)[*_](\S(?:.{0,200}?\S)?)[*_](?!\w)", r"\1", text)
    return " ".join(_TAG.sub("", text).split())


def without_front_matter(text: str) -> str:
    """The text without a YAML block at its start."""
    if not text.startswith("---\n"):
        return text
    end = text.find("\n---\n", 3)
    return text if end < 0 or end > 4_000 else text[end + 5 :]


def blocks(text: str, *, markdown: bool = True) -> Iterator[Block]:
    """The blocks of a text."""
    text = without_front_matter(text) if markdown else text
    if markdown and "<!--" in text:
        text = _COMMENT.sub("", text)
    return _Reader(text.split("\n"), markdown=markdown).read()


class _Reader:
    def __init__(self, lines: list[str], *, markdown: bool) -> None:
        self._lines = lines
        self._markdown = markdown
        self._width = max((len(line.strip()) for line in lines), default=0)
        self._headings: list[tuple[int, str]] = []
        self._paragraph: list[str] = []
        self._rows: list[list[str]] = []
        self._item = False

    def read(self) -> Iterator[Block]:
        fenced: list[str] | None = None
        skip = False
        for at, line in enumerate(self._lines):
            if skip:
                skip = False
                continue
            if _FENCE.match(line) and self._markdown:
                yield from self._end()
                if fenced is not None:
                    yield self._block(BlockKind.CODE, "\n".join(fenced))
                fenced = [] if fenced is None else None
                continue
            if fenced is not None:
                fenced.append(line)
                continue
            row = line.strip().startswith("|")
            if self._rows and not row:
                yield from self._end()
            if row:
                if self._paragraph:
                    yield from self._end()
                self._row(line)
                continue
            heading = self._heading(at)
            if heading is not None:
                yield from self._end()
                level, title, skip = heading
                self._headings = [h for h in self._headings if h[0] < level]
                self._headings.append((level, title))
                yield self._block(BlockKind.HEADING, title, level)
            elif not line.strip() or _BREAK.match(line):
                yield from self._end()
            elif match := _ITEM.match(line):
                yield from self._end()
                self._item, self._paragraph = True, [line[match.end() :]]
            else:
                self._paragraph.append(line.lstrip("> ") if self._markdown else line)
        if fenced:
            yield self._block(BlockKind.CODE, "\n".join(fenced))
        yield from self._end()

    def _block(self, kind: BlockKind, text: str, level: int = 0) -> Block:
        return Block(kind, text, level, self._headings[-1][1] if self._headings else "")

    def _heading(self, at: int) -> tuple[int, str, bool] | None:
        """The heading that begins at a line: its level, its text, and whether the next line
        underlines it."""
        line = self._lines[at]
        if match := _HEADING.match(line):
            return len(match[1]), plain(match[2])[:200], False
        if self._paragraph or not line.strip() or len(line) > 120:
            return None
        after = self._lines[at + 1].strip() if at + 1 < len(self._lines) else ""
        if len(after) > 2 and _UNDERLINE.fullmatch(after) and not _ITEM.match(line):
            return (1 if after[0] == "=" else 2), plain(line), True
        alone = not after and (at == 0 or not self._lines[at - 1].strip())
        text = line.strip()
        if self._markdown or not alone or text[-1] in ".!?:;,":
            return None
        loud = text.isupper() and any(c.isalpha() for c in text) and len(text) > 3
        if len(text) < 80 and (loud or _NUMBERED.fullmatch(text)):
            return 2, " ".join(text.split()), False
        return None

    def _row(self, line: str) -> None:
        if _RULE.fullmatch(line.strip()) and "-" in line:
            return
        inner = line.strip().removeprefix("|").removesuffix("|")
        cells = re.split(r"(?<!\\)\|", inner)
        self._rows.append([plain(cell.replace("\\|", "|")) for cell in cells])

    def _end(self) -> Iterator[Block]:
        if self._rows:
            rows = tuple(tuple(row) for row in self._rows)
            place = self._headings[-1][1] if self._headings else ""
            yield Block(BlockKind.TABLE, place=place, rows=rows)
            self._rows = []
        kind = BlockKind.ITEM if self._item else BlockKind.PARAGRAPH
        for lines in self._parts():
            joined = " ".join(line.strip() for line in lines)
            text = plain(joined) if self._markdown else " ".join(joined.split())
            if text:
                yield self._block(kind, text)
        self._paragraph, self._item = [], False

    def _parts(self) -> Iterator[list[str]]:
        """The paragraph; of plain text, in parts where its writer began a new line although the
        next word had room: notes and lists, not lines that a mail program broke."""
        part: list[str] = []
        for line in self._paragraph:
            last = part[-1].strip() if part else ""
            word = line.split(maxsplit=1)[0] if line.strip() else ""
            room = self._width < _PROSE or len(last) + 1 + len(word) <= self._width
            if part and not (self._markdown or self._item or word[:1].islower()) and room:
                yield part
                part = []
            part.append(line)
        if part:
            yield part


def title(found: Iterable[Block], fallback: str) -> str:
    """A document's title: its first heading, else its file's name without the suffix."""
    first = next((block.text for block in found if block.kind is BlockKind.HEADING), "")
    return first or fallback.rpartition(".")[0] or fallback
