"""Figures of two columns: their difference, product or ratio stands as a column of its own, whose
name says what it is, as in ``Takings − Costs``. Nothing of it is stored."""

from collections.abc import Iterable
from enum import StrEnum

from agentpost_offline.data.model import Column, Kind, Role, Table
from agentpost_offline.frame import Aggregate, Measure
from agentpost_offline.style.numbers import is_currency


class Sign(StrEnum):
    """How two columns make one figure."""

    PLUS = "+"
    MINUS = "−"
    TIMES = "×"
    OVER = "÷"
    """Of the totals: so much money for each kilometre of all of them together."""
    PERCENT = "%÷"
    """The same in percent: what was wasted of what was cooked."""


class Columns(dict[str, Column]):
    """Columns by their names, those of two columns included."""

    def __missing__(self, name: str) -> Column:
        for sign in Sign:
            left, joint, right = name.partition(f" {sign} ")
            if joint and left in self and right in self:
                return _column(self[left], sign, self[right])
        raise KeyError(name)

    def find(self, name: str | None) -> Column | None:
        """The column of this name; None where there is none."""
        try:
            return self[name] if name else None
        except KeyError:
            return None

    def operands(self, names: Iterable[str | None]) -> list[Column]:
        """The columns of the table that columns are made of, each its own where it is one."""
        parts = [self[name].formula[::2] or (name,) for name in names if name]
        return [self[name] for one in parts for name in one]


def by_name(table: Table) -> Columns:
    """The columns of a table by their names."""
    return Columns({column.name: column for column in table.columns})


def formula(left: Column, sign: Sign, right: Column) -> str | None:
    """The name of the figure that two columns make; None where they make none: what is priced or
    measured otherwise is not deducted, and nothing is divided or multiplied by itself."""
    if left.kind is Kind.DATE is right.kind and sign is Sign.MINUS and left.name != right.name:
        return f"{left.name} {sign} {right.name}"  # so many days lie between them
    amounts = left.kind is Kind.NUMBER is right.kind and left.name != right.name
    is_alike = left.unit == right.unit or None in (left.unit, right.unit)
    if not amounts or left.formula or right.formula:
        return None
    if sign in (Sign.MINUS, Sign.PLUS) and not (
        is_alike and Role.RATE not in (left.role, right.role)
    ):
        return None
    if sign in _RATIOS and Role.RATE in (left.role, right.role):
        return None
    if sign is Sign.TIMES and "%" in (left.unit, right.unit):
        return None  # 10 stands for a tenth
    return f"{left.name} {sign} {right.name}"


_RATIOS = (Sign.OVER, Sign.PERCENT)


def is_ratio(column: Column) -> bool:
    """Whether a column is one figure over another."""
    return not set(_RATIOS).isdisjoint(column.formula)


def is_of_totals(measure: Measure, column: Column) -> bool:
    """Whether a measure puts two totals together, and not the two figures of each row."""
    if is_ratio(column):
        return measure.aggregate in (Aggregate.SUM, Aggregate.MEAN)
    is_sum = measure.aggregate is Aggregate.SUM
    return (
        is_sum
        and column.role is Role.AMOUNT
        and not {Sign.PLUS, Sign.MINUS}.isdisjoint(column.formula)
    )


def _column(left: Column, sign: Sign, right: Column) -> Column:
    label = f"{left.label} {sign.strip('%')} {right.label}"
    units = [one.unit for one in (left, right) if one.unit is not None]
    role, unit = Role.AMOUNT, units[0] if units else None
    if left.kind is Kind.DATE:
        role, unit = Role.RATE, "d"
    elif sign is Sign.OVER:
        role, unit = Role.RATE, "/".join(units) if len(set(units)) == 2 else None
        unit = left.unit if right.unit is None else unit
    elif sign is Sign.PERCENT:
        role, unit = Role.RATE, "%"
    elif sign is Sign.TIMES and len(units) == 2:
        unit = next((one for one in units if is_currency(one)), None)
    return Column(
        f"{left.name} {sign} {right.name}", label, Kind.NUMBER, role, unit,
        formula=(left.name, sign.value, right.name),
    )  # fmt: skip
