"""A paper as a Word file: real headings, lists, tables and pictures, to be edited on."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from agentpost_offline.making.chart.rendering import render_plots
from agentpost_offline.making.content import Block, BlockKind, Figure, Grid, Paper, Runs
from agentpost_offline.making.document.pdf import TEXT_WIDTH
from agentpost_offline.style import palette
from agentpost_offline.style.languages import language
from agentpost_offline.style.typeset import cleaned

_FONT = "Arial"
_SIZES = {"Title": 22, "Heading 1": 14, "Heading 2": 11.5, "Heading 3": 10.5, "Heading 4": 10.5}
_SMALL = 8.5
_INDENT = 14.0
_WIDE = 6
"""Tables of more columns are set smaller."""
_LINE, _FAINT, _GROUND = "C9D0D8", "E2E7EB", "F4F6F7"
_BEFORE_DRAWN = (BlockKind.CHART, BlockKind.TABLE, BlockKind.PICTURE, BlockKind.FIGURES)
# What follows these elements inside their parent: Word insists on the schema's order.
_AFTER_SHADE = ("w:tabs", "w:spacing", "w:ind", "w:jc", "w:rPr", "w:vAlign")
_AFTER_BORDERS = ("w:shd", "w:tblLayout", "w:tblCellMar", "w:tblLook")
_AFTER_BIDI = ("w:adjustRightInd", "w:snapToGrid", *_AFTER_SHADE[1:])


def build(paper: Paper, pictures: Sequence[bytes]) -> bytes:
    """The .docx file, with page numbers."""
    writer = _Writer(paper, pictures)
    buffer = io.BytesIO()
    writer.write().save(buffer)
    return buffer.getvalue()


class _Writer:
    """Writes a file from top to bottom."""

    def __init__(self, paper: Paper, pictures: Sequence[bytes]) -> None:
        import docx
        from docx.shared import Mm

        self._paper, self._pictures = paper, pictures
        self._word: Any = docx.Document()
        self._accent = palette.legible(palette.accent(paper.accent))[1:].upper()
        self._is_rtl = language(paper.language).direction == "rtl"
        page = self._word.sections[0]
        page.page_width, page.page_height = Mm(210), Mm(297)
        page.left_margin = page.right_margin = Mm(24)
        page.top_margin = page.bottom_margin = Mm(22)
        self._width = page.page_width - page.left_margin - page.right_margin
        self._height = page.page_height - page.top_margin - page.bottom_margin
        properties = self._word.core_properties
        properties.title, properties.author = cleaned(paper.title)[:250], ""
        properties.comments, properties.language = "", paper.language
        self._set_styles()
        drawings = [block.drawing for block in paper.blocks if block.drawing is not None]
        self._plots = iter(render_plots(drawings, "png", TEXT_WIDTH, code=paper.language,
                                        accent=paper.accent))  # fmt: skip

    def _set_styles(self) -> None:
        from docx.oxml.ns import qn
        from docx.shared import Pt

        styles = self._word.styles
        normal = styles["Normal"]
        normal.font.name, normal.font.size = _FONT, Pt(10.5)
        normal.paragraph_format.space_after = Pt(6)
        normal.paragraph_format.line_spacing = 1.15
        code = self._paper.language
        normal.element.get_or_add_rPr().append(_element("w:lang", val=code, bidi=code))
        for name, size in _SIZES.items():
            style = styles[name]
            style.font.name, style.font.size = _FONT, Pt(size)
            style.font.color.rgb = _colour(palette.INK)
            style.font.bold, style.font.italic = True, False
            for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
                style.element.rPr.rFonts.attrib.pop(qn(f"w:{theme}"), None)
            style.paragraph_format.keep_with_next = True
            if name != "Title":
                style.paragraph_format.space_before = Pt(size * 1.2)
                style.paragraph_format.space_after = Pt(4)
        title, subtitle = styles["Title"], styles["Subtitle"]
        for border in title.element.pPr.findall(qn("w:pBdr")):
            title.element.pPr.remove(border)
        self._line(title.element.get_or_add_pPr(), "top", self._accent, "24")
        subtitle.font.name, subtitle.font.size = _FONT, Pt(9.5)
        subtitle.font.color.rgb, subtitle.font.italic = _colour(palette.SOFT), False
        for style in (title, subtitle):
            for spacing in style.element.rPr.findall(qn("w:spacing")):
                style.element.rPr.remove(spacing)

    def write(self) -> Any:
        """Everything, in order."""
        paper = self._paper
        if paper.has_title and paper.title:
            self._say("Title", paper.title)
        if paper.subtitle:
            self._say("Subtitle", paper.subtitle)
        kinds = [block.kind for block in paper.blocks]
        for at, block in enumerate(paper.blocks):
            self._block(block, stays=bool({*kinds[at + 1 : at + 2]} & {*_BEFORE_DRAWN}))
        if paper.remarks:
            small = self._say()
            if paper.remarks_title:
                self._run(small, f"{paper.remarks_title}. ", size=_SMALL).bold = True
            self._run(small, " ".join(paper.remarks), size=_SMALL)
            self._shade(small)
        self._footer(paper.subtitle or paper.title)
        return self._word

    def _block(self, block: Block, *, stays: bool) -> None:
        match block.kind:
            case BlockKind.HEADING:
                self._runs(self._say(f"Heading {min(block.level, 4)}"), block.runs)
            case BlockKind.ITEM:
                self._item(block)
            case BlockKind.QUOTE:
                paragraph = self._say()
                paragraph.paragraph_format.left_indent = _points(11)
                self._line(paragraph._p.get_or_add_pPr(), "left", self._accent, "16")
                self._runs(paragraph, block.runs)
            case BlockKind.CODE:
                paragraph = self._say()
                self._runs(paragraph, block.runs, size=_SMALL, is_code=True)
                self._shade(paragraph)
            case BlockKind.TABLE if block.grid is not None:
                self._table(block.grid)
            case BlockKind.PICTURE:
                self._picture(self._pictures[block.picture], block.alt, block.runs)
            case BlockKind.CHART if block.drawing is not None:
                if block.runs:
                    above = self._say()
                    self._runs(above, block.runs, size=_SMALL, is_soft=True)
                    above.paragraph_format.keep_with_next = True
                    above.paragraph_format.space_after = _points(2)
                self._picture(next(self._plots), block.drawing.alt, (), is_wide=True)
            case BlockKind.FIGURES:
                self._figures(block.figures)
            case BlockKind.RULE:
                self._line(self._say()._p.get_or_add_pPr(), "bottom", _LINE, "4")
            case _:
                paragraph = self._say()
                paragraph.paragraph_format.keep_with_next = stays
                if block.level:
                    paragraph.paragraph_format.left_indent = _points(block.level * _INDENT)
                self._runs(paragraph, block.runs)

    def _say(self, style: str = "Normal", text: str = "") -> Any:
        """A paragraph."""
        paragraph = self._word.add_paragraph(style=style)
        if self._is_rtl:
            properties = paragraph._p.get_or_add_pPr()
            properties.insert_element_before(_element("w:bidi"), *_AFTER_BIDI)
        if text:
            self._run(paragraph, text)
        return paragraph

    def _run(self, paragraph: Any, text: str, *, size: float = 0, is_soft: bool = False) -> Any:
        """Text at the end of a paragraph; soft text is grey."""
        run = paragraph.add_run(cleaned(text))
        if size:
            run.font.size = _points(size)
        if is_soft:
            run.font.color.rgb = _colour(palette.SOFT)
        if self._is_rtl:
            run._r.get_or_add_rPr().append(_element("w:rtl"))
        return run

    def _runs(
        self, paragraph: Any, runs: Runs, *, size: float = 0, is_code: bool = False,
        is_bold: bool = False, is_soft: bool = False,
    ) -> None:  # fmt: skip
        for one in runs:
            run = self._run(paragraph, one.text, size=size, is_soft=is_soft)
            run.bold = True if one.bold or is_bold else None
            run.italic = True if one.italic else None
            run.font.strike = True if one.struck else None
            if one.code or is_code:
                run.font.name = "Courier New"
            if one.link:
                run.font.underline = True
                run.font.color.rgb = _colour(self._accent)
                self._link(paragraph, one.link).append(run._r)

    def _link(self, paragraph: Any, address: str) -> Any:
        from docx.opc.constants import RELATIONSHIP_TYPE
        from docx.oxml.ns import qn

        relation = paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        link = _element("w:hyperlink")
        link.set(qn("r:id"), relation)
        paragraph._p.append(link)
        return link

    def _item(self, block: Block) -> None:
        paragraph = self._say("List Bullet" if block.number is None else "Normal")
        layout = paragraph.paragraph_format
        layout.space_after = _points(4)
        inside = _points((block.level + 1) * _INDENT + 4)
        if block.number is not None:
            layout.left_indent, layout.first_line_indent = inside, _points(-_INDENT - 4)
            self._run(paragraph, f"{block.number}.\t")
            layout.tab_stops.add_tab_stop(inside)
        elif block.level:
            layout.left_indent = inside
        self._runs(paragraph, block.runs)

    def _table(self, grid: Grid) -> None:
        from docx.enum.text import WD_ALIGN_PARAGRAPH

        table = self._word.add_table(rows=0, cols=len(grid.header))
        size = 8.0 if len(grid.header) > _WIDE else 9.5
        for y, row in enumerate([grid.header, *grid.rows]):
            added = table.add_row()
            properties = added._tr.get_or_add_trPr()
            properties.append(_element("w:cantSplit"))
            if not y:
                properties.append(_element("w:tblHeader"))
            is_bold = not y or (grid.total and y == len(grid.rows))
            for x, (cell, runs) in enumerate(zip(added.cells, row, strict=True)):
                paragraph = cell.paragraphs[0]
                paragraph.paragraph_format.space_before = _points(2.5)
                paragraph.paragraph_format.space_after = _points(2.5)
                if x in grid.numbers:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                self._runs(paragraph, runs, size=size, is_soft=not y, is_bold=is_bold)
        self._borders(table, top=(self._accent, "8"), bottom=(_LINE, "4"), insideH=(_FAINT, "4"))
        self._word.add_paragraph().paragraph_format.space_after = _points(2)

    def _picture(self, content: bytes, alt: str, caption: Runs, *, is_wide: bool = False) -> None:
        """A picture at most as wide as the text; a wide one is as wide."""
        from docx.shared import Emu

        shape = self._word.add_picture(io.BytesIO(content))
        scale = min(1.0, self._width / shape.width, 0.8 * self._height / shape.height)
        scale = self._width / shape.width if is_wide else scale
        shape.width, shape.height = Emu(int(shape.width * scale)), Emu(int(shape.height * scale))
        shape._inline.docPr.set("descr", cleaned(alt))
        if caption:
            self._runs(self._say(), caption, size=_SMALL, is_soft=True)

    def _figures(self, figures: Sequence[Figure]) -> None:
        table: Any = self._word.add_table(rows=1, cols=len(figures))
        for cell, figure in zip(table.rows[0].cells, figures, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.space_before = _points(4)
            paragraph.paragraph_format.space_after = _points(0)
            run = self._run(paragraph, figure.value, size=18)
            run.bold = True
            run.font.color.rgb = _colour(self._accent)
            self._run(cell.add_paragraph(), figure.label, size=_SMALL, is_soft=True)
        self._borders(table, top=(self._accent, "8"))
        self._word.add_paragraph().paragraph_format.space_after = _points(0)

    def _footer(self, text: str) -> None:
        """The line below each page: a text, and the page's number."""
        from docx.enum.text import WD_TAB_ALIGNMENT

        paragraph = self._word.sections[0].footer.paragraphs[0]
        paragraph.style.paragraph_format.tab_stops.clear_all()
        paragraph.paragraph_format.tab_stops.add_tab_stop(self._width, WD_TAB_ALIGNMENT.RIGHT)
        self._run(paragraph, f"{text}\t", size=8, is_soft=True)
        for instruction in ("PAGE", "NUMPAGES"):
            if instruction == "NUMPAGES":
                self._run(paragraph, " / ", size=8, is_soft=True)
            field = _element("w:fldSimple", instr=instruction)
            number = self._run(paragraph, "1", size=8, is_soft=True)._r
            field.append(number)
            paragraph._p.append(field)

    @staticmethod
    def _line(properties: Any, side: str, tone: str, size: str) -> None:
        """A line at one side of a paragraph or style."""
        borders = _element("w:pBdr")
        borders.append(_element(f"w:{side}", val="single", sz=size, space="8", color=tone))
        properties.insert_element_before(borders, "w:shd", *_AFTER_SHADE)

    @staticmethod
    def _borders(table: Any, **sides: tuple[str, str]) -> None:
        """Lines of a table: for each side its colour and its eighths of a point."""
        borders = _element("w:tblBorders")
        for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
            tone, size = sides.get(side, ("", ""))
            line = {"val": "single", "sz": size, "space": "0", "color": tone}
            borders.append(_element(f"w:{side}", **(line if tone else {"val": "nil"})))
        table._tbl.tblPr.insert_element_before(borders, *_AFTER_BORDERS)

    @staticmethod
    def _shade(paragraph: Any) -> None:
        """A light ground behind a paragraph."""
        shade = _element("w:shd", val="clear", color="auto", fill=_GROUND)
        paragraph._p.get_or_add_pPr().insert_element_before(shade, *_AFTER_SHADE)


def _element(tag: str, **attributes: str) -> Any:
    """An element of a Word file with its attributes."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    element = OxmlElement(tag)
    for name, value in attributes.items():
        element.set(qn(f"w:{name}"), value)
    return element


def _colour(value: str) -> Any:
    """``#rrggbb`` as python-docx wants it."""
    from docx.shared import RGBColor

    return RGBColor.from_string(value.lstrip("#").upper())


def _points(value: float) -> Any:
    from docx.shared import Pt

    return Pt(value)
