"""A paper as a Word file: real headings, lists, tables and pictures, to be edited on.
`template.docx` has the page, the footer and every style. Imported by who writes a file."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docx
from docx.enum.table import WD_TABLE_DIRECTION
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor
from msgspec.structs import replace

from agentpost_offline.content.blocks import Block, BlockKind, Figure, Grid, Paper, Run, Runs
from agentpost_offline.making.chart.rendering import plots_of
from agentpost_offline.style import palette
from agentpost_offline.style.languages import language
from agentpost_offline.style.typeset import printable

_TEMPLATE = Path(__file__).with_name("template.docx")
_INDENT = 14.0
_WIDE = 6
"""Tables of more columns are set smaller."""
_BEFORE_PICTURES = (BlockKind.CHART, BlockKind.TABLE, BlockKind.PICTURE, BlockKind.FIGURES)


def build(paper: Paper, pictures: Sequence[bytes]) -> bytes:
    """The .docx file, with page numbers."""
    writer = _Writer(paper, pictures)
    buffer = io.BytesIO()
    writer.write().save(buffer)
    return buffer.getvalue()


class _Writer:
    """Writes a file from top to bottom."""

    def __init__(self, paper: Paper, pictures: Sequence[bytes]) -> None:
        self._paper, self._pictures = paper, pictures
        self._word: Any = docx.Document(str(_TEMPLATE))
        self._accent = palette.legible(palette.accent(paper.accent))[1:].upper()
        page: Any = self._word.sections[0]
        self._width = page.page_width - page.left_margin - page.right_margin
        self._height = page.page_height - page.top_margin - page.bottom_margin
        properties = self._word.core_properties
        properties.title, properties.language = printable(paper.title)[:250], paper.language
        self._set_styles()
        self._plots = plots_of(paper, "png")

    def _set_styles(self) -> None:
        """The accent in place of ours; the language of the text, and its direction."""
        for element in self._word.styles.element.iter():
            for name, value in element.attrib.items():
                if value == palette.ACCENT[1:].upper():
                    element.set(name, self._accent)
        normal, code = self._word.styles["Normal"].element, self._paper.language
        normal.get_or_add_rPr().append(_element("w:lang", val=code, bidi=code))
        if language(code).direction == "rtl":
            normal.get_or_add_rPr().insert(0, _element("w:rtl"))
            normal.get_or_add_pPr().insert(0, _element("w:bidi"))

    def write(self) -> Any:
        """Everything, in order."""
        paper = self._paper
        if paper.has_title and paper.title:
            self._add("Title", paper.title)
        if paper.subtitle:
            self._add("Subtitle", paper.subtitle)
        following = [*(block.kind for block in paper.blocks[1:]), None]
        for block, after in zip(paper.blocks, following, strict=False):
            self._block(block, stays=after in _BEFORE_PICTURES)
        if paper.remarks:
            title = f"{paper.remarks_title}. " if paper.remarks_title else ""
            self._add("Remarks", (Run(title, bold=True), Run(" ".join(paper.remarks))))
        footer = self._word.sections[0].footer.paragraphs[0]
        footer.runs[0].text = f"{printable(paper.subtitle or paper.title)}\t"
        return self._word

    def _block(self, block: Block, *, stays: bool) -> None:
        match block.kind:
            case BlockKind.HEADING:
                self._add(f"Heading {min(block.level, 4)}", block.runs)
            case BlockKind.ITEM:
                self._item(block)
            case BlockKind.QUOTE:
                self._add("Quote", block.runs)
            case BlockKind.CODE:
                self._add("Code", block.runs)
            case BlockKind.TABLE if block.grid is not None:
                self._table(block.grid)
            case BlockKind.PICTURE:
                self._picture(self._pictures[block.picture], block.alt)
                if block.runs:
                    self._add("Caption", block.runs)
            case BlockKind.CHART if block.drawing is not None:
                if block.runs:
                    self._add("Heading of Picture", block.runs)
                self._picture(next(self._plots), block.drawing.alt, is_wide=True)
            case BlockKind.FIGURES:
                self._figures(block.figures)
            case BlockKind.RULE:
                self._add("Rule")
            case _:
                paragraph = self._add("Normal", block.runs)
                paragraph.paragraph_format.keep_with_next = stays
                if block.level:
                    paragraph.paragraph_format.left_indent = Pt(block.level * _INDENT)

    def _add(self, style: str, runs: Runs | str = (), to: Any = None) -> Any:
        """A paragraph in a style, at the end or in place of a cell's own."""
        paragraph = to if to is not None else self._word.add_paragraph()
        paragraph.style = self._word.styles[style]
        for one in (Run(runs),) if isinstance(runs, str) else runs:
            run = paragraph.add_run(printable(one.text))
            run.bold, run.italic, run.font.strike = (
                is_set or None for is_set in (one.bold, one.italic, one.struck)
            )
            if one.code:
                run.font.name = "Courier New"
            if one.link:
                self._link(paragraph, run, one.link)
        return paragraph

    def _link(self, paragraph: Any, run: Any, address: str) -> None:
        run.font.underline, run.font.color.rgb = True, RGBColor.from_string(self._accent)
        relation = paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        link = _element("w:hyperlink")
        link.set(qn("r:id"), relation)
        link.append(run._r)
        paragraph._p.append(link)

    def _item(self, block: Block) -> None:
        inside = Pt((block.level + 1) * _INDENT + 4)
        if block.number is None:
            layout = self._add("List Bullet", block.runs).paragraph_format
            layout.left_indent = inside if block.level else None
            return
        layout = self._add("List Item", (Run(f"{block.number}.\t"), *block.runs)).paragraph_format
        layout.left_indent, layout.first_line_indent = inside, Pt(-_INDENT - 4)
        layout.tab_stops.add_tab_stop(inside)

    def _add_table(self, style: str, rows: int, columns: int) -> Any:
        """An empty table, which is read from right to left where the text is."""
        table: Any = self._word.add_table(rows=rows, cols=columns, style=style)
        if language(self._paper.language).direction == "rtl":
            table.table_direction = WD_TABLE_DIRECTION.RTL
        return table

    def _table(self, grid: Grid) -> None:
        table = self._add_table("Rows", 0, len(grid.header))
        style = "Small Cell" if len(grid.header) > _WIDE else "Cell"
        for y, row in enumerate([grid.header, *grid.rows]):
            line = table.add_row()
            properties = line._tr.get_or_add_trPr()
            properties.append(_element("w:cantSplit"))
            if not y:
                properties.append(_element("w:tblHeader"))
            is_bold = not y or (grid.total and y == len(grid.rows))
            for x, (cell, runs) in enumerate(zip(line.cells, row, strict=True)):
                looks = [replace(one, bold=one.bold or is_bold) for one in runs]
                paragraph = self._add(style, tuple(looks), to=cell.paragraphs[0])
                if x in grid.numbers:
                    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                for run in paragraph.runs if not y else ():
                    run.font.color.rgb = RGBColor.from_string(palette.SOFT[1:].upper())
        self._add("Normal").paragraph_format.space_after = Pt(2)

    def _picture(self, content: bytes, alt: str, *, is_wide: bool = False) -> None:
        """A picture at most as wide as the text; a wide one is as wide."""
        shape = self._word.add_picture(io.BytesIO(content))
        whole = self._width / shape.width
        scale = whole if is_wide else min(1.0, whole, 0.8 * self._height / shape.height)
        shape.width, shape.height = round(shape.width * scale), round(shape.height * scale)
        shape._inline.docPr.set("descr", printable(alt))

    def _figures(self, figures: Sequence[Figure]) -> None:
        table = self._add_table("Figures", 1, len(figures))
        for cell, figure in zip(table.rows[0].cells, figures, strict=True):
            self._add("Figure", figure.value, to=cell.paragraphs[0])
            self._add("Figure Label", figure.label, to=cell.add_paragraph())
        self._add("Normal").paragraph_format.space_after = Pt(0)


def _element(tag: str, **attributes: str) -> Any:
    """An element of a Word file with its attributes."""
    element = OxmlElement(tag)
    for name, value in attributes.items():
        element.set(qn(f"w:{name}"), value)
    return element
