"""What a deck is before it becomes a file: slides as plain data, one outline for every format."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Layout(StrEnum):
    """The arrangements a slide may have."""

    TITLE = "title"
    FIGURES = "figures"
    STATEMENT = "statement"
    POINTS = "points"
    CHART = "chart"
    COLUMNS = "columns"
    TABLE = "table"
    IMAGE = "image"
    QUOTE = "quote"
    TIMELINE = "timeline"


class Series(msgspec.Struct, frozen=True, omit_defaults=True):
    """The values of one colour, one for each label of the chart."""

    name: str
    values: tuple[float | None, ...]


class Chart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A native chart of a slide."""

    kind: str
    """``column`` (upright), ``bar`` (lying), ``line``."""
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    marks: tuple[int, ...] = ()
    """Labels that carry the finding: they are drawn in the accent colour."""
    shown: tuple[tuple[str, ...], ...] = ()
    """The values as people read them, for each series."""
    ticks: tuple[tuple[float, str], ...] = ()
    """Values of the axis, as people read them."""
    number_format: str = "#,##0"
    """How a spreadsheet writes the values."""
    tick_format: str = "#,##0"
    years: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Of many months or quarters: the years, each with what stands for its periods."""
    alt: str = ""


class Figure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key figure: "+13%", "growth 2024 to 2025", "72.6k to 81.8k"."""

    value: str
    label: str
    note: str = ""


class Grid(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table as it is shown; ``numbers`` are the columns set flush right."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    total: bool = False
    """The last row is the sum of the others."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of several columns, or a moment with what happens."""

    heading: str
    points: tuple[str, ...]


class Slide(msgspec.Struct, frozen=True, omit_defaults=True):
    """One slide. Which fields count is the layout's matter."""

    layout: Layout
    title: str
    subtitle: str = ""
    points: tuple[str, ...] = ()
    """Of a quote: its words, then who said them."""
    ordered: bool = False
    """Whether the points are numbered."""
    parts: tuple[Part, ...] = ()
    """Columns beside each other, or the moments of a timeline."""
    figures: tuple[Figure, ...] = ()
    chart: Chart | None = None
    grid: Grid | None = None
    image: int | None = None
    """Which of the deck's pictures."""
    backdrop: tuple[float, ...] = ()
    """Of a title: the course of the main figure, drawn as a silhouette."""
    source: str = ""
    notes: str = ""
    """What the speaker says."""
    weight: float = 0.5
    """What is dropped first when fewer slides are asked for: 0 first, 1 never."""


class Outline(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole deck."""

    title: str
    slides: tuple[Slide, ...]
    language: str = "en"
    accent: str | None = None
    """The colour that was asked for, ``#rrggbb``."""
    used: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    finding: str = ""
    """The story's first sentence, for the reply."""
