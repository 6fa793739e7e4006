"""CSV and Excel files as typed columns.

`read_table` is the only way in. It finds the encoding, the delimiter and the header by itself,
leaves out lines above the header and total lines below the data, and says so in `Table.notes`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeAlias

from agentpost.agents.offline import limits
from agentpost.agents.offline.cells import Cell, ColumnKind, is_blank, looks_typed, type_column
from agentpost.agents.offline.texts import humanise, plural, shortened
from agentpost.extraction import Unreadable
from agentpost.extraction.office import Archive
from agentpost.extraction.reading import decode, only_unreadable
from agentpost.extraction.workbook import Workbook, is_workbook

Raw: TypeAlias = "list[Cell]"
_TOTALS = frozenset(("total", "totals", "grand total", "sum", "gesamt", "summe"))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ``values`` are floats, dates or strings by ``kind``; None where empty.

    ``unit`` is ``%`` or a currency sign when every value carried it; ``grain`` is what a date
    stands for: ``day``, ``month``, ``quarter`` or ``year``.
    """

    name: str
    kind: ColumnKind
    values: list[float | date | str | None]
    unit: str = ""
    grain: str = "day"

    @property
    def label(self) -> str:
        """The name as a person would write it."""
        return humanise(self.name)

    def distinct(self) -> list[float | date | str]:
        """The distinct values in order of first appearance."""
        return list(dict.fromkeys(value for value in self.values if value is not None))


@dataclass(frozen=True, slots=True)
class Table:
    """A table read from the file ``source``; ``notes`` are sentences for the user."""

    source: str
    columns: list[Column]
    rows: int
    notes: list[str] = field(default_factory=list)

    def of_kind(self, kind: ColumnKind) -> list[Column]:
        """The columns of one kind, in file order."""
        return [column for column in self.columns if column.kind == kind]


def is_table(name: str, content_type: str) -> bool:
    """Whether a file is data for `read_table`, going by its name and type."""
    suffix = name.lower().rpartition(".")[2]
    return suffix in ("csv", "tsv", "tab", "xlsx", "xlsm") or content_type.partition(";")[0] in (
        "text/csv",
        "text/tab-separated-values",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    )


def read_table(path: Path, name: str) -> Table:
    """Read a delimited text or .xlsx file within `limits`; raises `Unreadable`."""
    with only_unreadable(name):
        with path.open("rb") as file:
            head = file.read(4)
        if head.startswith(b"\xd0\xcf\x11\xe0"):
            raise Unreadable(f"{name} is an old or encrypted Excel file; save it as .xlsx")
        if head.startswith(b"PK\x03\x04"):
            rows, notes = _sheet_rows(path, name)
        else:
            rows, notes = _text_rows(path, name)
        return _shape(rows, name, notes)


def _text_rows(path: Path, name: str) -> tuple[list[Raw], list[str]]:
    notes: list[str] = []
    with path.open("rb") as file:
        data = file.read(limits.TABLE_BYTES + 1)
    if len(data) > limits.TABLE_BYTES:
        data = data[: limits.TABLE_BYTES].rpartition(b"\n")[0]
        notes.append(f"only the first {limits.TABLE_BYTES // 2**20} MB were read")
    text = decode(data, name)
    del data
    first, _, _ = text[:20].partition("\n")
    if first.lower().startswith("sep=") and len(first.strip()) == 5:
        delimiter, begin = first.strip()[4], len(first) + 1
    else:
        delimiter, begin = find_delimiter(text[:65536]), 0
    rows: list[Raw] = []
    cells = 0
    lines = _Lines(text, begin, name)
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            lines.row_ended()
            if all(is_blank(value) for value in row):
                continue
            if len(rows) > limits.TABLE_ROWS or cells > limits.TABLE_CELLS:
                notes.append(f"only the first {len(rows) - 1:,} rows were read")
                break
            rows.append([v[: limits.CELL_CHARACTERS] for v in row[: limits.TABLE_COLUMNS]])
            cells += len(row)
    except csv.Error as error:
        raise Unreadable(f"{name} is not a valid CSV file ({error})") from error
    return rows, notes


class _Lines:
    """The lines of a text, one by one; refuses a row that never ends, which the reader would hold
    whole."""

    _LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")

    def __init__(self, text: str, begin: int, name: str) -> None:
        self._text, self._at, self._name = text, begin, name
        self._row_characters = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        match = self._LINE.match(self._text, self._at)
        if match is None or match.end() == self._at:
            raise StopIteration
        self._row_characters += match.end() - self._at
        if self._row_characters > limits.ROW_CHARACTERS:
            raise Unreadable(f"{self._name} has a row of more than {limits.ROW_CHARACTERS:,} "
                             "characters")  # fmt: skip
        self._at = match.end()
        return match[0]

    def row_ended(self) -> None:
        """A new row begins with the next line."""
        self._row_characters = 0


def find_delimiter(sample: str) -> str:
    """The delimiter that cuts the most lines of a sample into the same number of cells."""
    best, best_score = ",", 0.0
    for delimiter in ",;\t|":
        try:
            lines = list(csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter))[:200]
        except csv.Error:
            continue
        widths = Counter(len(line) for line in lines if line)
        if not widths:
            continue
        width, count = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]))
        score = count / sum(widths.values()) * (1 + width / 100) if width > 1 else 0
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _sheet_rows(path: Path, name: str) -> tuple[list[Raw], list[str]]:
    notes: list[str] = []
    rows: list[Raw] = []
    used = ""
    others: list[str] = []
    with Archive(path, name) as archive:
        if not is_workbook(archive):
            raise Unreadable(f"{name} is not an Excel workbook")
        workbook = Workbook(archive)
        for sheet in workbook.sheets:
            if rows:
                others.append(sheet.title)
                continue
            used = sheet.title
            cells = 0
            for row in workbook.rows(
                sheet, columns=limits.TABLE_COLUMNS, characters=limits.CELL_CHARACTERS
            ):
                if all(is_blank(value) for value in row):
                    continue
                if len(rows) > limits.TABLE_ROWS or cells > limits.TABLE_CELLS:
                    notes.append(f"only the first {len(rows) - 1:,} rows were read")
                    break
                rows.append(row)
                cells += len(row)
    if others:
        notes.append(f"sheet “{used}” was used; not read: {shortened(', '.join(others), 300)}")
    return rows, notes


def _shape(rows: list[Raw], name: str, notes: list[str]) -> Table:
    if not rows:
        raise Unreadable(f"{name} has no rows")
    filled = [sum(not is_blank(cell) for cell in row) for row in rows[:200]]
    width = max(Counter(filled).items(), key=lambda item: (item[1], item[0]))[0]
    first = next(i for i, count in enumerate(filled) if count >= width)
    if first:
        notes.append(f"{plural(first, 'line')} above the table left out")
    body = rows[first:]
    head = body[0]
    if _is_header(head):
        body = body[1:]
        names = [str(cell).strip() if not is_blank(cell) else "" for cell in head]
    else:
        names = []
        notes.append("no header line found, so columns are named by number")
    if not body:
        raise Unreadable(f"{name} has a header line but no rows")
    body, totals = _without_totals(body)
    if totals:
        notes.append(f"{plural(totals, 'total line')} left out")
    return _typed(body, names, name, notes)


def _typed(body: list[Raw], names: list[str], source: str, notes: list[str]) -> Table:
    widest = max(len(row) for row in body)
    columns: list[Column] = []
    taken: set[str] = set()
    for index in range(max(len(names), widest)):
        raw = [row[index] if index < len(row) else None for row in body]
        if all(is_blank(cell) for cell in raw):
            continue
        name = names[index] if index < len(names) and names[index] else f"Column {index + 1}"
        while name in taken:
            name += " (2)"
        taken.add(name)
        typed = type_column(raw, name)
        columns.append(Column(name, typed.kind, typed.values, typed.unit, typed.grain))
        if typed.bad:
            cells = plural(typed.bad, "cell")
            notes.append(f"{cells} of “{name}” could not be read as {typed.kind} and left out")
        if typed.ambiguous:
            notes.append(f"dates in “{name}” read as month/day/year")
    if not columns:
        raise Unreadable(f"{source} has no values")
    return Table(source, columns, len(body), notes)


def _is_header(row: Raw) -> bool:
    cells = [str(cell).strip() for cell in row if not is_blank(cell)]
    named = all(isinstance(cell, str) for cell in row if not is_blank(cell))
    return named and len(set(cells)) == len(cells) and not any(looks_typed(c) for c in cells)


def _without_totals(body: list[Raw]) -> tuple[list[Raw], int]:
    def is_total(row: Raw) -> bool:
        first = next((str(cell) for cell in row if not is_blank(cell)), "")
        return first.strip().rstrip(":").lower() in _TOTALS

    kept = len(body)
    while kept > 1 and is_total(body[kept - 1]):
        kept -= 1
    return body[:kept], len(body) - kept
