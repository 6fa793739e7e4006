"""Sheets as an Excel workbook. Texts stay texts: none becomes a formula or a link. Who writes a
file imports this module with its library."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import quote_sheetname, xl_range, xl_range_abs, xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

from agentpost_offline.data.model import Kind
from agentpost_offline.frame import Cell
from agentpost_offline.making.table.sheets import Field, Sheet

_FORBIDDEN = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_NARROWEST, _WIDEST = 6, 48
_SAMPLE = 200
_FIRST_YEAR = 1900
_OPTIONS = {
    "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False,
    "constant_memory": True, "default_date_format": "yyyy-mm-dd", "nan_inf_to_errors": True,
}  # fmt: skip


def write(path: Path, sheets: Sequence[Sheet], *, accent: str, is_rtl: bool) -> None:
    """Write the sheets to a workbook."""
    with xlsxwriter.Workbook(str(path), _OPTIONS) as book:
        names: list[str] = []
        for sheet in sheets:
            names.append(_title(sheet.title, names))
        titles = {sheet.title: name for sheet, name in zip(sheets, names, strict=True)}
        for sheet, name in zip(sheets, names, strict=True):
            page = book.add_worksheet(name)
            if is_rtl:
                page.right_to_left()
            _Page(book, page, sheet, accent, titles).write()


def _title(title: str, others: Sequence[str]) -> str:
    """A title that Excel takes: at most 31 characters, none of them special, each once."""
    base = _FORBIDDEN.sub(" ", title).strip(" '")[:31].strip(" '") or "Sheet"
    name, count = base, 1
    while name.lower() in map(str.lower, others):
        count += 1
        name = f"{base[:27]} {count}"
    return name


class _Page:
    def __init__(
        self, book: Any, page: Worksheet, sheet: Sheet, accent: str, titles: dict[str, str]
    ) -> None:
        self._book, self._page, self._sheet, self._titles = book, page, sheet, titles
        self._head = {"bold": True, "bg_color": accent, "font_color": "#ffffff",
                      "text_wrap": True, "valign": "vcenter", "border": 0}  # fmt: skip
        self._widths = [self._width(at) for at in range(len(sheet.fields))]
        self._formats = [self._format(at, field) for at, field in enumerate(sheet.fields)]
        self._sums = [self._format(at, field, is_total=True)
                      for at, field in enumerate(sheet.fields)]  # fmt: skip

    def _format(self, at: int, field: Field, *, is_total: bool = False) -> Any:
        look: dict[str, Any] = {"valign": "top"}
        if field.kind is not Kind.NUMBER:
            look |= {"align": "left", "indent": 1}
        if field.number_format:
            look["num_format"] = field.number_format
        if field.kind is Kind.TEXT and not is_total:
            look["text_wrap"] = self._widths[at] >= _WIDEST
        return self._book.add_format(look | ({"bold": True, "top": 1} if is_total else {}))

    def _width(self, at: int) -> int:
        """The width of a column, in letters, by its heading and its first cells."""
        sheet, field = self._sheet, self._sheet.fields[at]
        cells: list[Cell] = self._values(at)[:_SAMPLE]
        if field.has_total and sheet.totals:
            cells.append(sum(cell for cell in self._values(at) if isinstance(cell, float)))
        letters = [_letters(field.heading) + 3]
        letters += [
            len(f"{cell:,.2f}") + len(field.number_format) // 4 + 1 if isinstance(cell, float)
            else _letters(str(cell)) + 3 for cell in cells if cell is not None
        ]  # fmt: skip
        return min(max(_NARROWEST, *letters), _WIDEST)

    def write(self) -> None:
        """The heading, the rows and the totals."""
        sheet, page = self._sheet, self._page
        for at, wide in enumerate(self._widths):
            page.set_column(at, at, wide)
        page.freeze_panes(1, 1 if len(sheet.fields) > 3 else 0)
        text = self._book.add_format({**self._head, "indent": 1})
        number = self._book.add_format({**self._head, "align": "right"})
        for at, field in enumerate(sheet.fields):
            page.write_string(0, at, field.heading, number if field.kind is Kind.NUMBER else text)
        for line, row in enumerate(sheet.rows, 1):
            for at, cell in enumerate(row):
                self._cell(line, at, cell)
            if sheet.across:
                last = len(sheet.fields) - 1
                span = xl_range(line, 1, line, last - 1)
                page.write_formula(line, last, f"=SUM({span})", self._sums[last], _sum(row[1:]))
        if sheet.rows and len(sheet.fields) > 1:
            page.autofilter(0, 0, len(sheet.rows), len(sheet.fields) - 1)
        if sheet.totals:
            self._totals(len(sheet.rows) + 1)
        page.set_landscape()
        page.fit_to_pages(1, 0)
        page.repeat_rows(0)

    def _cell(self, line: int, at: int, cell: Cell) -> None:
        look, page = self._formats[at], self._page
        if isinstance(cell, bool):
            page.write_boolean(line, at, cell, look)
        elif isinstance(cell, (int, float)) and self._sheet.live is not None and at:
            page.write_formula(line, at, self._formula(line, at), look, cell)
        elif isinstance(cell, (int, float)):
            page.write_number(line, at, cell, look)
        elif cell is not None:
            is_date = self._sheet.fields[at].kind is Kind.DATE
            moment = _moment(cell) if is_date else None
            if moment is not None:
                page.write_datetime(line, at, moment, look)
            else:
                page.write_string(line, at, cell, look)

    def _formula(self, line: int, at: int) -> str:
        """The formula of a pivot's figure: the figure changes with its data."""
        live = self._sheet.live
        assert live is not None, "only live figures have formulas"
        name = quote_sheetname(self._titles[live.data])
        columns = [*live.keys, *([] if live.value is None else [live.value])]
        spans = [f"{name}!{xl_range_abs(1, column, live.rows, column)}"
                 for column in columns]  # fmt: skip
        keys, value = spans[: len(live.keys)], spans[len(live.keys) :]
        cells = [xl_rowcol_to_cell(line, 0, col_abs=True), xl_rowcol_to_cell(0, at, row_abs=True)]
        pairs = [f"{span},{cell}" for span, cell in zip(keys, cells, strict=False)]
        return f"={live.function}({','.join([*value, *pairs])})"

    def _totals(self, line: int) -> None:
        text = self._sheet.totals
        for at, field in enumerate(self._sheet.fields):
            if not field.has_total:
                self._page.write_string(line, at, text, self._sums[at])
                text = ""
                continue
            # 109: the sum of the rows that a filter leaves.
            formula = f"=SUBTOTAL(109,{xl_range(1, at, line - 1, at)})"
            self._page.write_formula(line, at, formula, self._sums[at], _sum(self._values(at)))

    def _values(self, at: int) -> list[Cell]:
        sheet = self._sheet
        if sheet.across and at == len(sheet.fields) - 1:
            return [_sum(row[1:]) for row in sheet.rows]
        return [row[at] for row in sheet.rows if at < len(row)]


def _sum(cells: Sequence[Cell]) -> float:
    return float(sum(cell for cell in cells if isinstance(cell, float)))


def _letters(text: str) -> int:
    """How wide a text is, in letters; Chinese ones take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text[:200])


def _moment(text: str) -> datetime | None:
    """A date that Excel's calendar has."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.year >= _FIRST_YEAR else None
