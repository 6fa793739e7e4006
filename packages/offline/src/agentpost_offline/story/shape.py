"""A result as a grid: labels across, one series for each group or measure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from agentpost_offline.data.model import Result, Table
from agentpost_offline.data.sql import axes
from agentpost_offline.data.words import calendar
from agentpost_offline.frame import Aggregate, Cell, Derivation, Grain, Measure
from agentpost_offline.story import naming
from agentpost_offline.style import dates
from agentpost_offline.style.languages import texts

_MOST_PERIODS = 4000
_LONGEST = 80
"""Characters of a label."""
_SAME_SCALE = 20.0
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
        is_timed: whether the labels are periods in order.
        grain: the length of the periods.
    """

    keys: tuple[Cell, ...]
    labels: tuple[str, ...]
    lines: tuple[Line, ...]
    is_timed: bool
    grain: Grain | None

    @property
    def calendar(self) -> bool:
        """Whether the labels are months or days of the week without a date: in order, but no
        groups of which one could lead."""
        return not self.is_timed and bool(calendar(str(key) for key in self.keys))

    @property
    def additive(self) -> bool:
        """Whether values of different groups and periods may be added up."""
        return all(is_additive(line.measure) for line in self.lines)


def is_additive(measure: Measure) -> bool:
    """Whether the measure of a whole is the sum of its parts."""
    return measure.aggregate in (Aggregate.SUM, Aggregate.COUNT) and measure.derived in (
        None,
        Derivation.SHARE,
    )


def grid(result: Result, table: Table, code: str = "en") -> Grid:
    """Lay a result out. Periods are filled up so that a time axis has no gaps."""
    query, count = result.query, len(result.query.groups)
    is_timed = query.time is not None
    across = count if is_timed else 0 if count else None
    split = [at for at in range(count) if at != across]
    keys = _keys(result, across, is_timed=is_timed)
    places = {key: at for at, key in enumerate(keys)}
    lines: list[Line] = []
    first = count + is_timed
    width = axes(query) + len(query.measures)
    for at in range(first, width):
        measure = query.measures[at - first]
        series: dict[tuple[Cell, ...], list[float | None]] = {}
        for row in result.rows:
            key = tuple(row[one] for one in split)
            values = series.setdefault(key, [None] * len(keys))
            values[places[row[across]] if across is not None else 0] = number(row[at])
        name = naming.measure(measure, table, code)
        for key, values in series.items():
            own = _short(", ".join(key_text(part, code) for part in key))
            label = name if not key else own if first + 1 == width else f"{own}: {name}"
            only = key[0] if len(key) == 1 else None
            lines.append(Line(label, only, measure, naming.unit(measure, table), tuple(values)))
    grain = query.grain if is_timed else None
    labels = tuple(
        dates.period(key, grain, code) if is_timed else _short(key_text(key, code)) for key in keys
    )
    return Grid(keys, labels, tuple(lines), is_timed, grain)


def one_scale(whole: Grid) -> Grid:
    """Only what shares the first measure's unit and size: one axis cannot show both."""
    if len({line.measure for line in whole.lines}) < 2:
        return whole

    def largest(line: Line) -> float:
        return max(map(abs, present(line.values)), default=0.0)

    first = whole.lines[0]
    size = largest(first)
    lines = tuple(
        line for line in whole.lines if line.unit == first.unit
        and size / _SAME_SCALE <= (largest(line) or size) <= size * _SAME_SCALE
    )  # fmt: skip
    return replace(whole, lines=lines)


def _keys(result: Result, across: int | None, *, is_timed: bool) -> tuple[Cell, ...]:
    if across is None:
        return (None,)
    keys = list(dict.fromkeys(row[across] for row in result.rows))
    if not is_timed or result.query.order is not None:
        return tuple(keys)
    periods: list[Cell] = [key for key in keys if key is not None]
    periods.sort(key=lambda key: (isinstance(key, str), key))
    return tuple(_without_gaps(periods, result.query.grain or Grain.DAY))


def _without_gaps(keys: list[Cell], grain: Grain) -> list[Cell]:
    """The periods with those between them; as they are where they follow no rule."""
    days = {day: key for key in keys if (day := dates.parse(key)) is not None}
    is_regular = len(days) == len(keys) and all(isinstance(key, str) for key in keys)
    if grain not in _REGULAR or len(keys) < 2 or not is_regular:
        return keys
    day, last = min(days), max(days)
    periods: list[Cell] = []
    while day <= last and len(periods) < _MOST_PERIODS:
        periods.append(days.pop(day, None) or _like(day, str(keys[0]), grain))
        try:
            day = dates.following(day, grain)
        except (OverflowError, ValueError):
            break
    return keys if days or len(periods) > 3 * len(keys) + 12 else periods


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


def key_text(key: Cell, code: str = "en") -> str:
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


def sum_lines(lines: Sequence[Line]) -> tuple[float | None, ...]:
    """The sum of several series in each place where one of them has a value."""
    columns = zip(*(line.values for line in lines), strict=True)
    return tuple(math.fsum(values) if (values := present(column)) else None for column in columns)
