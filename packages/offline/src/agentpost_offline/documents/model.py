"""Documents as the rest of the agent sees them: blocks that know where they stand."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class BlockKind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    TABLE = "table"
    CODE = "code"


class Block(msgspec.Struct, frozen=True, omit_defaults=True):
    """A heading, a paragraph, a list item, a table."""

    kind: BlockKind
    text: str = ""
    level: int = 0
    """Of a heading: 1 is the highest."""
    place: str = ""
    """Where it stands in its file: ``page 3, Costs``; empty at the beginning of a plain text."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table: its rows, the header first."""


class Document(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document that was read."""

    name: str
    """The file's name."""
    title: str
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()
    """What the reader must know: what was cut off or left out."""
    pages: int = 0
    """Pages or slides; 0 for a format without."""
