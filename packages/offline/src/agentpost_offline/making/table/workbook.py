"""Sheets as an Excel workbook. Texts stay texts: none becomes a formula or a link."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentpost_offline.data.model import Kind
from agentpost_offline.frame import Cell
from agentpost_offline.making.table.sheets import Field, Sheet

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

_FORBIDDEN = re.compile(r"[\[\]:*?/\\\x00-\x1f]")
_WIDTHS = (6, 48)
_SAMPLE = 200
_FIRST_YEAR = 1900


def write(path: Path, sheets: Sequence[Sheet], *, accent: str, right_to_left: bool) -> None:
    """Write the sheets to a workbook."""
    import xlsxwriter

    options = {
        "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False,
        "constant_memory": True, "default_date_format": "yyyy-mm-dd", "nan_inf_to_errors": True,
    }  # fmt: skip
    book = xlsxwriter.Workbook(str(path), options)
    try:
        taken: set[str] = set()
        titles = [_title(sheet.title, taken) for sheet in sheets]
        known = dict(zip((sheet.title for sheet in sheets), titles, strict=True))
        for sheet, title in zip(sheets, titles, strict=True):
            page = book.add_worksheet(title)
            if right_to_left:
                page.right_to_left()
            _Page(book, page, sheet, accent, known).write()
    finally:
        book.close()


def _title(title: str, taken: set[str]) -> str:
    """A title that Excel takes: at most 31 characters, none of them special, each once."""
    base = _FORBIDDEN.sub(" ", title).strip(" '")[:31].strip(" '") or "Sheet"
    made, count = base, 1
    while made.lower() in taken:
        count += 1
        made = f"{base[:27]} {count}"
    taken.add(made.lower())
    return made


class _Page:
    def __init__(
        self, book: Any, page: Worksheet, sheet: Sheet, accent: str, titles: dict[str, str]
    ) -> None:
        self._book, self._page, self._sheet = book, page, sheet
        self._titles = titles
        head = {"bold": True, "bg_color": accent, "font_color": "#ffffff", "text_wrap": True,
                "valign": "vcenter", "border": 0}  # fmt: skip
        self._head = book.add_format({**head, "indent": 1})
        self._head_right = book.add_format({**head, "align": "right"})
        self._formats = [self._format(field) for field in sheet.fields]
        self._sums = [self._format(field, total=True) for field in sheet.fields]

    def _format(self, field: Field, *, total: bool = False) -> Format:
        look: dict[str, Any] = {"valign": "top"}
        if field.kind is not Kind.NUMBER:
            look |= {"align": "left", "indent": 1}
        if field.number_format:
            look["num_format"] = field.number_format
        if field.kind is Kind.TEXT and not total:
            look["text_wrap"] = self._width(self._sheet.fields.index(field)) >= _WIDTHS[1]
        if total:
            look |= {"bold": True, "top": 1}
        made: Format = self._book.add_format(look)
        return made

    def _width(self, at: int) -> float:
        field = self._sheet.fields[at]
        longest = _columns(field.heading) + 3
        for row in self._sheet.rows[:_SAMPLE]:
            cell = row[at] if at < len(row) else None
            if isinstance(cell, float):
                longest = max(longest, _figure(cell, field))
            elif cell is not None:
                longest = max(longest, _columns(str(cell)) + 3)
        if field.total == "sum" and self._sheet.totals:
            added = sum(v for v in self._values(at) if isinstance(v, float))
            longest = max(longest, _figure(added, field) + 1)
        return float(min(max(longest, _WIDTHS[0]), _WIDTHS[1]))

    def write(self) -> None:
        sheet, page = self._sheet, self._page
        for at in range(len(sheet.fields)):
            page.set_column(at, at, self._width(at))
        page.freeze_panes(1, 1 if len(sheet.fields) > 3 else 0)
        for at, field in enumerate(sheet.fields):
            right = field.kind is Kind.NUMBER
            page.write_string(0, at, field.heading, self._head_right if right else self._head)
        for number, row in enumerate(sheet.rows, 1):
            for at, cell in enumerate(row):
                self._cell(number, at, cell)
            if sheet.across:
                self._across(number, row)
        if sheet.rows and len(sheet.fields) > 1:
            page.autofilter(0, 0, len(sheet.rows), len(sheet.fields) - 1)
        if sheet.totals:
            self._totals(len(sheet.rows) + 1)
        page.set_landscape()
        page.fit_to_pages(1, 0)
        page.repeat_rows(0)

    def _cell(self, number: int, at: int, cell: Cell) -> None:
        look = self._formats[at]
        field = self._sheet.fields[at]
        if cell is None:
            return
        if isinstance(cell, bool):
            self._page.write_boolean(number, at, cell, look)
        elif isinstance(cell, (int, float)) and self._sheet.live is not None and at:
            self._page.write_formula(number, at, self._counted(number, at), look, cell)
        elif isinstance(cell, (int, float)):
            self._page.write_number(number, at, cell, look)
        elif field.kind is Kind.DATE and (moment := _moment(cell)) is not None:
            self._page.write_datetime(number, at, moment, look)
        else:
            self._page.write_string(number, at, cell, look)

    def _counted(self, number: int, at: int) -> str:
        """The formula of a pivot's figure, so that it follows its data when they change."""
        from xlsxwriter.utility import quote_sheetname, xl_range_abs, xl_rowcol_to_cell

        live = self._sheet.live
        assert live is not None, "only live figures have formulas"
        name = quote_sheetname(self._titles[live.data])
        spans = [f"{name}!{xl_range_abs(1, key, live.rows, key)}" for key in live.keys]
        cells = [xl_rowcol_to_cell(number, 0, col_abs=True),
                 xl_rowcol_to_cell(0, at, row_abs=True)]  # fmt: skip
        pairs = [f"{span},{cell}" for span, cell in zip(spans, cells, strict=False)]
        if live.value is not None:
            pairs.insert(0, f"{name}!{xl_range_abs(1, live.value, live.rows, live.value)}")
        return f"={live.function}({','.join(pairs)})"

    def _across(self, number: int, row: Sequence[Cell]) -> None:
        from xlsxwriter.utility import xl_rowcol_to_cell

        last = len(self._sheet.fields) - 1
        span = f"{xl_rowcol_to_cell(number, 1)}:{xl_rowcol_to_cell(number, last - 1)}"
        value = sum(cell for cell in row[1:] if isinstance(cell, float))
        self._page.write_formula(number, last, f"=SUM({span})", self._sums[last], value)

    def _totals(self, number: int) -> None:
        from xlsxwriter.utility import xl_rowcol_to_cell

        named = False
        for at, field in enumerate(self._sheet.fields):
            if field.total is None:
                text = "" if named else self._sheet.totals
                named = True
                self._page.write_string(number, at, text, self._sums[at])
                continue
            span = f"{xl_rowcol_to_cell(1, at)}:{xl_rowcol_to_cell(number - 1, at)}"
            # 109 and 101: the sum and the average of the rows that a filter leaves.
            code = 109 if field.total == "sum" else 101
            values = [v for v in self._values(at) if isinstance(v, float)]
            value = sum(values) / (len(values) if code == 101 and values else 1)
            formula = f"=SUBTOTAL({code},{span})"
            self._page.write_formula(number, at, formula, self._sums[at], value)

    def _values(self, at: int) -> list[Cell]:
        sheet = self._sheet
        if sheet.across and at == len(sheet.fields) - 1:
            return [float(sum(c for c in row[1:] if isinstance(c, float))) for row in sheet.rows]
        return [row[at] for row in sheet.rows if at < len(row)]


def _figure(value: float, field: Field) -> int:
    """About how many letters wide a figure is."""
    return len(f"{value:,.2f}") + len(field.number_format) // 4 + 1


def _columns(text: str) -> int:
    """How wide a text is, in letters; Chinese ones take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text[:200])


def _moment(text: str) -> datetime | None:
    """A date that Excel's calendar has."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.year >= _FIRST_YEAR else None
