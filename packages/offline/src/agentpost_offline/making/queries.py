"""What to look at in a table unasked: the main figure over time and by each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agentpost.agents.base import File
from agentpost_offline.data import roles
from agentpost_offline.data.model import Column, Role, Table
from agentpost_offline.frame import ROW_COUNT, Aggregate, Grain, Measure, Op, Query
from agentpost_offline.making.pictures import form_of
from agentpost_offline.story.shape import grid, one_scale
from agentpost_offline.style import dates

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

_MOST_GROUPS = 30
_GROUPS = 3
_USUAL = 5
_DOCUMENTS = (
    ".md", ".markdown", ".docx", ".doc", ".pdf", ".pptx", ".ppt", ".html", ".htm", ".rtf", ".odt",
    ".odp", ".epub", ".eml",
)  # fmt: skip
"""What is read as a text although there are tables in it."""


def usual(tables: Sequence[Table], most: int = _USUAL) -> tuple[Query, ...]:
    """Queries for the tables, the most telling first; a table without numbers is counted."""
    queries: list[Query] = []
    for table in sorted(tables, key=lambda one: -one.rows)[:3]:
        queries += _of(table, most)
    return tuple(queries[:most])


def _of(table: Table, most: int) -> list[Query]:
    """The main figure over time and by each group; where that is not enough, the next figure."""
    time, groups, main = time_of(table), groups_of(table), main_measure(table)
    groups.sort(key=lambda column: column.distinct > 12)
    others = [
        Measure(c.name, Aggregate.SUM if c.role is Role.AMOUNT else Aggregate.MEAN)
        for c in table.columns
        if c.role in (Role.AMOUNT, Role.RATE) and c.name != main.column
    ]
    _, years = _length(time)
    queries: list[Query] = []
    for measure in (main, *others):
        if len(queries) >= most or (queries and most <= _USUAL):
            break
        by_group = [Query(table.id, (measure,), (column.name,)) for column in groups[:_GROUPS]]
        if time is not None:
            queries.append(Query(table.id, (measure,), time=time.name, grain=_grain(time)))
            if groups and measure.aggregate is not Aggregate.MEAN and 1 < years <= 3:
                by_group.insert(
                    1, Query(table.id, (measure,), (groups[0].name,), time.name, Grain.YEAR)
                )
        queries += by_group
    return queries or [Query(table.id, (main,))]


def on_one_scale(dataset: Dataset, query: Query) -> list[Query]:
    """The query once for each scale of its measures: euros and pieces have no common axis. The best
    groups are those of the first measure, so a ranking stays one query."""
    if not (query.groups or query.time) or (query.order and query.order.count) or query.having:
        return [query]
    parts: list[Query] = []
    rest = query.measures
    while len(rest) > 1:
        part = replace(query, measures=rest)
        whole = grid(dataset.run(part), dataset.table(query.table))
        together = {line.measure for line in one_scale(whole).lines}
        measures = tuple(one for one in rest if one in together) or rest[:1]
        parts.append(replace(query, measures=measures))
        rest = tuple(one for one in rest if one not in measures)
    return [*parts, replace(query, measures=rest)] if rest else parts


def to_tell(asks: Sequence[Query], tables: Sequence[Table], most: int) -> tuple[Query, ...]:
    """The queries of a report or deck: those that were asked for, and what is usual under their
    conditions where there are only conditions, or where there is to be more than they tell."""
    full = [query for query in asks if query.measures or query.groups or query.time]
    if len(full) >= most or (full and most <= _USUAL):
        return tuple(full)
    filters = {query.table: query.filters for query in asks}
    constants = {f.column for query in asks for f in query.filters if len(f.values) == 1}
    more = [
        replace(query, filters=filters.get(query.table, ()))
        for query in usual([table for table in tables if not asks or table.id in filters], most)
        if not constants & set(query.groups)
    ]
    return tuple(dict.fromkeys([*full, *more]))[:most]


def table_files(files: Sequence[File], text: str) -> tuple[list[File], str]:
    """The files that may hold tables, and the table in the message. Their content says whether
    they do; what is a document by its name is looked at where there is nothing else."""
    readable = [file for file in files if not form_of(file)]
    sheets = [file for file in readable if not file.name.lower().endswith(_DOCUMENTS)]
    return sheets or readable, text if "\t" in text or text.count(",") > 5 else ""


def with_axis(query: Query, table: Table, *, parts: bool = False) -> Query:
    """A query for one figure, as something to draw: over time, or by a category where the time is
    one period already. ``parts``: whether it is drawn as parts of a whole."""
    if query.groups or query.time or any(m.derived for m in query.measures):
        return query
    constants = {f.column for f in query.filters if f.op is Op.BETWEEN or len(f.values) == 1}
    time = time_of(table)
    group = next((one for one in groups_of(table) if one.name not in constants), None)
    if time is not None and time.name not in constants and not (parts and group):
        return replace(query, time=time.name, grain=_grain(time))
    return replace(query, groups=(group.name,)) if group is not None else query


def time_of(table: Table) -> Column | None:
    """The column of the time axis."""
    return next((one for one in table.columns if one.role is Role.TIME), None)


def groups_of(table: Table, most: int = _MOST_GROUPS) -> list[Column]:
    """The columns by whose values rows may be grouped, of which there are at most so many."""
    categories = (one for one in table.columns if one.role is Role.CATEGORY)
    return [one for one in categories if 1 < one.distinct <= most]


def main_measure(table: Table) -> Measure:
    """The figure a table is about: money before other amounts, amounts before rates."""
    amounts = [c for c in table.columns if c.role is Role.AMOUNT]
    rates = [c for c in table.columns if c.role is Role.RATE]
    if amounts:
        return Measure(max(amounts, key=roles.worth).name, Aggregate.SUM)
    return Measure(rates[0].name, Aggregate.MEAN) if rates else ROW_COUNT


def _grain(column: Column) -> Grain | None:
    """Months for up to three years; None lets the table decide."""
    days, _ = _length(column)
    is_monthly = column.grain not in (Grain.QUARTER, Grain.YEAR) and 120 < days <= 3 * 366
    return Grain.MONTH if is_monthly else None


def _length(column: Column | None) -> tuple[int, int]:
    """How many days, and how many years, a column of dates covers; none where that is not known."""
    first, last = (dates.parse(column.first), dates.parse(column.last)) if column else (None,) * 2
    if first is None or last is None:
        return 0, 0
    return (last - first).days, last.year - first.year + 1
