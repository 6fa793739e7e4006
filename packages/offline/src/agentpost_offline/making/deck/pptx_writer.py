"""A placed deck as PowerPoint: native charts and tables that can be edited, and speaker notes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentpost_offline.making.deck import native_chart, template
from agentpost_offline.making.deck.pages import (
    Block,
    Box,
    Cells,
    Page,
    Picture,
    Plot,
    Text,
    colours,
    series,
)
from agentpost_offline.style.languages import language as language_of

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide

_EMU = 12700
_STYLE = "{http://schemas.openxmlformats.org/presentationml/2006/main}style"


def build(
    pages: Sequence[Page],
    images: Sequence[bytes],
    *,
    accent: str | None,
    title: str,
    language: str,
    thumbnail: bytes,
) -> bytes:
    """The .pptx file. ``images`` are PNG or JPEG files by their number in the pages, ``thumbnail``
    is a JPEG that previews show."""
    palette = colours(accent)
    deck, layouts = template.presentation(palette)
    deck.core_properties.title = title
    deck.core_properties.author = ""
    deck.core_properties.language = language
    for page in pages:
        slide = deck.slides.add_slide(layouts[page.layout])
        _Slide(slide, page, accent, images, language).draw()
    _set_thumbnail(deck, thumbnail)
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def _set_thumbnail(deck: Presentation, jpeg: bytes) -> None:
    """Put the picture in the place of the one that the library's empty file brings."""
    from pptx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
    from pptx.opc.package import Part
    from pptx.opc.packuri import PackURI

    package = deck.part.package
    for reference, relation in list(package._rels.items()):
        if relation.reltype == RELATIONSHIP_TYPE.THUMBNAIL:
            package.drop_rel(reference)
    part = Part(PackURI("/docProps/thumbnail.jpeg"), CONTENT_TYPE.JPEG, package, jpeg)
    package.relate_to(part, RELATIONSHIP_TYPE.THUMBNAIL)


class _Slide:
    """Draws one page."""

    def __init__(
        self,
        slide: Slide,
        page: Page,
        accent: str | None,
        images: Sequence[bytes],
        language: str,
    ) -> None:
        self.slide = slide
        self.page = page
        self.accent = accent
        self.palette = colours(accent)
        self.images = images
        self.language = language
        self.rtl = language_of(language).direction == "rtl"
        holders = template.HOLDERS[page.layout]  # type: ignore[index]
        self.free = {
            key: shape
            for key, idx in holders.items()
            for shape in slide.placeholders
            if shape.placeholder_format.idx == idx
        }

    def draw(self) -> None:
        """Everything of the page, then its notes."""
        for element in self.page.elements:
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
                    self._picture(element)
        for shape in self.free.values():  # an empty placeholder shows "click to add text"
            shape._element.getparent().remove(shape._element)
        if self.page.notes:
            frame = self.slide.notes_slide.notes_text_frame
            assert frame is not None
            frame.text = self.page.notes

    def _plot(self, plot: Plot) -> None:
        chart = plot.chart
        holder = self._held("plot", plot.box)
        frame = holder.insert_chart(native_chart.kind(chart), native_chart.data(chart))
        tones = series(len(chart.series), self.accent)
        native_chart.style(frame.chart, chart, self.palette, tones, template.FACE)
        frame._element.nvGraphicFramePr.cNvPr.set("descr", chart.alt)

    def _held(self, key: str, box: Box) -> Any:
        shape = self.free.pop(key)
        shape.left, shape.top, shape.width, shape.height = (round(v * _EMU) for v in self._at(box))
        return shape

    def _at(self, box: Box) -> Box:
        """The box, mirrored where people read from right to left."""
        left, top, wide, tall = box
        return (self.page.width - left - wide if self.rtl else left, top, wide, tall)

    def _block(self, block: Block) -> None:
        from pptx.enum.shapes import MSO_SHAPE

        box = [round(value * _EMU) for value in self._at(block.box)]
        shape = self.slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *box)  # type: ignore[arg-type]
        shape.fill.solid()
        shape.fill.fore_color.rgb = native_chart.rgb(self.palette[block.colour])
        shape.line.fill.background()
        shape._element.remove(shape._element.find(_STYLE))  # a theme's shadow and outline
        _decorative(shape)

    def _text(self, text: Text) -> None:
        from pptx.enum.text import MSO_ANCHOR
        from pptx.util import Pt

        if text.holder in self.free:
            shape = self._held(text.holder, text.box)
        else:
            box = [round(value * _EMU) for value in self._at(text.box)]
            shape = self.slide.shapes.add_textbox(*box)  # type: ignore[arg-type]
        frame = shape.text_frame
        frame.word_wrap = True
        frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
        frame.vertical_anchor = MSO_ANCHOR.MIDDLE if text.anchor == "middle" else MSO_ANCHOR.TOP
        for place, words in enumerate(text.paragraphs):
            paragraph = frame.paragraphs[0] if not place else frame.add_paragraph()
            if place and text.gap:
                paragraph.space_before = Pt(text.gap * text.size)
            self._aligned(paragraph, end=text.align == "end")
            run = paragraph.add_run()
            run.text = words
            run.font.size, run.font.bold = Pt(text.size), text.bold
            run.font.color.rgb = native_chart.rgb(self.palette[text.colour])
            run._r.get_or_add_rPr().set("lang", self.language)

    def _aligned(self, paragraph: Any, end: bool = False) -> None:
        from pptx.enum.text import PP_ALIGN

        paragraph.alignment = PP_ALIGN.RIGHT if end != self.rtl else PP_ALIGN.LEFT
        if self.rtl:
            paragraph._p.get_or_add_pPr().set("rtl", "1")

    def _cells(self, cells: Cells) -> None:
        from pptx.util import Emu

        rows = [cells.grid.header, *cells.grid.rows]
        holder = self._held("cells", cells.box)
        frame = holder.insert_table(rows=len(rows), cols=len(cells.grid.header))
        table = frame.table
        style = table._tbl.tblPr
        for mark in ("bandRow", "firstRow"):
            style.set(mark, "0")
        style_id = style.find(f"{{{style.nsmap['a']}}}tableStyleId")
        if style_id is not None:  # "no style, no grid"
            style_id.text = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
        for column, wide in zip(table.columns, cells.widths, strict=True):
            column.width = Emu(round(wide * _EMU))
        for number, (row, texts) in enumerate(zip(table.rows, rows, strict=True)):
            row.height = Emu(round(cells.heights[number] * _EMU))
            last = cells.grid.total and number == len(rows) - 1
            for at, words in enumerate(texts):
                self._cell(row.cells[at], words, cells, at, head=not number, strong=last)

    def _cell(
        self, cell: Any, words: str, cells: Cells, at: int, *, head: bool, strong: bool
    ) -> None:
        from pptx.enum.text import MSO_ANCHOR
        from pptx.util import Pt

        cell.margin_left = cell.margin_right = round(cells.size * 0.4 * _EMU)
        cell.margin_top = cell.margin_bottom = 0
        cell.vertical_anchor = MSO_ANCHOR.MIDDLE
        paragraph = cell.text_frame.paragraphs[0]
        self._aligned(paragraph, end=at in cells.grid.numbers)
        run = paragraph.add_run()
        run.text = words
        run.font.size, run.font.bold = Pt(cells.size), head or strong
        run.font.color.rgb = native_chart.rgb(self.palette["muted" if head else "ink"])
        _underlined(cell, self.palette["accent" if head else "rule"], 1.5 if head else 0.75)

    def _picture(self, picture: Picture) -> None:
        from pptx.util import Emu

        from agentpost_offline.making import pictures

        content = self.images[picture.image]
        holder = self.free.pop("picture")
        holder._element.getparent().remove(holder._element)
        size = pictures.size_of_bytes(content)
        left, top, wide, tall = pictures.within(size, self._at(picture.box))
        placed: Any = self.slide.shapes.add_picture(
            io.BytesIO(content), *(Emu(round(v * _EMU)) for v in (left, top, wide, tall))
        )
        placed._element.nvPicPr.cNvPr.set("descr", picture.alt)


def _decorative(shape: Any) -> None:
    """Leave a shape out of what screen readers say."""
    from lxml import etree

    source = (
        '<a:extLst xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        '<a:ext uri="{C183D7F6-B498-43B3-948B-1728B52AA6E4}"><adec:decorative '
        'xmlns:adec="http://schemas.microsoft.com/office/drawing/2017/decorative" val="1"/>'
        "</a:ext></a:extLst>"
    )
    shape._element.nvSpPr.cNvPr.append(etree.fromstring(source))


def _underlined(cell: Any, colour: str, wide: float) -> None:
    """A line below a table's cell."""
    from lxml import etree

    source = (
        '<a:lnB xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        f'w="{round(wide * _EMU)}"><a:solidFill><a:srgbClr val="{colour[1:]}"/></a:solidFill>'
        "</a:lnB>"
    )
    cell._tc.get_or_add_tcPr().append(etree.fromstring(source))
