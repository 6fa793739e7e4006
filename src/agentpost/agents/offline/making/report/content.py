"""What a report says, before it becomes a PDF or a Word file."""

from __future__ import annotations

import msgspec

from agentpost.agents.offline.making.chart.picture import Drawing


class Figure(msgspec.Struct, frozen=True):
    """One figure set large, and what it is."""

    value: str
    label: str


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a section.

    ``kind`` is ``text``, ``items``, ``quote``, ``chart``, ``table``, ``pair`` (a chart beside its
    table) or ``heading``; a chart is a number of the report's drawings; of a table the first
    column is text, the others are numbers unless ``words``; ``total`` sets its last row bold.
    """

    kind: str
    text: str = ""
    items: tuple[str, ...] = ()
    place: str = ""
    chart: int = 0
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    total: bool = False
    words: bool = False


class Section(msgspec.Struct, frozen=True):
    """A heading and what stands below it."""

    heading: str
    blocks: tuple[Block, ...]


class Report(msgspec.Struct, frozen=True):
    """Everything in a report: ``lead`` are its answers, ``how`` says what it was made from."""

    title: str
    subtitle: str
    lead: tuple[str, ...]
    figures: tuple[Figure, ...]
    sections: tuple[Section, ...]
    drawings: tuple[Drawing, ...]
    how: tuple[str, ...]
    how_title: str
    language: str
    accent: str | None
    used: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def headings(self) -> tuple[str, ...]:
        """The headings of the sections, in order."""
        return tuple(section.heading for section in self.sections)
