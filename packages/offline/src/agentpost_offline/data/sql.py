"""A `Query` as SQL: names are quoted, values are bound, nothing else comes from outside.

The statement has three layers: the rows that count, one row for each group, and what is derived
from the groups (shares, growth, ranks). A share or a rank is among all groups: filters on a column
that the query groups by only choose which groups are shown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentpost.agents import JobFailed
from agentpost_offline.data import formulas
from agentpost_offline.data.formulas import Sign, by_name
from agentpost_offline.data.loading import Loaded
from agentpost_offline.data.model import Column, Kind
from agentpost_offline.frame import Aggregate, Derivation, Filter, Grain, Measure, Op, Query
from agentpost_offline.style import dates

_ISO = re.compile(r"\d{4}(?:-(?:Q[1-4]|\d\d(?:-\d\d(?:[T ].+)?)?))?")
_OPERATORS = {
    Sign.PLUS: "+", Sign.MINUS: "-", Sign.TIMES: "*", Sign.OVER: "/", Sign.PERCENT: "* 100.0 /",
}  # fmt: skip
_COMPARISONS = {Op.AT_LEAST: ">=", Op.ABOVE: ">", Op.AT_MOST: "<=", Op.BELOW: "<"}


@dataclass(slots=True)
class Clause:
    """A piece of SQL with the values bound in it."""

    sql: str
    values: list[Any] = field(default_factory=list)


class Compiler:
    """Compiles the queries of one table. Raises `JobFailed` for a name that is not in it."""

    def __init__(self, source: Loaded) -> None:
        self._source, self.relation = source, source.relation
        self.columns = by_name(source.table)

    def column(self, name: str) -> Column:
        """The column of this name."""
        try:
            return self.columns[name]
        except KeyError:
            table = self._source.table.name
            raise JobFailed(f"{table} has no column “{name}”.") from None

    def field(self, name: str) -> str:
        """The database's name for a column, or the figure of two in each row."""
        column = self.column(name)
        if not column.formula:
            return self._source.fields[name]
        left, sign, right = column.formula
        if self.column(left).kind is Kind.DATE:
            return f"date_diff('day', {self.field(right)}, {self.field(left)})"
        divisor = self.field(right)
        divisor = f"nullif({divisor}, 0)" if formulas.is_ratio(column) else divisor
        return f"({self.field(left)} {_OPERATORS[Sign(sign)]} {divisor})"

    def where(self, filters: Sequence[Filter]) -> Clause:
        """The condition for the rows that count."""
        clauses = [self._condition(one) for one in filters]
        if not clauses:
            return Clause("true")
        return Clause(
            " and ".join(f"({clause.sql})" for clause in clauses),
            [value for clause in clauses for value in clause.values],
        )

    def _condition(self, one: Filter) -> Clause:
        column, name = self.column(one.column), self.field(one.column)
        if one.op is Op.MISSING:
            return Clause(f"{name} is null")
        if one.op is Op.PRESENT:
            return Clause(f"{name} is not null")
        if one.op is Op.CONTAINS:
            condition = " or ".join(
                f"contains(lower(cast({name} as varchar)), lower(?))" for _ in one.values
            )
            return Clause(condition or "true", [str(value) for value in one.values])
        if one.grain is not None and column.kind is Kind.DATE:
            return _comparison(_part(one.grain, name), one, [_figure(v) for v in one.values])
        if column.kind is Kind.DATE:
            return _date_condition(name, one)
        if column.kind is Kind.NUMBER:
            return _comparison(name, one, [_figure(value) for value in one.values])
        text = f"lower(cast({name} as varchar))"
        return _comparison(text, one, [str(value).strip().lower() for value in one.values])

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
        return f"favg({name})" if how is Aggregate.MEAN else f"median({name})"

    def compile(self, query: Query, *, clock: bool = False) -> Clause:
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
            f"{_rate(part, self.field(str(m.column)))} as a{i}"
            if m.derived is Derivation.RATE else f"{self.aggregate(m)} as a{i}"
            for i, m in enumerate(query.measures)
        ]  # fmt: skip
        results.append("count(*) as n")
        present = "".join(f" and {sql} is not null" for _, sql in keys)
        group_by = f" group by {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
        sql = (
            f"with groups as (select {', '.join(results)} from {self.relation}"
            f" where {where.sql}{present}{group_by})"
        )
        values = part.values * len(rate_columns(query)) + where.values
        figures, more = self._derivations(query, [key for key, _ in keys], clock)
        aggregates = [f"a{i}" for i in range(len(query.measures))]
        derived_columns = ", ".join([*(key for key, _ in keys), *figures, *aggregates, "n"])
        sql += f", derived as (select {derived_columns} from groups)"
        values += more
        output = ", ".join(
            [*(key for key, _ in keys), *(f"m{i}" for i in range(len(figures))), "n"]
        )
        conditions = [self._key_condition(f, query) for f in outer] + [
            self._group_condition(f, query) for f in query.having
        ]
        condition = " and ".join(f"({clause.sql})" for clause in conditions) or "true"
        values += [value for clause in conditions for value in clause.values]
        if is_average(query):
            means = ", ".join(f"avg(m{i})" for i in range(len(figures)))
            output = f"{means}, coalesce(sum(n), 0)"
        return Clause(f"{sql} select {output} from derived where {condition}", values)

    def _group_condition(self, one: Filter, query: Query) -> Clause:
        """The condition for the groups that are kept by what is computed of them."""
        places = [i for i, m in enumerate(query.measures) if (m.column or "") == one.column]
        name = f"a{places[0]}" if places else "n"
        if one.column and not places:
            raise JobFailed(f"“{one.column}” is not among what is computed of the groups.")
        return _comparison(name, one, [_figure(value) for value in one.values])

    def _key_condition(self, one: Filter, query: Query) -> Clause:
        clause = self._condition(one)
        name, key = self.field(one.column), f"g{query.groups.index(one.column)}"
        return Clause(re.sub(rf"\b{name}\b", key, clause.sql), clause.values)

    def _derivations(
        self, query: Query, keys: list[str], clock: bool
    ) -> tuple[list[str], list[Any]]:
        groups = [key for key in keys if key != "t"]
        results, values = [], []
        for i, measure in enumerate(query.measures):
            clause = self._derivation(query, measure, f"a{i}", groups, clock)
            results.append(f"{clause.sql} as m{i}")
            values += clause.values
        return results, values

    def _derivation(
        self, query: Query, measure: Measure, value: str, groups: list[str], clock: bool
    ) -> Clause:
        is_timed = query.time is not None
        by_groups = f"partition by {', '.join(groups)} " if groups else ""
        by_time = "partition by t " if is_timed and groups else ""
        match measure.derived:
            case None | Derivation.AVERAGE | Derivation.RATE:
                return Clause(value)
            case Derivation.SHARE if groups or is_timed:
                return Clause(f"100 * {value} / nullif(sum({value}) over ({by_time}), 0)")
            case Derivation.SHARE:
                base = self.where(share_base(query, self.columns))
                return Clause(
                    f"100 * {value} / nullif((select {self.aggregate(measure)} from"
                    f" {self.relation} where {base.sql}), 0)",
                    base.values,
                )
            case Derivation.CUMULATIVE:
                order = "t" if is_timed else f"{value} desc, {', '.join(groups) or '1'}"
                over = f"{by_groups if is_timed else ''}order by {order} rows unbounded preceding"
                return Clause(f"sum({value}) over ({over})")
            case Derivation.GROWTH | Derivation.DIFFERENCE if is_timed:
                before = self._before(query, value, by_groups, clock)
                if measure.derived is Derivation.DIFFERENCE:
                    return Clause(f"{value} - {before}")
                return Clause(f"100 * ({value} - {before}) / nullif(abs({before}), 0)")
            case Derivation.GROWTH if not groups:
                return Clause("cast(null as double)")  # there is nothing before
            case _:
                return Clause(value)  # between groups: computed from the result

    def _before(self, query: Query, value: str, by_groups: str, clock: bool) -> str:
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


def _rate(part: Clause, name: str) -> str:
    """How many percent of the rows that have a value have one of those of a condition."""
    return f"100.0 * count(*) filter (where {part.sql}) / nullif(count({name}), 0)"


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


def _comparison(name: str, one: Filter, values: Sequence[Any]) -> Clause:
    present = [value for value in values if value is not None]
    if one.op in (Op.IS, Op.IS_NOT):
        marks = ", ".join("?" for _ in present)
        if not present:
            return Clause("false" if one.op is Op.IS else "true")
        if one.op is Op.IS:
            return Clause(f"{name} in ({marks})", present)
        return Clause(f"({name} is null or {name} not in ({marks}))", present)
    if one.op is Op.BETWEEN and len(present) == 2:
        low, high = sorted(present)
        return Clause(f"{name} between ? and ?", [low, high])
    if one.op in _COMPARISONS and present:
        return Clause(f"{name} {_COMPARISONS[one.op]} ?", present[:1])
    raise JobFailed(f"The condition on “{one.column}” has no value to compare with.")


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


def _date_condition(name: str, one: Filter) -> Clause:
    spans = [span(str(value)) for value in one.values]
    ranges = [span for span in spans if span is not None]
    if not ranges:
        raise JobFailed(f"The condition on “{one.column}” has no date to compare with.")
    stamp = "cast(? as timestamp)"
    if one.op in (Op.IS, Op.IS_NOT):
        inside = " or ".join(f"({name} >= {stamp} and {name} < {stamp})" for _ in ranges)
        values = [edge for span in ranges for edge in span]
        if one.op is Op.IS:
            return Clause(inside, values)
        return Clause(f"{name} is null or not ({inside})", values)
    if one.op is Op.BETWEEN and len(ranges) == 2:
        low, high = sorted(ranges)
        return Clause(f"{name} >= {stamp} and {name} < {stamp}", [low[0], high[1]])
    edge = ranges[0][one.op in (Op.ABOVE, Op.AT_MOST)]
    sign = ">=" if one.op in (Op.AT_LEAST, Op.ABOVE) else "<"
    return Clause(f"{name} {sign} {stamp}", [edge])
