"""Sections of a report from documents: what each part says, in its own words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentpost.agents.offline.documents.model import Block as Passage
from agentpost.agents.offline.documents.model import BlockKind, Document
from agentpost.agents.offline.making.report.content import Block, Section

_SENTENCE = re.compile(r"(?<=[.!?؟])\s+|(?<=[。！？])")
_PARTS = 10
_QUOTES = 2
_ITEMS = 6
_LONG = 420
_TABLE_ROWS = 14
_TABLE_COLUMNS = 7
_SHORT = 25
_MOST_SIDES = 4
_MOST_SUBJECTS = 8
_LONG_SUBJECT = 60
_STEMMERS = {"de": "german", "es": "spanish", "fr": "french", "ar": "arabic"}


class Part:
    """A heading of a document with the passages below it."""

    def __init__(self, heading: str, place: str) -> None:
        self.heading = heading
        self.place = place
        self.passages: list[Passage] = []

    def text(self) -> str:
        """All its words."""
        return " ".join([self.heading, *(passage.text for passage in self.passages)])


def parts(document: Document) -> list[Part]:
    """The parts of a document that say something."""
    found = [Part("", "")]
    for block in document.blocks:
        if block.kind is BlockKind.HEADING:
            found.append(Part(block.text, block.place))
        else:
            found[-1].passages.append(block)
    return [part for part in found if part.passages]


def sections(
    documents: Sequence[Document], subjects: Sequence[str], most: int
) -> tuple[list[Section], list[str]]:
    """A section for each document, and those subjects of which none of them says anything."""
    made: list[Section] = []
    met: set[str] = set()
    for document in documents:
        every = parts(document)
        chosen = [part for part in every if _about(part, subjects, met)] if subjects else every
        blocks: list[Block] = []
        for part in (chosen or every)[: min(most, _PARTS)]:
            if part.heading and part.heading.strip() != document.title.strip():
                blocks.append(Block("heading", part.heading))
            blocks.extend(_digest(part))
        if blocks:
            made.append(Section(document.title or document.name, tuple(blocks)))
    return made, [subject for subject in subjects if subject not in met]


def _about(part: Part, subjects: Sequence[str], met: set[str]) -> bool:
    text = part.text().casefold()
    about = [s for s in subjects if s.casefold() in text or s.casefold().rstrip("s") in text]
    met.update(about)
    return bool(about)


def opening(document: Document) -> str:
    """The sentence a document begins with."""
    for block in document.blocks:
        if block.kind is BlockKind.PARAGRAPH:
            for sentence in sentences(block.text):
                if sentence.endswith((".", "!", "?", "。", "؟")) and len(sentence) > _SHORT:
                    return sentence
    return ""


def sentences(text: str) -> list[str]:
    """The sentences of a text, as they stand in it."""
    return [part.strip() for part in _SENTENCE.split(" ".join(text.split())) if part.strip()]


def _digest(part: Part) -> list[Block]:
    blocks: list[Block] = []
    prose = [p for p in part.passages if p.kind is BlockKind.PARAGRAPH]
    said = [(sentence, p.place) for p in prose for sentence in sentences(p.text)]
    quotes: dict[str, str] = {}
    last = -1
    for n in _telling([sentence for sentence, _ in said]):
        sentence, place = said[n]
        gap = " " if n == last + 1 else " … "
        quotes[place] = quotes[place] + gap + _cut(sentence) if place in quotes else _cut(sentence)
        last = n
    for place, quoted in quotes.items():
        known = place.strip() == part.heading.strip()
        blocks.append(Block("quote", quoted, place="" if known else place))
    items = [p.text for p in part.passages if p.kind is BlockKind.ITEM and p.text]
    if items:
        more = ("…",) if len(items) > _ITEMS else ()
        blocks.append(Block("items", items=(*map(_cut, items[:_ITEMS]), *more)))
    tables = [p for p in part.passages if p.kind is BlockKind.TABLE and len(p.rows) > 1]
    return [*blocks, *map(_table, tables)]


def _telling(said: Sequence[str]) -> list[int]:
    """Which sentences to quote: the first, and of the others the one with the most figures, else
    the next."""
    if len(said) <= _QUOTES:
        return list(range(len(said)))
    best = max(range(1, len(said)), key=lambda n: (len(re.findall(r"\d+", said[n])), -n))
    return [0, best]


def side_by_side(documents: Sequence[Document], code: str, heading: str) -> Section | None:
    """What the documents say about the subjects that several of them treat; None when there is no
    such subject."""
    import snowballstemmer

    name = _STEMMERS.get(code, "english")
    stemmer = snowballstemmer.stemmer(name)

    def stems(text: str) -> set[str]:
        found = re.findall(r"[^\W\d_]{4,}", text.casefold())
        return set(stemmer.stemWords(found))

    shown = list(documents[:_MOST_SIDES])
    said = [
        [(sentence, stems(sentence)) for block in document.blocks
         if block.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM)
         for sentence in sentences(block.text)]
        for document in shown
    ]  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for subject in _subjects(shown):
        wanted = stems(subject)
        cells = [_best(found, wanted) for found in said]
        if wanted and sum(bool(cell) for cell in cells) > 1 and len(rows) < _MOST_SUBJECTS:
            rows.append((subject, *(cell or "–" for cell in cells)))
    if not rows:
        return None
    header = ("", *(document.title or document.name for document in shown))
    return Section(heading, (Block("table", header=header, rows=tuple(rows), words=True),))


def _subjects(documents: Sequence[Document]) -> list[str]:
    found = [
        block.text
        for document in documents
        for block in document.blocks
        if block.kind is BlockKind.HEADING and block.text != document.title
    ]
    return list(dict.fromkeys(text for text in found if len(text) < _LONG_SUBJECT))


def _best(found: Sequence[tuple[str, set[str]]], wanted: set[str]) -> str:
    about = [sentence for sentence, stems in found if stems & wanted and len(sentence) > 8]
    if not about:
        return ""
    return _cut(max(about, key=lambda sentence: len(re.findall(r"\d+", sentence))), 220)


def _table(passage: Passage) -> Block:
    wide = max(len(row) for row in passage.rows)
    shown = [
        tuple(_cut(cell, 80) for cell in (*row, *[""] * (wide - len(row)))[:_TABLE_COLUMNS])
        for row in passage.rows
    ]
    more = [("…", *[""] * (len(shown[0]) - 1))] if len(shown) > _TABLE_ROWS + 1 else []
    rows = (*shown[1 : _TABLE_ROWS + 1], *more)
    figures = all(re.fullmatch(r"[^A-Za-z]*", cell) for row in rows for cell in row[1:])
    return Block("table", header=shown[0], rows=rows, words=not figures)


def _cut(text: str, most: int = _LONG) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
