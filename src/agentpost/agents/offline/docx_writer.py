"""A document as a Word file with real styles, lists and tables, so that it can be edited on."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from agentpost.agents.base import File, JobFailed
from agentpost.agents.offline.document import Block, Document, Run

_ACCENT, _SOFT, _INK = "1F5FA8", "5D6773", "1C2430"
_ALIGN = {"left": 0, "center": 1, "right": 2}


def build(document: Document) -> bytes:
    """Return the .docx file."""
    import docx
    from docx.shared import Mm

    word = docx.Document()
    section = word.sections[0]
    section.page_width, section.page_height = Mm(210), Mm(297)
    section.left_margin = section.right_margin = Mm(25)
    section.top_margin = section.bottom_margin = Mm(24)
    _style(word)
    word.core_properties.title = document.title[:250]
    word.core_properties.author = ""
    word.core_properties.comments = ""
    word.add_paragraph(document.title, style="Title")
    if document.subtitle:
        word.add_paragraph(document.subtitle, style="Subtitle")
    _Writer(word).blocks(document.blocks)
    _page_numbers(section)
    buffer = io.BytesIO()
    word.save(buffer)
    return buffer.getvalue()


def check(file: File, headings: list[str]) -> dict[str, Any]:
    """Open a written Word file again; raises `JobFailed` unless it has these headings.

    Returns the number of ``paragraphs``.
    """
    import docx
    from docx.opc.exceptions import PackageNotFoundError

    try:
        word = docx.Document(str(file.local))
    except (PackageNotFoundError, KeyError, ValueError, OSError) as error:
        raise JobFailed("The Word file came out damaged.") from error
    found = [
        paragraph.text
        for paragraph in word.paragraphs
        if paragraph.style is not None and str(paragraph.style.name).startswith("Heading")
    ]
    if found != headings:
        raise JobFailed("The Word file came out with other headings than the text has.")
    filled = sum(bool(paragraph.text.strip()) for paragraph in word.paragraphs)
    if not filled:
        raise JobFailed("The Word file came out empty.")
    return {"paragraphs": filled}


def _style(word: Any) -> None:
    from docx.enum.text import WD_LINE_SPACING
    from docx.oxml.ns import qn
    from docx.shared import Pt, RGBColor

    normal = word.styles["Normal"]
    normal.font.name, normal.font.size = "Calibri", Pt(11)
    normal.paragraph_format.space_after = Pt(7)
    normal.paragraph_format.line_spacing_rule = WD_LINE_SPACING.MULTIPLE
    normal.paragraph_format.line_spacing = 1.12
    sizes = {"Title": 25, "Heading 1": 16, "Heading 2": 13, "Heading 3": 11.5, "Heading 4": 11}
    for name, size in sizes.items():
        style = word.styles[name]
        style.font.name, style.font.size = "Calibri", Pt(size)
        style.font.color.rgb = RGBColor.from_string(_INK)
        style.font.bold, style.font.italic = True, False
        fonts = style.element.rPr.rFonts
        for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
            fonts.attrib.pop(qn(f"w:{theme}"), None)
        if name != "Title":
            style.paragraph_format.space_before = Pt(size + 2)
            style.paragraph_format.space_after = Pt(5)
    subtitle = word.styles["Subtitle"]
    subtitle.font.name, subtitle.font.size = "Calibri", Pt(11)
    subtitle.font.color.rgb = RGBColor.from_string(_SOFT)
    subtitle.font.italic = False


class _Writer:
    """Adds blocks to a Word document, remembering how deep in lists and quotes it is."""

    def __init__(self, word: Any) -> None:
        self._word = word

    def blocks(self, blocks: Sequence[Block], depth: int = 0, *, quoted: bool = False) -> None:
        for block in blocks:
            kind = block["type"]
            if kind == "heading":
                paragraph = self._word.add_heading(level=min(max(block["level"], 1), 4))
                _add_runs(paragraph, block["runs"])
            elif kind == "paragraph":
                style = "Quote" if quoted else "Normal"
                _add_runs(self._indented(style, depth), block["runs"])
            elif kind == "list":
                self._list(block, depth)
            elif kind == "quote":
                self.blocks(block["blocks"], depth, quoted=True)
            elif kind == "code":
                self._code(block["text"], depth)
            elif kind == "rule":
                _border(self._word.add_paragraph(), "bottom", "C9D0D8")
            elif kind == "figure":
                self._figure(block)
            elif kind == "table":
                self._table(block)

    def _indented(self, style: str, depth: int) -> Any:
        from docx.shared import Mm

        paragraph = self._word.add_paragraph(style=style)
        if depth:
            paragraph.paragraph_format.left_indent = Mm(6.35 * depth)
        return paragraph

    def _list(self, block: Block, depth: int) -> None:
        level = min(depth, 2) + 1
        name = ("List Number" if block["ordered"] else "List Bullet") + (
            f" {level}" if level > 1 else ""
        )
        number = self._restarted(name, block["start"]) if block["ordered"] else None
        for item in block["items"]:
            first, rest = item[:1], item[1:]
            paragraph = self._word.add_paragraph(style=name)
            paragraph.paragraph_format.space_after = 38100  # 3 pt in EMU
            if number is not None:
                _set_numbering(paragraph, number)
            if first and first[0]["type"] == "paragraph":
                _add_runs(paragraph, first[0]["runs"])
            else:
                rest = item
            self.blocks(rest, depth + 1)

    def _restarted(self, style: str, start: int) -> int:
        """A new numbering of the style's kind that begins at ``start``; returns its id."""
        from docx.oxml.ns import qn

        numbering = self._word.part.numbering_part.element
        style_id = self._word.styles[style].element.pPr.numPr.numId.val
        abstract = next(
            n.abstractNumId.val for n in numbering.num_lst if n.get(qn("w:numId")) == str(style_id)
        )
        num = numbering.add_num(abstract)
        num.add_lvlOverride(ilvl=0).add_startOverride(max(0, start))
        return int(num.numId)

    def _code(self, text: str, depth: int) -> None:
        from docx.shared import Pt

        paragraph = self._indented("Normal", depth)
        paragraph.paragraph_format.line_spacing = 1.0
        _shade(paragraph._p.get_or_add_pPr(), "F4F6F8")
        for number, line in enumerate(text.split("\n")):
            run = paragraph.add_run(line)
            run.font.name, run.font.size = "Consolas", Pt(9)
            if number < text.count("\n"):
                run.add_break()

    def _figure(self, block: Block) -> None:
        section = self._word.sections[0]
        width = section.page_width - section.left_margin - section.right_margin
        shape = self._word.add_picture(io.BytesIO(block["png"]), width=width)
        shape._inline.docPr.set("descr", block["alt"])

    def _table(self, block: Block) -> None:
        from docx.shared import Pt

        columns = len(block["header"])
        table = self._word.add_table(rows=0, cols=columns)
        table.style = "Table Grid"
        table.autofit = True
        for number, row in enumerate([block["header"], *block["rows"]]):
            added = table.add_row()
            _row_properties(added, header=number == 0)
            for index, (cell, runs) in enumerate(zip(added.cells, row, strict=True)):
                paragraph = cell.paragraphs[0]
                paragraph.alignment = _ALIGN[block["aligns"][index]]
                paragraph.paragraph_format.space_before = Pt(2)
                paragraph.paragraph_format.space_after = Pt(2)
                _add_runs(paragraph, runs, bold=number == 0, size=8 if columns > 6 else 10)
                if number == 0:
                    _shade(cell._tc.get_or_add_tcPr(), "E8EFF7")
        _table_borders(table)
        after = self._word.add_paragraph()
        after.paragraph_format.space_after = Pt(4)


def _add_runs(paragraph: Any, runs: Sequence[Run], *, bold: bool = False, size: float = 0) -> None:
    from docx.shared import Pt, RGBColor

    for value in runs:
        run = paragraph.add_run(value["text"])
        run.bold = True if bold or value.get("bold") else None
        run.italic = True if value.get("italic") else None
        run.font.strike = True if value.get("strike") else None
        if size:
            run.font.size = Pt(size)
        if value.get("code"):
            run.font.name = "Consolas"
        if value.get("link"):
            run.font.color.rgb = RGBColor.from_string(_ACCENT)
            run.font.underline = True
            _link(paragraph, run, value["link"])


def _link(paragraph: Any, run: Any, address: str) -> None:
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    key = paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    element = OxmlElement("w:hyperlink")
    element.set(qn("r:id"), key)
    run._r.addprevious(element)
    element.append(run._r)


def _element(tag: str, **attributes: str) -> Any:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    element = OxmlElement(tag)
    for name, value in attributes.items():
        element.set(qn(f"w:{name}"), value)
    return element


# What follows these elements inside their parent: Word insists on the schema's order.
_AFTER_SHADE = ("w:tabs", "w:spacing", "w:ind", "w:jc", "w:rPr", "w:vAlign")
_AFTER_BORDER = ("w:shd", *_AFTER_SHADE)
_AFTER_TABLE_BORDERS = ("w:shd", "w:tblLayout", "w:tblCellMar", "w:tblLook")


def _shade(properties: Any, fill: str) -> None:
    shade = _element("w:shd", val="clear", color="auto", fill=fill)
    properties.insert_element_before(shade, *_AFTER_SHADE)


def _border(paragraph: Any, side: str, color: str) -> None:
    borders = _element("w:pBdr")
    borders.append(_element(f"w:{side}", val="single", sz="6", space="1", color=color))
    paragraph._p.get_or_add_pPr().insert_element_before(borders, *_AFTER_BORDER)


def _row_properties(row: Any, *, header: bool) -> None:
    properties = row._tr.get_or_add_trPr()
    properties.append(_element("w:cantSplit"))
    if header:
        properties.append(_element("w:tblHeader"))


def _table_borders(table: Any) -> None:
    borders = _element("w:tblBorders")
    for side in ("top", "bottom", "insideH"):
        strong = side == "top"
        borders.append(
            _element(f"w:{side}", val="single", sz="8" if strong else "4", space="0",
                     color=_ACCENT if strong else "C9D0D8")
        )  # fmt: skip
    for side in ("left", "right", "insideV"):
        borders.append(_element(f"w:{side}", val="nil"))
    table._tbl.tblPr.insert_element_before(borders, *_AFTER_TABLE_BORDERS)


def _set_numbering(paragraph: Any, number: int) -> None:
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_ilvl().val = 0
    properties.get_or_add_numId().val = number


def _page_numbers(section: Any) -> None:
    paragraph = section.footer.paragraphs[0]
    paragraph.alignment = _ALIGN["center"]
    field = _element("w:fldSimple", instr="PAGE")
    run = _element("w:r")
    text = _element("w:t")
    text.text = "1"
    run.append(text)
    field.append(run)
    paragraph._p.append(field)
