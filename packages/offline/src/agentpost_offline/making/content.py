"""What a caller wants to stand in a report, deck, page or film: sections in the caller's words."""

from typing import Literal

import msgspec

from agentpost_offline.content.blocks import Figure
from agentpost_offline.making.tabulating import Request


class Points(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of several columns of a section, or a moment of its timeline."""

    title: str
    points: tuple[str, ...]


class Section(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a caller wants to stand in a section, slide or scene. The words stay as they are and may
    have Markdown's inline marks; figures, tables and charts are computed from the files."""

    title: str = ""
    text: str = ""
    """Markdown."""
    bullets: tuple[str, ...] = ()
    columns: tuple[Points, ...] = ()
    quote: str = ""
    quoted_from: str = ""
    timeline: tuple[Points, ...] = ()
    figures: tuple[Figure, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table whose cells the caller wrote."""
    request: Request | None = None
    """A table to compute."""
    show: Literal["chart", "table", "both"] = "chart"
    """How it is shown."""
    chart: str | None = None
    """The kind of chart; None decides by the data."""
    picture: int | None = None
    """Which of the files."""
    notes: str = ""
    """What is said while it is shown: speaker notes, the words of a film."""
