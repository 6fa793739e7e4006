"""The cells of an Excel workbook (.xlsx, .xlsm), streamed sheet by sheet.

Cells come as Excel would show their kind: numbers, text, truth values, dates. The pieces of
knowledge that are easily wrong, number formats and Excel's calendar, are openpyxl's. Its reader is
not used: it refuses a file without a suffix, and holds a row, the styles and the shared strings as
trees, so that a small hostile file takes gigabytes. Neither is calamine's: it lays a sheet out as a
full rectangle, so that two cells far apart end the process.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeAlias

from agentpost.extraction import Unreadable, limits
from agentpost.extraction.office import (
    Archive,
    Attributes,
    Collector,
    Elements,
    Texts,
    names,
    references,
)

Cell: TypeAlias = Any
WORKBOOK: Final = "xl/workbook.xml"

_MAIN = names(
    "spreadsheetml/2006/main",
    "workbookPr sheet si t rPh numFmt cellXfs cellStyleXfs xf row c v f is mergeCell comment",
)
_COLUMNS_MAX: Final = 16_384
_FORMAT_CHARACTERS_MAX: Final = 255


@dataclass(frozen=True, slots=True)
class Sheet:
    """A worksheet: its title and the member of the archive that holds it."""

    title: str
    member: str


class Workbook:
    """An open workbook; use it inside the `Archive` it is made of. Raises `Unreadable`."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        targets = references(archive, WORKBOOK, most=limits.MAX_STYLE_ELEMENTS)
        targets = {key: part for key, part in targets.items() if part[1] in archive.members}
        self.has_epoch_1904 = False
        self.sheets = self._sheets(targets)
        self.date_styles = self._date_styles(targets)
        self.strings = self._shared_strings(targets)

    def _elements(self, member: str) -> Iterator[tuple[str, Attributes]]:
        return self.archive.parse(member, Elements(_MAIN), most=limits.MAX_STYLE_ELEMENTS)

    def _sheets(self, targets: Mapping[str, tuple[str, str]]) -> list[Sheet]:
        sheets: list[Sheet] = []
        for name, attributes in self._elements(WORKBOOK):
            if name == "workbookPr":
                self.has_epoch_1904 = attributes.get("date1904", "") in ("1", "true", "on")
            elif name == "sheet" and len(sheets) < limits.MAX_SHEETS:
                key = next((v for k, v in attributes.items() if k.endswith(" id")), "")
                kind, member = targets.get(key, ("", ""))
                if kind == "worksheet":
                    sheets.append(Sheet(attributes.get("name", "")[:100], member))
        if not sheets:
            raise Unreadable(f"{self.archive.name} has no worksheets")
        return sheets

    def _date_styles(self, targets: Mapping[str, tuple[str, str]]) -> list[bool]:
        """Whether a cell of each style shows a date."""
        from openpyxl.styles.numbers import BUILTIN_FORMATS, is_date_format

        is_date = {number: is_date_format(code) for number, code in BUILTIN_FORMATS.items()}
        styles: list[bool] = []
        is_of_cells = False
        member = next((member for kind, member in targets.values() if kind == "styles"), None)
        for name, attributes in self._elements(member) if member is not None else ():
            number = _whole(attributes.get("numFmtId", ""))
            if name == "numFmt" and number is not None and len(is_date) < limits.MAX_STYLES:
                code = attributes.get("formatCode", "")[:_FORMAT_CHARACTERS_MAX]
                is_date[number] = is_date_format(code)
            elif name in ("cellXfs", "cellStyleXfs"):
                is_of_cells = name == "cellXfs"
            elif name == "xf" and is_of_cells and len(styles) < limits.MAX_STYLES:
                styles.append(is_date.get(number or 0, False))
        return styles

    def _shared_strings(self, targets: Mapping[str, tuple[str, str]]) -> list[str]:
        strings: list[str] = []
        members = {member for kind, member in targets.values() if kind == "sharedStrings"}
        texts = Texts(_MAIN, "si", limits.MAX_SHARED_CHARACTERS)
        for _, text in (
            each for member in members
            for each in self.archive.parse(member, texts, most=limits.MAX_WORKBOOK_ELEMENTS)
        ):  # fmt: skip
            strings.append(text)
            if (
                len(strings) > limits.MAX_SHARED_STRINGS
                or texts.characters > limits.MAX_SHARED_CHARACTERS
            ):
                raise Unreadable(f"{self.archive.name} has more texts than are read")
        return strings


class Rows(Collector[tuple[int, list[Cell]]]):
    """The rows of a sheet that have cells, in file order, each with its number in the sheet,
    counted from 1; a cell without a value is None. To be gone through once.

    At most ``columns`` cells per row, texts are cut after ``characters``. The rows that are not
    asked for are not read.
    """

    def __init__(self, workbook: Workbook, sheet: Sheet, *, columns: int, characters: int) -> None:
        from openpyxl.utils.cell import column_index_from_string

        super().__init__()
        self.merged: list[str] = []
        """The ranges of merged cells (``A2:A5``), complete at the end: they are listed behind the
        rows."""
        self.formulas: set[int] = set()
        """The columns, counted from 0, that have formulas without a stored value."""
        self._is_formula = False
        self._number = 0
        self._workbook, self._member = workbook, sheet.member
        self._columns, self._characters = columns, characters
        self._row: list[Cell] = []
        self._pieces: list[str] = []
        self._length = 0
        self._column = -1
        self._kind = self._style = ""
        self._typing = self._reading_aid = False
        self._number_of = column_index_from_string

    def __iter__(self) -> Iterator[tuple[int, list[Cell]]]:
        archive, most = self._workbook.archive, limits.MAX_WORKBOOK_ELEMENTS
        return archive.parse(self._member, self, most=most)

    def start(self, tag: str, attributes: Attributes) -> None:
        name = _MAIN.get(tag)
        if name == "c":
            self._kind = attributes.get("t", "n")
            self._style = attributes.get("s", "")
            self._pieces.clear()
            self._length = 0
            self._is_formula = False
            reference = attributes.get("r")
            self._column = self._column + 1 if reference is None else self._index(reference)
        elif name == "f":
            self._is_formula = True
        elif name == "rPh":
            self._reading_aid = True
        elif name == "row":
            self._row, self._column = [], -1
            number = _whole(attributes.get("r", ""))
            self._number = self._number + 1 if number is None else number
        elif name == "mergeCell" and len(self.merged) < limits.MAX_MERGED_RANGES:
            self.merged.append(attributes.get("ref", "")[:30])
        self._typing = name == "v" or (name == "t" and not self._reading_aid)

    def end(self, tag: str) -> None:
        self._typing = False
        name = _MAIN.get(tag)
        if name == "c":
            if 0 <= self._column < self._columns:
                row = self._row
                row.extend([None] * (self._column + 1 - len(row)))
                row[self._column] = self._value("".join(self._pieces))
                if self._is_formula and not self._pieces:
                    self.formulas.add(self._column)
        elif name == "row":
            if self._row:
                self.items.append((self._number, self._row))
            self._row = []
        elif name == "rPh":
            self._reading_aid = False

    def text(self, data: str) -> None:
        if self._typing and self._length < self._characters:
            self._pieces.append(data[: self._characters - self._length])
            self._length += len(data)

    def _index(self, reference: str) -> int:
        """The number of a cell's column, counted from 0; -1 for a place that cannot be."""
        try:
            column = self._number_of(reference[:8].rstrip("0123456789"))
        except ValueError:
            return -1
        return column - 1 if column <= _COLUMNS_MAX else -1

    def _value(self, text: str) -> Cell:
        if not text:
            return None
        if self._kind == "s":
            index = _whole(text)
            strings = self._workbook.strings
            is_known = index is not None and index < len(strings)
            return strings[index or 0][: self._characters] if is_known else None
        if self._kind == "b":
            return text.strip() == "1"
        if self._kind == "d":
            try:
                return datetime.fromisoformat(text)
            except ValueError:
                return text
        if self._kind != "n":
            return text
        try:
            number = float(text)
        except ValueError:
            return text
        if not math.isfinite(number):
            return None
        style = _whole(self._style) or 0
        date_styles = self._workbook.date_styles
        if style < len(date_styles) and date_styles[style]:
            return self._moment(number)
        return int(number) if number.is_integer() and abs(number) < 2**53 else number

    def _moment(self, number: float) -> Cell:
        from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

        try:
            epoch = MAC_EPOCH if self._workbook.has_epoch_1904 else WINDOWS_EPOCH
            return from_excel(number, epoch)
        except (OverflowError, ValueError):
            return number


def _whole(text: str) -> int | None:
    """A number of at most nine digits, else None."""
    return int(text) if len(text) < 10 and text.isascii() and text.isdigit() else None


def text_lines(archive: Archive) -> Iterator[str]:
    """The text of a workbook: a Markdown heading per sheet, then its rows with tabs between."""
    workbook = Workbook(archive)
    for sheet in workbook.sheets:
        yield f"# {sheet.title}"
        rows = Rows(
            workbook, sheet, columns=limits.MAX_SHEET_COLUMNS, characters=limits.MAX_CHARACTERS
        )
        for _, row in islice(rows, limits.MAX_SHEET_ROWS):
            if any(value is not None for value in row):
                yield "\t".join("" if value is None else str(value) for value in row)
    comments = list(_comments(archive))
    if comments:
        yield from ("# Comments", *comments)


def _comments(archive: Archive) -> Iterator[str]:
    """The comments of a workbook with the cells that they belong to."""
    for member in sorted(archive.members):
        if member.startswith("xl/comments") and member.endswith(".xml"):
            for cell, text in archive.parse(member, Texts(_MAIN, "comment")):
                yield f"{cell}: {' '.join(text.split())}"


def is_workbook(archive: Archive) -> bool:
    """Whether the archive is an Excel workbook."""
    return WORKBOOK in archive.members
