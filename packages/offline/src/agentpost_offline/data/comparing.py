"""Two groups or two periods against each other, in words, with both of their values."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from agentpost_offline.data import wording
from agentpost_offline.data.dataset import Dataset
from agentpost_offline.data.model import Result, Table
from agentpost_offline.frame import Cell, Derivation, Measure, Query
from agentpost_offline.style import numbers

_NEXT = 3
_LINES = 31


class _Change(NamedTuple):
    """A group's values of the two periods. ``rate`` is the growth in percent; ``size``, by which
    groups are ordered, is that or the difference."""

    name: str
    before: float | None
    after: float | None
    rate: float | None
    size: float | None


class Comparison(wording.TableWords):
    """States what changed between two periods, or differs between two groups."""

    def __init__(self, data: Dataset, table: Table, language: str) -> None:
        super().__init__(table, language)
        self._data, self._table = data, table

    def compare(self, query: Query, result: Result) -> str | None:
        """The text for each measure; None when the query does not compare two of anything."""
        texts = []
        for at, measure in enumerate(query.measures):
            one = replace(query, measures=(measure,))
            result_of = result if not at else self._data.run(one)
            text = self._one(one, result_of, measure)
            if text is None:
                return None
            texts.append(text)
        return "\n".join(texts)

    def _one(self, query: Query, result: Result, measure: Measure) -> str | None:
        plain = replace(measure, derived=None)
        both = self._data.run(replace(query, measures=(plain, measure), order=None))
        if query.time is None:
            return self._two_groups(query, both, plain, result)
        periods = self._periods(query, both.rows)
        if len(periods) > 2:
            return None
        if len(periods) < 2:
            return self._say("no_before")
        if query.groups:
            return self._groups(query, both.rows, plain)
        (first, before, _), (last, after, change) = (row[-3:] for row in both.rows)
        if not isinstance(change, float) or not isinstance(before, float):
            return None
        key = "grew" if change > 0 else "fell" if change < 0 else "same"
        size = self._value(abs(change), measure)
        if measure.derived is Derivation.DIFFERENCE and before:
            size += f" ({self._with_sign(100 * change / abs(before))})"
        return wording.upper(
            self._say(key,
                self._subject(plain), size, self._value(before, plain),
                self._period(query, first), self._value(after, plain), self._period(query, last),
            )
        )  # fmt: skip

    def _periods(self, query: Query, rows: Sequence[tuple[Cell, ...]]) -> list[Cell]:
        """The periods of a result, the earliest first."""
        return sorted({row[len(query.groups)] for row in rows}, key=str)

    def _groups(self, query: Query, rows: Sequence[tuple[Cell, ...]], plain: Measure) -> str:
        """Each group's two values and their change."""
        at = len(query.groups)
        first, last = self._periods(query, rows)
        by_group: dict[tuple[Cell, ...], dict[Cell, Cell]] = {}
        for row in rows:
            by_group.setdefault(row[:at], {})[row[at]] = row[at + 1]
        growth = query.measures[0].derived is Derivation.GROWTH
        changes = [_change(self._name(query, k), v.get(first), v.get(last), growth)
                   for k, v in by_group.items()]  # fmt: skip
        periods = self._period(query, first), self._period(query, last)
        falling = query.order is not None and not query.order.descending
        if growth or query.order is not None:
            changes.sort(key=lambda one: one.size or 0.0, reverse=not falling)
            changes.sort(key=lambda one: one.size is None)
            measurable = [one for one in changes if one.size is not None]
            if measurable and query.order is not None and query.order.count == 1:
                return self._extreme(measurable, plain, periods, falling=falling, growth=growth)
        count = query.order.count if query.order is not None else None
        visible = changes[: min(count or _LINES, _LINES)]
        colon = self._tongue.colon
        lines = [f"{wording.upper(self._subject(query.measures[0]))}{colon.rstrip() or ':'}"]
        lines += [f"- {one.name}{colon}{self._line(one, plain, periods)}" for one in visible]
        if len(changes) > len(visible) and count is None:
            lines.append("- " + self._say("more", f"{len(changes) - len(visible):,}"))
        return "\n".join(lines)

    def _line(self, one: _Change, plain: Measure, periods: tuple[str, str]) -> str:
        values = zip(periods, (one.before, one.after), strict=True)
        parts = [f"{period} {self._value(value, plain)}" for period, value in values]
        size = self._size(one, plain)
        return ", ".join([*parts, size] if size else parts)

    def _size(self, one: _Change, plain: Measure) -> str:
        """``+20 (+5%)``."""
        if one.before is None or one.after is None:
            return ""
        change = one.after - one.before
        text = ("+" if change > 0 else "") + self._value(change, plain)
        return text if one.rate is None else f"{text} ({self._with_sign(one.rate)})"

    def _extreme(
        self, changes: Sequence[_Change], plain: Measure, periods: tuple[str, str], *,
        falling: bool, growth: bool,
    ) -> str:  # fmt: skip
        """Which group grew or fell most, and the next ones."""

        def size_text(one: _Change) -> str:
            return self._with_sign(one.rate or 0.0) if growth else self._size(one, plain)

        top = changes[0].size or 0.0
        best = [one for one in changes if one.size == top]
        key = "unchanged_most"
        if top:
            key = ("fell" if top < 0 else "grew") + ("_most" if falling == (top < 0) else "_least")
        colon = self._tongue.colon
        names = self._tongue.join([one.name for one in best])
        edges = [
            f"{periods[0]}{colon}{self._value(best[0].before, plain)}",
            f"{periods[1]}{colon}{self._value(best[0].after, plain)}",
        ]
        size = size_text(best[0]) + (f" ({' → '.join(edges)})" if len(best) == 1 else "")
        text = self._say(key, names, size)
        text += "。" if self._language == "zh" else "."
        others = [f"{one.name} {size_text(one)}" for one in changes[len(best) : len(best) + _NEXT]]
        return self._with_next(text, others)

    def _two_groups(self, query: Query, both: Result, plain: Measure, result: Result) -> str | None:
        values = {row[0]: row[1] for row in both.rows}
        order = [row[0] for row in result.rows]
        if len(query.groups) != 1 or len(order) != 2:
            return None
        one, other = values.get(order[0]), values.get(order[1])
        if not isinstance(one, float) or not isinstance(other, float):
            return None
        measure = query.measures[0]
        change = result.rows[0][1]
        key = "more_than" if one > other else "less_than" if one < other else "equal"
        size = self._value(abs(float(change or 0)), measure)
        first, second = (self._key(name, query.groups[0]) for name in order)
        figures = (self._value(one, plain), self._value(other, plain))
        subject = f"{wording.upper(self._subject(plain))}{self._tongue.colon}"
        return subject + self._say(key, first, size, second, *figures)

    def _with_sign(self, rate: float) -> str:
        return ("+" if rate > 0 else "") + numbers.full(rate, "%", self._language)


def _change(name: str, before: Cell, after: Cell, growth: bool) -> _Change:
    one = before if isinstance(before, float) else None
    other = after if isinstance(after, float) else None
    difference = None if one is None or other is None else other - one
    rate = 100 * difference / abs(one) if one and difference is not None else None
    return _Change(name, one, other, rate, rate if growth else difference)
