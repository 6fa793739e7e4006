"""Findings about groups: who leads, who is last, concentration, comparison, what stands out."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import TypeAlias

from msgspec import structs

from agentpost_offline.data.model import Cell
from agentpost_offline.frame import Derived, Measure, Query
from agentpost_offline.story import naming
from agentpost_offline.story.draft import Draft, Subject, shared
from agentpost_offline.story.model import ClaimKind
from agentpost_offline.story.second import Check, group_filter
from agentpost_offline.story.shape import Line, is_additive
from agentpost_offline.style import numbers
from agentpost_offline.style.languages import language, words

_CLOSE = 0.03
"""A lead of less than this part of the leader's value matters little."""
_FEWEST, _MOST = 8, 40
"""How many groups a usual range is found in; each is computed again."""
_PLAIN = (None, Derived.SHARE)


def totals(subject: Subject) -> list[Draft]:
    """One number for everything."""
    drafts = []
    for line in subject.grid.lines:
        value = line.values[0] if len(line.values) == 1 else None
        if value is None or line.measure.derived is not None:
            continue
        pattern = "total" if is_additive(line.measure) else "average"
        said = {"rows": _rows(subject)}
        figures = {"value": value}
        key = (subject.written(line, value), line.name)
        drafts.append(Draft(ClaimKind.TOTAL, pattern, said, figures,
                            (Check(value, line.measure),), 0.45, (), key, line))  # fmt: skip
    return drafts


def sums(subject: Subject) -> list[Draft]:
    """The total of what a grouped result adds up to."""
    query = subject.result.query
    if _limited(query):
        return []
    drafts = []
    for measure in query.measures:
        lines = [line for line in subject.grid.lines if line.measure == measure]
        if not lines or not is_additive(measure) or measure.derived is not None:
            continue
        value = math.fsum(v for line in lines for v in line.values if v is not None)
        name = naming.measure(measure, subject.table, subject.code)
        key = (subject.written(lines[0], value), name)
        drafts.append(Draft(ClaimKind.TOTAL, "total", {"rows": _rows(subject)}, {"value": value},
                            (Check(value, measure),), 0.3, (), key, lines[0]))  # fmt: skip
    return drafts


def _rows(subject: Subject) -> str:
    count = subject.result.counted
    tongue = words(naming.WORDS, subject.code)
    return str(tongue["row"]) if count == 1 else tongue["rows"].format(_whole(subject, count))


def _whole(subject: Subject, count: int) -> str:
    return numbers.full(count, None, subject.code)


def _limited(query: Query) -> bool:
    return bool(query.having) or (query.order is not None and query.order.count is not None)


def added_up(subject: Subject) -> Subject:
    """Of a result by two groups of what may be added up: the first group's sums."""
    query, lines = subject.result.query, subject.grid.lines
    if len(query.groups) != 2 or _limited(query) or subject.grid.timed or not lines:
        return subject
    measure = lines[0].measure
    if len(query.measures) != 1 or not is_additive(measure) or measure.derived is not None:
        return subject
    columns = zip(*(line.values for line in lines), strict=True)
    sums = tuple(math.fsum(v for v in column if v is not None) for column in columns)
    name = naming.measure(measure, subject.table, subject.code)
    grid = replace(subject.grid, lines=(Line(name, None, measure, lines[0].unit, sums),))
    result = structs.replace(subject.result, query=structs.replace(query, groups=query.groups[:1]))
    return Subject(result, grid, subject.table, subject.code)


def of_groups(subject: Subject, whole: float | None) -> list[Draft]:
    """What the groups of one category say; ``whole`` is the measure over all rows, None where a
    share of it would mean nothing."""
    query = subject.result.query
    if len(query.groups) != 1 or subject.grid.timed or not subject.grid.lines:
        return []
    line = subject.grid.lines[0]
    if line.measure.derived not in _PLAIN:
        return []
    entries = [
        (value, key, label)
        for value, key, label in zip(
            line.values, subject.grid.keys, subject.grid.labels, strict=True
        )
        if value is not None
    ]
    entries.sort(key=lambda entry: -entry[0])
    if len(entries) < 2:
        return []
    drafts = _two(subject, line, entries) if len(entries) == 2 else []
    limited = _limited(query)
    lowest = limited and query.order is not None and not query.order.descending
    if not lowest:
        drafts += _leader(subject, line, entries, whole)
    if not limited:
        if not subject.grid.calendar:
            drafts += _concentration(subject, line, entries, whole)
        drafts += _outliers(subject, line, entries)
    if not limited or lowest:
        drafts += _last(subject, line, entries, first=lowest)
    return drafts


_Entry: TypeAlias = tuple[float, Cell, str]
_Entries: TypeAlias = list[_Entry]


def _check(subject: Subject, measure: Measure, entry: _Entry) -> Check:
    value, key, _ = entry
    return Check(value, measure, (group_filter(subject.result.query.groups[0], key),))


def _leader(subject: Subject, line: Line, entries: _Entries, whole: float | None) -> list[Draft]:
    best, second = entries[0], entries[1]
    if best[0] == second[0]:
        top = [entry for entry in entries if entry[0] == best[0]]
        if len(top) == len(entries):
            return []
        return shared(subject, line, top, tuple(_check(subject, line.measure, e) for e in top))
    if _looks_equal(subject, line, best[0], second[0]):
        return []
    checks = tuple(_check(subject, line.measure, entry) for entry in (best, second))
    said = {
        "group": best[2],
        "second": second[2],
    }
    figures = {"value": best[0], "other": second[0]}
    close = 0.25 if best[0] - second[0] < _CLOSE * abs(best[0]) else 0.0
    shares = whole is not None and whole > 0 and entries[-1][0] >= 0 and not subject.grid.calendar
    if whole is None or not shares or line.measure.derived is not None:
        weight = (0.65 if len(entries) > 2 else 0.45) - close
        key = (subject.written(line, best[0]), f"{line.name}, {best[2]}")
        return [Draft(ClaimKind.BEST, "best", said, figures, checks, weight, (best[1],),
                      key, line)]  # fmt: skip
    share = 100 * best[0] / whole
    said["share"] = numbers.percent(share, subject.code)
    figures |= {"share": share, "total": whole}
    checks += (Check(whole, line.measure),)
    weight = 0.6 + min(0.25, share / 250) - close
    return [Draft(ClaimKind.BEST, "best_share", said, figures, checks, weight, (best[1],),
                  (said["share"], _part(subject, line, best[2])), line)]  # fmt: skip


def _part(subject: Subject, line: Line, group: str) -> str:
    """What a share is called as a key figure: ``Share of revenue, North``."""
    share = words(naming.WORDS, subject.code)["measures"]["share"]
    return f"{share.format(naming.inner(line.name, subject.code))}, {group}"


def _last(subject: Subject, line: Line, entries: _Entries, *, first: bool) -> list[Draft]:
    worst = entries[-1]
    if worst[0] == entries[-2][0] or len(entries) < 3:
        return []
    said = {"group": worst[2]}
    checks = (_check(subject, line.measure, worst),)
    return [Draft(ClaimKind.WORST, "worst", said, {"value": worst[0]}, checks,
                  0.7 if first else 0.25, (worst[1],),
                  (subject.written(line, worst[0]), f"{line.name}, {worst[2]}"), line)]  # fmt: skip


def _looks_equal(subject: Subject, line: Line, high: float, low: float) -> bool:
    """Whether both are written the same, so that nobody sees who is ahead."""
    return bool(subject.written(line, high) == subject.written(line, low))


def _two(subject: Subject, line: Line, entries: _Entries) -> list[Draft]:
    (high, _, name), (low, _, other) = entries
    if high == low or _looks_equal(subject, line, high, low):
        return []
    checks = tuple(_check(subject, line.measure, entry) for entry in entries)
    said = {
        "group": name,
        "second": other,
    }
    figures = {"value": high, "other": low, "difference": high - low}
    pattern = "compare"
    if low > 0 and line.unit != numbers.PERCENT:
        pattern = "compare_more"
        figures["percent"] = 100 * (high / low - 1)
        said["percent"] = numbers.percent(figures["percent"], subject.code)
    return [Draft(ClaimKind.COMPARISON, pattern, said, figures, checks, 0.75,
                  (entries[0][1],),
                  (subject.written(line, high - low), f"{name} – {other}"), line)]  # fmt: skip


def _concentration(
    subject: Subject, line: Line, entries: _Entries, whole: float | None
) -> list[Draft]:
    if whole is None or whole <= 0 or len(entries) < 5 or entries[-1][0] < 0:
        return []
    for count in (2, 3):
        top = entries[:count]
        value = math.fsum(entry[0] for entry in top)
        share = 100 * value / whole
        if count <= len(entries) / 2.4 and share >= 60 and top[-1][0] > entries[count][0]:
            said = {
                "groups": language(subject.code).listed([entry[2] for entry in top]),
                "count": str(count),
                "n": str(len(entries)),
                "share": numbers.percent(share, subject.code),
            }
            checks = tuple(_check(subject, line.measure, entry) for entry in top)
            figures = {"value": value, "total": whole, "share": share}
            return [Draft(ClaimKind.CONCENTRATION, "concentration", said, figures,
                          (*checks, Check(whole, line.measure)), 0.62 + share / 1000,
                          tuple(entry[1] for entry in top),
                          (said["share"], _part(subject, line, said["groups"])), line)]  # fmt: skip
    return []


def _outliers(subject: Subject, line: Line, entries: _Entries) -> list[Draft]:
    """A group far outside the middle half of the others (Tukey's fences, three times wide)."""
    values = [entry[0] for entry in entries]
    if not _FEWEST <= len(values) <= _MOST:
        return []
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    width = high - low
    far = [e for e in entries if e[0] > high + 3 * width or e[0] < low - 3 * width]
    if width <= 0 or len(far) != 1:
        return []
    said = {"group": far[0][2]}
    figures = {"value": far[0][0], "low": low, "high": high}
    key = (subject.written(line, far[0][0]), f"{line.name}, {far[0][2]}")
    return [Draft(ClaimKind.OUTLIER, "outlier", said, figures,
                  tuple(_check(subject, line.measure, e) for e in entries), 0.5, (far[0][1],),
                  key, line)]  # fmt: skip
