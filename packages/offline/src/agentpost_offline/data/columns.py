"""What a column of a loaded table holds: its kind, role, unit, range and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentpost_offline.data import limits, roles
from agentpost_offline.data.cells import Format
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import Grain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NUMBER_FACTS = "min({0}), max({0}), bool_and({0} = trunc({0}))"
_TEXT_FACTS = (
    "min(cast({0} as varchar)), max(cast({0} as varchar)), avg(length(cast({0} as varchar)))"
)
_DATE_FACTS = (
    "strftime(min({0}), '%Y-%m-%d'), strftime(max({0}), '%Y-%m-%d'),"
    " count(*) filter ({0} <> date_trunc('day', {0})), count(*) filter (day({0}) <> 1),"
    " count(distinct date_trunc('month', {0})), count(*) filter (month({0}) % 3 <> 1),"
    " count(*) filter (month({0}) <> 1)"
)
"""What is asked of a column besides its counts: the least and the greatest come first."""


def describe(
    db: DuckDBPyConnection, relation: str, field: str, name: str, form: Format
) -> Column | None:
    """The description of a column; None when none of its cells has a value."""
    more = {Kind.DATE: _DATE_FACTS, Kind.NUMBER: _NUMBER_FACTS}.get(form.kind, _TEXT_FACTS)
    result = db.execute(
        f"select count(*), count({field}), count(distinct {field}), {more.format(field)}"
        f" from {relation}"
    ).fetchone()
    assert result is not None, "there is always one row"
    rows, present, distinct, low, high, *facts_of_kind = result
    if not present:
        return None
    label, unit = roles.label_of(name)
    unit = form.unit or unit
    common: dict[str, Any] = {"distinct": distinct, "missing": rows - present}
    if form.kind is Kind.DATE:
        grain = Grain.YEAR if form.years else _grain(*facts_of_kind)
        common |= {"first": low, "last": high, "grain": grain}
        return Column(name, label, Kind.DATE, Role.TIME, **common)
    if form.kind is Kind.NUMBER:
        facts = roles.Facts(present, distinct, bool(facts_of_kind[0]), low, high)
        role = roles.role(name, Kind.NUMBER, unit, facts)
        return Column(name, label, Kind.NUMBER, role, unit, first=low, last=high, **common)
    text = f"cast({field} as varchar)"
    values = db.execute(
        f"select {text} from {relation} where {field} is not null group by 1"
        f" order by count(*) desc, min(rowid) limit {limits.VALUES_KEPT}"
    ).fetchall()
    short_values = tuple(value[:200] for (value,) in values)
    facts = roles.Facts(present, distinct, length=facts_of_kind[0] or 0, values=short_values[:50])
    role = roles.role(name, form.kind, None, facts)
    examples = short_values if role is not Role.TEXT else ()
    return Column(
        name, label, form.kind, role, values=examples, first=low[:200], last=high[:200], **common
    )


def _grain(clock: int, not_first: int, months: int, quarters: int, years: int) -> Grain:
    """The finest parts of time that dates tell apart: by how many have a time of day, are not the
    first of a month, and do not begin a quarter or a year; ``months`` is how many months there
    are."""
    if clock:
        return Grain.HOUR
    if not_first:
        return Grain.DAY
    if not years:
        return Grain.YEAR if months > 1 else Grain.DAY
    if not quarters and months > 1:
        return Grain.QUARTER
    return Grain.MONTH if months > 2 else Grain.DAY
