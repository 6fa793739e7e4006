"""Several tables of the same kind against each other: totals, and what they have in common."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from agentpost.agents.offline.data.model import Column, Kind, Result, Role, Table
from agentpost.agents.offline.frame import Measure, Query, Style
from agentpost.agents.offline.making import queries
from agentpost.agents.offline.making.chart.drawing import Wish, draw
from agentpost.agents.offline.making.chart.picture import Drawing
from agentpost.agents.offline.making.report.content import Block, Figure, Section
from agentpost.agents.offline.story import naming
from agentpost.agents.offline.story.shape import is_additive, number, shown
from agentpost.agents.offline.style import numbers
from agentpost.agents.offline.style.languages import language, words

if TYPE_CHECKING:
    from agentpost.agents.offline.data.dataset import Dataset

_MOST_TABLES = 5
_MOST_GROUPS = 15


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several tables against each other: the finding as a title and in sentences, the total of
    each, the section with the figures, and the ``labels`` of the groups that it compares."""

    title: str
    sentences: tuple[str, ...]
    figures: tuple[Figure, ...]
    section: Section
    labels: frozenset[str] = frozenset()


def compared(
    dataset: Dataset, style: Style, code: str, drawings: list[Drawing], heading: str
) -> Comparison | None:
    """What the tables that measure the same say against each other; None where no two do."""
    first = max(dataset.tables, key=lambda table: table.rows, default=None)
    if first is None:
        return None
    measure = queries.main_measure(first)
    name = naming.label(measure.column, first).casefold()
    same: list[tuple[Table, Measure]] = []
    for table in dataset.tables[:_MOST_TABLES]:
        own = [c for c in table.columns if c.label.casefold() == name and c.kind is Kind.NUMBER]
        if own or measure.column is None:
            same.append((table, Measure(own[0].name if own else None, measure.aggregate)))
    if len(same) < 2 or measure.column is None:
        return None
    same = [(msgspec.structs.replace(one, name=_spoken(one.name)), own) for one, own in same]
    totals = [_value(dataset, table, own) for table, own in same]
    if any(total is None for total in totals):
        return None
    known = [total for total in totals if total is not None]
    name_of = naming.measure(same[0][1], same[0][0], code)
    sentence = _ahead(same, known, code)
    blocks = [Block("text", sentence), _totals(same, known, code)]
    sentences = [sentence]
    labels = _common([table for table, _ in same])
    for n, label in enumerate(labels):
        found = _grouped(dataset, same, label, code)
        drawn = _by_group(found, same, label, code, style, drawings)
        driver = _driver(found, same, known, code)
        if driver and not n:
            sentences.append(driver)
        blocks += ([Block("text", driver)] if driver else []) + drawn
    keys = tuple(
        Figure(numbers.short(total, naming.unit(own, table), code), f"{name_of}, {table.name}")
        for (table, own), total in zip(same, known, strict=True)
    )
    section = Section(heading, tuple(blocks))
    lowered = frozenset(label.casefold() for label in labels)
    return Comparison(_headline(same, known, code), tuple(sentences), keys[:4], section, lowered)


def _spoken(name: str) -> str:
    """What people call a source: the file's name without its suffix and underscores."""
    stem = re.sub(r"\.\w{1,5}(?=$| )", "", name)
    words_of = re.sub(r"[_-]+", " ", stem).strip()
    return words_of[:1].upper() + words_of[1:] if words_of else name


def _headline(same: Sequence[tuple[Table, Measure]], totals: Sequence[float], code: str) -> str:
    order = sorted(range(len(same)), key=lambda n: -totals[n])
    high, low = order[0], order[1]
    claims = words(naming.WORDS, code)["claims"]
    name = naming.measure(same[high][1], same[high][0], code)
    said = {"group": same[high][0].name, "second": same[low][0].name}
    if totals[low] > 0 and totals[high] > totals[low]:
        said["percent"] = numbers.percent(100 * (totals[high] / totals[low] - 1), code)
        return f"{name}{language(code).colon}{claims['compare_more'][0].format(**said)}"
    return f"{name}{language(code).colon}{language(code).listed([t.name for t, _ in same])}"


def _value(dataset: Dataset, table: Table, measure: Measure) -> float | None:
    """The measure over all rows; of what adds up, None unless the sum over groups agrees."""
    rows = dataset.run(Query(table.id, (measure,))).rows
    value = number(rows[0][-1]) if rows else None
    groups = [c for c in table.columns if c.role is Role.CATEGORY and c.distinct <= _MOST_GROUPS]
    if value is None or not groups or groups[0].missing or not is_additive(measure):
        return value
    grouped = dataset.run(Query(table.id, (measure,), (groups[0].name,))).rows
    again = math.fsum(number(row[-1]) or 0.0 for row in grouped)
    return value if math.isclose(value, again, rel_tol=1e-9, abs_tol=1e-6) else None


def _ahead(same: Sequence[tuple[Table, Measure]], totals: Sequence[float], code: str) -> str:
    order = sorted(range(len(same)), key=lambda n: -totals[n])
    high, low = order[0], order[1]
    table, measure = same[high]
    form = numbers.format_for(
        [totals[high], totals[low], totals[high] - totals[low]], naming.unit(measure, table), code
    )
    pattern = words(naming.WORDS, code)["claims"]["compare"][1]
    sentence = pattern.format(
        group=table.name,
        second=same[low][0].name,
        value=form.text(totals[high]),
        other=form.text(totals[low]),
        difference=form.text(totals[high] - totals[low]),
    )
    name = naming.measure(measure, table, code)
    return f"{name}{language(code).colon}{sentence}"


def _totals(same: Sequence[tuple[Table, Measure]], totals: Sequence[float], code: str) -> Block:
    tongue = language(code)
    name = naming.measure(same[0][1], same[0][0], code)
    whole = all(total == round(total) or abs(total) >= 1000 for total in totals)
    rows = tuple(
        (
            table.name,
            numbers.full(table.rows, None, code),
            numbers.plain(total, 0 if whole else 2, tongue),
        )
        for (table, _), total in zip(same, totals, strict=True)
    )
    header = ("", naming.measure(naming.ROWS, same[0][0], code), name)
    return Block("table", header=header, rows=rows)


def _common(tables: Sequence[Table]) -> list[str]:
    """The labels of up to two categories that all tables have, with the fewest values."""
    labels: dict[str, list[Column]] = {}
    for table in tables:
        for column in table.columns:
            if column.role is Role.CATEGORY and 1 < column.distinct <= _MOST_GROUPS:
                labels.setdefault(column.label.casefold(), []).append(column)
    shared = [found for found in labels.values() if len(found) == len(tables)]
    shared = [found for found in shared if _overlap(found)]
    shared.sort(key=lambda found: found[0].distinct)
    return [found[0].label for found in shared[:2]]


def _overlap(columns: Sequence[Column]) -> bool:
    values = [set(column.values) for column in columns]
    return bool(set.intersection(*values))


_Found = dict[str, list[float | None]]


def _grouped(
    dataset: Dataset, same: Sequence[tuple[Table, Measure]], label: str, code: str
) -> _Found:
    """For each group its value in each table."""
    found: _Found = {}
    for n, (table, measure) in enumerate(same):
        column = next(c for c in table.columns if c.label.casefold() == label.casefold())
        for row in dataset.run(Query(table.id, (measure,), (column.name,))).rows:
            values = found.setdefault(shown(row[0], code), [None] * len(same))
            values[n] = number(row[-1])
    return found


def _driver(
    found: _Found, same: Sequence[tuple[Table, Measure]], totals: Sequence[float], code: str
) -> str:
    """Which group made most of the difference between two tables; empty where none did, or where
    the groups do not add up to the totals."""
    if len(same) != 2 or not is_additive(same[0][1]) or len(found) < 2:
        return ""
    sums = [math.fsum(values[n] or 0 for values in found.values()) for n in (0, 1)]
    if not all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(sums, totals, strict=True)):
        return ""
    change = totals[1] - totals[0]
    parts = sorted(((two or 0) - (one or 0), key) for key, (one, two) in found.items())
    if not change:
        return ""
    (part, leader), (other, second) = (parts[-1], parts[-2]) if change > 0 else (parts[0], parts[1])
    table, measure = same[0]
    form = numbers.format_for([change, part, other], naming.unit(measure, table), code)

    def signed(value: float) -> str:
        return ("+" if value > 0 else "") + form.text(value)

    pattern = words(naming.WORDS, code)["claims"]["driver"][1]
    name = naming.inner(naming.measure(measure, table, code), code)
    said: str = pattern.format(
        first=table.name, last=same[1][0].name, m=name, change=signed(change), group=leader,
        part=signed(part), second=second, other=signed(other),
    )  # fmt: skip
    return said


def _by_group(
    found: _Found, same: Sequence[tuple[Table, Measure]], label: str, code: str, style: Style,
    drawings: list[Drawing],
) -> list[Block]:  # fmt: skip
    order = sorted(found, key=lambda key: -math.fsum(abs(v or 0) for v in found[key]))
    order = order[:_MOST_GROUPS]
    first, measure = same[0]
    value = Column("value", naming.measure(measure, first, code), Kind.NUMBER, Role.AMOUNT,
                   naming.unit(measure, first))  # fmt: skip
    table = Table("compared", "", "", len(found), (
        Column("group", label, Kind.TEXT, Role.CATEGORY),
        Column("source", "", Kind.TEXT, Role.CATEGORY), value,
    ))  # fmt: skip
    rows = tuple(
        (key, same[n][0].name, figure)
        for key in order
        for n, figure in enumerate(found[key])
        if figure is not None
    )
    result = Result(
        Query("compared", (Measure("value", measure.aggregate),), ("group", "source")),
        ("group", "source", "value"), rows, len(rows),
    )  # fmt: skip
    name = naming.measure(measure, first, code)
    below = words(naming.WORDS, code)["subtitle"]["by"].format(name, naming.inner(label, code))
    wish = Wish(result, table, "", (), Style(title=below, colour=style.colour, chart="grouped"),
                code)  # fmt: skip
    drawings.append(draw(wish))
    blocks = [Block("chart", below, chart=len(drawings) - 1)]
    if len(same) == 2:
        blocks.append(_difference(found, order, same, label, code))
    return blocks


def _difference(
    found: _Found, order: Sequence[str],
    same: Sequence[tuple[Table, Measure]], label: str, code: str,
) -> Block:  # fmt: skip
    tongue, texts = language(code), words(naming.WORDS, code)
    every = [v for key in order for v in found[key] if v is not None]
    digits = 0 if max(map(abs, every), default=0) >= 1000 else 1
    if all(value == round(value) for value in every):
        digits = 0
    rows = []
    for key in order:
        one, two = found[key]
        cells = [key, *("–" if v is None else numbers.plain(v, digits, tongue) for v in (one, two))]
        if one is None or two is None:
            cells += ["–", "–"]
        else:
            cells.append(("+" if two > one else "") + numbers.plain(two - one, digits, tongue))
            rate = 100 * (two / one - 1) if one > 0 else None
            cells.append("–" if rate is None else numbers.percent(rate, code, signed=True))
        rows.append(tuple(cells))
    if is_additive(same[0][1]):
        sums = [math.fsum(found[key][n] or 0 for key in order) for n in (0, 1)]
        rate = 100 * (sums[1] / sums[0] - 1) if sums[0] > 0 else None
        rows.append((
            texts["total"], *(numbers.plain(v, digits, tongue) for v in sums),
            ("+" if sums[1] > sums[0] else "") + numbers.plain(sums[1] - sums[0], digits, tongue),
            "–" if rate is None else numbers.percent(rate, code, signed=True),
        ))  # fmt: skip
    header = (label, same[0][0].name, same[1][0].name, texts["change"], texts["rate"])
    return Block("table", header=header, rows=tuple(rows), total=is_additive(same[0][1]))
