"""Presentations as blocks: the title of each slide, its text, its tables and its notes."""

from collections.abc import Iterator

from msgspec.structs import replace

from agentpost.extraction import limits
from agentpost.extraction.office import (
    Archive,
    Attributes,
    Collector,
    names,
    slide_members,
    slide_notes,
)
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import Block, BlockKind

_DRAWING = names("drawingml/2006/main", "p t tbl tr tc br")
_SLIDE = names("presentationml/2006/main", "sp ph")


class _Slide(Collector[Block]):
    """The blocks of a slide."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place
        self._pieces: list[str] = []
        self._rows: list[list[str]] = []
        self._cells: list[str] | None = None
        self._typing = self._is_title = self._is_number = False
        self._characters = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        name = _DRAWING.get(tag) or _SLIDE.get(tag)
        self._typing = name == "t"
        if name == "sp":
            self._is_title = self._is_number = False
        elif name == "ph":
            kind = attributes.get("type", "")
            self._is_title = kind in ("title", "ctrTitle")
            self._is_number = kind in ("sldNum", "dt", "ftr")
        elif name == "tbl":
            self._rows = []
        elif name == "tr":
            self._cells = []
        elif name == "tc":
            self._pieces = []
        elif name == "br":
            self._pieces.append(" ")

    def end(self, tag: str) -> None:
        self._typing = False
        name = _DRAWING.get(tag)
        if name == "tc" and self._cells is not None:
            self._cells.append(" ".join("".join(self._pieces).split()))
            self._pieces = []
        elif name == "tr" and self._cells is not None:
            self._rows.append(self._cells)
            self._cells = None
        elif name == "tbl":
            if any(self._rows):
                grid = content.grid(self._rows[0], self._rows[1:])
                self._add(Block(BlockKind.TABLE, grid=grid))
        elif name == "p":
            if self._cells is not None:
                self._pieces.append(" ")
                return
            text = " ".join("".join(self._pieces).split())
            self._pieces = []
            if text and not self._is_number:
                self._add(content.heading(text) if self._is_title else content.paragraph(text))

    def _add(self, block: Block) -> None:
        self.items.append(replace(block, place=self._place))

    def text(self, data: str) -> None:
        if self._typing and self._characters < limits.MAX_CHARACTERS:
            self._characters += len(data)
            self._pieces.append(data)


def blocks(archive: Archive) -> Iterator[Block]:
    """The blocks of a presentation, slide by slide; raises `Unreadable`."""
    for number, member in enumerate(slide_members(archive)[: limits.MAX_PAGES], 1):
        yield from archive.parse(member, _Slide(f"slide {number}"))
        for note in slide_notes(archive, member):
            yield replace(content.paragraph(note), place=f"slide {number}, notes")
