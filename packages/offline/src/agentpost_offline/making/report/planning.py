"""What a report of tables says: their story told in sections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentpost.agents.base import File
from agentpost_offline.frame import Frame
from agentpost_offline.making import content, material
from agentpost_offline.making.content import Block, BlockKind, Paper
from agentpost_offline.making.report import figures
from agentpost_offline.story import naming
from agentpost_offline.story.model import Story
from agentpost_offline.story.tell import source_line
from agentpost_offline.style import dates
from agentpost_offline.style.languages import language, words

TEXTS = Path(__file__).with_name("texts")
_SECTIONS_BY_LENGTH = {"shorter": 2, "half": 2, "longer": 9, "double": 9}
_SECTIONS = 5
_ROWS = 1_000
_SECTIONS_PER_PAGE = 2


def report(files: Sequence[File], frame: Frame) -> Paper:
    """The report of the tables in files, told by their figures; `CannotSucceed` without any."""
    texts = words(TEXTS, frame.language)
    source = material.gathered(files, frame)
    story = source.story
    lead = figures.lead(story)
    title = frame.style.title or (story.claims[0].headline if story.claims else _name(story))
    stated = {title, *lead}
    parts = figures.sections(story, frame.style, stated)[: _section_count(frame)]
    blocks = [content.paragraph(line) for line in lead if line != title]
    keys = figures.key_figures(story)
    if len(keys) > 1:
        blocks.append(Block(BlockKind.FIGURES, figures=keys))
    blocks += [block for part in parts for block in part]
    if frame.style.options.get("rows"):
        blocks += _rows(files, frame)
    return Paper(
        title, tuple(blocks), subtitle=_subtitle(story), language=frame.language,
        accent=frame.style.colour, used=source.used, skipped=source.skipped,
        remarks=(texts["read"].format("; ".join(source.used)), texts["checked"],
                 *map(_sentence, story.notes)),
        remarks_title=texts["how"], notes=tuple(story.notes),
    )  # fmt: skip


def _rows(files: Sequence[File], frame: Frame) -> list[Block]:
    """The rows of each table as they stand, when they were asked for."""
    from agentpost_offline.data.dataset import opened
    from agentpost_offline.story.shape import shown

    blocks = []
    with opened(files, frame.text, frame.language) as dataset:
        for table in dataset.tables:
            header, rows = dataset.cells(table.id, limit=_ROWS)
            cells = [[shown(cell, frame.language) for cell in row] for row in rows]
            numbers = content.number_columns(cells, len(header))
            blocks += [
                content.heading(table.name),
                Block(BlockKind.TABLE, grid=content.grid(header, cells, numbers=numbers)),
            ]
    return blocks


def _section_count(frame: Frame) -> int:
    if frame.style.pages:
        return max(1, frame.style.pages * _SECTIONS_PER_PAGE)
    return _SECTIONS_BY_LENGTH.get(frame.style.length or "", _SECTIONS)


def _name(story: Story) -> str:
    return story.tables[0].name


def _subtitle(story: Story) -> str:
    """The source, with the time that it covers."""
    code = story.language
    tongue = language(code)
    if len(story.tables) > 1:
        return tongue.listed([table.name for table in story.tables[:4]])
    source = source_line(story.tables[0], code)
    text = source.partition(tongue.colon)[2] or source
    if not story.results:
        return text
    time = naming.column(story.results[0].query.time, story.table(0))
    if time is None:
        return text
    return text + tongue.separator + dates.span(time.first, time.last, None, code)


def _sentence(note: str) -> str:
    return note if note.endswith(".") else f"{note}."
