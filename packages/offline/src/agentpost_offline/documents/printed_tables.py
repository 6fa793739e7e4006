"""Tables among the lines of a PDF, which holds texts at places and no cells."""

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from agentpost.extraction.pdf import Line

_LEAST_ROWS = 3
_CELL_WORDS = 9
"""Parts with more words on average are columns of prose."""
Span = tuple[float, float]


class PrintedTable(NamedTuple):
    """A table: its rows, the header first, from where to where its columns reach, and how many
    lines it takes."""

    rows: list[list[str]]
    columns: list[Span]
    lines: int


def table_at(lines: Sequence[Line], start: int, before: Sequence[Span] = ()) -> PrintedTable | None:
    """The table that begins at a line; ``before``: the columns of the one that the last page ended
    with, which may go on here with a single row."""
    end = start
    while end < len(lines) and len(lines[end].ends) > 1:
        end += 1
    group = lines[start:end]
    if before and group:
        rows = [_row(line, before) for line in group]
        if all(rows):
            return PrintedTable([row for row in rows if row], list(before), len(group))
    if len(group) < _LEAST_ROWS:
        return None
    width = Counter(len(line.ends) for line in group).most_common(1)[0][0]
    columns = _columns([line for line in group if len(line.ends) == width])
    rows = [_row(line, columns) for line in group]
    if not columns or not all(rows):
        return None
    cells = [cell for row in rows if row for cell in row if cell]
    if sum(len(cell.split()) for cell in cells) > _CELL_WORDS * len(cells):
        return None
    return PrintedTable([row for row in rows if row], columns, len(group))


def _columns(rows: Sequence[Line]) -> list[Span]:
    """From where to where each column reaches; none where columns would overlap."""
    if len(rows) < _LEAST_ROWS - 1:
        return []
    spans = [
        (min(left for left, _ in parts), max(right for _, right in parts))
        for parts in zip(*(line.ends for line in rows), strict=True)
    ]
    apart = all(one[1] < after[0] for one, after in itertools.pairwise(spans))
    return spans if apart else []


def _row(line: Line, columns: Sequence[Span]) -> list[str] | None:
    """The cells of a line, empty where a column has none; None where a part fits no column."""
    cells = [""] * len(columns)
    at = 0
    for text, (left, right) in zip(line.text.split("\t"), line.ends, strict=False):
        while at < len(columns) and not (left <= columns[at][1] and right >= columns[at][0]):
            at += 1
        if at == len(columns):
            return None
        cells[at] = " ".join(text.split())
        at += 1
    return cells
