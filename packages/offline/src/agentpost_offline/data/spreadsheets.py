"""The sheets of spreadsheets as grids: .xlsx, .ods, and the older .xls.

The first is streamed by a reader of our own: a library lays a sheet out as a full rectangle, so
that two cells far apart in a small file take all memory. A library reads the other two: sheets of
an .xls are small, and those of an .ods are measured before.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final
from zipfile import is_zipfile

from agentpost.extraction import Unreadable
from agentpost.extraction.office import Archive, Attributes, check_old
from agentpost.extraction.workbook import Workbook
from agentpost_offline.data import limits
from agentpost_offline.data.delimited import Grid, write_grid

_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")
_HEADING_ROWS: Final = 10
_HEADINGS: Final = 5


def of_workbook(archive: Archive, folder: Path) -> Iterator[Grid]:
    """The sheets of an Excel workbook that have cells, merged cells filled."""
    workbook = Workbook(archive)
    for sheet in workbook.sheets[: limits.TABLES]:
        merged: list[str] = []
        numbers: list[int] = []
        formulas: set[int] = set()
        rows = workbook.numbered_rows(
            sheet,
            columns=limits.COLUMNS + 1,
            characters=limits.CELL_CHARACTERS + 1,
            merged=merged,
            formulas=formulas,
        )
        grid = write_grid(
            _number_rows(rows, numbers), _sheet_name(archive.name, sheet.title), folder
        )
        if formulas:
            names = ", ".join(_headings(grid, sorted(formulas)))
            grid.notes.append(("formulas", {"names": names}))
        grid.merged = {column: spans for column, spans in _merged_cells(merged, numbers).items()
                       if column < grid.width}  # fmt: skip
        if grid.width:
            yield grid


def _headings(grid: Grid, columns: Sequence[int]) -> Iterator[str]:
    """What stands first in each column, or its letter: a column of formulas has nothing else."""
    with grid.path.open(encoding="utf-8", newline="") as file:
        rows = list(islice(csv.reader(file), _HEADING_ROWS))
    for column in columns[:_HEADINGS]:
        cells = [row[column] for row in rows if column < len(row) and row[column].strip()]
        yield cells[0] if cells else f"column {column + 1}"


def _sheet_name(name: str, title: str) -> str:
    return f"{name}, sheet {title}"


def _number_rows(rows: Iterator[tuple[int, list[Any]]], numbers: list[int]) -> Iterator[list[Any]]:
    for number, row in rows:
        if any(cell is not None and cell != "" for cell in row):
            numbers.append(number)
            yield row


def _merged_cells(texts: Sequence[str], numbers: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """The merged ranges by column, for `Grid.merged`. Ranges over several columns are headings or
    titles: those of one column count. No program writes ranges that overlap; they could fill a
    column many times."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for match in filter(None, map(_RANGE.fullmatch, texts)):
        first, last = int(match[2]), int(match[4])
        at = bisect_left(numbers, first)
        if match[1] == match[3] and at < len(numbers) and numbers[at] == first:
            spans.setdefault(_column(match[1]), []).append((at, bisect_right(numbers, last) - 1))
    ordered = {column: sorted(ranges) for column, ranges in spans.items()}
    return {
        column: [one for before, one in pairwise([(-1, -1), *ranges]) if one[0] > before[1]]
        for column, ranges in ordered.items()
    }


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


# .ods, and .xls of Excel 97 to 2003

_TABLE, _OFFICE = (
    f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0 " for name in ("table", "office")
)


def check_size(archive: Archive) -> None:
    """Raise `Unreadable` when a sheet of an OpenDocument spreadsheet is a larger rectangle than is
    read: a small file may repeat a cell a billion times."""
    rows = columns = width = 0

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal rows, columns, width
        if tag == _TABLE + "table":
            rows = width = 0
        elif tag == _TABLE + "table-row":
            rows += _times(attributes, "number-rows-repeated")
            columns = 0
        elif tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            columns += _times(attributes, "number-columns-repeated")
            if attributes.get(_OFFICE + "value-type"):
                width = max(width, columns)
                if rows * width > limits.LEGACY_CELLS:
                    raise Unreadable(f"{archive.name} has more than {limits.LEGACY_CELLS:,} cells")

    for _ in archive.parse("content.xml", start, lambda _: None):
        pass


def _times(attributes: Attributes, name: str) -> int:
    text = attributes.get(_TABLE + name, "")
    return int(text) if text.isdigit() and len(text) < 9 else 1


def of_book(path: Path, name: str, folder: Path) -> Iterator[Grid]:
    """The sheets of an .xls or .ods workbook that have cells. Raises `Unreadable`."""
    import python_calamine

    if path.stat().st_size > limits.LEGACY_BYTES:
        most = limits.LEGACY_BYTES // 2**20
        raise Unreadable(f"{name} is larger than {most} MB, the most for this format")
    try:
        workbook = python_calamine.load_workbook(path)
    except python_calamine.PasswordError as error:
        raise Unreadable(f"{name} is protected by a password") from error
    except python_calamine.CalamineError as error:
        if is_zipfile(path):
            raise Unreadable(f"{name} is damaged") from error
        check_old(path, name, ".xlsx; it has no sheets, or is damaged")
    for title in workbook.sheet_names[: limits.TABLES]:
        try:
            sheet = workbook.get_sheet_by_name(title)
        except python_calamine.CalamineError:
            continue  # a chart
        result = write_grid(
            (map(_plain, row) for row in sheet.iter_rows()), _sheet_name(name, title), folder
        )
        if result.width:
            yield result


def _plain(cell: object) -> object:
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date) else cell
