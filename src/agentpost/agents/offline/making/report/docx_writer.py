"""A report as a Word file with real styles, headings and tables, so that it can be edited on."""

from __future__ import annotations

import io
from typing import Any

from agentpost.agents.offline.making.report import plots
from agentpost.agents.offline.making.report.content import Block, Report
from agentpost.agents.offline.style import palette
from agentpost.agents.offline.style.languages import language
from agentpost.agents.offline.style.typeset import cleaned

_FONT = "Arial"
_LABEL = 8.5
_SIZES = {"Title": 24, "Heading 1": 15, "Heading 2": 12}
# What follows these elements inside their parent: Word insists on the schema's order.
_AFTER_SHADE = ("w:tabs", "w:spacing", "w:ind", "w:jc", "w:rPr", "w:vAlign")
_AFTER_BORDERS = ("w:shd", "w:tblLayout", "w:tblCellMar", "w:tblLook")
_AFTER_SIDE = ("w:shd", *_AFTER_SHADE)


def build(report: Report) -> bytes:
    """The .docx file."""
    import docx
    from docx.shared import Mm

    word = docx.Document()
    section = word.sections[0]
    section.page_width, section.page_height = Mm(210), Mm(297)
    section.left_margin = section.right_margin = Mm(24)
    section.top_margin = section.bottom_margin = Mm(22)
    _Writer(word, report).write()
    buffer = io.BytesIO()
    word.save(buffer)
    return buffer.getvalue()


class _Writer:
    def __init__(self, word: Any, report: Report) -> None:
        self._word = word
        self._report = report
        self._accent = palette.legible(palette.accent(report.accent))[1:].upper()
        self._rtl = language(report.language).direction == "rtl"
        self._drawn: tuple[bytes, ...] = ()

    def write(self) -> None:
        """Everything, in order."""
        report, word = self._report, self._word
        self._styles()
        properties = word.core_properties
        properties.title, properties.author = cleaned(report.title)[:250], ""
        properties.comments = cleaned(" ".join(report.lead))[:250]
        properties.language = report.language
        self._say(report.title, "Title")
        if report.subtitle:
            self._say(report.subtitle, "Subtitle")
        for line in report.lead:
            self._say(line, size=12)
        if len(report.figures) > 1:
            self._figures()
        for section in report.sections:
            self._say(section.heading, "Heading 1")
            for block in section.blocks:
                self._block(block)
        if report.how:
            paragraph = self._say("", size=8.5)
            self._run(paragraph, f"{report.how_title}. ", size=8.5).bold = True
            self._run(paragraph, " ".join(report.how), size=8.5)
            _shade(paragraph._p.get_or_add_pPr(), "F4F6F7")
        self._footer()

    def _styles(self) -> None:
        from docx.oxml.ns import qn
        from docx.shared import Pt, RGBColor

        word = self._word
        normal = word.styles["Normal"]
        normal.font.name, normal.font.size = _FONT, Pt(10.5)
        normal.paragraph_format.space_after = Pt(6)
        normal.paragraph_format.line_spacing = 1.12
        run = normal.element.get_or_add_rPr()
        run.append(_element("w:lang", val=self._report.language, bidi=self._report.language))
        for name, size in _SIZES.items():
            style = word.styles[name]
            style.font.name, style.font.size = _FONT, Pt(size)
            style.font.color.rgb = RGBColor.from_string(palette.INK[1:].upper())
            style.font.bold, style.font.italic = True, False
            fonts = style.element.rPr.rFonts
            for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
                fonts.attrib.pop(qn(f"w:{theme}"), None)
            style.paragraph_format.keep_with_next = True
            if name != "Title":
                style.paragraph_format.space_before = Pt(size)
                style.paragraph_format.space_after = Pt(4)
        borders = word.styles["Title"].element.pPr.find(qn("w:pBdr"))
        if borders is not None:
            borders.getparent().remove(borders)
        subtitle = word.styles["Subtitle"]
        subtitle.font.name, subtitle.font.size = _FONT, Pt(9.5)
        subtitle.font.color.rgb = RGBColor.from_string(palette.SOFT[1:].upper())
        subtitle.font.italic = False
        for spacing in subtitle.element.rPr.findall(qn("w:spacing")):
            subtitle.element.rPr.remove(spacing)

    def _say(self, text: str, style: str = "Normal", *, size: float = 0) -> Any:
        paragraph = self._word.add_paragraph(style=style)
        if self._rtl:
            paragraph._p.get_or_add_pPr().insert_element_before(
                _element("w:bidi"), "w:adjustRightInd", "w:snapToGrid", *_AFTER_SHADE[1:]
            )
        if text:
            self._run(paragraph, text, size=size)
        return paragraph

    def _run(self, paragraph: Any, text: str, *, size: float = 0, soft: bool = False) -> Any:
        from docx.shared import Pt, RGBColor

        run = paragraph.add_run(cleaned(text))
        if size:
            run.font.size = Pt(size)
        if soft:
            run.font.color.rgb = RGBColor.from_string(palette.SOFT[1:].upper())
        if self._rtl:
            run._r.get_or_add_rPr().append(_element("w:rtl"))
        return run

    def _block(self, block: Block) -> None:
        if block.kind == "text":
            self._say(block.text)
        elif block.kind == "heading":
            self._say(block.text, "Heading 2")
        elif block.kind == "items":
            for item in block.items:
                self._say(item, "List Bullet")
        elif block.kind == "quote":
            self._quote(block)
        elif block.kind == "chart":
            self._chart(block)
        elif block.kind == "table":
            self._table(block)
        elif block.kind == "pair":
            self._chart(block)
            self._table(block)

    def _quote(self, block: Block) -> None:
        from docx.shared import Mm

        paragraph = self._say(block.text)
        paragraph.paragraph_format.left_indent = Mm(4)
        borders = _element("w:pBdr")
        borders.append(_element("w:left", val="single", sz="16", space="8", color=self._accent))
        paragraph._p.get_or_add_pPr().insert_element_before(borders, *_AFTER_SIDE)
        if block.place:
            self._run(paragraph, f"  {block.place}", size=8.5, soft=True)

    def _chart(self, block: Block) -> None:
        from docx.shared import Pt

        drawing = self._report.drawings[block.chart]
        section = self._word.sections[0]
        width = section.page_width - section.left_margin - section.right_margin
        if block.text:
            above = self._say("")
            self._run(above, block.text, size=_LABEL, soft=True)
            above.paragraph_format.keep_with_next = True
            above.paragraph_format.space_after = Pt(2)
        shape = self._word.add_picture(io.BytesIO(self._pictures()[block.chart]), width=width)
        shape._inline.docPr.set("descr", cleaned(drawing.alt))
        shape._inline.docPr.set("title", cleaned(drawing.picture.title))

    def _pictures(self) -> tuple[bytes, ...]:
        if not self._drawn:
            report = self._report
            self._drawn = plots.drawn(report)
        return self._drawn

    def _figures(self) -> None:
        from docx.shared import Pt, RGBColor

        figures = self._report.figures
        table = self._word.add_table(rows=1, cols=len(figures))
        for cell, figure in zip(table.rows[0].cells, figures, strict=True):
            paragraph = cell.paragraphs[0]
            run = paragraph.add_run(cleaned(figure.value))
            run.bold, run.font.size = True, Pt(18)
            run.font.color.rgb = RGBColor.from_string(self._accent)
            below = cell.add_paragraph()
            self._run(below, figure.label, size=8.5, soft=True)
        _borders(table, {"top": (self._accent, "8")})
        self._word.add_paragraph().paragraph_format.space_after = Pt(0)

    def _table(self, block: Block) -> None:
        from docx.enum.text import WD_ALIGN_PARAGRAPH
        from docx.shared import Pt

        table = self._word.add_table(rows=0, cols=len(block.header))
        table.autofit = True
        rows = [block.header, *block.rows]
        size = 8 if len(block.header) > 6 else 9.5
        for y, row in enumerate(rows):
            added = table.add_row()
            _row_properties(added, header=y == 0)
            last = block.total and y == len(rows) - 1
            for x, (cell, text) in enumerate(zip(added.cells, row, strict=True)):
                paragraph = cell.paragraphs[0]
                paragraph.paragraph_format.space_before = Pt(2)
                paragraph.paragraph_format.space_after = Pt(2)
                paragraph.paragraph_format.keep_with_next = y < len(rows) - 1
                if x and not block.words:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                run = self._run(paragraph, text, size=size, soft=y == 0)
                run.bold = True if y == 0 or last else None
        _borders(table, {"top": (self._accent, "8"), "bottom": ("C9D0D8", "4"),
                         "insideH": ("E2E7EB", "4")})  # fmt: skip
        self._word.add_paragraph().paragraph_format.space_after = Pt(2)

    def _footer(self) -> None:
        paragraph = self._word.sections[0].footer.paragraphs[0]
        self._run(paragraph, f"{self._report.subtitle}    ", size=8, soft=True)
        for instruction in ("PAGE", None, "NUMPAGES"):
            if instruction is None:
                self._run(paragraph, " / ", size=8, soft=True)
                continue
            field = _element("w:fldSimple", instr=instruction)
            look = self._run(paragraph, "1", size=8, soft=True)
            run = look._r
            paragraph._p.remove(run)
            field.append(run)
            paragraph._p.append(field)


def _element(tag: str, **attributes: str) -> Any:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    element = OxmlElement(tag)
    for name, value in attributes.items():
        element.set(qn(f"w:{name}"), value)
    return element


def _shade(properties: Any, fill: str) -> None:
    shade = _element("w:shd", val="clear", color="auto", fill=fill)
    properties.insert_element_before(shade, *_AFTER_SHADE)


def _row_properties(row: Any, *, header: bool) -> None:
    properties = row._tr.get_or_add_trPr()
    properties.append(_element("w:cantSplit"))
    if header:
        properties.append(_element("w:tblHeader"))


def _borders(table: Any, sides: dict[str, tuple[str, str]]) -> None:
    borders = _element("w:tblBorders")
    for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
        if side in sides:
            colour, size = sides[side]
            borders.append(_element(f"w:{side}", val="single", sz=size, space="0", color=colour))
        else:
            borders.append(_element(f"w:{side}", val="nil"))
    table._tbl.tblPr.insert_element_before(borders, *_AFTER_BORDERS)
