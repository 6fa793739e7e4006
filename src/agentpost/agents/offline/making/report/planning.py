"""What a report says: files read, tables computed and compared, documents quoted (a step)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agentpost.agents.base import CannotSucceed, File
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.frame import Frame, Query, from_json
from agentpost.agents.offline.making import queries
from agentpost.agents.offline.making.chart.picture import Drawing
from agentpost.agents.offline.making.material import is_picture
from agentpost.agents.offline.making.report import comparing, figures, papers
from agentpost.agents.offline.making.report.content import Figure, Report, Section
from agentpost.agents.offline.story import naming
from agentpost.agents.offline.story.model import Story
from agentpost.agents.offline.story.tell import source_line, tell
from agentpost.agents.offline.style import dates, fonts
from agentpost.agents.offline.style.languages import language, words
from agentpost.extraction import Unreadable

if TYPE_CHECKING:
    from agentpost.agents.offline.data.dataset import Dataset
    from agentpost.agents.offline.documents.model import Document

TEXTS = Path(__file__).with_name("texts")
_MOST_SECTIONS = {"shorter": 2, "half": 2, "longer": 9, "double": 9}
_SECTIONS = 5
_PER_PAGE = 2
_MOST_TABLES = 4
_TABLES = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xls", ".ods", ".json", ".jsonl", ".ndjson")


class _Read(msgspec.Struct):
    """What was read so far."""

    story: Story | None = None
    comparison: Any = None
    documents: tuple[Any, ...] = ()
    used: list[str] = msgspec.field(default_factory=list)
    skipped: list[str] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


@unpacking
def plan(files: Sequence[File], frame: dict[str, Any]) -> Any:
    """A step: the report of a frame, a `Report` as JSON.

    Raises `JobFailed` with a text for the user when there is nothing to report on.
    """
    wanted = from_json(frame)
    texts = words(TEXTS, wanted.language)
    drawings: list[Drawing] = []
    read = _read(files, wanted, drawings, texts)
    if read.story is None and not read.documents:
        raise CannotSucceed("; ".join(read.skipped) or "There is nothing to report on.")
    leading = figures.lead(read.story) if read.story is not None else ()
    title, subtitle = _titles(read, wanted, texts)
    sections = _sections(read, wanted, drawings, {title, *leading}, texts)
    if read.comparison is not None:
        leading = read.comparison.sentences
    if not leading:
        leading = tuple(filter(None, (papers.opening(d) for d in read.documents[:2])))
    report = Report(
        title=title,
        subtitle=subtitle,
        lead=tuple(line for line in leading if line != title),
        figures=_keys(read),
        sections=tuple(sections),
        drawings=tuple(drawings),
        how=tuple(_how(read, texts)),
        how_title=texts["how"],
        language=wanted.language,
        accent=wanted.style.colour,
        used=tuple(read.used),
        skipped=tuple(read.skipped),
    )
    return msgspec.to_builtins(_with_notes(report, read, texts))


def _with_notes(report: Report, read: _Read, texts: dict[str, Any]) -> Report:
    gone = fonts.missing(msgspec.json.encode(report).decode())
    notes = [*read.notes, *(note for drawing in report.drawings for note in drawing.notes)]
    if gone:
        notes.append(texts["missing"].format(fonts.sample(gone)))
    return msgspec.structs.replace(report, notes=tuple(dict.fromkeys(notes)))


def _keys(read: _Read) -> tuple[Figure, ...]:
    if read.comparison is not None:
        found: tuple[Figure, ...] = read.comparison.figures
        return found
    return figures.key_figures(read.story) if read.story is not None else ()


def _read(
    files: Sequence[File], frame: Frame, drawings: list[Drawing], texts: dict[str, Any]
) -> _Read:
    read = _Read()
    tables: list[File] = []
    others: list[File] = []
    for file in files:
        if is_picture(file):
            read.skipped.append(texts["picture"].format(file.name))
        else:
            (tables if file.name.lower().endswith(_TABLES) else others).append(file)
    read.documents = tuple(_documents(others, frame, read))
    pasted = frame.text if not tables or "\t" in frame.text else ""
    if tables or pasted or not read.documents:
        _compute([*tables, *([] if read.documents else others)], pasted, frame, read, drawings,
                 texts)  # fmt: skip
    if frame.text and read.story is None:
        from agentpost.agents.offline.documents.reading import read_text

        own = read_text(frame.text, texts["message"])
        read.documents = (*read.documents, own)
        read.used.append(texts["message"])
    return read


def _documents(files: Sequence[File], frame: Frame, read: _Read) -> list[Document]:
    if not files:
        return []
    from agentpost.agents.offline.documents.reading import read as read_document

    found = []
    for file in files:
        try:
            document = read_document(file)
        except Unreadable as error:
            read.skipped.append(str(error))
            continue
        if document.blocks:
            found.append(document)
            read.used.append(file.name)
            read.notes.extend(f"{file.name}: {note}" for note in document.notes)
        else:
            read.skipped.append(words(TEXTS, frame.language)["empty"].format(file.name))
    return found


def _compute(
    files: Sequence[File], pasted: str, frame: Frame, read: _Read, drawings: list[Drawing],
    texts: dict[str, Any],
) -> None:  # fmt: skip
    from agentpost.agents.offline.data.dataset import opened

    with opened(files, pasted, frame.language) as dataset:
        read.skipped.extend(dataset.skipped)
        if not dataset.tables:
            return
        read.story = tell(dataset, _asked(dataset, frame), frame.language)
        read.notes.extend(read.story.notes)
        read.used += [naming.with_rows(table, frame.language) for table in dataset.tables]
        if len(dataset.tables) > 1:
            read.comparison = comparing.compared(
                dataset, frame.style, frame.language, drawings, texts["compared"]
            )


def _asked(dataset: Dataset, frame: Frame) -> tuple[Query, ...]:
    """What to compute: what was asked for, filled up with what a table's reader wants to know."""
    tables = sorted(dataset.tables, key=lambda table: -table.rows)[:_MOST_TABLES]
    each = 5 if len(tables) == 1 else 3 if len(tables) == 2 else 2
    usual = [query for table in tables for query in queries.chosen((table,), each)]
    if not any(query.measures or query.groups or query.time for query in frame.queries):
        usual = [
            query
            for table in tables
            for query in queries.wanted(
                [one for one in frame.queries if one.table == table.id], (table,), each
            )
        ]
        return tuple(usual)
    filters = {query.filters for query in frame.queries}
    measures = {query.measures for query in frame.queries}
    if len(frame.queries) > 2 or filters != {()} or len(measures) > 1:
        return frame.queries
    asked = frame.queries[0]
    more = [
        msgspec.structs.replace(query, measures=asked.measures)
        for query in usual
        if query.table == asked.table and asked.measures
    ]
    return tuple(dict.fromkeys((*frame.queries, *more)))


def _sections(
    read: _Read, frame: Frame, drawings: list[Drawing], said: set[str], texts: dict[str, Any]
) -> list[Section]:
    style = frame.style
    most = _MOST_SECTIONS.get(style.length or "", _SECTIONS)
    if style.pages:
        most = max(1, style.pages * _PER_PAGE)
    made: list[Section] = [read.comparison.section] if read.comparison is not None else []
    known = read.comparison.labels if read.comparison is not None else frozenset()
    if read.story is not None:
        made += figures.sections(read.story, style, drawings, said, known)
    made = made[:most]
    quoted, nowhere = papers.sections(read.documents, style.sections, max(2, most))
    if len(read.documents) > 1:
        side = papers.side_by_side(read.documents, frame.language, texts["compared"])
        quoted = [side, *quoted] if side is not None else quoted
    read.notes.extend(texts["nothing"].format(subject) for subject in nowhere)
    return [*made, *quoted]


def _titles(read: _Read, frame: Frame, texts: dict[str, Any]) -> tuple[str, str]:
    code = frame.language
    tongue = language(code)
    names = [used.partition(" (")[0] for used in read.used]
    below = tongue.listed(names[:4]) + ("…" if len(names) > 4 else "")
    title = frame.style.title
    if read.story is not None and read.story.results:
        query, table = read.story.results[0].query, read.story.table(0)
        time = naming.column(query.time, table)
        if len(read.story.tables) == 1:
            below = source_line(table, code).partition(tongue.colon)[2] or below
        if time is not None and len(read.story.tables) == 1:
            below += tongue.separator + dates.span(time.first, time.last, None, code)
        if title is None and read.comparison is None and read.story.claims:
            title = read.story.claims[0].headline
        if title is None:
            title = read.comparison.title if read.comparison is not None else table.name
    if title is None and len(read.documents) == 1:
        title = read.documents[0].title or read.documents[0].name
    if title is None:
        title = texts["several"].format(len(read.documents))
    return title, below


def _how(read: _Read, texts: dict[str, Any]) -> list[str]:
    said = [texts["read"].format("; ".join(read.used))] if read.used else []
    if read.skipped:
        said.append(texts["left"].format("; ".join(read.skipped)))
    if read.story is not None:
        said.append(texts["checked"])
    if read.documents:
        said.append(texts["quoted"])
    said.extend(note if note.endswith(".") else f"{note}." for note in dict.fromkeys(read.notes))
    return said
