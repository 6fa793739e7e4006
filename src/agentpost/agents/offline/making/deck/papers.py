"""Documents as slides: a section each, in its own words, with the passages in the notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agentpost.agents.offline.documents.model import Block, Document
from agentpost.agents.offline.making.deck.slides import Grid, Layout, Slide

_SENTENCE = re.compile(r"(?<=[.!?…])\s+(?=[^\s])|(?<=[。！？])")
_MOST_POINTS = 5
_LONG = 190
_MOST_CHARACTERS = 300
_NOTES = 1500
_MOST_ROWS = 9
_MOST_COLUMNS = 7
_CELL = 60


@dataclass(slots=True)
class Section:
    """What stands under one heading."""

    heading: str
    level: int
    name: str
    items: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)
    grids: list[tuple[tuple[str, ...], ...]] = field(default_factory=list)
    place: str = ""

    @property
    def points(self) -> list[str]:
        """Its items, or the first sentence of each paragraph; of a single paragraph, all."""
        if len(self.items) >= 2:
            return self.items
        if len(self.paragraphs) + len(self.items) == 1:
            return sentences((self.paragraphs + self.items)[0])
        return [said[0] for text in self.paragraphs if (said := sentences(text))]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join([*self.paragraphs, *self.items])


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph, without white space around them."""
    return [part.strip() for part in _SENTENCE.split(" ".join(text.split())) if part.strip()]


def sections(papers: Sequence[Document]) -> list[Section]:
    """The sections of all documents in their order; text before a heading belongs to the title."""
    found: list[Section] = []
    for paper in papers:
        current = Section(paper.title or paper.name, 0, paper.name)
        for block in paper.blocks:
            if block.kind == "heading":
                found.append(current)
                current = Section(block.text, block.level, paper.name, place=block.place)
            else:
                _added(current, block)
        found.append(current)
    return [one for one in found if one.items or one.paragraphs or one.grids]


def _added(section: Section, block: Block) -> None:
    section.place = section.place or block.place
    if block.rows:
        section.grids.append(block.rows)
    elif block.kind == "item":
        section.items.append(" ".join(block.text.split()))
    elif block.kind != "code" and block.text.strip():
        section.paragraphs.append(block.text)


def slides(found: Iterable[Section], texts: dict[str, str]) -> list[Slide]:
    """A slide for each section, two where it is long, and one for each table."""
    made: list[Slide] = []
    for section in found:
        base = made_of(section.heading, section.points, section, texts)
        made.extend(base)
        for rows in section.grids:
            grid = _grid(rows)
            if grid is not None:
                made.append(_tabled(section, grid, texts))
    return made


def _tabled(section: Section, grid: Grid, texts: dict[str, str]) -> Slide:
    return Slide(
        Layout.TABLE,
        section.heading,
        grid=grid,
        source=_source(section, texts),
        notes=section.text[:_NOTES],
        weight=0.4,
    )


def made_of(
    title: str, points: Sequence[str], section: Section, texts: dict[str, str], weight: float = 0.6
) -> list[Slide]:
    """Slides with these points; none when there are none."""
    kept = list(dict.fromkeys(_shortened(point) for point in points if point))
    if not kept:
        return []
    source, notes = _source(section, texts), section.text[:_NOTES]
    if len(kept) == 1:
        first = sentences(kept[0]) or kept
        texts_of = (first[0], *first[1:3]) if len(kept[0]) > _LONG else (kept[0],)
        return [Slide(Layout.STATEMENT, title, points=tuple(texts_of), source=source, notes=notes,
                      weight=weight)]  # fmt: skip
    parts = [tuple(part) for part in _shared(kept)]
    return [
        Slide(
            Layout.POINTS if len(part) > 1 else Layout.STATEMENT,
            title if not at else texts["continued"].format(title=title),
            points=part,
            source=source,
            notes=notes,
            weight=weight * (1 if not at else 0.7),
        )
        for at, part in enumerate(parts)
    ]


def _shortened(point: str) -> str:
    """A point short enough for a slide: whole sentences, as many as fit; the notes have all."""
    if len(point) <= _MOST_CHARACTERS:
        return point
    kept = ""
    for sentence in sentences(point):
        if len(kept) + len(sentence) > _MOST_CHARACTERS:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or point[:_MOST_CHARACTERS].rsplit(" ", 1)[0].rstrip() + " …"


def _shared(points: list[str]) -> list[list[str]]:
    """Points in slides: at most five, fewer when they are long, about as many on each."""
    room = 620
    parts: list[list[str]] = [[]]
    for point in points:
        if parts[-1] and (
            len(parts[-1]) >= _MOST_POINTS or sum(map(len, parts[-1])) + len(point) > room
        ):
            parts.append([])
        parts[-1].append(point)
    if len(parts) > 1 and len(parts[-1]) == 1 and len(parts[-2]) > 2:
        parts[-1].insert(0, parts[-2].pop())
    return parts


def _source(section: Section, texts: dict[str, str]) -> str:
    names = f"{section.name}, {section.place}" if section.place else section.name
    return texts["source"].format(names=names)


def _grid(rows: Sequence[Sequence[str]]) -> Grid | None:
    wide = max(map(len, rows), default=0)
    if len(rows) < 2 or wide < 2:
        return None
    cut = [[_short(row[at]) if at < len(row) else "" for at in range(min(wide, _MOST_COLUMNS))]
           for row in rows[: _MOST_ROWS + 1]]  # fmt: skip
    numeric = tuple(
        at
        for at in range(1, len(cut[0]))
        if all(re.fullmatch(r"[\s\d.,%€$£+−–-]*", row[at]) for row in cut[1:])
    )
    return Grid(tuple(cut[0]), tuple(map(tuple, cut[1:])), numeric)


def _short(cell: str) -> str:
    cell = " ".join(cell.split())
    return cell if len(cell) <= _CELL else cell[: _CELL - 1].rstrip() + "…"


def matches(subject: str, text: str) -> bool:
    """Whether a text is about a subject: each of its words stands in it, in any form."""
    words = [
        word
        for word in re.findall(r"\w+", subject.casefold())
        if len(word) > 2 or not word.isascii()
    ]
    said = text.casefold()
    tokens = re.findall(r"\w+", said)
    return bool(words) and all(
        any(token.startswith(_root(word)) for token in tokens)
        or (not word.isascii() and word in said)
        for word in words
    )


def _root(word: str) -> str:
    return word if len(word) < 5 else word[: max(4, len(word) - 2)]


def about(subject: str, papers: Sequence[Document], texts: dict[str, str]) -> list[Slide]:
    """Slides about a subject: the section of that heading, else the passages that name it."""
    all_sections = sections(papers)
    named = [one for one in all_sections if matches(subject, one.heading)]
    if named:
        return [
            slide
            for one in named[:2]
            for slide in made_of(one.heading, one.points, one, texts, weight=1.0)
        ]
    found: list[str] = []
    holder: Section | None = None
    for one in all_sections:
        for text in [*one.paragraphs, *one.items]:
            hits = [sentence for sentence in sentences(text) if matches(subject, sentence)]
            if hits and holder is None:
                holder = Section(subject, 1, one.name, place=one.place)
            if hits and holder is not None:
                holder.paragraphs.append(text)
            found += hits
    if holder is None:
        return []
    title = subject[:1].upper() + subject[1:]
    return made_of(title, found[:_MOST_POINTS], holder, texts, weight=1.0)
