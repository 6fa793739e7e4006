"""A result as a grid: labels across, one series for each group or measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from agentpost_offline.data.model import Cell, Result, Table
from agentpost_offline.data.words import calendar
from agentpost_offline.frame import Aggregate, Derived, Grain, Measure
from agentpost_offline.story import naming
from agentpost_offline.style import dates
from agentpost_offline.style.languages import texts

_MOST_PERIODS = 4000
_LONGEST = 80
"""Characters of a label."""
_REGULAR = (Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR)


@dataclass(frozen=True, slots=True)
class Line:
    """One series: ``key`` is the group's value, None for the only one; a value for each label,
    None where the result has none."""

    name: str
    key: Cell
    measure: Measure
    unit: str | None
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A result laid out for a picture or for finding something in it.

    Args:
        keys: the labels as the result has them: groups or ISO dates.
        labels: the same for people.
        lines: the series.
        timed: whether the labels are periods in order.
        grain: the length of the periods.
    """

    keys: tuple[Cell, ...]
    labels: tuple[str, ...]
    lines: tuple[Line, ...]
    timed: bool
    grain: Grain | None

    @property
    def calendar(self) -> bool:
        """Whether the labels are months or days of the week without a date: in order, but no
        groups of which one could lead."""
        return not self.timed and bool(calendar(str(key) for key in self.keys))

    @property
    def additive(self) -> bool:
        """Whether values of different groups and periods may be added up."""
        return all(is_additive(line.measure) for line in self.lines)


def is_additive(measure: Measure) -> bool:
    """Whether the measure of a whole is the sum of its parts."""
    return measure.aggregate in (Aggregate.SUM, Aggregate.COUNT) and measure.derived in (
        None,
        Derived.SHARE,
    )


def columns(result: Result) -> tuple[int | None, list[int], list[int]]:
    """Where a result has its time, its groups and its measures: groups come first, then time."""
    query = result.query
    groups = list(range(len(query.groups)))
    time = len(groups) if query.time is not None else None
    keys = len(groups) + (time is not None)
    return time, groups, list(range(keys, len(result.header)))


def grid(result: Result, table: Table, code: str = "en") -> Grid:
    """Lay a result out. Periods are filled up so that a time axis has no gaps."""
    time, groups, measures = columns(result)
    query = result.query
    across = time if time is not None else groups[0] if groups else None
    split = [n for n in groups if n != across]
    keys = _keys(result, across, timed=time is not None)
    places = {key: n for n, key in enumerate(keys)}
    lines: list[Line] = []
    for n, at in enumerate(measures):
        measure = query.measures[n] if n < len(query.measures) else naming.ROWS
        found: dict[tuple[Cell, ...], list[float | None]] = {}
        for row in result.rows:
            key = tuple(row[i] for i in split)
            values = found.setdefault(key, [None] * len(keys))
            values[places[row[across]] if across is not None else 0] = number(row[at])
        name = naming.measure(measure, table, code)
        for key, values in found.items():
            own = _short(", ".join(shown(part, code) for part in key))
            label = name if not key else own if len(measures) == 1 else f"{own}: {name}"
            only = key[0] if len(key) == 1 else None
            lines.append(Line(label, only, measure, naming.unit(measure, table), tuple(values)))
    grain = query.grain if time is not None else None
    labels = tuple(
        dates.period(key, grain, code) if time is not None else _short(shown(key, code))
        for key in keys
    )
    return Grid(keys, labels, tuple(lines), time is not None, grain)


def _keys(result: Result, across: int | None, *, timed: bool) -> tuple[Cell, ...]:
    if across is None:
        return (None,)
    keys = list(dict.fromkeys(row[across] for row in result.rows))
    if not timed or result.query.order is not None:
        return tuple(keys)
    known: list[Cell] = [key for key in keys if key is not None]
    known.sort(key=lambda key: (isinstance(key, str), key))
    return tuple(_filled(known, result.query.grain))


def _filled(keys: list[Cell], grain: Grain | None) -> list[Cell]:
    grain = grain or Grain.DAY
    days = [dates.parsed(key) for key in keys]
    if grain not in _REGULAR or len(keys) < 2 or not all(isinstance(key, str) for key in keys):
        return keys
    known = {day: key for day, key in zip(days, keys, strict=True) if day is not None}
    if len(known) != len(keys):
        return keys
    first, last = min(known), max(known)
    filled: list[Cell] = []
    day = first
    while day <= last and len(filled) < _MOST_PERIODS:
        filled.append(known.pop(day, None) or _like(day, str(keys[0]), grain))
        try:
            day = dates.following(day, grain)
        except (OverflowError, ValueError):
            break
    # Periods that do not follow each other regularly stay as they are.
    return keys if known or len(filled) > 3 * len(keys) + 12 else filled


def _like(day: date, example: str, grain: Grain) -> str:
    """A period's first day, written as the other periods are."""
    if grain is Grain.YEAR and len(example) == 4:
        return f"{day.year:04}"
    return day.isoformat()[: len(example)] if len(example) in (7, 10) else day.isoformat()


def number(value: Cell) -> float | None:
    """A finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def shown(key: Cell, code: str = "en") -> str:
    """A group's value for people."""
    if key is None or key == "":
        return str(texts("story", code)["no_value"])
    if isinstance(key, bool):
        return str(texts("story", code)["yes" if key else "no"])
    if isinstance(key, float) and key == int(key):
        return str(int(key))
    return str(key)


def _short(label: str) -> str:
    """A label that a title, a sentence and a picture have room for."""
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1].rstrip()}…"


def present(values: Sequence[float | None]) -> list[float]:
    """The values that are there."""
    return [value for value in values if value is not None]
