"""Bars of a small chart: a number for each day."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agentpost.credits.rules import UsageLine

_HEIGHT: Final = 100
"""Of the tallest bar, in units of the drawing; a day takes ten units across."""
_HEIGHT_MIN: Final = 1.5
"""A day with little is still a line."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A day of a chart."""

    x: int
    y: float
    height: float
    day: str
    value: float
    used: UsageLine


def bars(days: Sequence[UsageLine], value: Callable[[UsageLine], float]) -> list[Bar]:
    """The chart of a value of each day, as tall as its greatest one."""
    most = max(map(value, days), default=0)
    drawing = []
    for n, used in enumerate(days):
        this = value(used)
        height = max(round(this / most * _HEIGHT, 2), _HEIGHT_MIN) if this else 0.0
        drawing.append(Bar(n * 10 + 1, _HEIGHT - height, height, used.id, this, used))
    return drawing
