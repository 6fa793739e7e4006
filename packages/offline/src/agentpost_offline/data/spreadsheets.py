"""The sheets of spreadsheets as grids: .xlsx, .ods, and the older .xls.

The first two are streamed by readers of our own: a library lays a sheet out as a full rectangle, so
that two cells far apart in a small file take all memory. Only .xls, whose sheets are small, is
read by one. python-calamine ended the process for .ods files of 1 KB that repeat cells, texts or
formulas a million times.
"""

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import groupby, islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from agentpost.extraction import Unreadable
from agentpost.extraction.office import Archive, Attributes, Collector, check_old
from agentpost.extraction.workbook import Rows, Workbook
from agentpost_offline.data import limits
from agentpost_offline.data.delimited import Grid, write_grid

_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")
_HEADING_ROWS: Final = 10
_HEADINGS: Final = 5


def of_workbook(archive: Archive, folder: Path) -> Iterator[Grid]:
    """The sheets of an Excel workbook that have cells, merged cells filled."""
    workbook = Workbook(archive)
    for sheet in workbook.sheets[: limits.TABLES]:
        numbers: list[int] = []
        rows = Rows(
            workbook,
            sheet,
            columns=limits.COLUMNS + 1,
            characters=limits.CELL_CHARACTERS + 1,
        )
        grid = write_grid(
            _number_rows(rows, numbers), f"{archive.name}, sheet {sheet.title}", folder
        )
        if rows.formulas:
            names = ", ".join(_headings(grid, sorted(rows.formulas)))
            grid.notes.append(("formulas", {"names": names}))
        merged = _merged_cells(rows.merged, numbers)
        grid.merged = {column: spans for column, spans in merged.items() if column < grid.width}
        if grid.width:
            yield grid


def _headings(grid: Grid, columns: Sequence[int]) -> Iterator[str]:
    """What stands first in each column, or its letter: a column of formulas has nothing else."""
    with grid.path.open(encoding="utf-8", newline="") as file:
        rows = list(islice(csv.reader(file), _HEADING_ROWS))
    for column in columns[:_HEADINGS]:
        cells = [row[column] for row in rows if column < len(row) and row[column].strip()]
        yield cells[0] if cells else f"column {column + 1}"


def _number_rows(rows: Rows, numbers: list[int]) -> Iterator[list[Any]]:
    for number, row in rows:
        if any(cell is not None and cell != "" for cell in row):
            numbers.append(number)
            yield row


def _merged_cells(texts: Sequence[str], numbers: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """The merged ranges by column, for `Grid.merged`. Ranges over several columns are headings or
    titles: those of one column count. No program writes ranges that overlap; they could fill a
    column many times."""
    from xlsxwriter.utility import xl_cell_to_rowcol

    spans: dict[int, list[tuple[int, int]]] = {}
    for match in filter(None, map(_RANGE.fullmatch, texts)):
        first, last = int(match[2]), int(match[4])
        at = bisect_left(numbers, first)
        if match[1] == match[3] and at < len(numbers) and numbers[at] == first:
            spans.setdefault(xl_cell_to_rowcol(f"{match[1]}1")[1], []).append(
                (at, bisect_right(numbers, last) - 1)
            )
    ordered = {column: sorted(ranges) for column, ranges in spans.items()}
    return {
        column: [one for before, one in pairwise([(-1, -1), *ranges]) if one[0] > before[1]]
        for column, ranges in ordered.items()
    }


# OpenDocument

_SPACES = "urn:oasis:names:tc:opendocument:xmlns:"
_TABLE, _OFFICE, _TEXT = (f"{_SPACES}{name}:1.0 " for name in ("table", "office", "text"))


class _OpenDocumentRows(Collector[tuple[str, list[Any]]]):
    """The rows of an OpenDocument spreadsheet, sheet by sheet."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._cells = self._characters = 0
        self.title = ""
        self._row: list[Any] = []
        self._blank = 0
        self._pieces: list[str] = []
        self._cell: Attributes = {}
        self._inside = False
        self._depth = 0
        self._repeated = 1

    def start(self, tag: str, attributes: Attributes) -> None:
        if tag == _TABLE + "table":
            self._depth += 1
            if self._depth == 1:
                self.title = attributes.get(_TABLE + "name", "")[:100]
        elif tag == _TABLE + "table-row":
            self._row, self._blank = [], 0
            self._repeated = _whole(attributes.get(_TABLE + "number-rows-repeated", ""))
        elif tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            self._cell, self._pieces, self._inside = attributes, [], True
        elif tag == _TEXT + "p" and self._pieces:
            self._pieces.append(" ")

    def end(self, tag: str) -> None:
        if tag == _TABLE + "table":
            self._depth -= 1
        elif tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            self._inside = False
            value = _value(self._cell, "".join(self._pieces).strip())
            times = _whole(self._cell.get(_TABLE + "number-columns-repeated", ""))
            if value is None or value == "":
                self._blank += times
            elif len(self._row) + self._blank <= limits.COLUMNS:
                self._row += [None] * self._blank
                self._row += [value] * min(times, limits.COLUMNS + 1 - len(self._row))
                self._blank = 0
        elif tag == _TABLE + "table-row" and self._row and self._depth == 1:
            self._cells += self._repeated * len(self._row)
            if self._cells > limits.CELLS:
                raise Unreadable(f"{self._name} has more than {limits.CELLS:,} cells")
            texts = sum(len(cell) for cell in self._row if isinstance(cell, str))
            self._characters += self._repeated * texts
            if self._characters > limits.MEMBER_BYTES:
                raise Unreadable(f"{self._name} unpacks to too much")
            self.items += [(self.title, self._row)] * self._repeated

    def text(self, data: str) -> None:
        if self._inside and sum(map(len, self._pieces)) < limits.CELL_CHARACTERS:
            self._pieces.append(data)


def _whole(text: str) -> int:
    return int(text) if text.isdigit() and len(text) < 9 else 1


def _value(cell: Attributes, text: str) -> Any:
    match cell.get(_OFFICE + "value-type", ""):
        case "float" | "currency" | "percentage":
            try:
                return float(cell.get(_OFFICE + "value", ""))
            except ValueError:
                return text
        case "date":
            return cell.get(_OFFICE + "date-value", text)
        case "boolean":
            return cell.get(_OFFICE + "boolean-value") == "true"
        case _:
            return text


def of_opendocument(archive: Archive, folder: Path) -> Iterator[Grid]:
    """The sheets of an OpenDocument spreadsheet that have cells."""
    rows = archive.parse("content.xml", _OpenDocumentRows(archive.name))
    for title, pairs in islice(groupby(rows, itemgetter(0)), limits.TABLES):
        result = write_grid((row for _, row in pairs), f"{archive.name}, sheet {title}", folder)
        if result.width:
            yield result


# Excel 97 to 2003


def of_old_workbook(path: Path, name: str, folder: Path) -> Iterator[Grid]:
    """The sheets of an .xls workbook that have cells. Raises `Unreadable`."""
    import python_calamine

    if path.stat().st_size > limits.LEGACY_BYTES:
        most = limits.LEGACY_BYTES // 2**20
        raise Unreadable(f"{name} is larger than {most} MB, the most for this format")
    try:
        workbook = python_calamine.load_workbook(path)
    except python_calamine.PasswordError as error:
        raise Unreadable(f"{name} is protected by a password") from error
    except python_calamine.CalamineError:
        check_old(path, name, ".xlsx; it has no sheets, or is damaged")
    for title in workbook.sheet_names[: limits.TABLES]:
        try:
            sheet = workbook.get_sheet_by_name(title)
        except python_calamine.CalamineError:
            continue  # a chart
        result = write_grid(
            (map(_plain, row) for row in sheet.iter_rows()), f"{name}, sheet {title}", folder
        )
        if result.width:
            yield result


def _plain(cell: object) -> object:
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date) else cell
