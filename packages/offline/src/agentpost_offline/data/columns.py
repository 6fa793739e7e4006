"""What a column of a loaded table holds: its kind, role, unit, range and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentpost_offline.data import limits, roles
from agentpost_offline.data.cells import Format
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import Grain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def describe(
    db: DuckDBPyConnection, relation: str, field: str, name: str, form: Format
) -> Column | None:
    """The description of a column; None when none of its cells has a value."""
    rows, present, distinct = _one(
        db, f"select count(*), count({field}), count(distinct {field}) from {relation}"
    )
    if not present:
        return None
    label, unit = roles.label_of(name)
    unit = form.unit or unit
    common: dict[str, Any] = {"distinct": distinct, "missing": rows - present}
    if form.kind is Kind.DATE:
        dates = _dates(db, relation, field)
        if form.years:
            dates["grain"] = Grain.YEAR
        return Column(name, label, Kind.DATE, Role.TIME, **common, **dates)
    if form.kind is Kind.NUMBER:
        low, high, whole = _one(
            db,
            f"select min({field}), max({field}), bool_and({field} = trunc({field}))"
            f" from {relation}",
        )
        facts = roles.Facts(present, distinct, bool(whole), low, high)
        role = roles.role(name, Kind.NUMBER, unit, facts)
        return Column(name, label, Kind.NUMBER, role, unit, first=low, last=high, **common)
    text = f"cast({field} as varchar)"
    values = db.execute(
        f"select {text} from {relation} where {field} is not null group by 1"
        f" order by count(*) desc, min(rowid) limit {limits.VALUES_KEPT}"
    ).fetchall()
    short_values = tuple(value[:200] for (value,) in values)
    (length,) = _one(db, f"select avg(length({text})) from {relation}")
    facts = roles.Facts(present, distinct, length=length or 0, values=short_values[:50])
    role = roles.role(name, form.kind, None, facts)
    examples = short_values if role is not Role.TEXT else ()
    low, high = _one(db, f"select min({text}), max({text}) from {relation}")
    return Column(
        name, label, form.kind, role, values=examples, first=low[:200], last=high[:200], **common
    )


def _one(db: DuckDBPyConnection, sql: str) -> Any:
    return db.execute(sql).fetchone()


def _dates(db: DuckDBPyConnection, relation: str, field: str) -> dict[str, Any]:
    low, high, clock, not_first, months, quarters, years = _one(
        db,
        f"select strftime(min({field}), '%Y-%m-%d'), strftime(max({field}), '%Y-%m-%d'),"
        f" count(*) filter ({field} <> date_trunc('day', {field})),"
        f" count(*) filter (day({field}) <> 1),"
        f" count(distinct date_trunc('month', {field})),"
        f" count(*) filter (month({field}) % 3 <> 1),"
        f" count(*) filter (month({field}) <> 1) from {relation}",
    )
    if clock:
        grain = Grain.HOUR
    elif not_first:
        grain = Grain.DAY
    elif not years:
        grain = Grain.YEAR if months > 1 else Grain.DAY
    elif not quarters and months > 1:
        grain = Grain.QUARTER
    else:
        grain = Grain.MONTH if months > 2 else Grain.DAY
    return {"first": low, "last": high, "grain": grain}
