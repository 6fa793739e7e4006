"""What a chart job draws: tables read, queries run, findings told, pictures planned (a step)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from agentpost.agents.base import CannotSucceed, File, JobFailed
from agentpost_offline.data.model import Cell, Kind, Result, Role, Table
from agentpost_offline.frame import Frame, Query, from_json
from agentpost_offline.making import queries
from agentpost_offline.making.chart import choosing, computing, plane
from agentpost_offline.making.chart.drawing import TEXTS, Wish, draw, empty
from agentpost_offline.making.picture import Drawing
from agentpost_offline.making.sections import Section
from agentpost_offline.story import naming
from agentpost_offline.story.tell import findings, source_line
from agentpost_offline.style import fonts, numbers
from agentpost_offline.style.languages import words

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

MOST_CHARTS = 6
_MOST_ROWS = 200_000
_OF_ROWS = ("scatter", "histogram")


class Plan(msgspec.Struct, frozen=True):
    """The pictures of a job, and what was read for them."""

    drawings: tuple[Drawing, ...]
    sentences: tuple[str, ...]
    used: tuple[str, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]


def plan(files: Sequence[File], frame: dict[str, Any], parts: Any = ()) -> Any:
    """A step: the pictures of a frame, a `Plan` as JSON.

    Raises `JobFailed` with a text for the user when there is nothing to draw.
    """
    from agentpost_offline.data.dataset import opened

    wanted = from_json(frame)
    if parts:
        return msgspec.to_builtins(_of_sections(files, wanted, parts))
    with opened(files, wanted.text, wanted.language) as dataset:
        if not dataset.tables:
            raise CannotSucceed("; ".join(dataset.skipped) or "There is no table to draw.")
        asked = wanted.queries or queries.chosen(dataset.tables, 1)
        planned = [_planned(dataset, query, wanted) for query in asked[:MOST_CHARTS]]
        skipped = list(dataset.skipped)
        used = [t for t in dataset.tables if any(q.table == t.id for q in asked)]
    drawings = tuple(drawing for drawing, _ in planned)
    notes = [note for drawing in drawings for note in drawing.notes]
    tongue = words(TEXTS, wanted.language)["notes"]
    gone = fonts.missing("".join(_texts(drawing) for drawing in drawings))
    if gone:
        notes.append(tongue["missing"].format(fonts.sample(gone)))
    notes.extend(f"{table.name}: {note}" for table in used for note in table.notes)
    made = Plan(
        drawings,
        tuple(sentence for _, sentence in planned),
        tuple(naming.with_rows(table, wanted.language) for table in used),
        tuple(skipped),
        tuple(dict.fromkeys(notes)),
    )
    return msgspec.to_builtins(made)


def _of_sections(files: Sequence[File], frame: Frame, parts: Any) -> Plan:
    """The drawing of each section that asks for figures."""
    requested = msgspec.convert(parts, tuple[Section, ...])
    computed = computing.compute(files, requested, frame.language, frame.style.colour)
    shown = [one for one in computed if one is not None and one.drawing is not None]
    if not shown:
        raise CannotSucceed("There is nothing to draw: a chart needs groups or a time axis.")
    drawings = tuple(one.drawing for one in shown if one.drawing is not None)
    notes = [note for one in shown for note in one.tabulated.notes]
    notes += [note for drawing in drawings for note in drawing.notes]
    sources = tuple(one.tabulated.table.name for one in shown)
    return Plan(drawings, ("",) * len(drawings), sources, (), tuple(dict.fromkeys(notes)))


def _texts(drawing: Drawing) -> str:
    cells = "".join(str(cell) for row in drawing.rows for cell in row if isinstance(cell, str))
    picture = drawing.picture
    return picture.title + picture.subtitle + picture.source + "".join(drawing.header) + cells


def _planned(dataset: Dataset, query: Query, frame: Frame) -> tuple[Drawing, str]:
    table = dataset.table(query.table)
    if frame.style.chart in _OF_ROWS:
        drawn = _of_rows(dataset, query, table, frame)
        if drawn is not None:
            return drawn, drawn.alt.partition(". ")[2]
    query = queries.with_axis(query, table, parts=frame.style.chart == "donut")
    result = dataset.run(query)
    notes: list[str] = list(result.notes)
    tongue = words(TEXTS, frame.language)
    while (longer := choosing.coarser(result.query, _periods(result))) is not None:
        result = dataset.run(longer)
        grains = words(naming.WORDS, frame.language)["grains"]
        assert longer.grain is not None
        notes = [tongue["notes"]["coarser"].format(grains[longer.grain.value])]
    if empty(result):
        _nothing(query, table, frame.language)
    claims = findings(dataset, result, table, 0, frame.language)
    wish = Wish(
        result, table, source_line(table, frame.language), claims, frame.style, frame.language
    )
    drawing = draw(wish)
    if frame.style.chart == "scatter":
        notes.append(tongue["notes"]["scatter_columns"])
    drawing = msgspec.structs.replace(drawing, notes=(*notes, *drawing.notes))
    return drawing, next((c.sentence for c in claims if c.headline == drawing.picture.title), "")


def _periods(result: Result) -> int:
    at = len(result.query.groups)
    return len({row[at] for row in result.rows}) if result.query.time is not None else 0


def _nothing(query: Query, table: Table, code: str) -> None:
    conditions = [naming.condition(f, table, code) for f in query.filters]
    said = f" with {', '.join(conditions)}" if conditions else ""
    raise JobFailed(f"There is nothing to draw: {table.name} has no values{said}.")


def _of_rows(dataset: Dataset, query: Query, table: Table, frame: Frame) -> Drawing | None:
    """A picture of rows themselves; None where the table has no columns for it."""
    code = frame.language
    named = list(dict.fromkeys(m.column for m in query.measures if m.column))
    unnamed = [c for c in table.columns if c.kind is Kind.NUMBER and c.name not in named]
    plain = [c.name for c in sorted(unnamed, key=lambda c: c.role is Role.IDENTIFIER)]
    result = Result(query, (), (), table.rows)
    wish = Wish(result, table, source_line(table, code), (), frame.style, code)
    if frame.style.chart == "histogram":
        columns = [*named, *plain][:1]
        if not columns:
            return None
        rows = _cells(dataset, query, columns)
        if len(plane.values_of(rows, 0)) < 2:
            _nothing(query, table, code)
        return _sampled(plane.histogram(wish, columns[0], rows), rows, table, code)
    columns = [*named, *plain][:2]
    if len(columns) < 2:
        return None
    if query.groups and len(query.measures) >= 2:
        found = dataset.run(query)
        points: list[tuple[Cell, ...]] = [
            (row[-1], row[-2], str(row[0])) for row in found.rows if row[0] is not None
        ]
        return plane.scatter(wish, (columns[1], columns[0]), points)
    names = [
        c.name for c in table.columns
        if c.kind is Kind.TEXT and c.distinct == table.rows and table.rows <= 400
    ]  # fmt: skip
    # "y against x": the measure that was named first goes up.
    rows = _cells(dataset, query, [columns[1], columns[0], *names[:1]])
    if len(rows) < 2:
        _nothing(query, table, code)
    return _sampled(plane.scatter(wish, (columns[1], columns[0]), rows), rows, table, code)


def _cells(dataset: Dataset, query: Query, columns: Sequence[str]) -> list[tuple[Cell, ...]]:
    return dataset.cells(query.table, columns, _MOST_ROWS, query)[1]


def _sampled(drawing: Drawing, rows: Sequence[object], table: Table, code: str) -> Drawing:
    if len(rows) < _MOST_ROWS:
        return drawing
    counts = (numbers.full(n, None, code) for n in (len(rows), table.rows))
    note = words(TEXTS, code)["notes"]["sample"].format(*counts)
    return msgspec.structs.replace(drawing, notes=(*drawing.notes, note))
