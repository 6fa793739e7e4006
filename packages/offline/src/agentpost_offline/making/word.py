"""Word files in one look: real styles, headings and tables, so that they can be edited on."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agentpost_offline.style import palette
from agentpost_offline.style.languages import language
from agentpost_offline.style.typeset import cleaned

_Cell = TypeVar("_Cell")
_FONT = "Arial"
_SIZES = {"Title": 22, "Heading 1": 14, "Heading 2": 11.5, "Heading 3": 10.5, "Heading 4": 10.5}
_WIDE = 6
"""Tables of more columns are set smaller."""
# What follows these elements inside their parent: Word insists on the schema's order.
_AFTER_SHADE = ("w:tabs", "w:spacing", "w:ind", "w:jc", "w:rPr", "w:vAlign")
_AFTER_BORDERS = ("w:shd", "w:tblLayout", "w:tblCellMar", "w:tblLook")
_AFTER_SIDE = ("w:shd", *_AFTER_SHADE)


class WordFile:
    """A Word file that is being written, from top to bottom.

    Args:
        title: of the file, also its first line.
        code: the language.
        accent: ``#rrggbb``; None for the usual one.
        headed: whether it begins with its title; letters do not.
    """

    def __init__(
        self, title: str, code: str, accent: str | None = None, *, headed: bool = True
    ) -> None:
        import docx
        from docx.shared import Mm

        self.word: Any = docx.Document()
        self.accent = palette.legible(palette.accent(accent))[1:].upper()
        self._code = code
        self._rtl = language(code).direction == "rtl"
        section = self.word.sections[0]
        section.page_width, section.page_height = Mm(210), Mm(297)
        section.left_margin = section.right_margin = Mm(24)
        section.top_margin = section.bottom_margin = Mm(22)
        self.width = section.page_width - section.left_margin - section.right_margin
        self.height = section.page_height - section.top_margin - section.bottom_margin
        self._styles()
        properties = self.word.core_properties
        properties.title, properties.author = cleaned(title)[:250], ""
        properties.comments = ""
        properties.language = code
        if headed:
            self.say(title, "Title")

    def data(self) -> bytes:
        """The file."""
        buffer = io.BytesIO()
        self.word.save(buffer)
        return buffer.getvalue()

    def _styles(self) -> None:
        from docx.oxml.ns import qn
        from docx.shared import Pt

        word = self.word
        normal = word.styles["Normal"]
        normal.font.name, normal.font.size = _FONT, Pt(10.5)
        normal.paragraph_format.space_after = Pt(6)
        normal.paragraph_format.line_spacing = 1.15
        run = normal.element.get_or_add_rPr()
        run.append(element("w:lang", val=self._code, bidi=self._code))
        for name, size in _SIZES.items():
            style = word.styles[name]
            style.font.name, style.font.size = _FONT, Pt(size)
            style.font.color.rgb = colour(palette.INK)
            style.font.bold, style.font.italic = True, False
            fonts = style.element.rPr.rFonts
            for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
                fonts.attrib.pop(qn(f"w:{theme}"), None)
            style.paragraph_format.keep_with_next = True
            if name != "Title":
                style.paragraph_format.space_before = Pt(size * 1.2)
                style.paragraph_format.space_after = Pt(4)
        borders = word.styles["Title"].element.pPr.find(qn("w:pBdr"))
        if borders is not None:
            borders.getparent().remove(borders)
        title = _with_side(word.styles["Title"].element.get_or_add_pPr(), "top", self.accent, "24")
        title.set(qn("w:space"), "8")
        subtitle = word.styles["Subtitle"]
        subtitle.font.name, subtitle.font.size = _FONT, Pt(9.5)
        subtitle.font.color.rgb = colour(palette.SOFT)
        subtitle.font.italic = False
        for name in ("Title", "Subtitle"):
            for spacing in word.styles[name].element.rPr.findall(qn("w:spacing")):
                word.styles[name].element.rPr.remove(spacing)

    def say(self, text: str, style: str = "Normal", *, size: float = 0) -> Any:
        """A paragraph."""
        paragraph = self.word.add_paragraph(style=style)
        if self._rtl:
            paragraph._p.get_or_add_pPr().insert_element_before(
                element("w:bidi"), "w:adjustRightInd", "w:snapToGrid", *_AFTER_SHADE[1:]
            )
        if text:
            self.run(paragraph, text, size=size)
        return paragraph

    def run(self, paragraph: Any, text: str, *, size: float = 0, soft: bool = False) -> Any:
        """Text at the end of a paragraph; ``soft`` text is grey."""
        from docx.shared import Pt

        run = paragraph.add_run(cleaned(text))
        if size:
            run.font.size = Pt(size)
        if soft:
            run.font.color.rgb = colour(palette.SOFT)
        if self._rtl:
            run._r.get_or_add_rPr().append(element("w:rtl"))
        return run

    def quote(self, text: str) -> Any:
        """A passage with a line beside it."""
        paragraph = self.say(text)
        paragraph.paragraph_format.left_indent = _points(11)
        _with_side(paragraph._p.get_or_add_pPr(), "left", self.accent, "16")
        return paragraph

    def rule(self) -> None:
        """A line across the page."""
        _with_side(self.say("")._p.get_or_add_pPr(), "bottom", "C9D0D8", "4")

    def table(
        self, header: Sequence[_Cell], rows: Sequence[Sequence[_Cell]],
        fill: Callable[[Any, _Cell, float, bool, bool], None], *, numbers: Sequence[int] = (),
        has_total: bool = False,
    ) -> None:  # fmt: skip
        """A table. ``fill(paragraph, cell, size, is_head, is_strong)`` writes one cell; those of
        ``numbers`` are columns set flush with the far edge."""
        from docx.enum.text import WD_ALIGN_PARAGRAPH

        table = self.word.add_table(rows=0, cols=len(header))
        size = 8.0 if len(header) > _WIDE else 9.5
        for y, row in enumerate([header, *rows]):
            added = table.add_row()
            _row_properties(added, header=y == 0)
            is_strong = has_total and y == len(rows)
            for x, (cell, content) in enumerate(zip(added.cells, row, strict=True)):
                paragraph = cell.paragraphs[0]
                paragraph.paragraph_format.space_before = _points(2.5)
                paragraph.paragraph_format.space_after = _points(2.5)
                if x in numbers:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                fill(paragraph, content, size, y == 0, is_strong)
        self.borders(table, {"top": (self.accent, "8"), "bottom": ("C9D0D8", "4"),
                             "insideH": ("E2E7EB", "4")})  # fmt: skip
        self.word.add_paragraph().paragraph_format.space_after = _points(2)

    def borders(self, table: Any, sides: dict[str, tuple[str, str]]) -> None:
        """Lines of a table: for each side its colour and its eighths of a point."""
        borders = element("w:tblBorders")
        for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
            if side in sides:
                tone, size = sides[side]
                borders.append(element(f"w:{side}", val="single", sz=size, space="0", color=tone))
            else:
                borders.append(element(f"w:{side}", val="nil"))
        table._tbl.tblPr.insert_element_before(borders, *_AFTER_BORDERS)

    def shade(self, paragraph: Any) -> None:
        """A light ground behind a paragraph."""
        shade = element("w:shd", val="clear", color="auto", fill="F4F6F7")
        paragraph._p.get_or_add_pPr().insert_element_before(shade, *_AFTER_SHADE)

    def footer(self, text: str) -> None:
        """The line below each page: a text, and the page's number."""
        from docx.enum.text import WD_TAB_ALIGNMENT

        paragraph = self.word.sections[0].footer.paragraphs[0]
        paragraph.style.paragraph_format.tab_stops.clear_all()
        paragraph.paragraph_format.tab_stops.add_tab_stop(self.width, WD_TAB_ALIGNMENT.RIGHT)
        self.run(paragraph, f"{text}\t", size=8, soft=True)
        for instruction in ("PAGE", None, "NUMPAGES"):
            if instruction is None:
                self.run(paragraph, " / ", size=8, soft=True)
                continue
            field = element("w:fldSimple", instr=instruction)
            number = self.run(paragraph, "1", size=8, soft=True)._r
            paragraph._p.remove(number)
            field.append(number)
            paragraph._p.append(field)


def element(tag: str, **attributes: str) -> Any:
    """An element of a Word file with its attributes."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    made = OxmlElement(tag)
    for name, value in attributes.items():
        made.set(qn(f"w:{name}"), value)
    return made


def colour(value: str) -> Any:
    """``#rrggbb`` as python-docx wants it."""
    from docx.shared import RGBColor

    return RGBColor.from_string(value.lstrip("#").upper())


def _points(value: float) -> Any:
    from docx.shared import Pt

    return Pt(value)


def _with_side(properties: Any, side: str, tone: str, size: str) -> Any:
    borders = element("w:pBdr")
    line = element(f"w:{side}", val="single", sz=size, space="8", color=tone)
    borders.append(line)
    properties.insert_element_before(borders, *_AFTER_SIDE)
    return line


def _row_properties(row: Any, *, header: bool) -> None:
    properties = row._tr.get_or_add_trPr()
    properties.append(element("w:cantSplit"))
    if header:
        properties.append(element("w:tblHeader"))
