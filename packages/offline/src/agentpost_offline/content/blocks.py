"""What a document, report or page says, before it becomes a file: one list of blocks for every
format. Nothing here knows where the words come from, or how they are drawn."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from agentpost_offline.content.picture import Drawing


class BlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"
    PICTURE = "picture"
    CHART = "chart"
    FIGURES = "figures"
    COLUMNS = "columns"
    TIMELINE = "timeline"
    RULE = "rule"


class Run(msgspec.Struct, frozen=True, omit_defaults=True):
    """Text in one look. ``link`` is an address that begins with http, https or mailto."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    struck: bool = False
    link: str = ""


Runs = tuple[Run, ...]


class Figure(msgspec.Struct, frozen=True):
    """One figure set large, and what it is."""

    value: str
    label: str


class Grid(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table. All rows are as long as the header; ``numbers`` are the columns set flush with the
    far edge; the last row of a ``total`` is bold."""

    header: tuple[Runs, ...]
    rows: tuple[tuple[Runs, ...], ...]
    numbers: tuple[int, ...] = ()
    total: bool = False


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of several columns, or a moment of a timeline, with its bullets."""

    title: str
    points: tuple[Runs, ...]


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a document. Which fields count is the kind's matter."""

    kind: BlockKind
    runs: Runs = ()
    """Of a chart: the line above it. Of a picture: its caption."""
    level: int = 0
    """Of a heading, 1 is the highest; of an item, 0 is the outermost."""
    number: int | None = None
    """Of an item in a numbered list."""
    grid: Grid | None = None
    picture: int = 0
    """Which of the paper's pictures."""
    alt: str = ""
    drawing: Drawing | None = None
    figures: tuple[Figure, ...] = ()
    parts: tuple[Part, ...] = ()
    source: str = ""
    """Of a chart or a table: where its figures come from."""
    notes: str = ""
    """Of a heading: what is said while its slide is shown."""
    place: str = ""
    """Where it stands in the file that it was read from: ``page 3, Costs``."""

    @property
    def text(self) -> str:
        """The words of the runs without their looks."""
        return plain(self.runs)

    @property
    def rows(self) -> list[list[str]]:
        """The words of a table's rows, the header first; empty for another block."""
        lines = (self.grid.header, *self.grid.rows) if self.grid is not None else ()
        return [[" ".join(plain(cell).split()) for cell in row] for row in lines]


class Paper(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole document. ``pictures`` are not part of it: writers get their bytes beside it."""

    title: str
    blocks: tuple[Block, ...]
    subtitle: str = ""
    language: str = "en"
    accent: str | None = None
    has_title: bool = True
    """Whether the title is set above the text; a letter has none."""
    remarks: tuple[str, ...] = ()
    """Small print at the end: what it was made from."""
    remarks_title: str = ""
    notes: tuple[str, ...] = ()
    """For the reply: what could not be carried over, and what was left out."""
    used: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def of(self, kind: BlockKind) -> list[Block]:
        """The blocks of a kind, in order."""
        return [block for block in self.blocks if block.kind is kind]


def in_flow(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Blocks for a page, on which columns and moments stand under each other."""
    flat: list[Block] = []
    for block in blocks:
        if block.kind is BlockKind.COLUMNS:
            for part in block.parts:
                flat.append(heading(part.title, 2))
                flat += [Block(BlockKind.ITEM, runs) for runs in part.points]
        elif block.kind is BlockKind.TIMELINE:
            flat += [Block(BlockKind.ITEM, (Run(f"{part.title}: ", bold=True), *runs))
                     for part in block.parts for runs in part.points]  # fmt: skip
        else:
            flat.append(block)
    return tuple(flat)


def plain(runs: Iterable[Run]) -> str:
    """The words of runs without their looks."""
    return "".join(run.text for run in runs)


def words(text: str) -> Runs:
    """A text without looks as runs."""
    return (Run(text),) if text else ()


def paragraph(text: str) -> Block:
    """A paragraph without looks."""
    return Block(BlockKind.PARAGRAPH, words(text))


def heading(text: str, level: int = 1) -> Block:
    """A heading without looks."""
    return Block(BlockKind.HEADING, words(text), level)


def grid(
    header: Sequence[str | Runs], rows: Sequence[Sequence[str | Runs]], *,
    numbers: Iterable[int] | None = None, total: bool = False,
) -> Grid:  # fmt: skip
    """A table, whose rows are filled up to one length; without ``numbers``, the columns are looked
    for of which every cell that is not empty is a number."""
    lines = [[words(cell) if isinstance(cell, str) else cell for cell in row]
             for row in (header, *rows)]  # fmt: skip
    width = max(map(len, lines))
    head, *body = (tuple(line) + ((),) * (width - len(line)) for line in lines)
    if numbers is None:
        columns = [list(filter(None, (plain(cell).strip() for cell in column)))
                   for column in zip(*body, strict=True)]  # fmt: skip
        numbers = [at for at, cells in enumerate(columns) if cells and all(map(_is_number, cells))]
    return Grid(head, tuple(body), tuple(numbers), total)


def _is_number(cell: str) -> bool:
    """Whether a cell is a number with at most a unit of three characters at its ends."""
    digits = sum(char.isdigit() for char in cell)
    letters = sum(char.isalpha() for char in cell)
    return digits > 0 and letters <= 3 and len(cell) <= 24 and cell.count("-") <= 1
