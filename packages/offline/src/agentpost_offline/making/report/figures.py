"""Sections of a report from a story: what each result says, its picture, its table."""

from __future__ import annotations

import math

import msgspec

from agentpost_offline.frame import Grain, Style
from agentpost_offline.making import content
from agentpost_offline.making.chart.drawing import Wish, draw, empty
from agentpost_offline.making.content import Block, BlockKind, Figure
from agentpost_offline.story import naming
from agentpost_offline.story.model import Claim, ClaimKind, Story
from agentpost_offline.story.shape import Grid, Line, grid, is_additive, present
from agentpost_offline.story.tell import source_line
from agentpost_offline.style import numbers
from agentpost_offline.style.languages import language, words

_MOST_ROWS = 18
_LEAD = 3
_KEYS = 4
_SENTENCES = 3


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


def sections(story: Story, style: Style, stated: set[str]) -> list[list[Block]]:
    """The blocks of a section for each result; what was ``stated`` before is not said again."""
    made = [_section(story, n, style, stated) for n in _order(story)]
    return [blocks for blocks in made if blocks]


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


def _section(story: Story, n: int, style: Style, stated: set[str]) -> list[Block]:
    result, table, code = story.results[n], story.table(n), story.language
    if empty(result) or not (result.query.groups or result.query.time):
        return []
    laid = grid(result, table, code)
    claims = [c for c in story.about(n) if c.kind is not ClaimKind.TOTAL]
    fresh = [c for c in claims if c.headline not in stated]
    neutral = naming.subtitle(result.query, table, code)
    neutral = neutral[:1].upper() + neutral[1:]
    leading = [c for c in fresh if c.kind is not ClaimKind.WORST]
    heading = leading[0].headline if leading else neutral
    stated.add(heading)
    if len(story.tables) > 1:
        heading = f"{table.name}{language(code).colon}{heading}"
    sentences = [c.sentence for c in fresh if c.sentence not in stated][:_SENTENCES]
    stated.update(sentences)
    blocks = [content.heading(heading)]
    if sentences:
        blocks.append(content.paragraph(" ".join(sentences)))
    if laid.grain is Grain.YEAR and len(laid.lines) > 1 and len(laid.keys) <= 3:
        return [*blocks, Block(BlockKind.TABLE, grid=change_table(laid, code))]
    wish = Wish(
        result, table, source_line(table, code), leading[:1] or claims[:1],
        msgspec.structs.replace(style, title=None, chart=None), code,
    )  # fmt: skip
    drawing = draw(wish)
    below = content.words(drawing.picture.subtitle)
    return [*blocks, Block(BlockKind.CHART, below, drawing=drawing)]


def exact(line: Line) -> int:
    """Decimals for a column of a table: none for whole or large numbers, at most two."""
    values = present(line.values)
    if all(value == round(value) for value in values) or max(map(abs, values), default=0) >= 1000:
        return 0
    return 1 if all(abs(v * 10 - round(v * 10)) < 1e-9 for v in values) else 2


def change_table(laid: Grid, code: str) -> content.Grid:
    """Groups by year, with the change from the one before the last to the last."""
    tongue = language(code)
    digits = max(exact(line) for line in laid.lines)
    rows: list[tuple[str, ...]] = []
    said = words(naming.WORDS, code)
    lines = list(laid.lines[: _MOST_ROWS - 1])
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
    numbers_at = range(1, len(header))
    return content.grid(header, rows, numbers=numbers_at, total=summed)
