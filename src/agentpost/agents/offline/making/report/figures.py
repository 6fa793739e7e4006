"""Sections of a report from a story: what each result says, its picture, its table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from agentpost.agents.offline.frame import Grain, Style
from agentpost.agents.offline.making.chart.drawing import Wish, draw, empty
from agentpost.agents.offline.making.chart.picture import Drawing
from agentpost.agents.offline.making.report.content import Block, Figure, Section
from agentpost.agents.offline.story import naming
from agentpost.agents.offline.story.model import Claim, ClaimKind, Story
from agentpost.agents.offline.story.shape import Grid, Line, grid, is_additive, present
from agentpost.agents.offline.story.tell import source_line
from agentpost.agents.offline.style import numbers
from agentpost.agents.offline.style.languages import language, words

MOST_ROWS = 18
_LEAD = 3
_KEYS = 4
_SENTENCES = 3
_BESIDE = 10


def lead(story: Story) -> tuple[str, ...]:
    """The most important findings, each of another kind or result."""
    chosen: list[Claim] = []
    for claim in story.claims:
        new = all((claim.kind, claim.result) != (c.kind, c.result) for c in chosen)
        if new and len(chosen) < _LEAD and claim.kind is not ClaimKind.MISSING:
            chosen.append(claim)
    several = len(story.tables) > 1
    colon = language(story.language).colon
    return tuple(
        f"{story.table(claim.result).name}{colon}{claim.sentence}" if several else claim.sentence
        for claim in chosen
    )


def key_figures(story: Story) -> tuple[Figure, ...]:
    """Up to four figures to set large, the total first."""
    totals = [claim for claim in story.claims if claim.kind is ClaimKind.TOTAL]
    found: dict[str, Figure] = {}
    for claim in [*totals[:1], *story.claims]:
        if claim.key is None or claim.kind in (ClaimKind.WORST, ClaimKind.MISSING):
            continue
        value, label = claim.key
        if label and value not in {figure.value for figure in found.values()}:
            found.setdefault(label, Figure(value, label))
        if len(found) == _KEYS:
            break
    return tuple(found.values())


def sections(
    story: Story,
    style: Style,
    drawings: list[Drawing],
    said: set[str],
    known: frozenset[str] = frozenset(),
) -> list[Section]:
    """A section for each result; its picture goes to ``drawings``, what was ``said`` before is not
    said again, and groups whose labels are ``known`` are not shown again."""
    made: list[Section] = []
    for n in _order(story):
        query, table = story.results[n].query, story.table(n)
        if query.groups and {naming.label(g, table).casefold() for g in query.groups} <= known:
            continue
        section = _section(story, n, style, drawings, said)
        if section is not None:
            made.append(section)
    return made


def _order(story: Story) -> list[int]:
    """The results, most telling first; of several tables each in turn."""
    turns: dict[str, int] = {}
    places: list[tuple[int, float, int]] = []
    for n in sorted(range(len(story.results)), key=lambda n: -_worth(story, n)):
        table = story.results[n].query.table
        turns[table] = turns.get(table, 0) + 1
        places.append((turns[table] if len(story.tables) > 1 else 0, -_worth(story, n), n))
    return [n for _, _, n in sorted(places)]


def _worth(story: Story, n: int) -> float:
    return max((claim.weight for claim in story.about(n)), default=0.0)


def _section(
    story: Story, n: int, style: Style, drawings: list[Drawing], said: set[str]
) -> Section | None:
    result, table, code = story.results[n], story.table(n), story.language
    if empty(result) or not (result.query.groups or result.query.time):
        return None
    laid = grid(result, table, code)
    claims = [c for c in story.about(n) if c.kind is not ClaimKind.TOTAL]
    fresh = [c for c in claims if c.headline not in said]
    neutral = naming.subtitle(result.query, table, code)
    neutral = neutral[:1].upper() + neutral[1:]
    stated = [c for c in fresh if c.kind is not ClaimKind.WORST]
    heading = stated[0].headline if stated else neutral
    said.add(heading)
    if len(story.tables) > 1:
        heading = f"{table.name}{language(code).colon}{heading}"
    sentences = [c.sentence for c in fresh if c.sentence not in said][:_SENTENCES]
    said.update(sentences)
    blocks = [Block("text", " ".join(sentences))] if sentences else []
    years = laid.grain is Grain.YEAR and len(laid.lines) > 1 and len(laid.keys) <= 3
    if years:
        blocks.append(change_table(laid, code))
        return Section(heading, tuple(blocks))
    wish = Wish(
        result, table, source_line(table, code), stated[:1] or claims[:1],
        msgspec.structs.replace(style, title=None, chart=None), code,
    )  # fmt: skip
    drawing = draw(wish)
    drawings.append(drawing)
    shown = Block("chart", drawing.picture.subtitle, chart=len(drawings) - 1)
    if laid.timed or len(laid.keys) < 3:
        return Section(heading, (*blocks, shown))
    values = value_table(laid, naming.label(result.query.groups[0], table), code)
    if len(laid.keys) <= _BESIDE and len(laid.lines) == 1 and drawing.picture.kind == "bar":
        blocks.append(msgspec.structs.replace(
            values, kind="pair", text=shown.text, chart=shown.chart
        ))  # fmt: skip
    else:
        blocks += [shown, values]
    return Section(heading, tuple(blocks))


def _columns(lines: Sequence[Line], code: str) -> list[str]:
    heads = []
    for line in lines:
        unit = line.unit if line.unit and line.unit != numbers.PERCENT else None
        known = unit is None or unit in line.name
        heads.append(line.name if known else f"{line.name} ({unit})")
    return heads


def value_table(laid: Grid, first: str, code: str) -> Block:
    """The values of groups, with shares and a total where these mean something."""
    line = laid.lines[0]
    whole = math.fsum(present(line.values))
    positive = all(value >= 0 for value in present(line.values))
    shares = len(laid.lines) == 1 and is_additive(line.measure) and positive and whole > 0
    shares = shares and line.unit != numbers.PERCENT
    header = [first, *_columns(laid.lines, code)]
    tongue = language(code)
    if shares:
        header.append(numbers.PERCENT)
    rows: list[tuple[str, ...]] = []
    most = len(laid.keys) if len(laid.keys) <= MOST_ROWS else MOST_ROWS - 1
    digits = [exact(one) for one in laid.lines]
    for n in range(most):
        cells = [laid.labels[n]]
        cells += [_cell(one, n, digits[at], code) for at, one in enumerate(laid.lines)]
        if shares:
            cells.append(numbers.percent(100 * (line.values[n] or 0) / whole, code))
        rows.append(tuple(cells))
    left = len(laid.keys) - most
    if left:
        rows.append(("…", *("" for _ in header[1:])))
    total = all(is_additive(one.measure) and one.measure.derived is None for one in laid.lines)
    if total:
        sums = [math.fsum(present(one.values)) for one in laid.lines]
        cells = [
            words(naming.WORDS, code)["total"],
            *(numbers.plain(v, d, tongue) for v, d in zip(sums, digits, strict=True)),
        ]
        rows.append((*cells, *([numbers.percent(100, code)] if shares else [])))
    return Block("table", header=tuple(header), rows=tuple(rows), total=total)


def exact(line: Line) -> int:
    """Decimals for a column of a table: none for whole or large numbers, at most two."""
    values = present(line.values)
    if all(value == round(value) for value in values) or max(map(abs, values), default=0) >= 1000:
        return 0
    return 1 if all(abs(v * 10 - round(v * 10)) < 1e-9 for v in values) else 2


def _cell(line: Line, n: int, digits: int, code: str) -> str:
    value = line.values[n]
    if value is None:
        return "–"
    text = numbers.plain(value, digits, language(code))
    return language(code).percent.format(text) if line.unit == numbers.PERCENT else text


def change_table(laid: Grid, code: str) -> Block:
    """Groups by year, with the change from the one before the last to the last."""
    tongue = language(code)
    digits = max(exact(line) for line in laid.lines)
    rows: list[tuple[str, ...]] = []
    said = words(naming.WORDS, code)
    lines = list(laid.lines[: MOST_ROWS - 1])
    summed = len(laid.lines) == len(lines) and all(is_additive(o.measure) for o in laid.lines)
    if summed:
        columns = zip(*(line.values for line in laid.lines), strict=True)
        sums = tuple(math.fsum(present(column)) for column in columns)
        lines.append(Line(said["total"], None, laid.lines[0].measure, laid.lines[0].unit, sums))
    for line in lines:
        before, after = line.values[-2:] if len(line.values) > 1 else (None, line.values[-1])
        cells = [line.name]
        cells += ["–" if v is None else numbers.plain(v, digits, tongue) for v in line.values]
        if before is None or after is None:
            cells += ["–", "–"]
        else:
            plus = "+" if after > before else ""
            cells.append(plus + numbers.plain(after - before, digits, tongue))
            rate = 100 * (after / before - 1) if before > 0 else None
            cells.append("–" if rate is None else numbers.percent(rate, code, signed=True))
        rows.append(tuple(cells))
    header = ("", *laid.labels, said["change"], said["rate"])
    return Block("table", header=header, rows=tuple(rows), total=summed)
