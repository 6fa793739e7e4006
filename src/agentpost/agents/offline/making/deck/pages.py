"""Slides with everything in its place: what both the PowerPoint and the PDF writer draw.

All lengths are points, from the top left corner. Type sizes are chosen here, so that a slide is
neither mostly empty nor too full, whichever program shows it.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from agentpost.agents.offline.making.deck.slides import Chart, Grid

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
    """A table; ``widths`` are those of its columns."""

    box: Box
    grid: Grid
    size: float
    row: float
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


def colours(accent: str) -> dict[str, str]:
    """Every colour of a deck by its role, from the one that was chosen (``#rrggbb``)."""
    return {
        "ink": "#14202b",
        "muted": "#5b6873",
        "rule": "#d9dfe3",
        "grey": "#b4c1c9",
        "accent": _mixed(accent, "#000000", 0.25) if _light(accent) > 0.62 else accent,
        "dark": _mixed(accent, "#07151d", 0.72),
        "shade": _mixed(accent, "#07151d", 0.55),
        "bright": _mixed(accent, "#ffffff", 0.45),
        "light": "#ffffff",
        "pale": "#c7d3d9",
    }


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


def _light(colour: str) -> float:
    red, green, blue = _channels(colour)
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


def _mixed(colour: str, other: str, part: float) -> str:
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a * (1 - part) + b * part):02x}" for a, b in pairs)
