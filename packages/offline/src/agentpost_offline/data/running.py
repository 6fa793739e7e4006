"""Running queries: the statement, its rows, ties, and how the question was understood."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from agentpost.agents import JobFailed
from agentpost_offline.data import limits, roles, wording, words as words_of_tables
from agentpost_offline.data.coverage import partial_periods
from agentpost_offline.data.formulas import by_name
from agentpost_offline.data.model import Column, Kind, Result, Role, Table
from agentpost_offline.data.sql import Compiler, axes, rate_columns
from agentpost_offline.frame import (
    COMPARED,
    ROW_COUNT,
    Cell,
    Derivation,
    Grain,
    Op,
    Order,
    Query,
)
from agentpost_offline.style import dates

_TIES_SHOWN = 5
_COUNTED = (Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR)
"""Periods of which one without a row counts none; of days only those with rows are shown."""
_LARGEST = 1e150
"""Larger figures are left out: what is computed with them, squares for one, would be infinite."""
_POINTS = 60
_DAYS = {Grain.HOUR: 1 / 24, Grain.DAY: 1, Grain.WEEK: 7, Grain.MONTH: 30.4, Grain.QUARTER: 91.3,
         Grain.YEAR: 365.25}  # fmt: skip


def run(compiler: Compiler, query: Query, language: str) -> Result:
    """Compute a query; see `Dataset.run`."""
    if not query.measures:
        query = replace(query, measures=(ROW_COUNT,))
    rates = rate_columns(query)
    where = compiler.where([one for one in query.filters if one.column not in rates])
    ((total,),) = compiler.rows(f"select count(*) from {compiler.relation} where {where}")
    clock = False
    if query.time is not None:
        query, clock = _with_grain(compiler, query)
    rows = compiler.rows(compiler.compile(query, clock=clock))
    words = wording.texts(language)
    left = total - sum(row[-1] for row in rows) if query.groups or query.time else 0
    notes = _mixed_currencies(compiler.table, query, words)
    among = any(m.derived is Derivation.SHARE for m in query.measures)
    among = among and any(f.column in query.groups for f in query.filters)
    if left > 0 and not among and not query.having:
        notes.append(wording.plural(words, "without_group", left))
    results = [tuple(row[:-1]) for row in rows]
    keys = axes(query)
    results = _with_empty_periods(_sort(results, query, keys, compiler.columns), query)
    partial = partial_periods(compiler, query)
    results, incomplete = _comparable(results, query, keys, partial)
    text = str(words["in_part" if len(incomplete) < len(partial) else "partial"])
    notes += [text.format(dates.period(day.isoformat(), query.grain, language)) for day in partial]
    results = _differences(results, query, keys)
    results, ties = _cut(results, query, keys)
    if ties:
        notes.append(words["ties"].format(count=ties))
    if len(results) > limits.ROWS_RETURNED:
        notes.append(words["rows_cut"].format(count=limits.ROWS_RETURNED, all=len(results)))
        results = results[: limits.ROWS_RETURNED]
    visible = [tuple(cell_of(value) for value in row) for row in results]
    if any(isinstance(v, float) and not abs(v) <= _LARGEST for row in results for v in row):
        notes.append(words["too_large"])
    result = Result(
        query, tuple(visible), total, notes=tuple(notes),
        partial=tuple(day.isoformat() for day in partial),
    )  # fmt: skip
    reading = wording.reading(compiler.table, result, language)
    return replace(result, reading=reading)


def _mixed_currencies(table: Table, query: Query, texts: Mapping[str, Any]) -> list[str]:
    """A note where amounts are computed over several currencies, told by a column beside them."""
    measures = by_name(table).operands(one.column for one in query.measures)
    is_narrow = bool(query.groups or query.filters)
    column = roles.currencies(table.columns, measures, is_narrow=is_narrow)
    if column is None or column.name in query.groups:
        return []
    value_lists = [f.values for f in query.filters if f.column == column.name and f.op is Op.IS]
    if any(len(values) == 1 for values in value_lists):
        return []
    codes = ", ".join(column.values[:5])
    return [texts["currencies"].format(codes=codes, name=column.label)]


def _with_grain(compiler: Compiler, query: Query) -> tuple[Query, bool]:
    """The query with a grain, and whether hours are moments rather than hours of the day."""
    assert query.time is not None
    column = compiler.column(query.time)
    if column.kind is not Kind.DATE:
        raise JobFailed(f"“{column.label}” holds no dates.")
    if query.grain not in (None, Grain.HOUR):
        return query, False
    field = compiler.field(query.time)
    ((days,),) = compiler.rows(
        f"select coalesce(date_diff('day', min({field}), max({field})), 0)"
        f" from {compiler.relation} where {compiler.where(query.filters)}"
    )
    if query.grain is Grain.HOUR:
        return query, days < 3
    finest = _DAYS[column.grain or Grain.DAY]
    grain = next((g for g, length in _DAYS.items() if length >= finest and g is not Grain.WEEK
                  and days / length <= _POINTS), Grain.YEAR)  # fmt: skip
    return replace(query, grain=grain), grain is Grain.HOUR


def _sort(
    rows: list[tuple[Any, ...]], query: Query, keys: int, columns: Mapping[str, Column]
) -> list[tuple[Any, ...]]:
    """The rows in their order: as asked, else by time, else the largest first."""
    if not keys:
        return rows
    groups = len(query.groups)
    by_key = sorted(rows, key=lambda row: tuple((v is None, _order(v)) for v in row[:keys]))
    if query.order is None and query.time is not None:
        if not groups:
            return by_key
        place = _largest_first([row[:groups] for row in by_key], [row[keys] for row in by_key])
        return sorted(by_key, key=lambda row: (place[row[:groups]], _order(row[groups])))
    for at, name in enumerate(query.groups if query.order is None else ()):
        places = _places(columns[name], {row[at] for row in by_key})
        if places:
            return _follow_calendar(by_key, at, places, keys)
    order = query.order or Order()
    have = [row for row in by_key if row[keys] is not None]
    have.sort(key=lambda row: _order(row[keys]), reverse=order.descending)
    return have + [row for row in by_key if row[keys] is None]


def _with_empty_periods(rows: list[tuple[Any, ...]], query: Query) -> list[tuple[Any, ...]]:
    """The number of rows by periods, where a period between others without a row has none."""
    grain = query.grain
    chooses = any(f.column == query.time and f.op is not Op.BETWEEN for f in query.filters)
    counts = all(measure == ROW_COUNT for measure in query.measures)
    if grain not in _COUNTED or query.groups or query.order or query.having or chooses or (
        not counts
    ):  # fmt: skip
        return rows
    results: list[tuple[Any, ...]] = []
    for row in rows:
        while results and (day := dates.following(results[-1][0].date(), grain)) < row[0].date():
            if len(results) > limits.ROWS_RETURNED:
                return rows
            results.append((datetime.combine(day, datetime.min.time()), *[0.0] * (len(row) - 1)))
        results.append(row)
    return results


def _follow_calendar(
    rows: list[tuple[Any, ...]], at: int, places: Mapping[Any, int], keys: int
) -> list[tuple[Any, ...]]:
    """The rows along the year or week, of the other groups the largest first."""
    others = [(*row[:at], *row[at + 1 : keys]) for row in rows]
    place = _largest_first(others, [row[keys] for row in rows])
    results = sorted(
        zip(others, rows, strict=True), key=lambda one: (place[one[0]], places[one[1][at]])
    )
    return [row for _, row in results]


def _places(column: Column, groups: set[Any]) -> dict[Any, int]:
    """The place of each group in the year or week, where all are months, weekdays or quarters. A
    school year from September begins there, as its rows do."""
    if column.kind is Kind.NUMBER:
        return {group: int(group) for group in groups} if column.role is Role.CATEGORY else {}
    places = words_of_tables.calendar(map(str, groups))
    if not places:
        return {}
    length = max(places.values()) - min(places.values()) + 1
    written = [places.get(value.lower().rstrip("."), 0) for value in column.values]
    turns = sum(after < before for before, after in pairwise(written))
    is_once_around = turns == 1 and (written[-1] - written[0]) % length <= (
        max(written) - min(written)
    )
    first = written[0] if is_once_around else min(places.values())
    return {group: (places[str(group).lower().rstrip(".")] - first) % length for group in groups}


def _largest_first(groups: Sequence[tuple[Any, ...]], values: Sequence[Any]) -> dict[Any, int]:
    """The place of each group by the sum of its values."""
    totals = dict.fromkeys(groups, 0.0)
    for group, value in zip(groups, values, strict=True):
        totals[group] += float(value) if isinstance(value, (int, float)) else 0.0
    return {key: at for at, key in enumerate(sorted(totals, key=lambda key: -totals[key]))}


def _comparable(
    rows: list[tuple[Any, ...]], query: Query, keys: int, partial: Sequence[date]
) -> tuple[list[tuple[Any, ...]], Sequence[date]]:
    """The rows without the periods that only seem to be the lowest, or to have changed most,
    because the data does not cover them whole; and those periods."""
    order = query.order
    changes = any(m.derived in COMPARED for m in query.measures)
    if not partial or not keys or order is None or order.count is None:
        return rows, ()
    if order.descending and not changes:
        return rows, ()
    unlike = {day.isoformat() for day in partial}
    if changes:
        unlike |= {dates.following(day, query.grain or Grain.DAY).isoformat() for day in partial}
    complete = [row for row in rows if str(cell_of(row[keys - 1]))[:10] not in unlike]
    return (complete, partial) if complete else (rows, ())


def _order(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _differences(rows: list[tuple[Any, ...]], query: Query, keys: int) -> list[tuple[Any, ...]]:
    """The differences between groups: of the first row to the second, of each other one to the
    first."""
    places = [keys + i for i, m in enumerate(query.measures) if m.derived is Derivation.DIFFERENCE]
    if query.time is not None or not query.groups or not places:
        return rows
    positions = {
        str(value).lower(): i
        for f in query.filters if f.column == query.groups[0]
        for i, value in enumerate(f.values)
    }  # fmt: skip
    ordered_rows = sorted(rows, key=lambda row: positions.get(str(row[0]).lower(), len(positions)))
    results = []
    for at, row in enumerate(ordered_rows):
        other = ordered_rows[0] if at else ordered_rows[1] if len(ordered_rows) > 1 else None
        cells = list(row)
        for place in places:
            has_both = other is not None and row[place] is not None and other[place] is not None
            cells[place] = row[place] - other[place] if has_both and other is not None else None
        results.append(tuple(cells))
    return results


def _cut(rows: list[tuple[Any, ...]], query: Query, keys: int) -> tuple[list[tuple[Any, ...]], int]:
    """The best rows, with those that tie with the last one, as far as they are few; and how many
    rows have the value of the last one when that is what cuts them off."""
    if query.order is None or query.order.count is None or not keys:
        return rows, 0
    count = max(1, query.order.count)
    have = [row for row in rows if row[keys] is not None]
    if not have:
        return rows[:count], 0
    rows = have
    if len(rows) <= count:
        return rows, 0
    last = rows[count - 1][keys]
    ties = sum(row[keys] == last for row in rows)
    after = sum(row[keys] == last for row in rows[count:])
    if not after:
        return rows[:count], 0
    return rows[: count + (after if after <= _TIES_SHOWN else 0)], ties


def cell_of(value: Any) -> Cell:
    """A value of the database as a result has it: a date in ISO 8601."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, datetime):
        whole = value.time() == datetime.min.time()
        return value.date().isoformat() if whole else value.isoformat()
    figure = float(value)
    return figure if abs(figure) <= _LARGEST else None
