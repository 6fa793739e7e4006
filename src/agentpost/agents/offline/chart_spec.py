"""From a table and a request to what is drawn: a small JSON picture description (pure).

The description holds the aggregated points, never the table, so it stays small whatever the file
and can be recorded as a step's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

from agentpost.agents.base import JobFailed
from agentpost.agents.offline import limits
from agentpost.agents.offline.cells import MONTHS
from agentpost.agents.offline.columns import (
    aggregate,
    default_aggregate,
    measures,
    mentioned,
)
from agentpost.agents.offline.tables import Column, Table
from agentpost.agents.offline.texts import day, listed

_GRAINS = ("day", "month", "quarter", "year")
_HOW = {
    "sum": "Total",
    "mean": "Average",
    "median": "Median",
    "min": "Lowest",
    "max": "Highest",
    "count": "Number",
}


@dataclass(slots=True)
class Spec:
    """What is drawn. ``labels`` are categories or ISO dates; ``values`` run along them.

    ``kind`` is ``bar line pie scatter histogram``; a scatter's series carry ``x`` as well.
    """

    kind: str
    title: str
    subtitle: str
    x_label: str
    y_label: str
    unit: str
    labels: list[str]
    series: list[dict[str, Any]]
    dates: bool = False
    grain: str = "day"
    horizontal: bool = False
    color: str | None = None
    source: str = ""
    rows: int = 0
    notes: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


@dataclass(slots=True)
class _Choice:
    x: Column | None
    split: Column | None
    ys: list[Column]
    how: str


def choose(table: Table, options: dict[str, Any]) -> Spec:
    """Decide kind, axes and points.

    ``options``: ``wording`` (list of what was asked, newest first; the first that names a column
    decides the axes), and optionally ``kind color title top horizontal grain how``.
    Raises `JobFailed` when the table has nothing to draw.
    """
    notes: list[str] = []
    choice = _columns(table, options, notes)
    kind = options.get("kind")
    if kind == "histogram" or (choice.x is None and kind is None and len(choice.ys) == 1):
        spec = _histogram(table, choice.ys, options) if choice.ys else None
    elif choice.x is not None and choice.x.kind == "number" and choice.ys:
        spec = _scatter(choice.x, choice.ys[0])
    else:
        spec = _grouped(table, choice, options, notes)
    if spec is None or not any(series["values"] for series in spec.series):
        raise JobFailed(f"{table.source} has no numbers or categories I could chart.")
    spec.color = options.get("color")
    spec.title = options.get("title") or spec.title
    spec.source, spec.rows = table.source, table.rows
    spec.notes = [*table.notes, *notes, *spec.notes]
    return spec


def _columns(table: Table, options: dict[str, Any], notes: list[str]) -> _Choice:
    named: list[Column] = []
    for wording in options.get("wording", []):
        named = [mention.column for mention in mentioned(wording, table.columns)]
        if named:
            break
    numbers, dates = measures(table), table.of_kind("date")
    groups = [column for column in named if column.kind != "number"]
    ys = [column for column in named if column.kind == "number"]
    if options.get("kind") == "scatter" and len(ys or numbers) > 1:
        return _Choice((ys or numbers)[0], None, (ys or numbers)[1:2], "sum")
    if options.get("grain") and dates and not any(c.kind == "date" for c in groups):
        groups.insert(0, dates[0])
    groups.sort(key=lambda column: column.kind != "date")
    x = groups[0] if groups else _default_x(table, options)
    if x is None and len(numbers) > 1 and options.get("kind") in (None, "scatter") and not ys:
        return _Choice(numbers[0], None, [numbers[1]], "sum")
    if x is None and len(ys) > 1 and options.get("kind") is None:
        return _Choice(ys[0], None, [ys[1]], "sum")
    split = groups[1] if len(groups) > 1 else None
    counting = options.get("how") == "count"
    if not ys and not counting:
        ys = _default_ys(numbers, x, notes)
    if x is not None and split is None and len(ys) == 1 and x.kind == "date" and not groups[1:]:
        split = _natural_split(table, x)
    how = options.get("how") or (default_aggregate(ys[0]) if ys else "count")
    return _Choice(x, split, ys[:1] if split else ys[: limits.CHART_SERIES], how)


def _default_x(table: Table, options: dict[str, Any]) -> Column | None:
    dates, texts = table.of_kind("date"), table.of_kind("text")
    if dates and options.get("kind") != "pie":
        return dates[0]
    if not texts:
        return dates[0] if dates else None
    few = [column for column in texts if 2 <= len(column.distinct()) <= 30]
    return few[0] if few else texts[0]


def _default_ys(numbers: list[Column], x: Column | None, notes: list[str]) -> list[Column]:
    if len(numbers) < 2:
        return numbers
    first = numbers[0]
    unique = x is not None and len(x.distinct()) >= len(x.values) * 0.9
    scale = _scale(first)
    same = [
        c for c in numbers if c.unit == first.unit and scale / 8 <= _scale(c) <= scale * 8
    ] if unique else [first]  # fmt: skip
    left = [column.label for column in numbers if column not in same]
    if left:
        notes.append(f"also in the file, not drawn: {listed(left[:6])}")
    return same[:5]


def _scale(column: Column) -> float:
    sizes = sorted(abs(v) for v in column.values if isinstance(v, float) and v)
    return sizes[len(sizes) // 2] if sizes else 1.0


def _natural_split(table: Table, x: Column) -> Column | None:
    """The text column that makes rows of the same date different, if there is a small one."""
    if len(x.distinct()) >= table.rows:
        return None
    for column in table.of_kind("text"):
        pairs = set(zip(x.values, column.values, strict=True))
        if 2 <= len(column.distinct()) <= limits.CHART_SERIES and len(pairs) >= table.rows * 0.9:
            return column
    return None


def _histogram(table: Table, ys: Sequence[Column], options: dict[str, Any]) -> Spec:
    column = ys[0]
    values = [value for value in column.values if isinstance(value, float)]
    step = max(1, len(values) // limits.CHART_POINTS)
    if options.get("kind") is None and len(values) <= 50:
        labels = [str(n) for n in range(1, len(values) + 1)]
        return Spec("line", column.label, "In file order", "Row", column.label, column.unit,
                    labels, [{"name": column.label, "values": values}])  # fmt: skip
    return Spec("histogram", f"Distribution of {column.label}", f"{table.rows:,} rows",
                column.label, "Rows", column.unit, [],
                [{"name": column.label, "values": values[::step]}],
                notes=["drawn from a sample of the values"] if step > 1 else [])  # fmt: skip


def _scatter(x: Column, y: Column) -> Spec:
    pairs = [
        (a, b)
        for a, b in zip(x.values, y.values, strict=True)
        if isinstance(a, float) and isinstance(b, float)
    ]
    step = max(1, len(pairs) // limits.CHART_POINTS)
    kept = pairs[::step]
    series = {"name": y.label, "x": [a for a, _ in kept], "values": [b for _, b in kept]}
    return Spec("scatter", f"{y.label} against {x.label}", f"{len(kept):,} points",
                x.label, y.label, y.unit, [], [series],
                notes=["drawn from a sample of the rows"] if step > 1 else [])  # fmt: skip


def _grouped(table: Table, choice: _Choice, options: dict[str, Any], notes: list[str]) -> Spec:
    x = choice.x
    kind = options.get("kind")
    if x is None:
        keys: list[Any] = [float(n) for n in range(1, table.rows + 1)]
        order, grain, dated = keys[: limits.CHART_POINTS], "day", False
    else:
        dated = x.kind == "date"
        grain = _grain(x, options, kind, choice.split) if dated else "day"
        keys = [_floor(v, grain) if isinstance(v, date) else v for v in x.values]
        order = list(dict.fromkeys(key for key in keys if key is not None))
        if dated:
            order.sort()
    if dated and kind in (None, "line") and len(order) > limits.CHART_POINTS:
        notes.append(f"only the last {limits.CHART_POINTS:,} dates drawn")
        order = order[-limits.CHART_POINTS :]
    series = _series(table, choice, keys, order)
    kind = _kind(kind, dated, order, series, notes)
    labels = [key.isoformat() if isinstance(key, date) else str(key) for key in order]
    if kind in ("bar", "pie") and not dated:
        labels, series = _trim(labels, series, choice.how, kind, options, notes)
    elif kind in ("bar", "pie"):
        labels = [day(key, grain) for key in order]
        dated = False
    spec = Spec(kind, _title(choice, grain), "", x.label if x else "Row", "", "", labels, series)
    spec.dates, spec.grain = dated, grain
    spec.y_label = choice.ys[0].label if len(choice.ys) == 1 else "" if choice.ys else "Rows"
    if choice.how != "count" and choice.ys:
        spec.unit = choice.ys[0].unit
    if len(set(zip(keys, _splits(choice, table.rows), strict=True))) < table.rows:
        per = "row" if x is None else grain if x.kind == "date" else _inner(x)
        spec.subtitle = f"{_HOW[choice.how]}{'' if choice.ys else ' of rows'} per {per}"
    long = max(map(len, labels), default=0) > 12 or len(labels) > 8
    words = x is not None and x.kind == "text" and len(series) == 1 and not _calendar(labels)
    spec.horizontal = bool(options.get("horizontal", kind == "bar" and words and long))
    return spec


def _inner(column: Column) -> str:
    """A column's label inside a sentence: as in the file, unless we gave it its capital."""
    label = column.label
    return label if column.name[:1].isupper() or label[1:2].isupper() else (
        label[:1].lower() + label[1:]
    )  # fmt: skip


def _title(choice: _Choice, grain: str) -> str:
    ys = choice.ys[:3]
    what = listed([ys[0].label, *map(_inner, ys[1:])]) if ys else "Rows"
    if len(choice.ys) > 3:
        what += " and more"
    by = [_inner(column) for column in (choice.x, choice.split) if column is not None]
    if choice.x is not None and choice.x.kind == "date" and grain != choice.x.grain:
        by[0] = grain
    return f"{what} by {listed(by)}" if by else f"{what} by row"


def _splits(choice: _Choice, rows: int) -> list[str | None]:
    if choice.split is None:
        return [None] * rows
    return [None if value is None else str(value) for value in choice.split.values]


def _series(
    table: Table, choice: _Choice, keys: Sequence[Any], order: Sequence[Any]
) -> list[dict[str, Any]]:
    groups: dict[tuple[str, Any], list[float]] = {}
    names: list[str] = []
    splits = _splits(choice, table.rows)
    if choice.split is not None:
        names = [str(value) for value in choice.split.distinct()][: limits.CHART_SERIES]
    drawn: list[Column | None] = [*choice.ys] or [None]
    for column in drawn:
        for row in range(table.rows):
            value = column.values[row] if column is not None else 1.0
            if not isinstance(value, float) or keys[row] is None:
                continue
            name = splits[row] if choice.split else (column.label if column else "Rows")
            if name is not None:
                groups.setdefault((name, keys[row]), []).append(value)
    names = names or [column.label for column in choice.ys] or ["Rows"]
    empty: list[float] = []
    result = []
    for name in names:
        found = (groups.get((name, key), empty) for key in order)
        values = [aggregate(v, choice.how) if v or choice.how == "count" else None for v in found]
        result.append({"name": name, "values": values})
    return result


def _kind(
    wish: str | None, dated: bool, order: Sequence[Any], series: list[dict[str, Any]],
    notes: list[str],
) -> str:  # fmt: skip
    if wish == "pie":
        negative = any(v < 0 for s in series for v in s["values"] if v is not None)
        if len(series) == 1 and not negative:
            return "pie"
        why = "negative values" if negative else "several series"
        notes.append(f"drawn as bars, because a pie cannot show {why}")
        return "bar"
    if wish in ("bar", "line"):
        return wish
    if wish == "scatter":
        notes.append("drawn as bars, because a scatter plot needs two number columns")
        return "bar"
    return "line" if dated and len(order) > 2 else "bar"


def _trim(
    labels: list[str], series: list[dict[str, Any]], how: str, kind: str,
    options: dict[str, Any], notes: list[str],
) -> tuple[list[str], list[dict[str, Any]]]:  # fmt: skip
    """Sort by size (calendar words keep their order) and keep the largest groups."""
    order = list(range(len(labels)))
    if not _calendar(labels):
        order.sort(key=lambda i: -sum(s["values"][i] or 0 for s in series))
    else:
        order.sort(key=lambda i: _calendar_rank(labels[i]))
    most = options.get("top") or (limits.PIE_SLICES if kind == "pie" else limits.CHART_BARS)
    kept, rest = order[:most], order[most:]
    new_labels = [labels[i] for i in kept]
    result = [{**s, "values": [s["values"][i] for i in kept]} for s in series]
    if rest and options.get("top"):
        notes.append(f"the largest {most} of {len(labels)} shown")
    elif rest and kind == "pie" and how in ("sum", "count"):
        new_labels.append(f"Other ({len(rest)})")
        for old, new in zip(series, result, strict=True):
            new["values"].append(sum(old["values"][i] or 0 for i in rest))
        notes.append(f"{len(rest)} small groups are shown together as Other")
    elif rest:
        notes.append(f"the {most} largest of {len(labels)} groups shown")
    return new_labels, result


_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def _calendar_rank(label: str) -> int:
    word = label.strip().lower().rstrip(".")
    for names in (MONTHS, _DAYS):
        for rank, name in enumerate(names):
            if len(word) >= 3 and name.startswith(word):
                return rank
    return -1


def _calendar(labels: Sequence[str]) -> bool:
    return len(labels) > 1 and all(_calendar_rank(label) >= 0 for label in labels)


def _floor(value: date, grain: str) -> date:
    if grain == "year":
        return date(value.year, 1, 1)
    if grain == "quarter":
        return date(value.year, 3 * ((value.month - 1) // 3) + 1, 1)
    return value.replace(day=1) if grain == "month" else value


def _grain(x: Column, options: dict[str, Any], kind: str | None, split: Column | None) -> str:
    own = _GRAINS.index(x.grain)
    if options.get("grain") in _GRAINS:
        return _GRAINS[max(own, _GRAINS.index(str(options["grain"])))]
    # Many lines over each other stay legible only with fewer points each.
    lines = 1 if split is None else len(split.distinct())
    most = 24 if kind in ("bar", "pie") else 400 // lines
    for grain in _GRAINS[own:]:
        if len({_floor(v, grain) for v in x.values if isinstance(v, date)}) <= most:
            return grain
    return "year"
