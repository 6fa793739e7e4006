"""What a paper says: documents as they are, a caller's sections, or what a table's figures say."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path, PurePath

from msgspec.structs import replace

from agentpost.agents.base import CannotSucceed, File
from agentpost.extraction import Unreadable
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import Block, BlockKind, Figure, Paper, Part, Run
from agentpost_offline.documents import sources
from agentpost_offline.documents.sources import Document
from agentpost_offline.frame import Frame, Grain, Thing
from agentpost_offline.making import pictures, queries
from agentpost_offline.making.chart import figures
from agentpost_offline.making.chart.drawing import is_empty
from agentpost_offline.making.chart.figures import Figures
from agentpost_offline.making.content import Points, Section
from agentpost_offline.story import naming
from agentpost_offline.story.tell import Claim, ClaimKind, Story, tell
from agentpost_offline.style import dates
from agentpost_offline.style.languages import language, texts

MOST_SLIDES = 40
_QUERIES = 5
_LENGTHS = {"shorter": 2 / 3, "longer": 1.5}
_SECTIONS = 5
_SECTIONS_PER_PAGE = 2
_SENTENCES = 3
_FIGURES = 4
_COMFORTABLE = 12
_SLIDE_ROWS = 11
"""Rows of a table on a slide of a table's deck."""


def convert(files: Sequence[File], frame: Frame) -> tuple[Paper, list[bytes]]:
    """The documents among the files and the text of the message as one paper, and its pictures.
    Raises `CannotSucceed` when there is nothing to convert."""
    beside = {file.name: file.local for file in files if pictures.form_of(file)}
    readable: list[tuple[str, Document]] = []
    omissions: list[str] = []
    for file in (file for file in files if file.name not in beside):
        try:
            readable.append((file.name, sources.read(file, beside)))
        except Unreadable as error:
            omissions.append(str(error))
    if frame.text.strip():
        readable.append(("", sources.from_text(frame.text, beside=beside)))
    readable = [(name, source) for name, source in readable if source.blocks]
    if not readable:
        raise CannotSucceed(
            f"{'; '.join(omissions)}." if omissions else "There is no text to convert."
        )
    blocks: list[Block] = []
    images: list[bytes] = []
    notes: list[str] = []
    for name, source in readable:
        prefix = f"{name}: not carried over" if name and len(readable) > 1 else "not carried over"
        notes += [f"{prefix}: {note}" for note in source.notes]
        for block in source.blocks:
            if block.kind is BlockKind.PICTURE:
                try:
                    data = io.BytesIO(source.pictures[block.picture])
                    images.append(pictures.for_document(data))
                except Unreadable:
                    what = f"the picture “{block.alt}”" if block.alt else "a picture"
                    notes.append(f"{prefix}: {what}, whose format cannot be shown")
                    continue
                block = replace(block, picture=len(images) - 1)
            blocks.append(block)
    title, blocks, has_title = _with_title(frame, readable, blocks)
    return Paper(
        title, tuple(blocks), language=frame.language, accent=frame.style.colour,
        has_title=has_title, notes=tuple(notes), skipped=tuple(omissions),
        used=tuple(name for name, _ in readable if name),
    ), images  # fmt: skip


def _with_title(
    frame: Frame, readable: Sequence[tuple[str, Document]], blocks: list[Block]
) -> tuple[str, list[Block], bool]:
    """The title, the blocks below it, and whether it is set above them. A first heading that is
    alone on its level is the title; a text without any has none that is shown."""
    name, source = readable[0]
    title = frame.style.title or source.title
    first = blocks[0]
    levels = [block.level for block in blocks if block.kind is BlockKind.HEADING]
    is_alone = first.kind is BlockKind.HEADING and first.level not in levels[1:] and (
        first.level == min(levels)
    )  # fmt: skip
    if is_alone and (not title or title.strip() == first.text.strip()):
        lift = min(levels[1:], default=1) - 1  # headings below a title begin on level 1
        return first.text, [
            replace(block, level=block.level - lift) if block.kind is BlockKind.HEADING else block
            for block in blocks[1:]
        ], True  # fmt: skip
    if title:
        return title, blocks, bool(frame.style.title) or bool(levels)
    return PurePath(name).stem or first.text[:60], blocks, False


def of_sections(
    files: Sequence[File], parts: Sequence[Section], frame: Frame
) -> tuple[Paper, list[bytes]]:
    """A paper of a caller's sections, and its pictures; raises `JobFailed`."""
    results = figures.compute(files, parts, frame.language, frame.style.colour)
    blocks: list[Block] = []
    images: list[bytes] = []
    notes: list[str] = []
    for part, own in zip(parts, results, strict=True):
        if part.title:
            blocks.append(replace(content.heading(part.title), notes=part.notes))
        blocks += _words_of(part, notes)
        if own is not None:
            blocks += _figure_blocks(own, part.show)
            notes += own.notes
        if part.header:
            blocks.append(Block(BlockKind.TABLE, grid=content.grid(part.header, part.rows)))
        if part.picture is not None:
            file = files[part.picture]
            images.append(pictures.for_document(file.local, file.name))
            blocks.append(Block(BlockKind.PICTURE, picture=len(images) - 1,
                                alt=file.label or Path(file.name).stem))  # fmt: skip
    origins = dict.fromkeys(own.source for own in results if own is not None)
    return Paper(
        frame.style.title or (parts[0].title if parts else ""), tuple(blocks),
        language=frame.language, accent=frame.style.colour, notes=tuple(dict.fromkeys(notes)),
        used=tuple(file.name for file in files), remarks=tuple(f"{one}." for one in origins),
    ), images  # fmt: skip


def _words_of(part: Section, notes: list[str]) -> list[Block]:
    """What a caller wrote into a section, as blocks."""
    blocks: list[Block] = []
    if part.text.strip():
        source = sources.from_text(part.text, is_markdown=True)
        notes += [f"not carried over: {note}" for note in source.notes]
        blocks += [replace(one, level=one.level + 1) if one.kind is BlockKind.HEADING else one
                   for one in source.blocks]  # fmt: skip
    blocks += [Block(BlockKind.ITEM, _inline(text)) for text in part.bullets]
    if part.columns:
        blocks.append(Block(BlockKind.COLUMNS, parts=_parts(part.columns)))
    if part.quote:
        by = (Run(f"\n{part.quoted_from}", italic=True),) if part.quoted_from else ()
        blocks.append(Block(BlockKind.QUOTE, (*_inline(part.quote), *by)))
    if part.timeline:
        blocks.append(Block(BlockKind.TIMELINE, parts=_parts(part.timeline)))
    if part.figures:
        blocks.append(Block(BlockKind.FIGURES, figures=part.figures))
    return blocks


def _parts(texts: Sequence[Points]) -> tuple[Part, ...]:
    return tuple(Part(one.title, tuple(map(_inline, one.points))) for one in texts)


def _inline(text: str) -> content.Runs:
    """A line of Markdown as runs."""
    blocks = sources.from_text(text, is_markdown=True).blocks
    is_line = len(blocks) == 1 and blocks[0].kind is BlockKind.PARAGRAPH
    return blocks[0].runs if is_line else content.words(text)


def _figure_blocks(own: Figures, show: str) -> list[Block]:
    blocks = []
    if own.drawing is not None and show != "table":
        below = content.words(own.subtitle)
        blocks.append(Block(BlockKind.CHART, below, drawing=own.drawing, source=own.source))
    if show != "chart" or own.drawing is None:
        blocks.append(Block(BlockKind.TABLE, grid=own.grid, source=own.source))
    return blocks


def of_tables(files: Sequence[File], frame: Frame) -> tuple[Paper, list[bytes]]:
    """A report, deck or page of the tables in files, told by their figures. A deck has as many
    slides as were asked for, as far as the tables reach. Raises `CannotSucceed` without a table."""
    from agentpost_offline.data.dataset import open_tables

    sheets, message_text = queries.table_files(files, frame.text)
    is_deck = frame.thing is Thing.DECK
    # A long deck needs more to tell.
    most = max(_QUERIES, min(frame.style.pages or 0, MOST_SLIDES) if is_deck else 0,
               12 if frame.style.length == "longer" else 0)  # fmt: skip
    with open_tables(sheets, message_text, frame.language) as dataset:
        tables, omissions = dataset.tables, list(dataset.skipped)
        with_tables, reasons = {table.file for table in tables}, " ".join(omissions)
        omissions += [f"{file.name} has no table" for file in files
                    if file.id not in with_tables and file.name not in reasons]  # fmt: skip
        if not tables:
            raise CannotSucceed(f"{'; '.join(omissions)}." if omissions else "There is no table.")
        asks = queries.to_tell(frame.queries, tables, most)
        parts = [part for one in asks for part in queries.on_one_scale(dataset, one)]
        story = tell(dataset, parts, frame.language)
    paper = _deck(story, frame) if is_deck else _report(story, frame)
    used = tuple(naming.with_rows(table, frame.language) for table in tables)
    return replace(paper, used=used, skipped=tuple(omissions)), []


def _report(story: Story, frame: Frame) -> Paper:
    """What the figures say, the most important of them large, a section for each result."""
    code, phrases = frame.language, texts("paper", frame.language)
    first = story.claims[0] if story.claims else None
    title = frame.style.title or (first.headline if first else story.tables[0].name)
    used_sentences = {title}
    blocks: list[Block] = []
    if first is not None:
        blocks.append(content.paragraph(_prefix(story, first.result) + first.sentence))
        used_sentences.add(first.sentence)
    keys = _key_figures(story)
    if len(keys) > 1:
        blocks.append(Block(BlockKind.FIGURES, figures=keys))
    count = round(_SECTIONS * _LENGTHS.get(frame.style.length or "", 1.0))
    if frame.style.pages:
        count = max(1, frame.style.pages * _SECTIONS_PER_PAGE)
    for at in _order(story)[:count]:
        query = story.results[at].query
        is_table = bool(query.groups) and query.grain is Grain.YEAR
        blocks += _section(story, at, frame, used_sentences, "table" if is_table else "chart")
    read = "; ".join(naming.with_rows(table, code) for table in story.tables)
    remarks = (phrases["read"].format(read), *(f"{note.rstrip('.')}." for note in story.notes))
    return Paper(
        title, tuple(blocks), subtitle=_subtitle(story), language=code, accent=frame.style.colour,
        remarks=remarks, remarks_title=phrases["how"], notes=story.notes,
    )  # fmt: skip


def _deck(story: Story, frame: Frame) -> Paper:
    """Key figures, a slide for each result with its chart, then the figures behind the charts."""
    code, phrases = frame.language, texts("paper", frame.language)
    style, order = frame.style, _order(story)
    used_sentences: set[str] = set()
    slides: list[list[Block]] = []
    keys = _key_figures(story)
    if len(keys) > 1:
        notes = " ".join(claim.sentence for claim in story.claims[:_FIGURES])
        head = replace(content.heading(phrases["figures"]), notes=notes)
        slides.append([head, Block(BlockKind.FIGURES, figures=keys)])
    slides += [_section(story, at, frame, used_sentences, "chart") for at in order]
    count = style.pages or min(len(slides) + 2, _COMFORTABLE)
    tables = [_figures_of(story, at, frame, ()) for at in order]
    slides += [
        [content.heading(f"{phrases['behind']}{language(code).colon}{own.subtitle}"),
         Block(BlockKind.TABLE, grid=_first_rows(own.grid), source=own.source)]
        for own in sorted(tables, key=lambda own: -len(own.grid.header))
    ]  # fmt: skip
    if style.length in _LENGTHS:
        count = max(2, round(count * _LENGTHS[style.length]))
    count = min(count, MOST_SLIDES)
    fewer = phrases["fewer"].format(asked=count, count=len(slides) + 1)
    stem = PurePath(story.tables[0].name.partition(",")[0]).stem
    name = " ".join(stem.replace("_", " ").replace("-", " ").split())
    return Paper(
        style.title or name[:1].upper() + name[1:],
        tuple(block for slide in slides[: count - 1] for block in slide),
        subtitle=story.claims[0].headline if story.claims else "", language=code,
        accent=style.colour,
        notes=(*story.notes, *([fewer] if style.pages and len(slides) + 1 < count else [])),
    )  # fmt: skip


def _first_rows(grid: content.Grid) -> content.Grid:
    """As many rows as stand on one slide; the sums of all of them stay the last one."""
    if len(grid.rows) <= _SLIDE_ROWS:
        return grid
    last = grid.rows[-1:] if grid.total else ()
    gap = (tuple(content.words("…") for _ in grid.header),)
    first = grid.rows[: _SLIDE_ROWS - 1 - len(last)]
    return replace(grid, rows=(*first, *gap, *last))


def _figures_of(story: Story, at: int, frame: Frame, claims: Sequence[Claim]) -> Figures:
    table, code = story.table(at), story.language
    style = replace(frame.style, title=None, chart=None)
    return figures.of_result(story.results[at], table, claims, style, code)


def _prefix(story: Story, at: int) -> str:
    """The name of a result's table, where there are several."""
    colon = language(story.language).colon
    return f"{story.table(at).name}{colon}" if len(story.tables) > 1 else ""


def _section(
    story: Story, at: int, frame: Frame, used_sentences: set[str], show: str
) -> list[Block]:
    """A heading that states a finding, what else there is to say, and the picture of it. What was
    ``used_sentences`` of before is not said again."""
    claims = [one for one in story.about(at) if one.kind is not ClaimKind.TOTAL]
    fresh = [one for one in claims if one.headline not in used_sentences]
    own = _figures_of(story, at, frame, fresh)
    heading = fresh[0].headline if fresh else own.subtitle
    sentences = [one.sentence for one in claims if one.sentence not in used_sentences][:_SENTENCES]
    if not fresh and own.drawing is not None:
        own = dataclasses.replace(own, subtitle="")  # it is the heading
    used_sentences |= {heading, *sentences}
    notes = " ".join([*sentences, own.drawing.alt if own.drawing else ""]).strip()
    return [
        replace(content.heading(_prefix(story, at) + heading), notes=notes),
        *map(content.paragraph, sentences),
        *_figure_blocks(own, show),
    ]


def _key_figures(story: Story) -> tuple[Figure, ...]:
    """Up to four figures to set large, the total first."""
    totals = [claim for claim in story.claims if claim.kind is ClaimKind.TOTAL]
    keys: dict[str, Figure] = {}
    for claim in [*totals[:1], *story.claims]:
        if claim.key is not None and claim.key[0] not in {one.value for one in keys.values()}:
            keys.setdefault(claim.key[1], Figure(*claim.key))
    return tuple(keys.values())[:_FIGURES]


def _order(story: Story) -> list[int]:
    """The results that can be drawn, most telling first; of several tables each in turn."""
    turns: dict[str, int] = {}
    places: list[tuple[int, float, int]] = []
    weights = [max((one.weight for one in story.about(at)), default=0.0)
               for at in range(len(story.results))]  # fmt: skip
    for at in sorted(range(len(weights)), key=lambda at: -weights[at]):
        query = story.results[at].query
        if (query.groups or query.time) and not is_empty(story.results[at]):
            turns[query.table] = turns.get(query.table, 0) + 1
            turn = turns[query.table] if len(story.tables) > 1 else 0
            places.append((turn, -weights[at], at))
    return [at for _, _, at in sorted(places)]


def _subtitle(story: Story) -> str:
    """The source, with the time that it covers."""
    code, tongue = story.language, language(story.language)
    if len(story.tables) > 1:
        return tongue.join([table.name for table in story.tables[:4]])
    text = naming.source(story.tables, code)
    time = naming.column(story.results[0].query.time, story.tables[0]) if story.results else None
    span = dates.span(time.first, time.last, None, code) if time is not None else ""
    return text + (tongue.separator + span if span else "")
