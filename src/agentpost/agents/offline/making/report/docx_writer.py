"""A report as a Word file."""

from __future__ import annotations

import io
from typing import Any

from agentpost.agents.offline.making.report import plots
from agentpost.agents.offline.making.report.content import Block, Report
from agentpost.agents.offline.making.word import Paper, colour
from agentpost.agents.offline.style.typeset import cleaned

_LABEL = 8.5
_DRAWN = ("chart", "pair", "table")


def build(report: Report) -> bytes:
    """The .docx file."""
    return _Writer(report).write()


class _Writer:
    def __init__(self, report: Report) -> None:
        self._report = report
        about = " ".join(report.lead)
        self._paper = Paper(report.title, report.language, report.accent, about=about)
        self._drawn: tuple[bytes, ...] = ()

    def write(self) -> bytes:
        """Everything, in order."""
        report, paper = self._report, self._paper
        if report.subtitle:
            paper.say(report.subtitle, "Subtitle")
        for line in report.lead:
            paper.say(line, size=12)
        if len(report.figures) > 1:
            self._figures()
        for section in report.sections:
            paper.say(section.heading, "Heading 1")
            after = [block.kind in _DRAWN for block in section.blocks[1:]]
            for block, drawn in zip(section.blocks, [*after, False], strict=True):
                self._block(block, drawn=drawn)
        if report.how:
            paragraph = paper.say("", size=_LABEL)
            paper.run(paragraph, f"{report.how_title}. ", size=_LABEL).bold = True
            paper.run(paragraph, " ".join(report.how), size=_LABEL)
            paper.shade(paragraph)
        paper.footer(report.subtitle)
        return paper.data()

    def _block(self, block: Block, *, drawn: bool) -> None:
        paper = self._paper
        if block.kind == "text":
            paper.say(block.text).paragraph_format.keep_with_next = drawn
        elif block.kind == "heading":
            paper.say(block.text, "Heading 2")
        elif block.kind == "items":
            for item in block.items:
                paper.item(item)
        elif block.kind == "quote":
            paper.quote(block.text, block.place)
        if block.kind in ("chart", "pair"):
            self._chart(block)
        if block.kind in ("table", "pair"):
            paper.table(block.header, block.rows, words=block.words, total=block.total)

    def _chart(self, block: Block) -> None:
        from docx.shared import Pt

        paper, drawing = self._paper, self._report.drawings[block.chart]
        if block.text:
            above = paper.say("")
            paper.run(above, block.text, size=_LABEL, soft=True)
            above.paragraph_format.keep_with_next = True
            above.paragraph_format.space_after = Pt(2)
        self._drawn = self._drawn or plots.drawn(self._report)
        picture = io.BytesIO(self._drawn[block.chart])
        shape = paper.word.add_picture(picture, width=paper.width)
        shape._inline.docPr.set("descr", cleaned(drawing.alt))
        shape._inline.docPr.set("title", cleaned(drawing.picture.title))

    def _figures(self) -> None:
        from docx.shared import Pt

        paper, figures = self._paper, self._report.figures
        table: Any = paper.word.add_table(rows=1, cols=len(figures))
        for cell, figure in zip(table.rows[0].cells, figures, strict=True):
            paragraph = cell.paragraphs[0]
            paragraph.paragraph_format.space_before = Pt(4)
            paragraph.paragraph_format.space_after = Pt(0)
            run = paragraph.add_run(cleaned(figure.value))
            run.bold, run.font.size = True, Pt(18)
            run.font.color.rgb = colour(paper.accent)
            paper.run(cell.add_paragraph(), figure.label, size=_LABEL, soft=True)
        paper.borders(table, {"top": (paper.accent, "8")})
        paper.word.add_paragraph().paragraph_format.space_after = Pt(0)
