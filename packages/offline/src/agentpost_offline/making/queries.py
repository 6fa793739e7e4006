"""What to look at in a table when nobody said: the main figure over time and by each group."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agentpost_offline.data import roles
from agentpost_offline.data.model import Column, Role, Table
from agentpost_offline.frame import Aggregate, Grain, Measure, Op, Query
from agentpost_offline.style import dates

_MOST_GROUPS = 30
_GROUPS = 3


def chosen(tables: Sequence[Table], most: int = 5) -> tuple[Query, ...]:
    """Queries for the tables, the most telling first; a table without numbers is counted."""
    queries: list[Query] = []
    for table in sorted(tables, key=lambda one: -one.rows)[:3]:
        queries += _of(table)
    return tuple(queries[:most])


def _of(table: Table) -> list[Query]:
    measure = main_measure(table)
    time = next((c for c in table.columns if c.role is Role.TIME), None)
    groups = [
        c for c in table.columns if c.role is Role.CATEGORY and 1 < c.distinct <= _MOST_GROUPS
    ]
    groups.sort(key=lambda column: column.distinct > 12)
    queries: list[Query] = []
    if time is not None:
        queries.append(Query(table.id, (measure,), time=time.name, grain=_grain(time)))
    queries += [Query(table.id, (measure,), (column.name,)) for column in groups[:_GROUPS]]
    if time is not None and groups and measure.aggregate is not Aggregate.MEAN:
        years = _years(time)
        if years is not None and 1 < years <= 3:
            queries.insert(2, Query(table.id, (measure,), (groups[0].name,), time.name, Grain.YEAR))
    if not queries:
        queries = [Query(table.id, (measure,))]
    return queries


def wanted(asked: Sequence[Query], tables: Sequence[Table], most: int = 5) -> tuple[Query, ...]:
    """The queries that were asked for; where only conditions were, what is usual under them."""
    if any(query.measures or query.groups or query.time for query in asked):
        return tuple(asked)
    filters = {query.table: query.filters for query in asked}
    usual = chosen([table for table in tables if not asked or table.id in filters], most)
    fixed = {f.column for query in asked for f in query.filters if len(f.values) == 1}
    return tuple(
        msgspec.structs.replace(query, filters=filters.get(query.table, ()))
        for query in usual if not fixed & set(query.groups)
    )  # fmt: skip


def with_axis(query: Query, table: Table, *, parts: bool = False) -> Query:
    """A query for one figure, as something to draw: over time, or by a category where the time is
    one period already. ``parts``: whether it is drawn as parts of a whole."""
    if query.groups or query.time or any(m.derived for m in query.measures):
        return query
    fixed = {f.column for f in query.filters if f.op is Op.BETWEEN or len(f.values) == 1}
    time = next((c for c in table.columns if c.role is Role.TIME), None)
    group = next(
        (c for c in table.columns if c.role is Role.CATEGORY and c.name not in fixed
         and 1 < c.distinct <= _MOST_GROUPS), None,
    )  # fmt: skip
    if time is not None and time.name not in fixed and not (parts and group):
        return msgspec.structs.replace(query, time=time.name, grain=_grain(time))
    return msgspec.structs.replace(query, groups=(group.name,)) if group is not None else query


def main_measure(table: Table) -> Measure:
    """The figure a table is about: money before other amounts, amounts before rates."""
    amounts = [c for c in table.columns if c.role is Role.AMOUNT]
    rates = [c for c in table.columns if c.role is Role.RATE]
    if amounts:
        return Measure(max(amounts, key=roles.worth).name, Aggregate.SUM)
    return Measure(rates[0].name, Aggregate.MEAN) if rates else Measure(None, Aggregate.COUNT)


def _grain(column: Column) -> Grain | None:
    """Months for up to three years; None lets the table decide."""
    days = _days(column)
    if days is None or column.grain in (Grain.QUARTER, Grain.YEAR):
        return None
    return Grain.MONTH if 120 < days <= 3 * 366 else None


def _years(column: Column) -> int | None:
    first, last = dates.parsed(column.first), dates.parsed(column.last)
    return None if first is None or last is None else last.year - first.year + 1


def _days(column: Column) -> int | None:
    first, last = dates.parsed(column.first), dates.parsed(column.last)
    return None if first is None or last is None else (last - first).days
