"""What a report says: the tables read, their story told in sections (a step)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import CannotSucceed, File
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.frame import Frame, from_json
from agentpost.agents.offline.making import material
from agentpost.agents.offline.making.chart.picture import Drawing
from agentpost.agents.offline.making.report import figures
from agentpost.agents.offline.making.report.content import Report
from agentpost.agents.offline.story import naming
from agentpost.agents.offline.story.model import Story
from agentpost.agents.offline.story.tell import source_line
from agentpost.agents.offline.style import dates, fonts
from agentpost.agents.offline.style.languages import language, words

TEXTS = Path(__file__).with_name("texts")
_SECTIONS_BY_LENGTH = {"shorter": 2, "half": 2, "longer": 9, "double": 9}
_SECTIONS = 5
_SECTIONS_PER_PAGE = 2


@unpacking
def plan(files: Sequence[File], frame: dict[str, Any]) -> Any:
    """A step: the report of a frame, a `Report` as JSON.

    Raises `JobFailed` with a text for the user when there is no table to report on.
    """
    request = from_json(frame)
    texts = words(TEXTS, request.language)
    source = material.gathered(files, request)
    if source.story is None:
        raise CannotSucceed("; ".join(source.skipped) or "There is nothing to report on.")
    story = source.story
    drawings: list[Drawing] = []
    lead = figures.lead(story)
    title = request.style.title or (story.claims[0].headline if story.claims else _name(story))
    sections = figures.sections(story, request.style, drawings, {title, *lead})
    notes = dict.fromkeys([*story.notes, *(note for one in drawings for note in one.notes)])
    report = Report(
        title=title,
        subtitle=_subtitle(story),
        lead=tuple(line for line in lead if line != title),
        figures=figures.key_figures(story),
        sections=tuple(sections[: _section_count(request)]),
        drawings=tuple(drawings),
        how=(
            texts["read"].format("; ".join(source.used)),
            texts["checked"],
            *map(_sentence, notes),
        ),
        how_title=texts["how"],
        language=request.language,
        accent=request.style.colour,
        used=source.used,
        skipped=source.skipped,
        notes=tuple(notes),
    )
    missing = fonts.missing(msgspec.json.encode(report).decode())
    if missing:
        note = texts["missing"].format(fonts.sample(missing))
        report = msgspec.structs.replace(report, notes=(*report.notes, note))
    return msgspec.to_builtins(report)


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
