"""Two tables joined on the column that they share (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from agentpost_offline.data.model import Column, Kind, Role, Table
from agentpost_offline.data.words import tokens
from agentpost_offline.frame import Cell

Rows = list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Joined:
    """The outcome of a join.

    Args:
        columns: of the joined table.
        rows: one for each row of the first table.
        matched: how many of them found their match.
        unmatched: keys without one, as far as they are few.
        repeated: rows of the second table whose key came before.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    matched: int
    unmatched: tuple[str, ...]
    repeated: int


def _plain(cell: Cell) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return " ".join(str(cell).split()).casefold()


def shared(one: Table, other: Table, ones: Rows, others: Rows) -> tuple[int, int] | None:
    """The places of the columns that two tables have in common: the same name, or the same words
    in it, and values of which most are found again; None when there are none."""
    best: tuple[float, int, int] | None = None
    for at, first in enumerate(one.columns):
        for to, second in enumerate(other.columns):
            if first.kind is Kind.DATE or second.kind is Kind.DATE or Role.RATE in (
                first.role, second.role,
            ):  # fmt: skip
                continue
            names = set(tokens(first.name)), set(tokens(second.name))
            same = names[0] == names[1]
            if not same and not names[0] & names[1]:
                continue
            keys = {_plain(row[to]) for row in others if row[to] is not None}
            mine = [_plain(row[at]) for row in ones if row[at] is not None]
            if not keys or not mine:
                continue
            found = sum(key in keys for key in mine) / len(mine)
            unique = len(keys) / max(1, sum(row[to] is not None for row in others))
            score = found * unique + 0.3 * same
            if found >= 0.3 and (best is None or score > best[0]):
                best = score, at, to
    return None if best is None else best[1:]


def join(one: Table, other: Table, ones: Rows, others: Rows, at: int, to: int) -> Joined:
    """Each row of the first table with the columns of the second."""
    index: dict[str, tuple[Cell, ...]] = {}
    repeated = 0
    for row in others:
        if row[to] is None:
            continue
        key = _plain(row[to])
        repeated += key in index
        index.setdefault(key, row)
    added = [place for place in range(len(other.columns)) if place != to]
    taken = {column.name.casefold() for column in one.columns}
    columns = list(one.columns)
    for place in added:
        column = other.columns[place]
        name, label = column.name, column.label
        if name.casefold() in taken:
            name, label = f"{name} ({other.name})", f"{label} ({other.name})"
        taken.add(name.casefold())
        columns.append(
            Column(name, label, column.kind, column.role, column.unit, grain=column.grain)
        )
    rows: list[tuple[Cell, ...]] = []
    matched = 0
    unmatched: dict[str, None] = {}
    for row in ones:
        found = index.get(_plain(row[at])) if row[at] is not None else None
        matched += found is not None
        if found is None and row[at] is not None:
            unmatched.setdefault(_shown(row[at]))
        rows.append((*row, *(found[place] if found else None for place in added)))
    return Joined(tuple(columns), tuple(rows), matched, tuple(unmatched), repeated)


def _shown(cell: Cell) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
