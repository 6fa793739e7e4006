"""Colours: one accent that means something, greys for the rest, and names for people's wishes."""

import colorsys
import re
from functools import cache
from pathlib import Path

import msgspec

ACCENT = "#0f6e84"
INK = "#16202b"
SOFT = "#5b6772"
GREY = "#b7c3cb"
HAIR = "#e2e7eb"
PAPER = "#ffffff"
LOSS = "#b3412e"
_SERIES = ("#0f6e84", "#c8571b", "#5c4b9e", "#5f8a2f", "#b0356f", "#b58900", "#3b78c2", "#7a6a58")
_HEX = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")


@cache
def _names() -> dict[str, str]:
    names: dict[str, str] = msgspec.json.decode(
        Path(__file__).with_name("colours.json").read_bytes()
    )
    return names


def colour(word: str) -> str | None:
    """``#rrggbb`` for a hex value or a colour's name in any of the languages, else None."""
    match = _HEX.fullmatch(word.strip())
    if match:
        digits = match[1]
        if len(digits) == 3:
            digits = "".join(c * 2 for c in digits)
        return f"#{digits.lower()}"
    return _names().get(word.strip().casefold())


def rgb(value: str) -> tuple[int, int, int]:
    """The three channels, 0 to 255, of ``#rrggbb``."""
    return int(value[1:3], 16), int(value[3:5], 16), int(value[5:7], 16)


def contrast(one: str, other: str) -> float:
    """WCAG contrast of two colours, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(value: str) -> float:
    parts = [c / 255 for c in rgb(value)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def mix(one: str, other: str, part: float) -> str:
    """A colour between two: ``part`` 0 is the first, 1 the second."""
    pairs = zip(rgb(one), rgb(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def legible(value: str, on: str = PAPER, least: float = 4.5) -> str:
    """The colour, darkened or lightened as far as text in it can be read on ``on``."""
    towards = "#000000" if _luminance(on) > 0.5 else "#ffffff"
    for step in range(20):
        darker = mix(value, towards, step / 20)
        if contrast(darker, on) >= least:
            return darker
    return towards


def accent(wish: str | None) -> str:
    """The accent of a result: the colour that was asked for, else ours."""
    return (colour(wish) if wish else None) or ACCENT


def series(count: int, first: str | None = None) -> list[str]:
    """Colours for several series, told apart by hue; ``first`` leads when it is given."""
    colours = list(_SERIES)
    if first is not None and first != ACCENT:
        colours = [first, *(c for c in _SERIES if _are_apart(c, first))]
    while len(colours) < count:
        colours.append(mix(colours[len(colours) - len(_SERIES)], "#ffffff", 0.45))
    return colours[:count]


def _are_apart(one: str, other: str) -> bool:
    (hue, _, full), (hue2, _, full2) = (
        colorsys.rgb_to_hls(*(channel / 255 for channel in rgb(value))) for value in (one, other)
    )
    distance = min(abs(hue - hue2), 1 - abs(hue - hue2))
    return distance > 0.07 or min(full, full2) < 0.15
