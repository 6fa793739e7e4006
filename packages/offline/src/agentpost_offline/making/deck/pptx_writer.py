"""A deck as PowerPoint: native charts and tables that can be edited, and speaker notes.

`template.pptx` has the layouts, in whose placeholders every text, chart, table and picture sits, so
that another design can be applied. Who writes a file imports this module with its library.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.util import Emu, Pt

from agentpost_offline.content.blocks import Paper
from agentpost_offline.making.chart.rendering import render_plots
from agentpost_offline.making.deck import native_chart
from agentpost_offline.making.deck.arrange import (
    Block,
    Box,
    Cells,
    Page,
    Picture,
    Plot,
    Text,
    arrange,
    colours,
)
from agentpost_offline.making.deck.slides import WIDTH, of_paper
from agentpost_offline.style.languages import language as language_of
from agentpost_offline.style.typeset import printable

if TYPE_CHECKING:
    from pptx.slide import Slide

_EMU = 12700
_TEMPLATE = Path(__file__).with_name("template.pptx")
_STYLE = "{http://schemas.openxmlformats.org/presentationml/2006/main}style"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLOTS = {
    "dk1": "ink", "lt1": "light", "dk2": "dark", "lt2": "pale", "accent1": "accent",
    "accent2": "grey", "accent3": "bright", "accent4": "muted", "accent5": "shade",
    "accent6": "rule", "hlink": "accent", "folHlink": "muted",
}  # fmt: skip
"""The colours of the theme, where a reader changes them for the whole deck."""
_TITLE, _MAIN = 0, 1
"""The placeholders of a layout: its title, and its chart, table, picture or main text."""


def build(paper: Paper, images: Sequence[bytes]) -> bytes:
    """The .pptx file. ``images`` are the paper's pictures, PNG or JPEG."""
    pages = [arrange(slide, at) for at, slide in enumerate(of_paper(paper), start=1)]
    deck: Any = Presentation(str(_TEMPLATE))
    palette = colours(paper.accent)
    _set_theme(deck, palette)
    properties = deck.core_properties
    properties.title, properties.author, properties.language = printable(paper.title)[:250], "", (
        paper.language
    )  # fmt: skip
    layouts = {layout.name: layout for layout in deck.slide_layouts}
    for page in pages:
        _Slide(deck.slides.add_slide(layouts[page.layout]), page, paper, palette, images).draw()
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def _set_theme(deck: Any, palette: dict[str, str]) -> None:
    relations = deck.slide_master.part.rels.values()
    theme = next(one.target_part for one in relations if "theme" in one.reltype)
    root = etree.fromstring(theme.blob)
    for slot, role in _SLOTS.items():
        element = root.find(f".//{{{_A}}}clrScheme/{{{_A}}}{slot}")
        assert element is not None, "the template has all slots"
        element.clear()
        etree.SubElement(element, f"{{{_A}}}srgbClr").set("val", palette[role][1:])
    theme._blob = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)


class _Slide:
    """Draws one page."""

    def __init__(
        self, slide: Slide, page: Page, paper: Paper, palette: dict[str, str],
        images: Sequence[bytes],
    ) -> None:  # fmt: skip
        self._slide, self._page, self._paper = slide, page, paper
        self._palette, self._images = palette, images
        self._is_rtl = language_of(paper.language).direction == "rtl"
        self._free: dict[int, Any] = {
            shape.placeholder_format.idx: shape for shape in slide.placeholders
        }

    def draw(self) -> None:
        """Everything of the page, then its notes."""
        for element in self._page.elements:
            match element:
                case Text():
                    self._text(element)
                case Block():
                    self._block(element)
                case Plot():
                    self._plot(element)
                case Cells():
                    self._cells(element)
                case Picture():
                    self._picture(self._images[element.image], element.box, element.alt)
        for shape in self._free.values():  # an empty placeholder shows "click to add text"
            shape._element.getparent().remove(shape._element)
        if self._page.notes:
            frame = self._slide.notes_slide.notes_text_frame
            assert frame is not None
            frame.text = printable(self._page.notes)

    def _plot(self, plot: Plot) -> None:
        picture, alt = plot.drawing.picture, printable(plot.drawing.alt)
        if picture.kind not in native_chart.KINDS:
            wide, tall = plot.box[2:]
            (png,) = render_plots([plot.drawing], "png", wide, tall, code=self._paper.language,
                                  accent=self._paper.accent)  # fmt: skip
            self._picture(png, plot.box, alt)
            return
        holder = self._fill(_MAIN, plot.box)
        frame = holder.insert_chart(native_chart.kind_of(picture), native_chart.data_of(picture))
        native_chart.dress(frame.chart, picture, self._palette)
        frame._element.nvGraphicFramePr.cNvPr.set("descr", alt)

    def _fill(self, index: int, box: Box) -> Any:
        shape = self._free.pop(index)
        shape.left, shape.top, shape.width, shape.height = self._place(box)
        return shape

    def _place(self, box: Box) -> tuple[int, int, int, int]:
        """The box in the file's units, mirrored where people read from right to left."""
        left, top, wide, tall = box
        left = WIDTH - left - wide if self._is_rtl else left
        return round(left * _EMU), round(top * _EMU), round(wide * _EMU), round(tall * _EMU)

    def _block(self, block: Block) -> None:
        shape = self._slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *self._place(block.box))  # type: ignore[arg-type]
        shape.fill.solid()
        shape.fill.fore_color.rgb = native_chart.rgb(self._palette[block.colour])
        shape.line.fill.background()
        shape._element.remove(shape._element.find(_STYLE))  # a theme's shadow and outline
        _set_decorative(shape)

    def _text(self, text: Text) -> None:
        index = {"title": _TITLE, "body": _MAIN}.get(text.holder)
        if index in self._free:
            shape = self._fill(index, text.box)
        else:
            shape = self._slide.shapes.add_textbox(*self._place(text.box))  # type: ignore[arg-type]
        frame = shape.text_frame
        frame.word_wrap = True
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
        frame.vertical_anchor = MSO_ANCHOR.MIDDLE if text.anchor == "middle" else MSO_ANCHOR.TOP
        self._run(frame.paragraphs[0], text.text, text.size, text.colour, text.bold,
                  text.align == "end")  # fmt: skip

    def _run(
        self, paragraph: Any, words: str, size: float, colour: str, is_bold: bool, is_end: bool
    ) -> None:
        paragraph.alignment = PP_ALIGN.RIGHT if is_end != self._is_rtl else PP_ALIGN.LEFT
        if self._is_rtl:
            paragraph._p.get_or_add_pPr().set("rtl", "1")
        run = paragraph.add_run()
        run.text = printable(words)
        run.font.size, run.font.bold = Pt(size), is_bold
        run.font.color.rgb = native_chart.rgb(self._palette[colour])
        run._r.get_or_add_rPr().set("lang", self._paper.language)

    def _cells(self, cells: Cells) -> None:
        holder = self._fill(_MAIN, cells.box)
        table = holder.insert_table(rows=len(cells.rows), cols=len(cells.rows[0])).table
        style = table._tbl.tblPr
        for mark in ("bandRow", "firstRow"):
            style.set(mark, "0")
        style_id = style.find(f"{{{_A}}}tableStyleId")
        if style_id is not None:  # "no style, no grid"
            style_id.text = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
        for column, wide in zip(table.columns, cells.widths, strict=True):
            column.width = Emu(round(wide * _EMU))
        for number, (row, texts) in enumerate(zip(table.rows, cells.rows, strict=True)):
            row.height = Emu(round(cells.heights[number] * _EMU))
            is_bold = not number or (cells.total and number == len(cells.rows) - 1)
            for at, words in enumerate(texts):
                cell = row.cells[at]
                cell.margin_left = cell.margin_right = round(cells.size * 0.4 * _EMU)
                cell.margin_top = cell.margin_bottom = 0
                cell.vertical_anchor = MSO_ANCHOR.MIDDLE
                self._run(cell.text_frame.paragraphs[0], words, cells.size,
                          "ink" if number else "muted", is_bold, at in cells.numbers)  # fmt: skip
                _underline(cell, self._palette["rule" if number else "accent"],
                           0.75 if number else 1.5)  # fmt: skip

    def _picture(self, content: bytes, box: Box, alt: str) -> None:
        left, top, wide, tall = self._place(box)
        shapes: Any = self._slide.shapes
        shape = shapes.add_picture(io.BytesIO(content), 0, 0)
        scale = min(wide / shape.width, tall / shape.height)
        shape.width, shape.height = round(shape.width * scale), round(shape.height * scale)
        shape.left = left + (wide - shape.width) // 2
        shape.top = top + (tall - shape.height) // 2
        shape._element.nvPicPr.cNvPr.set("descr", printable(alt))


def _set_decorative(shape: Any) -> None:
    """Leave a shape out of what screen readers say."""
    source = (
        f'<a:extLst xmlns:a="{_A}"><a:ext uri="{{C183D7F6-B498-43B3-948B-1728B52AA6E4}}">'
        '<adec:decorative xmlns:adec="http://schemas.microsoft.com/office/drawing/2017/decorative" '
        'val="1"/></a:ext></a:extLst>'
    )
    shape._element.nvSpPr.cNvPr.append(etree.fromstring(source))


def _underline(cell: Any, colour: str, wide: float) -> None:
    """A line below a table's cell."""
    source = (
        f'<a:lnB xmlns:a="{_A}" w="{round(wide * _EMU)}"><a:solidFill>'
        f'<a:srgbClr val="{colour[1:]}"/></a:solidFill></a:lnB>'
    )
    cell._tc.get_or_add_tcPr().append(etree.fromstring(source))
