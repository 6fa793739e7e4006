"""Questions about tables, answered in a sentence with its number, its reading and its source."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agentpost.agents import File
from agentpost_offline.answer import Answer, Outcome
from agentpost_offline.data import formulas, roles, wording, words
from agentpost_offline.data.comparing import Comparison
from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.data.model import Kind, Result, Role
from agentpost_offline.data.sql import axes, is_average, share_base
from agentpost_offline.frame import (
    COMPARED,
    ROW_COUNT,
    Aggregate,
    Cell,
    Derivation,
    Filter,
    Frame,
    Measure,
    Op,
    Order,
    Query,
    from_json,
)

_NEXT = 3
_ALL = 1_000_000
_LINES = 31
_VALUES = 12
_LISTED = 100
_TOLD = (Kind.DATE, Kind.NUMBER)
_TOLD_OF_NAMES = (Role.TIME, Role.AMOUNT, Role.RATE)
"""What is told of a row that is listed by its name, and not by a code."""
_FACTS = 4
_SHOWN = 6
"""So many columns of a row are shown where none was named."""


def answer(files: Sequence[File], frame: Any) -> Any:
    """Answer the queries of a frame from its files, both as JSON (a step): the text of the `Answer`
    has how each query was understood, and its source. Raises `JobFailed`."""
    read: Frame = from_json(frame)
    with open_tables(files, read.text, read.language) as data:
        queries = [query for query in read.queries if query.table]
        paragraphs: list[str] = []
        notes: list[str] = []
        used: list[str] = []
        for query in queries:
            table = data.table(query.table)
            text, result = answer_query(data, query, read.language)
            paragraphs.append(text)
            count = wording.plural(wording.texts(read.language), "rows", table.rows)
            used.append(f"{table.name} ({count})")
            notes += [n for n in (*result.notes, *table.notes) if n not in notes]
        reply = Answer(
            Outcome.ANSWERED if paragraphs else Outcome.ABSENT,
            "\n\n".join(paragraphs),
            used=tuple(dict.fromkeys(used)),
            skipped=data.skipped,
            notes=tuple(notes),
        )
    return msgspec.to_builtins(reply)


def answer_query(data: Dataset, query: Query, language: str) -> tuple[str, Result]:
    """The answer to a query in words, with how it was understood, and its result. Raises
    `JobFailed`."""
    return _Answer(data, data.table(query.table), language).of(query)


class _Answer(Comparison):
    """Answers queries of one table."""

    _said = ""
    """A note that the text says in its own words."""

    def of(self, query: Query) -> tuple[str, Result]:
        """The answer to a query, and the result it states."""
        if not query.measures:
            return self._rows(query)
        result = self._data.run(query)
        query = result.query
        if not result.counted and not _counts(query):
            text = self._say("none", result.reading)
        elif not result.rows or (
            all(row[-1] is None for row in result.rows) and not _against_before(query)
        ):
            text = self._say("no_value", result.reading)
        else:
            text = self._sentence_of(query, result)
        rest = tuple(note for note in result.notes if note != self._said)
        result = replace(result, notes=rest)
        source = self._say("reading", result.reading, self._table.name)
        return f"{text}\n{source}", result

    def _rows(self, query: Query) -> tuple[str, Result]:
        """The rows themselves, a line for each, how many they are and what their amounts sum to."""
        names = query.columns or self._first_columns(query)
        amounts = [
            one for one in map(self._columns.__getitem__, names)
            if roles.is_additive(one) and not one.formula
        ]  # fmt: skip
        has_stock = any(words.names(one.name, "level") for one in self._table.columns)
        if has_stock or roles.currencies(self._table.columns, amounts) is not None:
            amounts = []  # of goods in stock the cost of one
        sums = tuple(Measure(one.name, Aggregate.SUM) for one in amounts)
        plain = replace(query, measures=(ROW_COUNT, *sums), order=None, rows_by=None, columns=())
        result = self._data.run(plain)
        source = self._say("reading", result.reading, self._table.name)
        if not result.counted:
            return f"{self._say('none', result.reading)}\n{source}", result
        count = query.order.count if query.order is not None else None
        rows = self._data.cells(self._table.id, names, min(count or _LISTED, _LISTED), query)
        labels = self._tongue.separator.join(self._columns[name].label for name in names)
        lines = [f"{labels}{self._tongue.colon.rstrip() or ':'}"]
        for row in rows:
            cells = (self._fact(*one) for one in zip(names, row, strict=True))
            lines.append(f"- {self._tongue.separator.join(cells)}")
        size = min(count or result.counted, result.counted)
        if size > len(rows):
            lines.append("- " + self._say("more", f"{size - len(rows):,}"))
        if size < result.counted:  # of the best few no sum is asked
            return "\n".join([*lines, source]), result
        totals = [wording.plural(self._words, "rows", result.counted)]
        for column, one, total in zip(amounts, sums, result.rows[0][1:], strict=True):
            totals.append(f"{column.label} {self._value(total, one)}")
        lines.append(self._say("in_all", self._tongue.separator.join(totals)))
        return "\n".join([*lines, source]), result

    def _first_columns(self, query: Query) -> tuple[str, ...]:
        """The first columns that tell the rows apart, and those that a condition is on."""
        equal = {one.column for one in query.filters if one.op is Op.IS and len(one.values) == 1}
        first = {query.rows_by} | {
            name for one in query.filters
            for name in (self._columns[one.column].formula[::2] or (one.column,))
        }  # fmt: skip
        names = [one.name for one in self._table.columns if one.name not in equal]
        names = sorted(names, key=lambda name: name not in first)[:_SHOWN]
        return tuple(one.name for one in self._table.columns if one.name in names) or (
            self._table.columns[0].name,
        )

    def _sentence_of(self, query: Query, result: Result) -> str:
        derivation = query.measures[0].derived
        keys = axes(query)
        if is_average(query):
            return self._average(query, result)
        if not keys:
            return self._single(query, result)
        if derivation in COMPARED:
            text = self.compare(query, result)
            if text is not None:
                return text
        if derivation is Derivation.SHARE and len(result.rows) == 1 and len(query.measures) == 1:
            return self._share_of_group(query, result, keys)
        if query.order is not None and query.order.count == 1:
            return self._best(query, result, keys)
        lines = self._lines(query, result, keys)
        return "\n".join([*lines, *(self._missing(query, result) if self._adds_up(query) else ())])

    def _adds_up(self, query: Query) -> bool:
        """Whether totals are put together of which one may lack what the other has."""
        first = query.measures[0]
        column = self._columns.find(first.column)
        return column is not None and formulas.is_of_totals(first, column)

    # One number

    def _single(self, query: Query, result: Result) -> str:
        parts = []
        for at, measure in enumerate(query.measures):
            subject = self._subject(measure)
            value = self._value(result.rows[0][at], measure)
            if measure.derived is Derivation.SHARE:
                parts.append(self._share(query, measure, subject, value))
            else:
                parts.append(f"{wording.upper(subject)}{self._tongue.colon}{value}.")
        lines = [" ".join(parts)]
        extreme = query.measures[0]
        is_single = len(query.measures) == 1
        if is_single and extreme.aggregate in (Aggregate.MIN, Aggregate.MAX) and extreme.column:
            where = self._row_of(query, extreme, result.rows[0][0])
            lines += [where] if where else []
        if extreme.aggregate is Aggregate.DISTINCT and extreme.column:
            lines += self._named_values(query, extreme.column)
        missing = self._missing(query, result)
        return "\n".join([*lines, *missing])

    def _average(self, query: Query, result: Result) -> str:
        """The average over groups or periods, and how many they are."""
        plain = tuple(replace(m, derived=None) for m in query.measures)
        parts = self._data.run(replace(query, measures=plain, order=None)).rows
        labels = [self._columns[name].label for name in query.groups]
        labels += [str(self._words[str(query.grain)])] if query.time and query.grain else []
        per = self._say("and").join(labels)
        return "\n".join(
            self._say(
                "average_per",
                self._subject(measure),
                per,
                self._value(result.rows[0][at], measure),
                len(parts),
            )
            for at, measure in enumerate(plain)
        )

    def _share(self, query: Query, measure: Measure, subject: str, value: str) -> str:
        plain = replace(measure, derived=None)
        of = replace(query, measures=(plain,), order=None)
        base = replace(of, filters=tuple(share_base(query, self._columns)))
        part, whole = (self._value(self._data.run(one).rows[0][0], plain) for one in (of, base))
        return self._say("share_of", wording.upper(subject), value, part, whole)

    def _share_of_group(self, query: Query, result: Result, keys: int) -> str:
        measure, row = query.measures[0], result.rows[0]
        plain = replace(measure, derived=None)
        rest = tuple(f for f in query.filters if f.column not in query.groups)
        among = self._data.run(
            replace(query, measures=(plain,), filters=rest, having=(), order=None)
        ).rows
        is_timed = query.time is not None and bool(query.groups)
        within = [r for r in among if not is_timed or r[keys - 1] == row[keys - 1]]
        part = next((r[keys] for r in among if r[:keys] == row[:keys]), None)
        values = [value for r in within if isinstance(value := r[keys], float)]
        whole = sum(values)
        return self._say(
            "share_of",
            self._name(query, row[:keys]),
            self._value(row[keys], measure),
            self._value(part, plain),
            self._value(whole, plain),
        )

    def _row_of(self, query: Query, measure: Measure, value: Cell) -> str:
        """The row in which an extreme value stands, described by its other columns."""
        if value is None or isinstance(value, bool):
            return ""
        assert measure.column is not None
        row_query = replace(
            query, filters=(*query.filters, Filter(measure.column, Op.IS, (value,)))
        )
        others = [
            c.name
            for c in self._table.columns
            if c.name != measure.column and c.kind is not Kind.NUMBER
        ][:4]
        rows = self._data.cells(self._table.id, others, 2, row_query) if others else ()
        if len(rows) != 1:
            return ""
        cells = zip(others, rows[0], strict=True)
        facts = [
            f"{self._columns[name].label} {self._key(cell, name)}"
            for name, cell in cells
            if cell is not None
        ]
        return f"({', '.join(facts)})" if facts else ""

    def _named_values(self, query: Query, column: str) -> list[str]:
        """The different values themselves, when they are few."""
        result = self._data.run(
            Query(query.table, (ROW_COUNT,), groups=(column,), filters=query.filters)
        ).rows
        if not 0 < len(result) <= _VALUES:
            return []
        names = [self._key(row[0], column) for row in result]
        return [f"({self._tongue.join(names)})"]

    def _missing(self, query: Query, result: Result) -> list[str]:
        """How many of the rows have no value to compute with."""
        measure = query.measures[0]
        if measure.column is None or measure.aggregate in (Aggregate.COUNT, Aggregate.DISTINCT):
            return []
        column = self._columns[measure.column]
        is_of_totals = formulas.is_of_totals(measure, column)
        names = column.formula[::2] if is_of_totals else (column.name,)
        counts = (ROW_COUNT, *(Measure(n, Aggregate.COUNT) for n in names))
        count = Query(query.table, counts, filters=query.filters)
        is_part = is_of_totals and not formulas.is_ratio(column)
        key = "missing_part" if is_part else "missing"
        rows, *value_counts = (int(float(one or 0)) for one in self._data.run(count).rows[0])
        return [
            wording.upper(
                wording.plural(self._words, key, rows - values, self._columns[name].label)
            ) + "."
            for name, values in zip(names, value_counts, strict=True) if rows > values
        ]  # fmt: skip

    # Groups

    def _best(self, query: Query, result: Result, keys: int) -> str:
        assert query.order is not None
        more = replace(query, order=Order(query.order.descending, _ALL))
        rows = self._data.run(more).rows
        measure = query.measures[0]
        best = [row for row in rows if row[keys] == result.rows[0][keys]]
        subject = self._subject(measure)
        leaders = [self._name(query, row[:keys]) for row in best[:_VALUES]]
        if len(best) > len(leaders):
            leaders.append(self._say("more", f"{len(best) - len(leaders):,}"))
        names = self._tongue.join(leaders)
        value = self._value(best[0][keys], measure)
        word = self._words["highest" if query.order.descending else "lowest"].format(subject)
        text = f"{wording.upper(names)}{self._tongue.colon}{value} ({word})."
        if len(best) > 1:
            template = str(self._words["tie_two" if len(best) == 2 else "tie_many"])
            text = wording.upper(template.format(names, value, word))
            self._said = self._say("ties", count=len(best))
        others = [
            f"{self._name(query, row[:keys])} {self._value(row[keys], measure)}"
            for row in rows[len(best) : len(best) + _NEXT]
            if row[keys] is not None
        ]
        return self._with_next(text, others)

    def _lines(self, query: Query, result: Result, keys: int) -> list[str]:
        colon = self._tongue.colon
        rows = result.rows[:_LINES]
        subjects = [self._subject(measure) for measure in query.measures]
        head = f"{wording.upper(', '.join(subjects))}{colon.rstrip() or ':'}"
        if self._only_listed(query, result):
            names = [self._name(query, row[:keys]) for row in result.rows]
            more = names[_LISTED:]
            facts = self._facts(query)
            lines = [f"- {name}{facts.get(name, '')}" for name in names[:_LISTED]]
            lines += ["- " + self._say("more", f"{len(more):,}")] if more else []
            return [*lines, self._say("in_all", f"{len(names):,}")]
        lines = [head] if len(rows) > 1 else []
        for row in rows:
            values = ", ".join(
                self._value(row[keys + i], measure) for i, measure in enumerate(query.measures)
            )
            name = self._name(query, row[:keys])
            lines.append(f"- {name}{colon}{values}" if len(rows) > 1 else f"{name}{colon}{values}.")
        lines += self._together(query, result, keys)
        if len(result.rows) > len(rows):
            left = f"{len(result.rows) - len(rows):,}"
            lines.append("- " + self._say("more", left))
        return lines

    def _only_listed(self, query: Query, result: Result) -> bool:
        """As in "which items are below 20": what matters is the names, each stands in one row."""
        plain = query.measures == (ROW_COUNT,) and query.time is None
        groups = [self._columns[name] for name in query.groups]
        if any(one.role is Role.IDENTIFIER and one.distinct < self._table.rows for one in groups):
            return False  # of "consent by class" the number of each is asked for
        return plain and bool(query.filters) and all(row[-1] == 1.0 for row in result.rows)

    def _facts(self, query: Query) -> dict[str, str]:
        """What other columns say of each row that is listed, by its name: of a number or a code,
        which alone says nothing, the first ones and all dates, of a name its dates and figures."""
        if len(query.groups) != 1:
            return {}
        is_code = self._columns[query.groups[0]].role is Role.IDENTIFIER
        equal = {
            one.column for one in query.filters
            if one.op is Op.MISSING or (one.op is Op.IS and len(one.values) == 1)
        }  # fmt: skip
        others = [one for one in self._table.columns if one.name not in {*equal, *query.groups}]
        on_filters = {one.column for one in query.filters}
        if not is_code:
            others = [one for one in others if one.kind in _TOLD and one.role in _TOLD_OF_NAMES]
        others.sort(key=lambda one: one.name not in on_filters)
        first = [one.name for one in others[:_FACTS]]
        days = [one.name for one in others[_FACTS:] if is_code and one.kind is Kind.DATE]
        names = [query.groups[0], *first, *days]
        rows = self._data.cells(self._table.id, names, _ALL, query)
        facts = {}
        for row in rows:
            cells = [(name, cell) for name, cell in zip(names[1:], row[1:], strict=True)
                     if cell is not None]  # fmt: skip
            words = [
                text
                if is_code and name in first and name not in on_filters
                else f"{self._columns[name].label} {text}"
                for name, cell in cells
                if (text := self._fact(name, cell))
            ]
            facts[self._key(row[0], names[0])] = (
                self._tongue.colon + self._tongue.separator.join(words) if words else ""
            )
        return facts

    def _fact(self, name: str, cell: Cell) -> str:
        if self._columns[name].kind is Kind.NUMBER:
            return self._value(cell, Measure(name, Aggregate.MAX))
        return self._key(cell, name)

    def _together(self, query: Query, result: Result, keys: int) -> list[str]:
        """What the groups come to, where they are parts of a sum; the share of the best ones
        together; how many groups a condition keeps."""
        if query.having and query.order is None:
            return [self._say("in_all", f"{len(result.rows):,}")]
        measure, values = query.measures[0], [row[keys] for row in result.rows]
        column = self._columns.find(measure.column)
        adds = measure.aggregate is Aggregate.COUNT or (
            measure.aggregate is Aggregate.SUM and column is not None and not column.formula
        )  # fmt: skip
        has_values = any(f.op is Op.IS and len(f.values) > 1 for f in query.filters)
        is_all = query.order is None or query.order.count is None
        is_plain = len(query.measures) == 1 and measure.derived is None and is_all
        is_share = measure.derived is Derivation.SHARE and query.time is None and query.order
        if len(values) < 2:
            return []
        if is_share or (is_plain and adds):
            whole: Cell = math.fsum(float(value or 0) for value in values)
        elif is_plain and keys == 1 and has_values:
            total = replace(query, groups=(), time=None, grain=None)
            whole = self._data.run(total).rows[0][0]
        else:
            return []
        return [self._say("in_all", self._value(whole, measure))]


def _against_before(query: Query) -> bool:
    """Whether periods are compared: where nothing can be, the answer says what is missing."""
    is_change = query.measures[0].derived in COMPARED
    return is_change and query.time is not None


def _counts(query: Query) -> bool:
    return all(
        m.aggregate in (Aggregate.COUNT, Aggregate.DISTINCT) and m.derived is None
        for m in query.measures
    ) and not (query.groups or query.time)
