"""Papers from what a caller wrote: Markdown and files, or sections with figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from agentpost.agents.base import CannotSucceed, File
from agentpost.extraction import Unreadable
from agentpost_offline.frame import Frame
from agentpost_offline.making import content, pictures, sources
from agentpost_offline.making.chart import computing
from agentpost_offline.making.chart.computing import Computed
from agentpost_offline.making.content import Block, BlockKind, Paper, Run
from agentpost_offline.making.material import is_picture
from agentpost_offline.making.sections import Section
from agentpost_offline.making.sources import Source

LARGEST_PICTURE = 2000
"""Pixels of the longer side of a picture in a document."""


def converted(files: Sequence[File], frame: Frame) -> tuple[Paper, list[bytes]]:
    """The documents among the files and the text of the message as one paper, and its pictures.

    Raises `CannotSucceed` when there is nothing to convert.
    """
    beside = {file.name: file.local for file in files if is_picture(file)}
    readable: list[tuple[str, Source]] = []
    skipped: list[str] = []
    for file in files:
        if file.name in beside:
            continue
        try:
            readable.append((file.name, sources.read(file, beside)))
        except Unreadable as error:
            skipped.append(str(error))
    if frame.text.strip():
        readable.append(("", sources.from_text(frame.text, beside=beside)))
    readable = [(name, source) for name, source in readable if source.blocks]
    if not readable:
        raise CannotSucceed(f"{'; '.join(skipped)}." if skipped else "There is no text to convert.")
    blocks, images, notes = _merged(readable)
    title, blocks, has_title = _titled(frame, readable, blocks)
    paper = Paper(
        title, tuple(blocks), language=frame.language, accent=frame.style.colour,
        has_title=has_title, notes=tuple(notes), skipped=tuple(skipped),
        used=tuple(name for name, _ in readable if name),
    )  # fmt: skip
    return paper, images


def _merged(
    readable: Sequence[tuple[str, Source]],
) -> tuple[list[Block], list[bytes], list[str]]:
    """The blocks of all sources one after the other. A picture that cannot be shown is named."""
    blocks: list[Block] = []
    images: list[bytes] = []
    notes: list[str] = []
    for name, source in readable:
        prefix = f"{name}: " if name and len(readable) > 1 else ""
        notes += [f"{prefix}not carried over: {note}" for note in source.notes]
        for block in source.blocks:
            if block.kind is not BlockKind.PICTURE:
                blocks.append(block)
                continue
            try:
                images.append(pictures.from_bytes(source.pictures[block.picture], LARGEST_PICTURE))
            except Unreadable:
                what = f"the picture “{block.alt}”" if block.alt else "a picture"
                notes.append(f"{prefix}not carried over: {what}, whose format cannot be shown")
                continue
            blocks.append(Block(BlockKind.PICTURE, block.runs, picture=len(images) - 1,
                                alt=block.alt))  # fmt: skip
    return blocks, images, notes


def _titled(
    frame: Frame, readable: Sequence[tuple[str, Source]], blocks: list[Block]
) -> tuple[str, list[Block], bool]:
    """The title, the blocks below it, and whether it is set above them.

    A first heading that is alone on its level is the title. A text without any has none that is
    shown; its file's name is that of the result.
    """
    name, source = readable[0]
    named = frame.style.title or source.title
    first = blocks[0]
    levels = [block.level for block in blocks if block.kind is BlockKind.HEADING]
    is_alone = (
        first.kind is BlockKind.HEADING
        and levels.count(first.level) == 1
        and first.level == min(levels)
    )
    if is_alone and (not named or named.strip() == first.text.strip()):
        return first.text, _raised(blocks[1:]), True
    if named:
        return named, blocks, bool(frame.style.title) or bool(levels)
    return PurePath(name).stem or first.text[:60], blocks, False


def _raised(blocks: Sequence[Block]) -> list[Block]:
    """Headings below a title begin on level 1."""
    levels = [block.level for block in blocks if block.kind is BlockKind.HEADING]
    lift = min(levels, default=1) - 1
    return [
        Block(block.kind, block.runs, block.level - lift) if block.kind is BlockKind.HEADING
        else block
        for block in blocks
    ]  # fmt: skip


def written(
    files: Sequence[File], parts: Sequence[Section], frame: Frame
) -> tuple[Paper, list[bytes]]:
    """A report or page of sections, and its pictures; raises `JobFailed`."""
    computed = computing.compute(files, parts, frame.language, frame.style.colour)
    blocks: list[Block] = []
    images: list[bytes] = []
    notes: list[str] = []
    remarks: list[str] = []
    for part, figures in zip(parts, computed, strict=True):
        if part.title:
            blocks.append(content.heading(part.title))
        blocks += words_of(part, notes)
        if part.figures:
            blocks.append(Block(BlockKind.FIGURES, figures=part.figures))
        if figures is not None:
            blocks += _shown(part, figures, frame.language)
            notes += figures.tabulated.notes
            remarks.append(figures.tabulated.source)
        if part.header:
            plain = [[*row, *[""] * (len(part.header) - len(row))] for row in part.rows]
            numeric = content.number_columns(plain, len(part.header))
            grid = content.grid(part.header, plain, numbers=numeric)
            blocks.append(Block(BlockKind.TABLE, grid=grid))
        if part.picture is not None:
            file = files[part.picture]
            picture, _ = pictures.as_file(file.local, name=file.name, most=LARGEST_PICTURE)
            images.append(picture)
            blocks.append(Block(BlockKind.PICTURE, picture=len(images) - 1,
                                alt=file.label or Path(file.name).stem))  # fmt: skip
    title = frame.style.title or (parts[0].title if parts else "")
    paper = Paper(
        title, tuple(blocks), language=frame.language, accent=frame.style.colour,
        notes=tuple(dict.fromkeys(notes)), used=tuple(file.name for file in files),
        remarks=tuple(f"{one}." for one in dict.fromkeys(remarks)),
    )  # fmt: skip
    return paper, images


def words_of(part: Section, notes: list[str]) -> list[Block]:
    """Text, bullets, columns, quote and timeline of a section as blocks."""
    blocks: list[Block] = []
    if part.text.strip():
        source = sources.from_text(part.text, is_markdown=True)
        notes += [f"not carried over: {note}" for note in source.notes]
        blocks += [
            Block(one.kind, one.runs, one.level + 1, one.number) if one.kind is BlockKind.HEADING
            else one
            for one in source.blocks
        ]  # fmt: skip
    blocks += [Block(BlockKind.ITEM, inline(text)) for text in part.bullets]
    for column in part.columns:
        blocks.append(content.heading(column.title, 2))
        blocks += [Block(BlockKind.ITEM, inline(text)) for text in column.bullets]
    if part.quote:
        by = (Run(f"\n{part.quoted_from}", italic=True),) if part.quoted_from else ()
        blocks.append(Block(BlockKind.QUOTE, (*inline(part.quote), *by)))
    blocks += [
        Block(BlockKind.ITEM, (Run(f"{one.when}: ", bold=True), *inline(one.what)))
        for one in part.timeline
    ]
    return blocks


def inline(text: str) -> content.Runs:
    """A line of Markdown as runs."""
    blocks = sources.from_text(text, is_markdown=True).blocks
    is_line = len(blocks) == 1 and blocks[0].kind is BlockKind.PARAGRAPH
    return blocks[0].runs if is_line else content.words(text)


def _shown(part: Section, figures: Computed, code: str) -> list[Block]:
    blocks = []
    below = computing.subtitle(figures, code)
    if figures.drawing is not None:
        blocks.append(Block(BlockKind.CHART, content.words(below), drawing=figures.drawing))
    if part.show != "chart" or figures.drawing is None:
        blocks.append(Block(BlockKind.TABLE, grid=figures.grid))
    return blocks
