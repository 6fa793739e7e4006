"""Tell what the figures of some queries say: sums, the highest, and growth of equal and complete
periods. A headline names what is drawn, never a cause; prices and rates have no sums."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from agentpost_offline.data.model import Result, Table
from agentpost_offline.data.wording import upper
from agentpost_offline.frame import Cell, Grain, Query
from agentpost_offline.story import naming
from agentpost_offline.story.shape import Grid, Line, grid, is_additive, present, sum_lines
from agentpost_offline.style import dates, numbers
from agentpost_offline.style.languages import language as language_of, texts

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

_LATER = 0.93
"""What each further query weighs against the one before."""
_SHARING = 3
"""How many are named together as the highest."""
_CLOSE = 0.03
"""A lead of less than this part of the leader's value matters little."""
_IN_A_YEAR = {Grain.MONTH: 12, Grain.QUARTER: 4}
_Entry: TypeAlias = tuple[float, Cell, str]
"""A value, and the key and label of its group."""


class ClaimKind(StrEnum):
    """What a claim says."""

    TOTAL = "total"
    GROWTH = "growth"
    HIGHEST = "highest"
    LOWEST = "lowest"


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """One finding: its figures, the sentence that states them, and how much it matters."""

    kind: ClaimKind
    headline: str
    """A title that states the finding: "September 2025 had the highest revenue"."""
    sentence: str
    """The same with its figures."""
    figures: tuple[tuple[str, float], ...]
    """Name and value of each figure in the sentence."""
    result: int
    """Which of the story's results it was computed from."""
    weight: float = 0.0
    """0 to 1: the first claim of a story is its title."""
    marks: tuple[str, ...] = ()
    """Groups or periods that a picture of it highlights, as they stand in the result."""
    key: tuple[str, str] | None = None
    """The one figure to show large, as written, and what it is: "+13%", "Revenue, 2025"."""


class Story(msgspec.Struct, frozen=True, omit_defaults=True):
    """What there is to say about some tables, most important first."""

    claims: tuple[Claim, ...]
    results: tuple[Result, ...]
    """What was computed, as pictures and tables show it."""
    notes: tuple[str, ...] = ()
    """What was left out or could not be read."""
    language: str = "en"
    tables: tuple[Table, ...] = ()
    """The tables of the results, for the labels and units of their columns."""

    def about(self, result: int) -> tuple[Claim, ...]:
        """The claims that were computed from one of the results."""
        return tuple(claim for claim in self.claims if claim.result == result)

    def table(self, result: int) -> Table:
        """The table that a result was computed from."""
        id_ = self.results[result].query.table
        return next(table for table in self.tables if table.id == id_)


def tell(dataset: Dataset, queries: Sequence[Query], language: str = "en") -> Story:
    """The story of some queries: what was computed, and what it says, most important first; the
    first query matters most. Raises `JobFailed` for a query that cannot be run."""
    tables = {table.id: table for table in dataset.tables}
    results = [dataset.run(query) for query in queries]
    used = [tables[id_] for id_ in dict.fromkeys(query.table for query in queries)]
    claims: dict[tuple[ClaimKind, str], Claim] = {}
    for at, result in enumerate(results):
        for claim in findings(result, tables[result.query.table], at, language):
            claims.setdefault((claim.kind, claim.headline), claim)
    notes = [note for result in results for note in result.notes]
    notes += [f"{table.name}: {note}" for table in used for note in table.notes]
    return Story(
        tuple(sorted(claims.values(), key=lambda claim: -claim.weight)), tuple(results),
        tuple(dict.fromkeys(notes)), language, tuple(used),
    )  # fmt: skip


def findings(result: Result, table: Table, place: int = 0, language: str = "en") -> list[Claim]:
    """What one result says, which is the story's ``place``-th; most important first."""
    subject = _Subject(result, grid(result, table, language), table, language, place)
    claims = [*_totals(subject), *_among_groups(subject)]
    if subject.grid.is_timed:
        claims += _over_time(subject)
    return sorted(claims, key=lambda claim: -claim.weight)


@dataclass(frozen=True, slots=True)
class _Subject:
    """A result laid out, with its table, language and place in the story."""

    result: Result
    grid: Grid
    table: Table
    code: str
    place: int

    @property
    def is_limited(self) -> bool:
        """Whether only some of the groups or periods are there."""
        order = self.result.query.order
        return bool(self.result.query.having) or (order is not None and order.count is not None)

    def value_text(self, line: Line, value: float) -> str:
        """A value of a series, for a key figure."""
        return numbers.short(value, line.unit, self.code)

    def claim(
        self, kind: ClaimKind, pattern: str, line: Line, weight: float,
        figures: Mapping[str, float], words: Mapping[str, str], label: str,
        marks: Iterable[Cell] = (), key: str = "",
    ) -> list[Claim]:  # fmt: skip
        """A finding in words; none when a figure of it is not finite. A figure without a word is an
        amount of the series. ``label`` says what the first figure, or ``key``, is where it is set
        large."""
        if not all(map(math.isfinite, figures.values())):
            return []
        headline, sentence = texts("story", self.code)["claims"][pattern]
        name = naming.measure(line.measure, self.table, self.code)
        amounts = {k: v for k, v in figures.items() if k not in words}
        form = numbers.format_for([*amounts.values(), *present(line.values)], line.unit, self.code)
        parts = {"measure": name, "m": naming.inner(name, self.code),
                 **{k: form.text(v) for k, v in amounts.items()}, **words}  # fmt: skip
        key = key or self.value_text(line, next(iter(figures.values())))
        return [Claim(
            kind, upper(headline.format(**parts)),
            upper(sentence.format(**parts)).replace("..", "."), tuple(figures.items()),
            self.place, round(weight * _LATER**self.place, 4),
            tuple(str(mark) for mark in marks if mark is not None), (key, label),
        )]  # fmt: skip


def _totals(subject: _Subject) -> list[Claim]:
    """One number for everything: the only one there is, or the sum of all groups or periods."""
    query, code = subject.result.query, subject.code
    is_alone = not query.groups and query.time is None
    claims: list[Claim] = []
    for measure in dict.fromkeys(line.measure for line in subject.grid.lines):
        lines = [line for line in subject.grid.lines if line.measure == measure]
        values = [value for line in lines for value in present(line.values)]
        can_add = is_additive(measure) and not subject.is_limited
        if measure.derived is None and values and (is_alone or can_add):
            count = numbers.full(subject.result.counted, None, code)
            claims += subject.claim(
                ClaimKind.TOTAL, "total" if is_additive(measure) else "average", lines[0],
                0.45 if is_alone else 0.3, {"value": math.fsum(values)},
                {"rows": texts("story", code)["rows"].format(count)},
                naming.measure(measure, subject.table, code),
            )  # fmt: skip
    return claims


def _among_groups(subject: _Subject) -> list[Claim]:
    """Who is the highest, and with how much of the sum; of the lowest few, who is the lowest."""
    line, entries = _ranking(subject)
    if line is None or len(entries) < 2:
        return []
    order = subject.result.query.order
    if subject.is_limited and order is not None and not order.descending:
        value, key, label = entries[-1]
        return [] if value == entries[-2][0] else subject.claim(
            ClaimKind.LOWEST, "worst", line, 0.7, {"value": value}, {"group": label},
            f"{line.name}, {label}", [key],
        )  # fmt: skip
    (value, key, label), (other, _, second) = entries[:2]
    if value == other:
        return _level(subject, line, entries)
    if subject.value_text(line, value) == subject.value_text(line, other):
        return []  # written the same: the lead cannot be seen
    words, figures = {"group": label, "second": second}, {"value": value, "other": other}
    close = 0.25 if value - other < _CLOSE * abs(value) else 0.0
    total = math.fsum(value for value, _, _ in entries)
    is_whole = (
        is_additive(line.measure) and line.measure.derived is None and not subject.grid.calendar
        and not subject.is_limited and entries[-1][0] >= 0 and total > 0
    )  # fmt: skip
    if not is_whole:
        weight = (0.65 if len(entries) > 2 else 0.45) - close
        return subject.claim(ClaimKind.HIGHEST, "best", line, weight, figures, words,
                             f"{line.name}, {label}", [key])  # fmt: skip
    share = 100 * value / total
    words["share"] = numbers.percent(share, subject.code)
    pattern = texts("story", subject.code)["measures"]["share"]
    part = f"{pattern.format(naming.inner(line.name, subject.code))}, {label}"
    return subject.claim(
        ClaimKind.HIGHEST, "best_share", line, 0.6 + min(0.25, share / 250) - close,
        {**figures, "share": share, "total": total}, words, part, [key], words["share"],
    )  # fmt: skip


def _ranking(subject: _Subject) -> tuple[Line | None, list[_Entry]]:
    """The series and its groups by their values, the highest first; of a second group or of
    periods the sums, where they mean something."""
    matrix, query = subject.grid, subject.result.query
    if not query.groups or not matrix.lines:
        return None, []
    line = matrix.lines[0]
    values, keys, labels = line.values, matrix.keys, matrix.labels
    if len(query.groups) > 1 or matrix.is_timed:
        is_sum = is_additive(line.measure) and line.measure.derived is None
        if not is_sum or subject.is_limited or len(query.groups) + matrix.is_timed != 2:
            return None, []
        lines = [one for one in matrix.lines if one.measure == line.measure]
        values = sum_lines(lines)
        if matrix.is_timed:
            values = tuple(math.fsum(present(one.values)) for one in lines)
            keys, labels = tuple(one.key for one in lines), tuple(one.name for one in lines)
        values = tuple(value or 0.0 for value in values)
        name = naming.measure(line.measure, subject.table, subject.code)
        line = replace(line, name=name, key=None, values=values)
    entries = [(value, key, label) for value, key, label in zip(values, keys, labels, strict=True)
               if value is not None]  # fmt: skip
    return line, sorted(entries, key=lambda entry: -entry[0])


def _level(subject: _Subject, line: Line, entries: Sequence[_Entry]) -> list[Claim]:
    """That several groups or periods are the highest; nothing where they are many or all."""
    value = entries[0][0]
    level = [entry for entry in entries if entry[0] == value]
    if not 1 < len(level) <= _SHARING or len(level) == len(entries):
        return []
    names = language_of(subject.code).join([label for _, _, label in level])
    return subject.claim(
        ClaimKind.HIGHEST, "shared", line, 0.5, {"value": value}, {"groups": names},
        f"{line.name}, {names}", [key for _, key, _ in level],
    )  # fmt: skip


def _over_time(subject: _Subject) -> list[Claim]:
    """The highest period of the only series, or of the sum of several, and its growth."""
    line = _total_line(subject)
    if line is None or line.measure.derived is not None:
        return []
    days = [dates.parse(key) for key in subject.grid.keys]
    places = [
        at for at, day in enumerate(days)
        if line.values[at] is not None
        and (day is None or day.isoformat() not in subject.result.partial)
    ]  # fmt: skip
    return [*_peak(subject, line, places), *_growth(subject, line, places)]


def _total_line(subject: _Subject) -> Line | None:
    lines = subject.grid.lines
    if len(lines) == 1:
        return lines[0]
    is_one = bool(lines) and all(line.measure == lines[0].measure for line in lines)
    if not is_one or not is_additive(lines[0].measure) or subject.result.query.order is not None:
        return None
    name = naming.measure(lines[0].measure, subject.table, subject.code)
    return replace(lines[0], name=name, key=None, values=sum_lines(lines))


def _peak(subject: _Subject, line: Line, places: Sequence[int]) -> list[Claim]:
    matrix = subject.grid
    entries = [(line.values[at] or 0.0, matrix.keys[at], matrix.labels[at]) for at in places]
    entries.sort(key=lambda entry: -entry[0])
    if len(entries) < 3 or entries[0][0] == entries[-1][0]:
        return []
    (value, key, label), (other, _, second) = entries[:2]
    if value == other:
        return _level(subject, line, entries)
    figures, words = {"value": value, "other": other}, {"group": label, "second": second}
    pattern, weight = "best", 0.5
    if is_additive(line.measure):
        grains, grain = texts("story", subject.code)["grains"], matrix.grain or Grain.DAY
        figures = {"value": value, "mean": statistics.fmean(entry[0] for entry in entries)}
        pattern, weight, words = "peak", 0.55, {"period": label, "grain": grains[grain.value]}
    return subject.claim(ClaimKind.HIGHEST, pattern, line, weight, figures, words,
                         f"{line.name}, {label}", [key])  # fmt: skip


def _growth(subject: _Subject, line: Line, places: Sequence[int]) -> list[Claim]:
    matrix = subject.grid
    if matrix.grain in dates.DISCRETE or subject.is_limited or len(places) < 2:
        return []
    spans = _growth_periods(matrix, line, places)
    before, after = (math.fsum(line.values[at] or 0.0 for at in span) for span in spans)
    first, last = (
        matrix.labels[span[0]] if len(span) == 1
        else dates.period(matrix.keys[span[0]], Grain.YEAR, subject.code)
        for span in spans
    )  # fmt: skip
    words, figures = {"first": first, "last": last}, {"before": before, "after": after}
    weight = 0.8 if len(spans[0]) > 1 or matrix.grain is Grain.YEAR else 0.5
    key, rising = subject.value_text(line, after), "up" if after > before else "down"
    if before > 0 and after >= 0 and line.unit != numbers.PERCENT:
        rate = 100 * (after / before - 1)
        figures["percent"] = rate
        words["percent"] = numbers.percent(abs(rate), subject.code)
        pattern = "growth_flat" if abs(rate) < 1 else f"growth_{rising}"
        key = numbers.percent(rate, subject.code, signed=True)
        weight += min(0.15, abs(rate) / 400) if abs(rate) >= 1 else -0.3
    elif before == after:
        return []
    else:
        pattern = f"change_{rising}"
    marks = [matrix.keys[at] for at in spans[1]]
    return subject.claim(ClaimKind.GROWTH, pattern, line, weight, figures, words,
                         f"{line.name}, {last}", marks, key)  # fmt: skip


def _growth_periods(
    matrix: Grid, line: Line, places: Sequence[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """What growth compares: the last whole year with the one before where both are there, else
    the last period with the first."""
    count = _IN_A_YEAR.get(matrix.grain or Grain.DAY)
    if count and is_additive(line.measure):
        years: dict[int, list[int]] = {}
        for at in places:
            day = dates.parse(matrix.keys[at])
            if day is not None:
                years.setdefault(day.year, []).append(at)
        whole = [year for year, members in years.items() if len(members) == count]
        if len(whole) >= 2 and whole[-1] - whole[-2] == 1:
            return years[whole[-2]], years[whole[-1]]
    return (places[-2 if matrix.grain is Grain.YEAR else 0],), (places[-1],)
