"""Grids of cells into typed tables of the database."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentpost.extraction import Unreadable
from agentpost_offline.data import cells, delimited, layout, limits, roles, words
from agentpost_offline.data.cells import Format
from agentpost_offline.data.delimited import Grid
from agentpost_offline.data.model import Column, Kind, Note, Role, Table
from agentpost_offline.frame import Grain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HEAD_ROWS = 300
_WORD = re.compile(r"^\D*[^\W\d_]{3}\D*$")
"""What may be written with a capital or without: no code and no unit."""
_SAMPLED_VALUES = 4_000
_SAMPLED_ROWS = 2_000
_QUARTER = re.compile(r"[qt]?\s?([1-4])(?:\.? ?(?:quartal|trimestre|quarter))?")
_TYPES = {Kind.NUMBER: "double", Kind.DATE: "timestamp", Kind.BOOLEAN: "boolean"}
"""The database's type of each kind; a text stays as it is."""
_ISO = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?"
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


@dataclass(frozen=True, slots=True)
class Loaded:
    """A table in the database: what it holds, the database's names for it and for each of its
    columns, and what the reader must know."""

    table: Table
    relation: str
    fields: dict[str, str]
    notes: tuple[Note, ...] = ()


class Loader:
    """Loads a grid as table ``number`` of the database."""

    def __init__(self, db: DuckDBPyConnection, number: int, folder: Path) -> None:
        self._db, self._folder = db, folder
        self._relation = f"t{number}"
        self._notes: list[Note] = []

    def load(self, grid: Grid, table_id: str, file: str) -> Loaded:
        """The table in a grid. Raises `Unreadable` when there is none."""
        grid = self._read(grid)
        self._notes = list(grid.notes)
        head = self._head()
        if not head:
            raise Unreadable(f"{grid.name} has no rows")
        result = layout.find([row[1:] for row in head], grid.name)
        if result.first >= len(head):
            raise Unreadable(f"{grid.name} has a header line but no rows")
        self._say(result)
        self._cut(head, result)
        names = self._unpivot(result)
        comma = grid.decimal_comma or self._comma(head[result.first :])
        rows, columns, fields = self._type_columns(names, decimal_comma=comma)
        if not columns:
            raise Unreadable(f"{grid.name} has no values")
        if result.periods is not None:
            columns = [_without_sum(one, result.periods) for one in columns]
        table = Table(table_id, file, grid.name, rows, tuple(columns))
        return Loaded(table, self._relation, fields, tuple(self._notes))

    def _one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        row = self._db.execute(sql, values).fetchone()
        assert row is not None
        return row[0]

    def _read(self, grid: Grid) -> Grid:
        import duckdb

        try:
            self._read_csv(grid)
        except duckdb.Error:  # of what others wrote
            grid = delimited.clean(grid, self._folder)
            self._read_csv(grid)
        for column, spans in grid.merged.items():
            cell = f"c{column}"
            self._db.execute(
                f"create or replace table raw as select r.* replace (case when"
                f" coalesce(trim(r.{cell}), '') = '' then f.cell else r.{cell} end as {cell})"
                f" from raw r left join (select s.{cell} as cell,"
                f" unnest(range(m.first + 1, m.last + 1)) as place from raw s join (select"
                " unnest(?) as first, unnest(?) as last) m on s.rowid = m.first) f"
                " on r.rowid = f.place order by r.rowid",
                [[first for first, _ in spans], [last for _, last in spans]],
            )
        return grid

    def _read_csv(self, grid: Grid) -> None:
        if not grid.width:
            raise Unreadable(f"{grid.name} has no rows")
        self._width = grid.width
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(grid.width))
        path = grid.path
        if self._folder not in path.parents:  # the database reads from this folder only
            path = self._folder / "copy"
            shutil.copyfile(grid.path, path)
        rows = self._one(
            "create or replace table raw as from read_csv(?, auto_detect=false, delim=?,"
            f" quote='\"', escape='\"', header=false, columns={{{columns}}}, null_padding=true,"
            f" max_line_size=?, strict_mode=true, parallel=false)",
            [str(path), grid.delimiter, limits.ROW_CHARACTERS * 4],
        )
        self._is_long = rows > 10 * _HEAD_ROWS

    def _head(self) -> list[tuple[Any, ...]]:
        near = self._rows(f"rowid < {10 * _HEAD_ROWS} order by rowid limit {_HEAD_ROWS}")
        if len(near) == _HEAD_ROWS or not self._is_long:
            return near
        return self._rows(f"true order by rowid limit {_HEAD_ROWS}")

    def _rows(self, rest: str) -> list[tuple[Any, ...]]:
        sql = ", ".join(f"left(c{i}, {limits.CELL_CHARACTERS})" for i in range(self._width))
        return self._db.execute(
            f"select rowid, {sql} from raw where not ({self._blank()}) and {rest}"
        ).fetchall()

    def _blank(self) -> str:
        """The condition that no cell of a row has something in it."""
        # The first cells are enough for most rows, so this is cheap.
        return " and ".join(f"(c{i} is null or trim(c{i}) = '')" for i in range(self._width))

    def _say(self, shape: layout.Layout) -> None:
        if shape.above:
            self._note("above", count=shape.above)
        if shape.headless:
            self._note("headless")
        if shape.renamed:
            self._note("renamed", names=", ".join(dict.fromkeys(shape.renamed[:3])))

    def _cut(self, head: list[tuple[Any, ...]], shape: layout.Layout) -> None:
        """Leave out what is no data: lines above, totals and remarks below, repeated headers."""
        above = f"rowid < {head[shape.first][0]}"
        self._db.execute(f"delete from raw where {above} or {self._blank()}")
        if not shape.headless and self._width > 1:
            header = head[shape.first - 1][1:]
            header_cells = [(i, cell) for i, cell in enumerate(header) if cell is not None]
            same = " and ".join(f"c{i} is not distinct from ?" for i, _ in header_cells)
            result = self._db.execute(
                f"delete from raw where {same}", [cell for _, cell in header_cells]
            ).fetchone()
            repeats = result[0] if result else 0
            if repeats:
                self._note("repeated", count=repeats)
        last = self._one("select max(rowid) from raw")
        tail = self._rows(f"rowid > {last - 200} order by rowid desc limit 30")
        remarks = totals = 0
        for at, row in enumerate(tail[:-1]):
            only_first = sum(not layout.blank(cell) for cell in row[1:]) == 1 and row[1]
            if layout.is_total(row[1:]):
                totals += 1
            elif (
                only_first and self._width > 2 and not totals
                and sum(not layout.blank(cell) for cell in tail[min(at + 3, len(tail) - 1)][1:]) > 2
            ):  # fmt: skip
                remarks += 1
            else:
                break
            self._db.execute("delete from raw where rowid = ?", [row[0]])
        for count, key in ((totals, "totals"), (remarks, "remarks")):
            if count:
                self._note(key, count=count)

    def _unpivot(self, shape: layout.Layout) -> list[tuple[str, str]]:
        """The field and name of each column, after columns that are periods became rows."""
        names = [(f"c{i}", name) for i, name in enumerate(shape.names) if name]
        periods = shape.periods
        if periods is None:
            return names
        period_columns = {index for index, _, _ in periods.columns} | set(periods.left_out)
        others = [(field, name) for field, name in names if int(field[1:]) not in period_columns]
        places: dict[str, dict[int, int]] = {}
        for index, label, value in periods.columns:
            places.setdefault(label, {})[value] = index
        count = range(len(periods.values))
        pieces = ", ".join(
            f"({', '.join(f'c{at[v]}' for v in count)}) as {_literals([label])}"
            for label, at in places.items()
        )
        values = ", ".join(f"v{v}" for v in count)
        fields = "".join(f"{field}, " for field, _ in others)
        self._db.execute(
            f"create or replace table raw as select {fields}p, {values} from raw"
            f" unpivot include nulls (({values}) for p in ({pieces}))"
        )
        added = [("p", periods.time), *((f"v{v}", name) for v, name in enumerate(periods.values))]
        results = layout.unique([name for _, name in (*others, *added)])
        self._note("periods", count=len(periods.columns), names=", ".join(results[len(others) :]))
        if periods.year_of_name:
            self._note("year_of_name", year=periods.year_of_name)
        return list(zip((field for field, _ in (*others, *added)), results, strict=True))

    def _comma(self, rows: list[tuple[Any, ...]]) -> bool:
        """Whether the table's cells say that decimals are written with a comma."""
        tallies = [cells.votes({row[at] for row in rows if row[at]})
                   for at in range(1, self._width + 1)]  # fmt: skip
        return sum((tally > 0) - (tally < 0) for tally in tallies) > 0

    def _type_columns(
        self, names: list[tuple[str, str]], *, decimal_comma: bool
    ) -> tuple[int, list[Column], dict[str, str]]:
        forms = self._formats(names, decimal_comma)
        expressions, parts = [], []
        split_date = self._split_date(names, [form for form, _ in forms])
        if split_date is not None:
            self._note("parted", year=names[split_date.year][1], part=names[split_date.part][1])
        for at, (field, name) in enumerate(names):
            form, direct = forms[at]
            if form is None or (split_date and at == split_date.year):
                continue
            if split_date and at == split_date.part:
                form = Format(Kind.DATE)
                expression = split_date.sql(f"s.{names[split_date.year][0]}", f"s.{field}")
            elif form.kind is Kind.TEXT:
                expression = _clean_text(f"s.{field}", form)
            else:
                expression = _cast(f"s.{field}", form.kind)
                if not direct:
                    self._rewrite(field, form)
            expressions.append(f"{expression} as k{at}")
            parts.append((at, name, form))
        expression = ", ".join(expressions)
        rows = self._one(f"create table {self._relation} as select {expression} from raw s")
        self._db.execute("drop table raw")
        columns = [self._describe(f"k{at}", name, form) for at, name, form in parts]
        for _, name, form in parts:
            self._say_bad(name, form)
        results = [column for column in columns if column is not None]
        fields = {name: f"k{at}" for (at, name, _), c in zip(parts, columns, strict=True) if c}
        return rows, results, fields

    def _split_date(
        self, names: list[tuple[str, str]], forms: Sequence[Format | None]
    ) -> _SplitDate | None:
        """The two columns, when a table has one of years and one of months or quarters and no
        date."""
        dates = {at: form for at, form in enumerate(forms) if form and form.kind is Kind.DATE}
        if [form.years for form in dates.values()] != [True]:
            return None
        results = [
            (at, months) for at, (field, name) in enumerate(names)
            if at not in dates and (months := _months(name, self._values(field))) is not None
        ]  # fmt: skip
        return _SplitDate(min(dates), *results[0]) if len(results) == 1 else None

    def _describe(self, field: str, name: str, form: Format) -> Column | None:
        """The description of a column, whose categories are merged where only their capitals
        differ: "colour" is the more frequent "Colour"."""
        column = self._facts(field, name, form)
        if column is None or column.kind is not Kind.TEXT or column.role is not Role.CATEGORY or (
            column.distinct > len(column.values)
        ):  # fmt: skip
            return column
        spellings: dict[str, list[str]] = {}
        for value in column.values:  # the most frequent first
            spellings.setdefault(value.casefold(), []).append(value)
        several = [
            one for word, one in spellings.items() if len(one) > 1 and _WORD.search(word)
        ]  # fmt: skip
        if not several:
            return column
        cases = " ".join("when ? then ?" for one in several for _ in one[1:])
        self._db.execute(
            f"create or replace table {self._relation} as select * replace"
            f" (case {field} {cases} else {field} end as {field}) from {self._relation}",
            [text for best, *others in several for other in others for text in (other, best)],
        )
        self._note("spellings", name=name)
        return self._facts(field, name, form)

    def _facts(self, field: str, name: str, form: Format) -> Column | None:
        """The description of a column; None when none of its cells has a value."""
        more = {Kind.DATE: _DATE_FACTS, Kind.NUMBER: _NUMBER_FACTS}.get(form.kind, _TEXT_FACTS)
        result = self._db.execute(
            f"select count(*), count({field}), count(distinct {field}), {more.format(field)}"
            f" from {self._relation}"
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
        values = self._db.execute(
            f"select {text} from {self._relation} where {field} is not null group by 1"
            f" order by count(*) desc, min(rowid) limit {limits.VALUES_KEPT}"
        ).fetchall()
        short_values = tuple(value[:200] for (value,) in values)
        facts = roles.Facts(
            present, distinct, length=facts_of_kind[0] or 0, values=short_values[:50]
        )
        role = roles.role(name, form.kind, None, facts)
        examples = short_values if role is not Role.TEXT else ()
        return Column(
            name,
            label,
            form.kind,
            role,
            values=examples,
            first=low[:200],
            last=high[:200],
            **common,
        )

    def _say_bad(self, name: str, form: Format) -> None:
        if form.bad:
            share = f"{form.bad:.1%}" if form.bad >= 0.001 else "< 0.1%"
            self._note(f"bad_{form.kind}", share=share, name=name)
        if form.ambiguous:
            self._note("month_first", name=name)
        if form.mixed:
            self._note("units", name=name, units=", ".join(form.mixed[:5]))
        if len(set(form.factors.values())) > 1:
            self._note("converted", name=name, unit=form.unit)

    def _note(self, key: str, **values: object) -> None:
        self._notes.append((key, values))

    def _formats(
        self, names: list[tuple[str, str]], decimal_comma: bool
    ) -> list[tuple[Format | None, bool]]:
        """The format of each column by rows spread over the whole table, None for an empty one, and
        whether the database casts it, which is checked with all of its cells."""
        samples = self._samples([field for field, _ in names])
        results: list[tuple[Format | None, bool]] = []
        checks = []
        for (field, name), sample in zip(names, samples, strict=True):
            values = sample or self._values(field)
            if not values:
                results.append((None, False))
                continue
            form = cells.decide(values, name, comma_elsewhere=decimal_comma, in_order=bool(sample))
            results.append((form, False))
            if form.kind in (Kind.NUMBER, Kind.DATE) and not form.years:
                checks.append((len(results) - 1, f"count({field}) filter ({_odd(field, form)})"))
        for at in range(0, len(checks), 100):
            selection = ", ".join(sql for _, sql in checks[at : at + 100])
            row = self._db.execute(f"select {selection} from raw").fetchone() or ()
            for (place, _), odd in zip(checks[at : at + 100], row, strict=True):
                if not odd:
                    results[place] = results[place][0], True
        return [self._check(names[at], *results[at]) for at in range(len(names))]

    def _check(
        self, column: tuple[str, str], form: Format | None, direct: bool
    ) -> tuple[Format | None, bool]:
        """The format once more by the column's most frequent cells, where not all of them fit."""
        if form is None or direct or form.kind is Kind.TEXT:
            return form, direct
        values = self._values(column[0])
        result = cells.decide(values, column[1], comma_elsewhere=form.thousands == ".")
        if result.ambiguous:  # by the order of the rows it was decided
            result = replace(result, day_first=form.day_first, ambiguous=form.ambiguous)
        return result, False

    def _samples(self, fields: list[str]) -> list[dict[str, int]]:
        last = self._one("select max(rowid) from raw")
        step = max(1, last // _SAMPLED_ROWS)
        sql = ", ".join(f"left(trim({field}), 200)" for field in fields)
        rows = self._db.execute(
            f"select {sql} from raw where rowid % {step} = 0 or rowid < 100 order by rowid"
        ).fetchall()
        results: list[dict[str, int]] = [{} for _ in fields]
        for row in rows:
            for values, value in zip(results, row, strict=True):
                if value:
                    values[value] = values.get(value, 0) + 1
        return results

    def _values(self, field: str) -> dict[str, int]:
        rows = self._db.execute(
            f"select left(trim({field}), 200), count(*) from raw where trim({field}) <> ''"
            f" group by 1 order by 2 desc, 1 limit {_SAMPLED_VALUES}"
        ).fetchall()
        return dict(rows)

    def _rewrite(self, field: str, form: Format) -> None:
        """Write the cells of a column as the database reads them, each distinct one once."""
        self._db.execute("create or replace table readings (raw varchar, made varchar)")
        cursor = self._db.cursor()
        cursor.execute(f"select distinct {field} from raw where {field} is not null")
        while rows := cursor.fetchmany(10_000):
            texts = [text for (text,) in rows]
            results = [cells.castable(text, form) if text.strip() else None for text in texts]
            self._db.execute("insert into readings select unnest(?), unnest(?)", [texts, results])
        self._db.execute(
            f"update raw set {field} = made from readings where {field} = readings.raw"
        )
        self._db.execute("drop table readings")


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


@dataclass(frozen=True, slots=True)
class _SplitDate:
    """The positions of the column of years and of the one of months or quarters, and the first
    month of each of its values in lower case."""

    year: int
    part: int
    months: Mapping[str, int]

    def sql(self, year: str, part: str) -> str:
        """The first day of the period, from the SQL of both cells."""
        cases = " ".join(f"when {_literals([text])} then {month}"
                         for text, month in self.months.items())  # fmt: skip
        number = f"case lower(trim({part})) {cases} end"
        return f"make_timestamp(try_cast(left(trim({year}), 4) as bigint), {number}, 1, 0, 0, 0)"


def _months(name: str, values: Mapping[str, int]) -> dict[str, int] | None:
    """The month with which each value begins; None when they are no months or quarters."""
    texts = [value.strip().lower() for value in values]
    if len(texts) < 2:
        return None
    month_of = {text: words.months().get(text.rstrip("."), 0) for text in texts}
    if all(month_of.values()):
        return month_of
    if words.names(name, "month") and all(re.fullmatch(r"0?[1-9]|1[0-2]", t) for t in texts):
        return {text: int(text) for text in texts}
    quarters = [_QUARTER.fullmatch(text) for text in texts]
    if words.names(name, "quarter") and all(quarters):
        return {t: 3 * int(m[1]) - 2 for t, m in zip(texts, quarters, strict=True) if m}
    return None


# How the database reads the text of a cell, in SQL


def _literals(texts: Sequence[str]) -> str:
    """Texts as a list of SQL literals."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)


def _cast(field: str, kind: Kind) -> str:
    """The cell as a value of this kind, where the database reads it as we do."""
    cast = f"try_cast({field} as {_TYPES[kind]})"
    return f"case when isfinite({cast}) then {cast} end" if kind is Kind.NUMBER else cast


def _odd(field: str, form: Format) -> str:
    """The condition that the database would read a cell otherwise than the format does."""
    missing = cells.NO_VALUE | words.every("missing") | cells.NO_FIGURE
    word = f"not {_is_one_of(f'lower(trim({field}))', missing)}"
    if form.kind is Kind.DATE:
        return f"case when regexp_full_match({field}, '{_ISO}') then false else {word} end"
    if form.thousands == "." or form.unit:
        return f"{field} is not null"
    number = f"try_cast({field} as double)"
    code = f"regexp_full_match({field}, '\\s*0\\d+\\s*|\\s*\\d{{16,}}\\s*')"
    return f"case when isfinite({number}) then {code} else {word} end"


def _clean_text(field: str, form: Format) -> str:
    """The cell as a text; null for a word that means no value."""
    missing_words = cells.NO_VALUE - {"na"} if form.codes else cells.NO_VALUE
    trim_sql = f"trim({field})"
    plain = f"regexp_replace({trim_sql}, '\\s+', ' ', 'g')" if form.spaced else trim_sql
    condition = f"length({field}) > 10 or not {_is_one_of(f'lower({trim_sql})', missing_words)}"
    return f"case when {condition} then {plain} end"


def _is_one_of(text: str, values: Set[str]) -> str:
    """The condition that a text is one of these. The database makes a join of a long "in", which
    holds megabytes; a table may have 500 columns."""
    return f"regexp_full_match({text}, {_literals(['|'.join(map(re.escape, sorted(values)))])})"


def _without_sum(column: Column, periods: layout.Periods) -> Column:
    """A figure that stands once for all periods of a line, and in the table in a row for each: it
    is averaged, since its sum would count it once for every period."""
    is_repeated = column.role is Role.AMOUNT and column.name not in periods.values
    return msgspec.structs.replace(column, role=Role.RATE) if is_repeated else column
