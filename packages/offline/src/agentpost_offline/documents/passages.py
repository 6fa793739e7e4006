"""A document cut into sentences that know where they stand (pure)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentpost_offline.documents.language import languages, words
from agentpost_offline.documents.model import Block, BlockKind, Document
from agentpost_offline.style.languages import language as tongue

_END = re.compile(
    r"(?<=[.!?…])[\"'”“’»)\]]*\s+(?=[\"'“‘«(\[¿¡„]*[A-Z0-9À-ÖØ-ÞА-ЯΑ-Ω\u0600-\u06ff])"
    r"|(?<=[。！？])|(?<=؟)\s+"
)
_WORD_BEFORE = re.compile(r"(\S{1,12})\.$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, list item or table row of a document.

    Args:
        text: verbatim; a table row as ``Header: cell · …``.
        file: the file's name.
        place: where it stands in the file.
        heading: what it stands under.
        prose: whether it is a sentence of a paragraph.
        block: the number of its block.
    """

    text: str
    file: str
    place: str
    heading: str
    prose: bool = True
    block: int = 0

    @property
    def citation(self) -> str:
        """``report.pdf, page 3, Costs``."""
        return ", ".join(part for part in (self.file, self.place) if part)


def sentences(document: Document, language: str = "en") -> list[Sentence]:
    """The sentences of a document, in its order."""
    return list(_sentences(document, language))


def _sentences(document: Document, language: str) -> Iterator[Sentence]:
    heading = ""
    for number, block in enumerate(document.blocks):
        if block.kind is BlockKind.HEADING:
            heading = block.text
            continue
        if block.kind is BlockKind.TABLE:
            for text in _rows(block):
                yield Sentence(text, document.name, block.place, heading, False, number)
            continue
        prose = block.kind is BlockKind.PARAGRAPH
        pieces = [block.text] if block.kind is BlockKind.CODE else cut(block.text, language)
        for text in pieces:
            yield Sentence(text, document.name, block.place, heading, prose, number)


def _rows(block: Block) -> Iterator[str]:
    if len(block.rows) < 2:
        yield from (" · ".join(cell for cell in row if cell) for row in block.rows)
        return
    header = block.rows[0]
    for row in block.rows[1:]:
        if len(row) != len(header):
            text = " · ".join(cell for cell in row if cell)
        else:
            named = zip(header, row, strict=True)
            text = " · ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
        if text:
            yield text


def cut(text: str, language: str = "en") -> list[str]:
    """The sentences of a paragraph."""
    known = frozenset(words(language)["abbreviations"]) | frozenset(words("en")["abbreviations"])
    found: list[str] = []
    begin = 0
    for match in [*_END.finditer(text), None]:
        end = match.start() if match else len(text)
        if match and (
            _abbreviated(text[max(begin, end - 14) : end], known)
            or _dated(text[max(begin, end - 4) : end], text[match.end() : match.end() + 20])
        ):
            continue
        closing = len(match[0].rstrip()) if match else 0  # a quotation mark after the full stop
        piece = text[begin : end + closing].strip()
        if piece:
            found.append(piece)
        begin = match.end() if match else end
    return found


def _abbreviated(before: str, known: frozenset[str]) -> bool:
    match = _WORD_BEFORE.search(before)
    if match is None:
        return False
    word = match[1].lower().strip("(\"'„“«")
    return word in known or (len(word) == 1 and word.isalpha())


def _dated(before: str, after: str) -> bool:
    """Whether a full stop belongs to the day of a date: ``31. März``."""
    if re.search(r"(?:^|\s)\d{1,2}\.$", before) is None:
        return False
    word = (re.match(r"[^\W\d_]+", after) or [""])[0].lower()
    return word in _months()


@functools.cache
def _months() -> frozenset[str]:
    return frozenset(
        name.lower().rstrip(".")
        for code in languages()
        for name in (*tongue(code).months, *tongue(code).months_short)
    )
