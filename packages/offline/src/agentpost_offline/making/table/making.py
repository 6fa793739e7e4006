"""The steps of a table: read and compute, write, open again and check."""

import csv
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from agentpost.agents import File, JobFailed
from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.data.model import Kind, Table
from agentpost_offline.frame import Frame, Query, Thing, from_json
from agentpost_offline.grammar.describing import query_text
from agentpost_offline.making import catalogue
from agentpost_offline.making.content import Section
from agentpost_offline.making.maker import Output, Plan, csv_of, file_name
from agentpost_offline.making.table import sheets
from agentpost_offline.making.table.sheets import Field, Sheet
from agentpost_offline.making.tabulating import tabulate
from agentpost_offline.story import naming
from agentpost_offline.style import palette
from agentpost_offline.style.languages import language as language_of, texts

SECONDS = 120.0
_CELLS = 1_000_000
_ROWS = 200_000
_TABLES = 10


def plan(files: Sequence[File], frame_json: Any, parts: Any, version: int) -> Any:
    """A step: the table that will be written. Raises `JobFailed` when there is nothing to make it
    of."""
    frame = from_json(frame_json)
    stem = frame.style.title or (files[0].name if files else "table")
    names = [(file_name(stem, "table", version, form), form)
             for form in catalogue.MAKERS[Thing.TABLE].forms(frame)]  # fmt: skip
    with open_tables(files, frame.text, frame.language) as data:
        book = _Book(data, frame, parts)
        return msgspec.to_builtins(Plan(
            book.text(names[0][0]),
            tuple(Output(name, book.title, (form,)) for name, form in names),
            tuple(naming.with_rows(one, frame.language) for one in book.tables),
            data.skipped, tuple(dict.fromkeys(book.notes)),
        ))  # fmt: skip


def write(files: Sequence[File], frame_json: Any, parts: Any, form: str) -> Path | bytes:
    """A write: the workbook, or its first sheet as CSV; raises `JobFailed` unless the figures are
    in it when it is opened again."""
    frame = from_json(frame_json)
    with open_tables(files, frame.text, frame.language) as data:
        pages = _Book(data, frame, parts).sheets
    return _as_workbook(pages, frame) if form == "xlsx" else _as_csv(pages[0])


def _as_workbook(pages: Sequence[Sheet], frame: Frame) -> Path:
    import python_calamine

    from agentpost_offline.making.table import workbook

    with tempfile.NamedTemporaryFile(suffix=".xlsx", delete=False) as file:
        path = Path(file.name)
    workbook.write(path, pages, accent=palette.accent(frame.style.colour),
                   is_rtl=language_of(frame.language).direction == "rtl")  # fmt: skip
    sheet = python_calamine.load_workbook(path).get_sheet_by_index(0)
    _check(sheet.to_python(skip_empty_area=False), pages[0])
    return path


def _as_csv(first: Sheet) -> bytes:
    fields = first.fields[:-1] if first.across else first.fields
    data = csv_of([[field.heading for field in fields], *first.rows])
    _check(list(csv.reader(io.StringIO(data.decode("utf-8-sig")))), first)
    return data


def _check(lines: Sequence[Sequence[Any]], truth: Sheet) -> None:
    """The rows and the sums of the columns that were written are those computed."""
    rows = lines[1 : 1 + len(truth.rows)]
    if len(rows) != len(truth.rows):
        raise JobFailed("The table was not written whole.")
    for at, one in enumerate(truth.fields[:-1] if truth.across else truth.fields):
        if one.kind is Kind.NUMBER:
            expected = sum(_figure(row[at]) for row in truth.rows)
            actual = sum(_figure(row[at]) for row in rows if at < len(row))
            if abs(expected - actual) > 1e-6 * max(1.0, abs(expected)):
                raise JobFailed("The table does not hold the figures that were computed.")


def _figure(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return 0.0


class _Book:
    """The sheets that a frame or a caller's sections ask for: pivots with their data, or cleaned
    tables; the tables they are made of, and what is said of them."""

    def __init__(self, data: Dataset, frame: Frame, parts: Any) -> None:
        self._data, self._code = data, frame.language
        self._words = texts("table", frame.language)
        self._total = "" if frame.style.options.get("no_total") else self._words["total"]
        self.tables: list[Table] = []
        self.sheets: list[Sheet] = []
        self.notes: list[str] = []
        if not data.tables:
            reasons = "; ".join(data.skipped)
            raise JobFailed(f"{reasons}." if reasons else self._words["no_table"])
        queries = [q for q in frame.queries if q.table and (q.groups or q.time or q.measures)]
        if parts:
            self._reading = self._add_sections(msgspec.convert(parts, tuple[Section, ...]))
            self.title = frame.style.title or self._reading
        elif queries:
            self._reading = self._add_pivots(queries)
            self.title = self._reading.partition("; ")[0]
        else:
            conditions = {q.table: q for q in frame.queries if q.filters or q.rows_by}
            self._reading = self._add_tables(conditions)
            self.title = self._reading.partition("; ")[0] or self.tables[0].name
        self.title = self.title[:200]

    def text(self, name: str) -> str:
        """What was made, as a file of that name."""
        count = len(self.tables)
        tables = self._words["tables_one" if count == 1 else "tables_many"].format(count=count)
        pattern = self._words["made_pivot" if self._reading else "made_clean"]
        return str(pattern.format(name=name, reading=self._reading, tables=tables))

    def _add_sections(self, parts: Sequence[Section]) -> str:
        """A sheet for each section that asks for figures; their titles."""
        for request, title in ((one.request, one.title) for one in parts):
            if request is not None:
                table = tabulate(self._data, request, self._code)
                title = title or self._words["pivot"]
                self.sheets.append(sheets.of_result(table.table, table.result, title, self._total,
                                                    self._code, is_pivot=False))  # fmt: skip
                self.notes += table.notes
                self.tables += [self._data.table(one.query.table) for one in request.parts]
        if not self.sheets:
            raise JobFailed(self._words["no_table"])
        self.tables = list({table.id: table for table in self.tables}.values())
        return ", ".join(sheet.title for sheet in self.sheets)

    def _add_pivots(self, queries: Sequence[Query]) -> str:
        """A sheet for each query, then the rows that they look at: what was filtered out is in
        none. Returns the queries in words."""
        results = [self._data.run(query) for query in queries]
        self.tables = list({one.table: self._data.table(one.table) for one in queries}.values())
        for query, result in zip(queries, results, strict=True):
            self.sheets.append(sheets.of_result(
                self._data.table(query.table), result, self._words["pivot"], self._total, self._code
            ))  # fmt: skip
            self.notes += result.notes
        for table in self.tables:
            filters = {query.filters for query in queries if query.table == table.id}
            query = Query(table.id, filters=filters.pop() if len(filters) == 1 else ())
            self._add_rows(table, self._words["data"], query)
        if len(self.tables) == 1:
            for at, query in enumerate(queries):
                live = sheets.live(self.sheets[at], query, self.sheets[-1], self.tables[0])
                self.sheets[at] = replace(self.sheets[at], live=live)
        return "; ".join(result.reading for result in results)

    def _add_tables(self, conditions: dict[str, Query]) -> str:
        """A sheet for each table, or for those with ``conditions`` by their ids, with the rows that
        meet them; and one that says what was cleaned. Returns the conditions in words."""
        tables = [table for table in self._data.tables if not conditions or table.id in conditions]
        self.tables = tables[:_TABLES]
        for table in self.tables:
            title = table.name.rpartition(", sheet ")[2].rpartition(".")[0] or table.name
            self._add_rows(table, title, conditions.get(table.id))
        rows = [(table.name, f"{table.rows:,}", note) for table in self.tables
                for note in table.notes or (self._words["nothing"],)]  # fmt: skip
        fields = tuple(Field(self._words[key], Kind.TEXT) for key in ("table", "rows", "note"))
        self.sheets.append(Sheet(self._words["notes"], fields, tuple(rows)))
        return "; ".join(query_text(conditions[one.id], one, self._code)
                         for one in self.tables if one.id in conditions)  # fmt: skip

    def _add_rows(self, table: Table, title: str, query: Query | None) -> None:
        """The rows of a table as a sheet, as many as a workbook holds."""
        most = max(1, min(_ROWS, _CELLS // max(1, len(table.columns))))
        rows = self._data.cells(table.id, limit=most, query=query)
        self.sheets.append(sheets.of_table(table, rows, title, self._total))
        self.notes += table.notes
        if len(rows) < table.rows and not (query and query.filters):
            self.notes.append(self._words["cut"].format(sheet=title, count=f"{len(rows):,}",
                                                        all=f"{table.rows:,}"))  # fmt: skip
