"""A `Query` as SQL: names are quoted, values are bound, nothing else comes from outside.

The statement has three layers: the rows that count, one row for each group, and what is derived
from the groups (shares, growth, ranks). A share or a rank is among all groups: filters on a column
that the query groups by only choose which groups are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agentpost.agents import JobFailed
from agentpost_offline.data import formulas
from agentpost_offline.data.formulas import Sign, by_name
from agentpost_offline.data.loading import Loaded
from agentpost_offline.data.model import Column, Kind
from agentpost_offline.frame import Aggregate, Derivation, Filter, Grain, Measure, Op, Query
from agentpost_offline.style import dates

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ISO = re.compile(r"\d{4}(?:-(?:Q[1-4]|\d\d(?:-\d\d(?:[T ].+)?)?))?")
_OPERATORS = {
    Sign.PLUS: "+", Sign.MINUS: "-", Sign.TIMES: "*", Sign.OVER: "/", Sign.PERCENT: "* 100.0 /",
}  # fmt: skip
_COMPARISONS = {Op.AT_LEAST: ">=", Op.ABOVE: ">", Op.AT_MOST: "<=", Op.BELOW: "<"}


_FUNCTIONS = {
    Aggregate.MEAN: "favg", Aggregate.MEDIAN: "median", Aggregate.DEVIATION: "stddev_samp",
}  # fmt: skip


class Compiler:
    """Compiles and runs the queries of one table. Raises `JobFailed` for a name that is not in
    it."""

    def __init__(self, db: DuckDBPyConnection, source: Loaded) -> None:
        self._db, self._fields = db, source.fields
        self.table, self.relation = source.table, source.relation
        self.columns = by_name(source.table)
        self._values: list[Any] = []
        """What is bound in the statement that is being written."""

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, all of whose pieces were written after the one before."""
        values, self._values = self._values, []
        return self._db.execute(sql, values).fetchall()

    def _bind(self, value: Any) -> str:
        self._values.append(value)
        return f"${len(self._values)}"

    def column(self, name: str) -> Column:
        """The column of this name."""
        try:
            return self.columns[name]
        except KeyError:
            raise JobFailed(f"{self.table.name} has no column “{name}”.") from None

    def field(self, name: str) -> str:
        """The database's name for a column, or the figure of two in each row."""
        column = self.column(name)
        if not column.formula:
            return self._fields[name]
        left, sign, right = column.formula
        if self.column(left).kind is Kind.DATE:
            return f"date_diff('day', {self.field(right)}, {self.field(left)})"
        divisor = self.field(right)
        divisor = f"nullif({divisor}, 0)" if formulas.is_ratio(column) else divisor
        return f"({self.field(left)} {_OPERATORS[Sign(sign)]} {divisor})"

    def where(self, filters: Sequence[Filter]) -> str:
        """The condition for the rows that count."""
        return _all_of([self._condition(one) for one in filters])

    def _condition(self, one: Filter) -> str:
        column, name = self.column(one.column), self.field(one.column)
        text = f"lower(cast({name} as varchar))"
        if one.op is Op.MISSING:
            return f"{name} is null"
        if one.op is Op.PRESENT:
            return f"{name} is not null"
        if one.op is Op.CONTAINS:
            parts = [f"contains({text}, lower({self._bind(str(value))}))" for value in one.values]
            return " or ".join(parts) or "true"
        if one.grain is not None and column.kind is Kind.DATE:
            return self._comparison(_part(one.grain, name), one, map(_figure, one.values))
        if column.kind is Kind.DATE:
            return self._date_condition(name, one)
        if column.kind is Kind.NUMBER:
            return self._comparison(name, one, map(_figure, one.values))
        return self._comparison(text, one, [str(value).strip().lower() for value in one.values])

    def _comparison(self, name: str, one: Filter, values: Iterable[Any]) -> str:
        present = [value for value in values if value is not None]
        if one.op in (Op.IS, Op.IS_NOT):
            if not present:
                return "false" if one.op is Op.IS else "true"
            marks = ", ".join(map(self._bind, present))
            if one.op is Op.IS:
                return f"{name} in ({marks})"
            return f"({name} is null or {name} not in ({marks}))"
        if one.op is Op.BETWEEN and len(present) == 2:
            low, high = map(self._bind, sorted(present))
            return f"{name} between {low} and {high}"
        if one.op in _COMPARISONS and present:
            return f"{name} {_COMPARISONS[one.op]} {self._bind(present[0])}"
        raise JobFailed(f"The condition on “{one.column}” has no value to compare with.")

    def _date_condition(self, name: str, one: Filter) -> str:
        ranges = list(filter(None, (span(str(value)) for value in one.values)))
        if not ranges:
            raise JobFailed(f"The condition on “{one.column}” has no date to compare with.")

        def moment(text: str) -> str:
            return f"cast({self._bind(text)} as timestamp)"

        if one.op in (Op.IS, Op.IS_NOT):
            inside = " or ".join(f"({name} >= {moment(first)} and {name} < {moment(after)})"
                                 for first, after in ranges)  # fmt: skip
            return inside if one.op is Op.IS else f"{name} is null or not ({inside})"
        if one.op is Op.BETWEEN and len(ranges) == 2:
            (first, _), (_, after) = sorted(ranges)
            return f"{name} >= {moment(first)} and {name} < {moment(after)}"
        edge = ranges[0][one.op in (Op.ABOVE, Op.AT_MOST)]
        return f"{name} {'>=' if one.op in (Op.AT_LEAST, Op.ABOVE) else '<'} {moment(edge)}"

    # Groups

    def bucket(self, query: Query, clock: bool) -> str:
        """The period of a row on the time axis."""
        assert query.time is not None
        name, grain = self.field(query.time), query.grain
        if grain is Grain.WEEKDAY or (grain is Grain.HOUR and not clock):
            return f"cast({_part(grain, name)} as double)"
        if grain is None:
            return name
        if grain is Grain.SPAN:
            return _span_of_row(name, query)
        return f"cast(date_trunc('{grain}', {name}) as timestamp)"

    def aggregate(self, measure: Measure) -> str:
        """How the rows of a group become one value."""
        if measure.column is None:
            return "cast(count(*) as double)"
        column, name = self.column(measure.column), self.field(measure.column)
        how = measure.aggregate
        if formulas.is_of_totals(measure, column):
            names = column.formula[::2]
            operator = _OPERATORS[Sign(column.formula[1])]
            if not formulas.is_ratio(column):
                left, right = (self.aggregate(Measure(part, Aggregate.SUM)) for part in names)
                return f"(({left}) {operator} ({right}))"
            # Of the rows that have both: customers whose cost is not known share in none.
            left, right = map(self.field, names)
            both = f"filter (where {left} is not null and {right} is not null)"
            return f"(fsum({left}) {both} {operator} nullif(fsum({right}) {both}, 0))"
        if how is Aggregate.COUNT:
            return f"cast(count({name}) as double)"
        if how is Aggregate.DISTINCT:
            return f"cast(count(distinct {name}) as double)"
        if how in (Aggregate.MIN, Aggregate.MAX):
            return f"{how}({name})"
        if column.kind is not Kind.NUMBER:
            raise JobFailed(f"“{column.label}” holds no numbers, so it has no {how}.")
        if how is Aggregate.SUM:
            return f"case when count({name}) > 0 then fsum({name}) end"
        return f"{_FUNCTIONS[how]}({name})"

    def compile(self, query: Query, *, clock: bool = False) -> str:
        """The statement; its columns are g0 … (the groups), then t (the period), then m0 …"""
        keys = [(f"g{i}", self.field(name)) for i, name in enumerate(query.groups)]
        if query.time is not None:
            keys.append(("t", self.bucket(query, clock)))
        among = any(m.derived is Derivation.SHARE for m in query.measures)
        outer = [f for f in query.filters if among and f.column in query.groups]
        parts = [f for f in query.filters if f.column in rate_columns(query)]
        where = self.where([f for f in query.filters if f not in (*outer, *parts)])
        part = self.where(parts)
        results = [f"{sql} as {key}" for key, sql in keys]
        results += [
            f"100.0 * count(*) filter (where {part}) / nullif(count({self.field(m.column)}), 0)"
            f" as a{i}" if m.derived is Derivation.RATE and m.column is not None else
            f"{self.aggregate(m)} as a{i}"
            for i, m in enumerate(query.measures)
        ]  # fmt: skip
        results.append("count(*) as n")
        present = "".join(f" and {sql} is not null" for _, sql in keys)
        group_by = f" group by {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
        sql = (
            f"with groups as (select {', '.join(results)} from {self.relation}"
            f" where {where}{present}{group_by})"
        )
        groups = [key for key, _ in keys if key != "t"]
        figures = [f"{self._derivation(query, m, f'a{i}', groups)} as m{i}"
                   for i, m in enumerate(query.measures)]  # fmt: skip
        aggregates = [f"a{i}" for i in range(len(query.measures))]
        derived_columns = ", ".join([*(key for key, _ in keys), *figures, *aggregates, "n"])
        sql += f", derived as (select {derived_columns} from groups)"
        output = ", ".join(
            [*(key for key, _ in keys), *(f"m{i}" for i in range(len(figures))), "n"]
        )
        conditions = [self._key_condition(f, query) for f in outer] + [
            self._group_condition(f, query) for f in query.having
        ]
        if is_average(query):
            means = ", ".join(f"avg(m{i})" for i in range(len(figures)))
            output = f"{means}, coalesce(sum(n), 0)"
        return f"{sql} select {output} from derived where {_all_of(conditions)}"

    def _group_condition(self, one: Filter, query: Query) -> str:
        """The condition for the groups that are kept by what is computed of them."""
        places = [i for i, m in enumerate(query.measures) if (m.column or "") == one.column]
        name = f"a{places[0]}" if places else "n"
        if one.column and not places:
            raise JobFailed(f"“{one.column}” is not among what is computed of the groups.")
        return self._comparison(name, one, map(_figure, one.values))

    def _key_condition(self, one: Filter, query: Query) -> str:
        name, key = self.field(one.column), f"g{query.groups.index(one.column)}"
        return re.sub(rf"\b{name}\b", key, self._condition(one))

    def _derivation(self, query: Query, measure: Measure, value: str, groups: list[str]) -> str:
        is_timed = query.time is not None
        by_groups = f"partition by {', '.join(groups)} " if groups else ""
        by_time = "partition by t " if is_timed and groups else ""
        match measure.derived:
            case None | Derivation.AVERAGE | Derivation.RATE:
                return value
            case Derivation.SHARE if groups or is_timed:
                return f"100 * {value} / nullif(sum({value}) over ({by_time}), 0)"
            case Derivation.SHARE:
                base = self.where(share_base(query, self.columns))
                whole = f"select {self.aggregate(measure)} from {self.relation} where {base}"
                return f"100 * {value} / nullif(({whole}), 0)"
            case Derivation.CUMULATIVE:
                order = "t" if is_timed else f"{value} desc, {', '.join(groups) or '1'}"
                over = f"{by_groups if is_timed else ''}order by {order} rows unbounded preceding"
                return f"sum({value}) over ({over})"
            case Derivation.GROWTH | Derivation.DIFFERENCE if is_timed:
                before = self._before(query, value, by_groups)
                if measure.derived is Derivation.DIFFERENCE:
                    return f"{value} - {before}"
                return f"100 * ({value} - {before}) / nullif(abs({before}), 0)"
            case Derivation.GROWTH if not groups:
                return "cast(null as double)"  # there is nothing before
            case _:
                return value  # between groups: computed from the result

    def _before(self, query: Query, value: str, by_groups: str) -> str:
        """The value of the period before, when it is there."""
        over = f"({by_groups}order by t)"
        has_list = any(
            f.column == query.time and f.op is Op.IS and (f.grain or len(f.values) > 1)
            for f in query.filters
        )
        if has_list or query.grain in (None, *dates.DISCRETE):
            return f"lag({value}) over {over}"
        step = f"interval 1 {query.grain}"
        return f"case when lag(t) over {over} = t - {step} then lag({value}) over {over} end"


def _all_of(conditions: Iterable[str]) -> str:
    return " and ".join(f"({one})" for one in conditions) or "true"


def is_average(query: Query) -> bool:
    """Whether the groups or periods only make one average."""
    return any(measure.derived is Derivation.AVERAGE for measure in query.measures)


def rate_columns(query: Query) -> list[str]:
    """The columns whose filters tell which rows of each group a rate is of."""
    rates = (one for one in query.measures if one.derived is Derivation.RATE)
    return [one.column for one in rates if one.column is not None]


def axes(query: Query) -> int:
    """How many columns of a result are groups or periods."""
    return 0 if is_average(query) else len(query.groups) + (query.time is not None)


def share_base(query: Query, columns: dict[str, Column]) -> list[Filter]:
    """What a share without groups is a share of: the same rows without the filters on other
    columns than dates, or without those on dates when there are no others."""
    date_filters = [f for f in query.filters if columns[f.column].kind is Kind.DATE]
    return date_filters if len(date_filters) < len(query.filters) else []


def _part(grain: Grain, name: str) -> str:
    """A part of a date as a number: the month, the day of the week from Monday on."""
    return f"{'isodow' if grain is Grain.WEEKDAY else grain}({name})"


def _figure(value: str | float) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def span(text: str) -> tuple[str, str] | None:
    """The first moment of a day, month, quarter or year in ISO spelling, or of two with a slash
    between them, and the first moment after it; None for another text. The last year may be the
    year 10000, which the database knows and Python does not."""
    begin, slash, end = text.partition("/")
    if slash:
        low, high = span(begin), span(end)
        return (low[0], high[1]) if low and high else None
    first = dates.parse(text.strip()) if _ISO.fullmatch(text.strip()) else None
    if first is None:
        return None
    lengths = {4: Grain.YEAR, 7: Grain.QUARTER if "Q" in text else Grain.MONTH}
    try:
        after = dates.following(first, lengths.get(len(text.strip()), Grain.DAY)).isoformat()
    except OverflowError:
        after = "10000-01-01"
    return first.isoformat(), after


def _span_of_row(name: str, query: Query) -> str:
    """Which of the spans that the conditions name a row is in."""
    texts = [str(value) for one in query.filters if one.column == query.time and one.op is Op.IS
             and one.grain is None for value in one.values]  # fmt: skip
    spans = {text: limits for text in texts if (limits := span(text)) is not None}
    if not spans:
        raise JobFailed(f"No condition on “{query.time}” names spans of days.")
    cases = " ".join(
        f"when {name} >= timestamp '{begin}' and {name} < timestamp '{after}' then '{text}'"
        for text, (begin, after) in spans.items()
    )
    return f"case {cases} end"
