"""The steps of a table: read and compute, write, open again and check."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents import File, Job, JobFailed
from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.data.model import Kind, Table
from agentpost_offline.frame import Frame, Query, Thing, from_json
from agentpost_offline.grammar.describing import query_text
from agentpost_offline.making import catalogue
from agentpost_offline.making.content import Section
from agentpost_offline.making.maker import Inputs, Output, Product, csv_of, file_name, write_files
from agentpost_offline.making.table import sheets, workbook
from agentpost_offline.making.table.sheets import Field, Sheet
from agentpost_offline.making.tabulating import tabulate
from agentpost_offline.story import naming
from agentpost_offline.style import palette
from agentpost_offline.style.languages import language as language_of
from agentpost_offline.style.languages import texts

SECONDS = 120.0
_CELLS = 1_000_000
_ROWS = 200_000
_TABLES = 10


async def make(job: Job, inputs: Inputs) -> Product:
    """Make the workbook; raises `JobFailed` with a text for the user."""
    maker = catalogue.MAKERS[Thing.TABLE]
    stem = inputs.frame.style.title or (inputs.files[0].name if inputs.files else "table")
    names = {form: file_name(stem, "table", inputs.version, form)
             for form in maker.forms(inputs.frame)}  # fmt: skip
    about = await job.step(plan, *inputs.request, next(iter(names.values())), timeout=SECONDS)
    products = await write_files(job, inputs, maker, (
        Output(name, about["title"], as_workbook if form == "xlsx" else as_csv, inputs.request)
        for form, name in names.items()
    ), timeout=SECONDS)  # fmt: skip
    return Product(about["text"], products, about["used"], about["skipped"], about["notes"])


def plan(files: Sequence[File], frame_json: Any, parts: Any, name: str) -> dict[str, Any]:
    """A step: what the table will be and what is said of it, as fields of a `Product` and its
    ``title``. Raises `JobFailed` when there is nothing to make it of."""
    frame = from_json(frame_json)
    with open_tables(files, frame.text, frame.language) as data:
        book = _book(data, frame, parts, name)
        used = [naming.with_rows(one, frame.language) for one in book.tables]
        return {"text": book.text, "title": book.title, "used": used, "notes": book.notes,
                "skipped": list(data.skipped)}  # fmt: skip


def _sheets(files: Sequence[File], frame: Frame, parts: Any) -> list[Sheet]:
    with open_tables(files, frame.text, frame.language) as data:
        return _book(data, frame, parts).sheets


def as_workbook(files: Sequence[File], frame_json: Any, parts: Any) -> Path:
    """A write: the workbook; raises `JobFailed` unless the figures are in it."""
    import python_calamine

    frame = from_json(frame_json)
    pages = _sheets(files, frame, parts)
    with tempfile.NamedTemporaryFile(suffix=".xlsx", delete=False) as file:
        path = Path(file.name)
    workbook.write(path, pages, accent=palette.accent(frame.style.colour),
                   is_rtl=language_of(frame.language).direction == "rtl")  # fmt: skip
    sheet = python_calamine.load_workbook(path).get_sheet_by_index(0)
    _check(sheet.to_python(skip_empty_area=False), pages[0])
    return path


def as_csv(files: Sequence[File], frame_json: Any, parts: Any) -> bytes:
    """A write: the first sheet as CSV."""
    first = _sheets(files, from_json(frame_json), parts)[0]
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


@dataclass
class _Book:
    """The sheets, the tables they are made of, and what is said of them."""

    tables: list[Table] = field(default_factory=list)
    sheets: list[Sheet] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    title: str = ""
    text: str = ""


def _book(data: Dataset, frame: Frame, parts: Any, name: str = "") -> _Book:
    """What a frame or a caller's sections ask for: pivots with their data, or cleaned tables."""
    book, words = _Book(), texts("table", frame.language)
    if frame.style.options.get("no_total"):
        words = {**words, "total": ""}
    if not data.tables:
        reasons = "; ".join(data.skipped)
        raise JobFailed(f"{reasons}." if reasons else words["no_table"])
    queries = [q for q in frame.queries if q.table and (q.groups or q.time or q.measures)]
    if parts:
        reading = _fill_from_sections(book, data, msgspec.convert(parts, tuple[Section, ...]),
                                      frame.language)  # fmt: skip
        book.title = frame.style.title or reading
    elif queries:
        reading = _fill_with_pivots(book, data, words, queries, frame.language)
    else:
        conditions = {q.table: q for q in frame.queries if q.filters or q.rows_by}
        reading = _fill_with_tables(book, data, words, conditions, frame.language)
    count = len(book.tables)
    tables = words["tables_one" if count == 1 else "tables_many"].format(count=count)
    pattern = words["made_pivot" if reading else "made_clean"]
    book.text = pattern.format(name=name, reading=reading, tables=tables)
    book.notes = list(dict.fromkeys(book.notes))
    return book


def _fill_from_sections(book: _Book, data: Dataset, parts: Sequence[Section], code: str) -> str:
    """A sheet for each section that asks for figures."""
    words = texts("table", code)
    for part in parts:
        if part.request is not None:
            table = tabulate(data, part.request, code)
            title = part.title or words["pivot"]
            book.sheets.append(sheets.of_result(table.table, table.result, title, words["total"],
                                                code, is_pivot=False))  # fmt: skip
            book.notes += table.notes
            book.tables += [data.table(one.query.table) for one in part.request.parts]
    if not book.sheets:
        raise JobFailed(words["no_table"])
    book.tables = list({table.id: table for table in book.tables}.values())
    return ", ".join(sheet.title for sheet in book.sheets)


def _fill_with_pivots(
    book: _Book, data: Dataset, words: dict[str, Any], queries: Sequence[Query], code: str
) -> str:
    """A sheet for each query, then the rows that they look at: what was filtered out is in none."""
    results = [data.run(query) for query in queries]
    book.tables = list({query.table: data.table(query.table) for query in queries}.values())
    for query, result in zip(queries, results, strict=True):
        table = data.table(query.table)
        book.sheets.append(sheets.of_result(table, result, words["pivot"], words["total"], code))
        book.notes += result.notes
    for table in book.tables:
        filters = {query.filters for query in queries if query.table == table.id}
        query = Query(table.id, filters=filters.pop() if len(filters) == 1 else ())
        _add_rows(book, data, table, words, words["data"], query)
        book.notes += table.notes
    if len(book.tables) == 1:
        for at, query in enumerate(queries):
            live = sheets.live(book.sheets[at], query, book.sheets[-1], book.tables[0])
            book.sheets[at] = msgspec.structs.replace(book.sheets[at], live=live)
    book.title = results[0].reading[:200]
    return "; ".join(result.reading for result in results)


def _fill_with_tables(
    book: _Book, data: Dataset, words: dict[str, Any], conditions: dict[str, Query], code: str
) -> str:
    """A sheet for each table, or for those with ``conditions`` by their ids, with the rows that
    meet them; and one that says what was cleaned. Returns the conditions in words."""
    tables = [table for table in data.tables if not conditions or table.id in conditions]
    book.tables = tables[:_TABLES]
    readings = [
        query_text(conditions[table.id], table, code)
        for table in book.tables
        if table.id in conditions
    ]
    book.title = readings[0][:200] if readings else book.tables[0].name
    rows = []
    for table in book.tables:
        title = table.name.rpartition(", sheet ")[2].rpartition(".")[0] or table.name
        _add_rows(book, data, table, words, title, conditions.get(table.id))
        rows += [(table.name, f"{table.rows:,}", note)
                 for note in table.notes or (words["nothing"],)]  # fmt: skip
        book.notes += table.notes
    fields = tuple(Field(words[key], Kind.TEXT) for key in ("table", "rows", "note"))
    book.sheets.append(Sheet(words["notes"], fields, tuple(rows)))
    return "; ".join(readings)


def _add_rows(
    book: _Book, data: Dataset, table: Table, words: dict[str, Any], title: str,
    query: Query | None = None,
) -> None:  # fmt: skip
    """The rows of a table as a sheet, as many as a workbook holds."""
    most = max(1, min(_ROWS, _CELLS // max(1, len(table.columns))))
    rows = data.cells(table.id, limit=most, query=query)[1]
    book.sheets.append(sheets.of_table(table, rows, title, words["total"]))
    if len(rows) < table.rows and not (query and query.filters):
        book.notes.append(words["cut"].format(sheet=title, count=f"{len(rows):,}",
                                              all=f"{table.rows:,}"))  # fmt: skip
