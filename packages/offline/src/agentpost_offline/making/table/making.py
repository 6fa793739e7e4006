"""The steps of a table: read and compute, write, open again and check."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents import File, Job, JobFailed
from agentpost_offline.data.dataset import Dataset, opened
from agentpost_offline.data.model import Kind, Table
from agentpost_offline.frame import Frame, Query, Thing, from_json, to_json
from agentpost_offline.making import catalogue
from agentpost_offline.making.content import Section
from agentpost_offline.making.maker import Inputs, Product, file_name
from agentpost_offline.making.table import sheets, workbook
from agentpost_offline.making.table.sheets import Field, Sheet
from agentpost_offline.making.tabulating import tabulate
from agentpost_offline.story import naming
from agentpost_offline.style import palette
from agentpost_offline.style.languages import language as tongue
from agentpost_offline.style.languages import words

SECONDS = 120.0
_TEXTS = Path(__file__).parent / "texts"
_FORMATS = ("xlsx", "csv")
_CELLS = 1_000_000
_ROWS = 200_000
_TABLES = 10
_ACCENT = palette.ACCENT


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a table will be, and what is said of it."""

    text: str
    used: tuple[str, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    title: str


async def make(job: Job, inputs: Inputs) -> Product:
    """Make the workbook; raises `JobFailed` with a text for the user."""
    price = catalogue.MAKERS[Thing.TABLE].credits
    frame, files = inputs.frame, list(inputs.files)
    asked = [form for form in frame.formats if form in _FORMATS] or ["xlsx"]
    stem = frame.style.title or (files[0].name if files else "table")
    names = [file_name(stem, "table", inputs.version, form) for form in asked]
    request = (files, to_json(frame), msgspec.to_builtins(inputs.sections))
    planned = await job.step(plan, *request, names[0], timeout=SECONDS)
    described = msgspec.convert(planned, Plan)
    written: list[File] = []
    for form, name in zip(asked, names, strict=True):
        await job.progress(name)
        build = as_workbook if form == "xlsx" else as_csv
        file = await job.write(
            name, build, *request, cost=0.0 if written else price,
            label=described.title, timeout=SECONDS,
        )  # fmt: skip
        await job.step(check, file, *request, timeout=SECONDS)
        written.append(file)
    return Product(
        described.text,
        written,
        list(described.used),
        list(described.skipped),
        list(described.notes),
    )


def plan(files: Sequence[File], frame_json: Any, parts: Any, name: str) -> Any:
    """A step: what the table will be. Raises `JobFailed` when there is nothing to make it of."""
    frame = from_json(frame_json)
    with opened(files, frame.text, frame.language) as data:
        built = _Builder(data, frame, name, parts).build()
        used = tuple(naming.with_rows(one, frame.language) for one in built.tables)
        made = Plan(built.text, used, data.skipped, tuple(built.notes), built.title)
    return msgspec.json.decode(msgspec.json.encode(made))


def as_workbook(files: Sequence[File], frame_json: Any, parts: Any) -> Path:
    """A step: the workbook."""
    frame = from_json(frame_json)
    with opened(files, frame.text, frame.language) as data:
        built = _Builder(data, frame, "", parts).build()
    descriptor = tempfile.NamedTemporaryFile(suffix=".xlsx", delete=False)  # noqa: SIM115
    descriptor.close()
    path = Path(descriptor.name)
    accent = frame.style.colour or _ACCENT
    right_to_left = tongue(frame.language).direction == "rtl"
    workbook.write(path, built.sheets, accent=accent, right_to_left=right_to_left)
    return path


def as_csv(files: Sequence[File], frame_json: Any, parts: Any) -> bytes:
    """A step: the first sheet as CSV. A text that a spreadsheet would take for a formula gets an
    apostrophe in front."""
    frame = from_json(frame_json)
    with opened(files, frame.text, frame.language) as data:
        first = _Builder(data, frame, "", parts).build().sheets[0]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    fields = first.fields[:-1] if first.across else first.fields
    writer.writerow([_safe(field.heading) for field in fields])
    for row in first.rows:
        writer.writerow(["" if cell is None else _safe(cell) for cell in row])
    return out.getvalue().encode("utf-8-sig")


def _safe(cell: object) -> object:
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t"):
        return f"'{cell}"
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def check(file: File, files: Sequence[File], frame_json: Any, parts: Any) -> int:
    """A step: open what was written; its rows and the sums of its columns are those computed.

    Returns how many rows there are. Raises `JobFailed`.
    """
    frame = from_json(frame_json)
    with opened(files, frame.text, frame.language) as data:
        expected = _Builder(data, frame, "", parts).build().sheets[0]
    rows = _read(file.local, file.name)
    body = rows[1 : 1 + len(expected.rows)]
    if len(body) != len(expected.rows):
        raise JobFailed(f"{file.name} was not written whole.")
    for at, field in enumerate(expected.fields):
        if field.kind is not Kind.NUMBER or (expected.across and at == len(expected.fields) - 1):
            continue
        truth = sum(r[at] for r in expected.rows if isinstance(r[at], float))  # type: ignore[misc]
        found = sum(_figure(row[at]) for row in body if at < len(row))
        if abs(truth - found) > 1e-6 * max(1.0, abs(truth)):
            raise JobFailed(f"{file.name} does not hold the figures that were computed.")
    return len(body)


def _figure(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return 0.0


def _read(path: Path, name: str) -> list[list[Any]]:
    if name.endswith(".csv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.reader(file))
    import python_calamine

    found: list[list[Any]] = (
        python_calamine.load_workbook(path).get_sheet_by_index(0).to_python(skip_empty_area=False)
    )
    return found


class _Builder:
    """Decides what the sheets are, and what is said of them."""

    def __init__(self, data: Dataset, frame: Frame, name: str, parts: Any) -> None:
        self._data, self._frame, self._name = data, frame, name
        self._parts = msgspec.convert(parts, tuple[Section, ...])
        self._words = words(_TEXTS, frame.language)
        self.tables: list[Table] = []
        self.sheets: list[Sheet] = []
        self.notes: list[str] = []
        self.text = self.title = ""

    def build(self) -> _Builder:
        """Fill the sheets."""
        if not self._data.tables:
            reasons = "; ".join(self._data.skipped)
            raise JobFailed(f"{reasons}." if reasons else str(self._words["no_table"]))
        if self._parts:
            self._sections()
            return self
        queries = [q for q in self._frame.queries if q.table and (q.groups or q.time or q.measures)]
        if queries:
            self._pivot(queries)
        else:
            self._clean()
        return self

    def _rows(self, table: Table, query: Query | None = None) -> list[tuple[Any, ...]]:
        most = max(1, min(_ROWS, _CELLS // max(1, len(table.columns))))
        return self._data.cells(table.id, limit=most, query=query)[1]

    def _cut(self, sheet: Sheet, table: Table) -> None:
        if len(sheet.rows) < table.rows:
            self.notes.append(
                str(self._words["cut"]).format(
                    sheet=sheet.title, count=f"{len(sheet.rows):,}", all=f"{table.rows:,}"
                )
            )

    def _sections(self) -> None:
        """A sheet for each section that asks for figures."""
        code = self._frame.language
        for part in self._parts:
            if part.request is None:
                continue
            tabulated = tabulate(self._data, part.request, code)
            title = part.title or str(self._words["pivot"])
            self.sheets.append(
                sheets.of_tabulated(tabulated, title, str(self._words["total"]), code)
            )
            self.notes += [note for note in tabulated.notes if note not in self.notes]
            self.tables += [self._data.table(one.query.table) for one in part.request.parts]
        if not self.sheets:
            raise JobFailed(str(self._words["no_table"]))
        self.tables = list({table.id: table for table in self.tables}.values())
        titles = ", ".join(sheet.title for sheet in self.sheets)
        self.title = self._frame.style.title or titles
        self.text = str(self._words["made_pivot"]).format(name=self._name, reading=titles)

    def _pivot(self, queries: Sequence[Query]) -> None:
        readings = []
        for query in queries:
            table = self._data.table(query.table)
            result = self._data.run(query)
            sheet = sheets.of_result(
                table, result, str(self._words["pivot"]), str(self._words["total"]),
                self._frame.language,
            )  # fmt: skip
            self.sheets.append(sheet)
            readings.append(result.reading)
            self.notes += [note for note in result.notes if note not in self.notes]
            if table not in self.tables:
                self.tables.append(table)
        pivots = len(self.sheets)
        for table in self.tables:
            self._data_sheet(table, [query for query in queries if query.table == table.id])
        if len(self.tables) == 1:
            data, table = self.sheets[-1], self.tables[0]
            for at, query in enumerate(queries[:pivots]):
                sheet = self.sheets[at]
                live = sheets.live(sheet, query, data, table)
                self.sheets[at] = msgspec.structs.replace(sheet, live=live)
        self.title = readings[0][:200]
        reading = "; ".join(readings)
        self.text = str(self._words["made_pivot"]).format(name=self._name, reading=reading)

    def _data_sheet(self, table: Table, queries: Sequence[Query]) -> None:
        """The rows that the queries look at: what was filtered out is in no sheet."""
        query = queries[0]
        if any(other.filters != query.filters for other in queries):
            query = Query(table=table.id)
        rows = self._rows(table, query)
        sheet = sheets.of_table(table, rows, str(self._words["data"]), str(self._words["total"]))
        self.sheets.append(sheet)
        if not query.filters:
            self._cut(sheet, table)
        self.notes += [note for note in table.notes if note not in self.notes]

    def _clean(self) -> None:
        self.tables = list(self._data.tables[:_TABLES])
        for table in self.tables:
            short = table.name.rpartition(", sheet ")[2].rpartition(".")[0] or table.name
            sheet = sheets.of_table(table, self._rows(table), short, str(self._words["total"]))
            self.sheets.append(sheet)
            self._cut(sheet, table)
        fields = tuple(Field(str(self._words[key]), Kind.TEXT) for key in ("table", "rows", "note"))
        rows = [
            (table.name, f"{table.rows:,}", note)
            for table in self.tables
            for note in table.notes or (str(self._words["nothing"]),)
        ]
        self.sheets.append(Sheet(str(self._words["notes"]), fields, tuple(rows)))
        for table in self.tables:
            self.notes += [note for note in table.notes if note not in self.notes]
        count = len(self.tables)
        said = self._words["tables_one" if count == 1 else "tables_many"].format(count=count)
        self.title = self.tables[0].name
        self.text = str(self._words["made_clean"]).format(name=self._name, tables=said)
