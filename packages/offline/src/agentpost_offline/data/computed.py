"""Columns that are computed from two others and stand in no file: ``Revenue − Cost``.

Such a column's name is its formula: two names of columns with ``−``, ``×`` or ``÷`` between them;
``(Revenue − Cost) ÷ Revenue in %`` is a margin. Of a group, a quotient is the quotient of the
sums, never a mean of quotients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentpost_offline.data.model import Column, Kind, Role, Table

MINUS, TIMES, OVER = "−", "×", "÷"
_PERCENT = " in %"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula; ``left`` may be one itself."""

    left: str
    sign: str
    right: str
    percent: bool = False


class Columns(dict[str, Column]):
    """The columns of a table by name, with those that are computed."""

    def __init__(self, table: Table) -> None:
        super().__init__((column.name, column) for column in table.columns)

    def __missing__(self, name: str) -> Column:
        found = _column(self, name)
        if found is None:
            raise KeyError(name)
        return found

    def get(self, name: str, default: Column | None = None) -> Column | None:  # type: ignore[override]
        """The column, or the default for a name that is none."""
        try:
            return self[name]
        except KeyError:
            return default


def name_of(left: str, sign: str, right: str, *, percent: bool = False) -> str:
    """The name of a computed column."""
    first = f"({left})" if f" {MINUS} " in left else left
    return f"{first} {sign} {right}{_PERCENT if percent else ''}"


def parsed(name: str, known: Mapping[str, Column]) -> Formula | None:
    """The formula that a name is, over columns that are there."""
    percent = name.endswith(_PERCENT)
    bare = name.removesuffix(_PERCENT)
    for sign in (OVER, TIMES, MINUS):
        for left, right in _splits(bare, f" {sign} "):
            inner = left[1:-1] if left.startswith("(") and left.endswith(")") else left
            if _number(known, right) and (_number(known, left) or parsed(inner, known)):
                return Formula(inner, sign, right, percent)
    return None


def _splits(text: str, mark: str) -> list[tuple[str, str]]:
    pieces = text.split(mark)
    return [(mark.join(pieces[:at]), mark.join(pieces[at:])) for at in range(1, len(pieces))]


def _number(known: Mapping[str, Column], name: str) -> bool:
    return dict.__contains__(known, name) and known[name].kind is Kind.NUMBER


def _column(known: Columns, name: str) -> Column | None:
    formula = parsed(name, known)
    if formula is None:
        return None
    left, right = known[formula.left], known[formula.right]
    ratio = formula.sign == OVER
    inner = parsed(formula.left, known)
    first = f"({left.label})" if inner is not None else left.label
    unit = "%" if formula.percent else None if ratio else left.unit
    if formula.sign == TIMES:
        unit = right.unit or left.unit
    first_value = left.first if formula.sign == MINUS else None
    return Column(
        name, f"{first} {formula.sign} {right.label}", Kind.NUMBER,
        Role.RATE if ratio else Role.AMOUNT, unit, distinct=max(left.distinct, right.distinct),
        missing=max(left.missing, right.missing), first=first_value,
    )  # fmt: skip


def value(name: str, known: Columns, fields: Mapping[str, str]) -> str:
    """The SQL of a column's value in one row."""
    formula = None if dict.__contains__(known, name) else parsed(name, known)
    if formula is None:
        return fields[name]
    left, right = value(formula.left, known, fields), fields[formula.right]
    if formula.sign == MINUS:
        return f"({left} - {right})"
    if formula.sign == TIMES:
        return f"({left} * {right})"
    return f"({100 if formula.percent else 1} * {left} / nullif({right}, 0))"


def quotient(name: str, known: Columns, fields: Mapping[str, str]) -> str | None:
    """The SQL of a quotient over the rows of a group: of the sums; None for no quotient."""
    formula = None if dict.__contains__(known, name) else parsed(name, known)
    if formula is None or formula.sign != OVER:
        return None
    left, right = value(formula.left, known, fields), fields[formula.right]
    return f"{100 if formula.percent else 1} * fsum({left}) / nullif(fsum({right}), 0)"
