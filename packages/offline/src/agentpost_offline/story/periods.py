"""Findings over time: growth, the best and the worst period, what stands out."""

from __future__ import annotations

import math
import statistics

from agentpost_offline.data.model import Cell
from agentpost_offline.frame import Filter, Grain
from agentpost_offline.story import naming
from agentpost_offline.story.draft import Draft, Subject, shared
from agentpost_offline.story.model import ClaimKind
from agentpost_offline.story.second import Check, group_filter, period_filter
from agentpost_offline.story.shape import Line, is_additive, present
from agentpost_offline.style import dates, numbers
from agentpost_offline.style.languages import language, words

_AHEAD = 1.2
"""How many times the change of the next group a driver of the change has."""
_IN_A_YEAR = {Grain.MONTH: 12, Grain.QUARTER: 4}
_EACH_PERIOD = 24


def over_time(subject: Subject) -> list[Draft]:
    """What one series over time says; of several, what the first measure's total says."""
    line = total_line(subject)
    if line is None:
        return []
    whole = complete(subject)
    places = [n for n in whole if line.values[n] is not None]
    if len(places) < 2:
        return []
    return [*_extremes(subject, line, places), *_growth(subject, line, places)]


def total_line(subject: Subject) -> Line | None:
    """The only series; for several groups of what may be added up, their sum."""
    lines = subject.grid.lines
    if len(lines) == 1:
        return lines[0]
    same = bool(lines) and all(line.measure == lines[0].measure for line in lines)
    if not same or not is_additive(lines[0].measure) or subject.result.query.order is not None:
        return None
    columns = zip(*(line.values for line in lines), strict=True)
    sums = [math.fsum(present(column)) if present(column) else None for column in columns]
    name = naming.measure(lines[0].measure, subject.table, subject.code)
    return Line(name, None, lines[0].measure, lines[0].unit, tuple(sums))


def complete(subject: Subject) -> list[int]:
    """The places of the periods that the data covers from their first to their last day."""
    grid, partial = subject.grid, subject.result.partial
    days = [dates.parsed(key) for key in grid.keys]
    return [n for n, day in enumerate(days) if day is None or day.isoformat() not in partial]


def _check(
    subject: Subject, line: Line, first: Cell, last: Cell, value: float,
    more: tuple[Filter, ...] = (),
) -> tuple[Check, ...]:  # fmt: skip
    query = subject.result.query
    assert query.time is not None
    over = period_filter(query.time, first, last, subject.grid.grain)
    if over is None:  # nothing to compute it by: the finding must not pass
        return (Check(math.nan, line.measure),)
    return (Check(value, line.measure, (over, *more)),)


def _at(line: Line, place: int) -> float:
    value = line.values[place]
    assert value is not None
    return value


def _extremes(subject: Subject, line: Line, places: list[int]) -> list[Draft]:
    grid, code = subject.grid, subject.code
    values = [_at(line, n) for n in places]
    if len(places) < 3 or min(values) == max(values) or line.measure.derived is not None:
        return []
    if not is_additive(line.measure) and len(places) > _EACH_PERIOD:
        return _highest(subject, line, places)
    mean = statistics.fmean(values)
    best, worst = (pick(places, key=lambda n: _at(line, n)) for pick in (max, min))
    grain = words(naming.WORDS, code)["grains"][(grid.grain or Grain.DAY).value]
    drafts = []
    top = [n for n in places if _at(line, n) == max(values)]
    checks = tuple(
        c for n in top for c in _check(subject, line, grid.keys[n], grid.keys[n], max(values))
    )
    drafts += shared(
        subject, line, [(max(values), grid.keys[n], grid.labels[n]) for n in top], checks
    )
    for place, kind, weight in ((best, ClaimKind.BEST, 0.55), (worst, ClaimKind.WORST, 0.25)):
        value = _at(line, place)
        if sum(v == value for v in values) > 1:
            continue  # several share it: none of them is the one
        times = value / mean if mean > 0 and value > 0 else 0.0
        pattern = "low" if kind is ClaimKind.WORST else "peak_plain"
        figures = {"value": value, "mean": mean}
        said = {
            "period": grid.labels[place],
            "grain": grain,
        }
        if kind is ClaimKind.BEST and times >= 1.2 and is_additive(line.measure):
            pattern = "peak"
            figures["times"] = times
            said["times"] = numbers.plain(times, 1, language(code))
            weight = min(0.9, weight + 0.12 * times)
        checks = _check(subject, line, grid.keys[place], grid.keys[place], value)
        checks += _mean_check(subject, line, places, mean)
        key = (subject.written(line, value), f"{line.name}, {said['period']}")
        drafts.append(Draft(kind, pattern, said, figures, checks, weight,
                            (grid.keys[place],), key, line))  # fmt: skip
    return drafts


def _highest(subject: Subject, line: Line, places: list[int]) -> list[Draft]:
    """The best period and the next one: for many periods, whose mean would cost a query each."""
    first, second = sorted(places, key=lambda n: -_at(line, n))[:2]
    if _at(line, first) == _at(line, second):
        return []
    keys, labels = subject.grid.keys, subject.grid.labels
    said = {
        "group": labels[first],
        "second": labels[second],
    }
    figures = {"value": _at(line, first), "other": _at(line, second)}
    checks = _check(subject, line, keys[first], keys[first], _at(line, first))
    checks += _check(subject, line, keys[second], keys[second], _at(line, second))
    key = (subject.written(line, figures["value"]), f"{line.name}, {labels[first]}")
    return [Draft(ClaimKind.BEST, "best", said, figures, checks, 0.5,
                  (keys[first],), key, line)]  # fmt: skip


def _mean_check(subject: Subject, line: Line, places: list[int], mean: float) -> tuple[Check, ...]:
    """The mean of the periods again: of what adds up, from the total of the whole span; of other
    measures, from each period."""
    keys = subject.grid.keys
    if not is_additive(line.measure):
        each = [_check(subject, line, keys[n], keys[n], _at(line, n)) for n in places]
        return tuple(check for checks in each for check in checks)
    if subject.grid.grain in (Grain.WEEKDAY, Grain.HOUR):
        return (Check(mean * len(places), line.measure),)
    return _check(subject, line, keys[places[0]], keys[places[-1]], mean * len(places))


def _growth(subject: Subject, line: Line, places: list[int]) -> list[Draft]:
    if subject.grid.grain in (Grain.WEEKDAY, Grain.HOUR) or line.measure.derived is not None:
        return []
    order = subject.result.query.order
    if order is not None and order.count is not None:
        return []  # the best few periods are no course
    spans = compared(subject, line, places)
    before, after = (_span_value(line, span) for span in spans)
    if before is None or after is None:
        return []
    first, last = (_span_label(subject, span) for span in spans)
    keys = subject.grid.keys
    checks: tuple[Check, ...] = ()
    for span, value in zip(spans, (before, after), strict=True):
        checks += _check(subject, line, keys[span[0]], keys[span[-1]], value)
    whole_years = len(spans[0]) > 1 or subject.grid.grain is Grain.YEAR
    said = {
        "first": first,
        "last": last,
    }
    figures = {"before": before, "after": after}
    marks = tuple(keys[n] for n in spans[1])
    weight = 0.8 if whole_years else 0.5
    key: tuple[str, str] | None
    if before > 0 and after >= 0 and line.unit != numbers.PERCENT:
        rate = 100 * (after / before - 1)
        figures["percent"] = rate
        said["percent"] = numbers.percent(abs(rate), subject.code)
        pattern = "growth_flat" if abs(rate) < 1 else "growth_up" if rate > 0 else "growth_down"
        key = (numbers.percent(rate, subject.code, signed=True), f"{line.name}, {last}")
        weight += min(0.15, abs(rate) / 400) if abs(rate) >= 1 else -0.3
    elif before == after:
        return []
    else:
        pattern = "change_up" if after > before else "change_down"
        key = (subject.written(line, after), f"{line.name}, {last}")
    return [Draft(ClaimKind.GROWTH, pattern, said, figures, checks, weight, marks, key, line)]


def compared(
    subject: Subject, line: Line, places: list[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What growth compares: the last whole year with the one before where both are there, else
    the last period with the first."""
    count = _IN_A_YEAR.get(subject.grid.grain or Grain.DAY)
    if count and is_additive(line.measure):
        years: dict[int, list[int]] = {}
        for n in places:
            day = dates.parsed(subject.grid.keys[n])
            if day is not None:
                years.setdefault(day.year, []).append(n)
        whole = [year for year, found in years.items() if len(found) == count]
        if len(whole) >= 2 and whole[-1] - whole[-2] == 1:
            return tuple(years[whole[-2]]), tuple(years[whole[-1]])
    if subject.grid.grain is Grain.YEAR and len(places) > 1:
        return (places[-2],), (places[-1],)
    return (places[0],), (places[-1],)


def _span_value(line: Line, span: tuple[int, ...]) -> float | None:
    values = present([line.values[n] for n in span])
    if len(values) != len(span):
        return None
    return math.fsum(values) if len(values) > 1 else values[0]


def _span_label(subject: Subject, span: tuple[int, ...]) -> str:
    grid = subject.grid
    if len(span) == 1:
        return grid.labels[span[0]]
    return dates.period(grid.keys[span[0]], Grain.YEAR, subject.code)


def drivers(subject: Subject) -> list[Draft]:
    """Which group brought most of a change over time."""
    lines = [line for line in subject.grid.lines if line.measure == subject.grid.lines[0].measure]
    total = total_line(subject)
    if len(lines) < 2 or total is None or total.measure.derived is not None:
        return []
    if subject.grid.grain in (Grain.WEEKDAY, Grain.HOUR) or len(subject.result.query.groups) != 1:
        return []
    places = [n for n in complete(subject) if total.values[n] is not None]
    if len(places) < 2:
        return []
    spans = compared(subject, total, places)

    def value(line: Line, span: tuple[int, ...]) -> float:
        return math.fsum(present([line.values[n] for n in span]))

    changes = [(value(line, spans[1]) - value(line, spans[0]), line) for line in lines]
    change = math.fsum(part for part, _ in changes)
    if not change:
        return []
    changes.sort(key=lambda entry: -entry[0] if change > 0 else entry[0])
    (part, leader), (other, second) = changes[0], changes[-1] if len(changes) > 2 else changes[1]
    if part * change <= 0 or abs(part) < 0.4 * abs(change):
        return []
    if abs(part) < _AHEAD * abs(changes[1][0]):
        return []  # nobody drove it: another group changed about as much
    keys = subject.grid.keys
    checks: tuple[Check, ...] = ()
    column = subject.result.query.groups[0]
    for line in (leader, second):
        only = (group_filter(column, line.key),)
        for span in spans:
            if present([line.values[n] for n in span]):
                checks += _check(subject, line, keys[span[0]], keys[span[-1]],
                                 value(line, span), only)  # fmt: skip
    for span in spans:
        checks += _check(subject, total, keys[span[0]], keys[span[-1]], value(total, span))
    said = {
        "group": leader.name,
        "second": second.name,
        "first": _span_label(subject, spans[0]),
        "last": _span_label(subject, spans[1]),
    }
    figures = {"change": change, "part": part, "other": other}
    tongue = words(naming.WORDS, subject.code)["measures"]["change"]
    label = tongue.format(naming.inner(total.name, subject.code))
    key = (subject.change(total, part), f"{label}, {leader.name}")
    return [Draft(ClaimKind.CONTRIBUTION, "driver", said, figures, checks, 0.7,
                  (leader.key,), key, total, signed=True)]  # fmt: skip
