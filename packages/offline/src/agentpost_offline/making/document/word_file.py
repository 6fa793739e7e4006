"""A paper as a Word file: real headings, lists, tables and pictures, to be edited on."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from agentpost_offline.making.content import Block, BlockKind, Figure, Grid, Paper, Runs
from agentpost_offline.making.document import pdf
from agentpost_offline.making.word import WordFile, colour, element
from agentpost_offline.style.typeset import cleaned

_SMALL = 8.5
_HEADING_LEVELS = 4
_INDENT = 14.0
_BEFORE_DRAWN = (BlockKind.CHART, BlockKind.TABLE, BlockKind.PICTURE, BlockKind.FIGURES)


def build(paper: Paper, pictures: Sequence[bytes]) -> bytes:
    """The .docx file, with page numbers."""
    return _Writer(paper, pictures).write()


class _Writer:
    def __init__(self, paper: Paper, pictures: Sequence[bytes]) -> None:
        self._paper, self._pictures = paper, pictures
        self._file = WordFile(
            paper.title, paper.language, paper.accent, headed=paper.has_title and bool(paper.title)
        )
        drawings = [block.drawing for block in paper.blocks if block.drawing is not None]
        self._plots = iter(pdf.plots(drawings, paper.language, paper.accent))

    def write(self) -> bytes:
        """Everything, in order."""
        paper, file = self._paper, self._file
        if paper.subtitle:
            file.say(paper.subtitle, "Subtitle")
        following = [*(block.kind for block in paper.blocks[1:]), None]
        for block, kind in zip(paper.blocks, following, strict=True):
            self._block(block, stays=kind in _BEFORE_DRAWN)
        if paper.remarks:
            small = file.say("")
            if paper.remarks_title:
                file.run(small, f"{paper.remarks_title}. ", size=_SMALL).bold = True
            file.run(small, " ".join(paper.remarks), size=_SMALL)
            file.shade(small)
        file.footer(paper.subtitle or paper.title)
        return file.data()

    def _block(self, block: Block, *, stays: bool) -> None:
        match block.kind:
            case BlockKind.HEADING:
                level = min(block.level, _HEADING_LEVELS)
                self._runs(self._file.say("", f"Heading {level}"), block.runs)
            case BlockKind.PARAGRAPH:
                paragraph = self._file.say("")
                paragraph.paragraph_format.keep_with_next = stays
                self._indent(paragraph, block.level)
                self._runs(paragraph, block.runs)
            case BlockKind.ITEM:
                self._item(block)
            case BlockKind.QUOTE:
                self._runs(self._file.quote(""), block.runs)
            case BlockKind.CODE:
                paragraph = self._file.say("")
                self._runs(paragraph, block.runs, size=_SMALL, is_code=True)
                self._file.shade(paragraph)
            case BlockKind.TABLE:
                assert block.grid is not None
                self._table(block.grid)
            case BlockKind.PICTURE:
                self._picture(self._pictures[block.picture], block.alt, block.runs)
            case BlockKind.CHART:
                self._chart(block)
            case BlockKind.FIGURES:
                self._figures(block.figures)
            case BlockKind.RULE:
                self._file.rule()

    def _indent(self, paragraph: Any, level: int) -> None:
        from docx.shared import Pt

        if level:
            paragraph.paragraph_format.left_indent = Pt(level * _INDENT)

    def _item(self, block: Block) -> None:
        from docx.shared import Pt

        paragraph = self._file.say("", "List Bullet" if block.number is None else "Normal")
        paragraph.paragraph_format.space_after = Pt(4)
        if block.number is not None:
            paragraph.paragraph_format.left_indent = Pt((block.level + 1) * _INDENT + 4)
            paragraph.paragraph_format.first_line_indent = Pt(-_INDENT - 4)
            self._file.run(paragraph, f"{block.number}.\t")
            paragraph.paragraph_format.tab_stops.add_tab_stop(Pt((block.level + 1) * _INDENT + 4))
        elif block.level:
            paragraph.paragraph_format.left_indent = Pt((block.level + 1) * _INDENT + 4)
        self._runs(paragraph, block.runs)

    def _runs(
        self, paragraph: Any, runs: Runs, *, size: float = 0, is_code: bool = False,
        is_bold: bool = False, soft: bool = False,
    ) -> None:  # fmt: skip
        for one in runs:
            target = paragraph
            if one.link:
                target = self._link(paragraph, one.link)
            run = self._file.run(paragraph, one.text, size=size, soft=soft)
            run.bold = True if one.bold or is_bold else None
            run.italic = True if one.italic else None
            run.font.strike = True if one.struck else None
            if one.code or is_code:
                run.font.name = "Courier New"
            if one.link:
                run.font.underline = True
                run.font.color.rgb = colour(self._file.accent)
                target.append(run._r)

    def _link(self, paragraph: Any, address: str) -> Any:
        from docx.opc.constants import RELATIONSHIP_TYPE
        from docx.oxml.ns import qn

        relation = paragraph.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        link = element("w:hyperlink")
        link.set(qn("r:id"), relation)
        paragraph._p.append(link)
        return link

    def _table(self, grid: Grid) -> None:
        def fill(paragraph: Any, runs: Runs, size: float, is_head: bool, is_strong: bool) -> None:
            self._runs(paragraph, runs, size=size, soft=is_head, is_bold=is_head or is_strong)

        self._file.table(grid.header, grid.rows, fill, numbers=grid.numbers, has_total=grid.total)

    def _picture(self, content: bytes, alt: str, caption: Runs) -> None:
        from docx.shared import Emu

        shape = self._file.word.add_picture(io.BytesIO(content))
        scale = min(1.0, self._file.width / shape.width, 0.8 * self._file.height / shape.height)
        shape.width, shape.height = Emu(int(shape.width * scale)), Emu(int(shape.height * scale))
        shape._inline.docPr.set("descr", cleaned(alt))
        if caption:
            self._runs(self._file.say(""), caption, size=_SMALL, soft=True)

    def _chart(self, block: Block) -> None:
        from docx.shared import Pt

        assert block.drawing is not None
        if block.runs:
            above = self._file.say("")
            self._runs(above, block.runs, size=_SMALL, soft=True)
            above.paragraph_format.keep_with_next = True
            above.paragraph_format.space_after = Pt(2)
        picture = io.BytesIO(next(self._plots))
        shape = self._file.word.add_picture(picture, width=self._file.width)
        shape._inline.docPr.set("descr", cleaned(block.drawing.alt))
        shape._inline.docPr.set("title", cleaned(block.drawing.picture.title))

    def _figures(self, figures: Sequence[Figure]) -> None:
        from docx.shared import Pt

        file = self._file
        table: Any = file.word.add_table(rows=1, cols=len(figures))
        for cell, figure in zip(table.rows[0].cells, figures, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.space_before = Pt(4)
            paragraph.paragraph_format.space_after = Pt(0)
            run = file.run(paragraph, figure.value, size=18)
            run.bold = True
            run.font.color.rgb = colour(file.accent)
            file.run(cell.add_paragraph(), figure.label, size=_SMALL, soft=True)
        file.borders(table, {"top": (file.accent, "8")})
        file.word.add_paragraph().paragraph_format.space_after = Pt(0)
