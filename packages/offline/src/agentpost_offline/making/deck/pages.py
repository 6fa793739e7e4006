"""Slides with everything in its place: what both the PowerPoint and the PDF writer draw.

All lengths are points, from the top left corner. Type sizes are chosen here, so that a slide is
neither mostly empty nor too full, whichever program shows it.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from agentpost_offline.making.deck.slides import Chart, Grid
from agentpost_offline.style import palette

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width, height."""


class Text(msgspec.Struct, frozen=True, omit_defaults=True, tag="text"):
    """Paragraphs in one type size."""

    box: Box
    paragraphs: tuple[str, ...]
    size: float
    colour: str = "ink"
    bold: bool = False
    anchor: str = "top"
    align: str = "start"
    gap: float = 0.0
    """Between paragraphs, in type sizes."""
    holder: str = ""
    """The layout's placeholder it belongs in."""


class Block(msgspec.Struct, frozen=True, omit_defaults=True, tag="block"):
    """A filled rectangle."""

    box: Box
    colour: str


class Plot(msgspec.Struct, frozen=True, omit_defaults=True, tag="plot"):
    """A chart."""

    box: Box
    chart: Chart


class Cells(msgspec.Struct, frozen=True, omit_defaults=True, tag="cells"):
    """A table; ``widths`` are those of its columns, ``heights`` those of its rows."""

    box: Box
    grid: Grid
    size: float
    heights: tuple[float, ...]
    widths: tuple[float, ...]


class Picture(msgspec.Struct, frozen=True, omit_defaults=True, tag="picture"):
    """An image, as large as fits its box."""

    box: Box
    image: int
    alt: str = ""


Element: TypeAlias = Text | Block | Plot | Cells | Picture


class Page(msgspec.Struct, frozen=True, omit_defaults=True):
    """One slide, placed."""

    layout: str
    elements: tuple[Element, ...]
    dark: bool = False
    notes: str = ""
    width: float = 960
    height: float = 540


def colours(wish: str | None) -> dict[str, str]:
    """Every colour of a deck by its role, from the accent that was asked for (``#rrggbb``)."""
    accent = palette.accent(wish)
    return {
        "ink": palette.INK,
        "muted": palette.SOFT,
        "rule": palette.HAIR,
        "grey": palette.GREY,
        "accent": palette.legible(accent, least=3.6),
        "dark": palette.mixed(accent, "#07151d", 0.72),
        "shade": palette.mixed(accent, "#07151d", 0.5),
        "bright": palette.mixed(accent, "#ffffff", 0.45),
        "light": palette.PAPER,
        "pale": "#c7d3d9",
    }


def series(count: int, wish: str | None) -> list[str]:
    """Colours of several series: grey and the accent for two, else told apart by hue."""
    accent = palette.legible(palette.accent(wish), least=3.6)
    if count == 1:
        return [accent]
    return [palette.GREY, accent] if count == 2 else palette.series(count, accent)
