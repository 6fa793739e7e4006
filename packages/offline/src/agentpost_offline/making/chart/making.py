"""The steps of a chart: read, compute and plan; draw and check; write its data beside it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from agentpost.agents.base import CannotSucceed, File, JobFailed
from agentpost_offline.content.picture import Drawing
from agentpost_offline.data.model import Kind, Result, Role, Table
from agentpost_offline.frame import Cell, Frame, Query, Style, Thing, from_json
from agentpost_offline.making import catalogue, queries
from agentpost_offline.making.chart import choosing, figures
from agentpost_offline.making.chart.drawing import draw, is_empty, scatter
from agentpost_offline.making.chart.rendering import SIZE, render
from agentpost_offline.making.content import Section
from agentpost_offline.making.maker import Output, Plan, csv_of, file_name
from agentpost_offline.story import naming
from agentpost_offline.story.tell import findings
from agentpost_offline.style import fonts, numbers
from agentpost_offline.style.languages import language, texts

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

SECONDS = 120.0
MOST_CHARTS = 6
_MOST_ROWS = 200_000
_LEAST_COLOURS = 3


def plan(files: Sequence[File], frame_json: Any, sections: Any, version: int) -> Any:
    """A step: the drawings of a frame, each with a sentence about it. Raises `JobFailed` when there
    is nothing to draw."""
    frame = from_json(frame_json)
    if sections:
        charts = _of_sections(files, frame, msgspec.convert(sections, tuple[Section, ...]))
    else:
        charts = _of_tables(files, frame)
    tongue, phrases = language(frame.language), texts("chart", frame.language)
    source = files[0].name if files else phrases["title"]
    forms = catalogue.MAKERS[Thing.CHART].forms(frame)
    pictures: list[Output] = []
    beside: list[Output] = []
    lines: list[str] = []
    for at, (drawing, sentence) in enumerate(charts.drawings):
        thing = f"chart-{at + 1}" if len(charts.drawings) > 1 else "chart"
        title = drawing.picture.title
        own = [Output(file_name(source, thing, version, form), title, (form,), at)
               for form in forms]  # fmt: skip
        pictures += own
        for what, label, form in (("data", "Data", "csv"), ("alt", "Alternative text", "txt")):
            name = file_name(source, f"{thing}-{what}", version, form)
            beside.append(Output(name, label, (form,), at))
        kind = f"{drawing.picture.kind}{'_stacked' if drawing.picture.is_stacked else ''}"
        if frame.style.chart == "grouped" and kind in ("bar", "column"):
            kind += "_grouped"
        quote = f"{tongue.quotes[0]}{title}{tongue.quotes[1]}"
        names = tongue.join([one.name for one in own])
        lines += [f"{phrases['kinds'][kind]} {quote}{tongue.colon}{names}.", sentence]
    return msgspec.to_builtins(Plan(
        " ".join(filter(None, lines)), (*pictures, *beside), tuple(charts.used),
        tuple(charts.omissions), tuple(dict.fromkeys(charts.notes)),
        tuple(drawing for drawing, _ in charts.drawings),
    ))  # fmt: skip


class _Charts(NamedTuple):
    """Drawings, each with a sentence about it, and what was read for them."""

    drawings: Sequence[tuple[Drawing, str]]
    used: Sequence[str]
    omissions: Sequence[str]
    notes: Sequence[str]


def _of_tables(files: Sequence[File], frame: Frame) -> _Charts:
    """The drawing of each query, else of what is usual."""
    from agentpost_offline.data.dataset import open_tables

    with open_tables(files, frame.text, frame.language) as dataset:
        if not dataset.tables:
            raise CannotSucceed("; ".join(dataset.skipped) or "There is no table to draw.")
        asks = list(frame.queries or queries.usual(dataset.tables, 1))
        if frame.style.chart == "line":  # which runs with time, whatever was sorted before
            asks = [
                msgspec.structs.replace(one, order=None)
                if one.time and one.order and not one.order.count else one for one in asks
            ]  # fmt: skip
        if frame.style.chart != "scatter":
            is_whole = frame.style.chart == "donut"
            asks = [
                queries.with_axis(one, dataset.table(one.table), parts=is_whole) for one in asks
            ]
            asks = [part for one in asks for part in queries.on_one_scale(dataset, one)]
        asks, others = asks[:MOST_CHARTS], asks[MOST_CHARTS:]
        pairs = [_drawing(dataset, query, frame) for query in asks]
        omissions = dataset.skipped
        tables = [one for one in dataset.tables if one.id in {query.table for query in asks}]
    drawings = [drawing for drawing, _ in pairs]
    notes = [note for drawing in drawings for note in drawing.notes]
    if others:
        names = dict.fromkeys(
            naming.measure(one, table, frame.language)
            for query in others for table in tables if table.id == query.table
            for one in query.measures
        )  # fmt: skip
        pattern = texts("chart", frame.language)["notes"]["other_scale"]
        notes.append(pattern.format(language(frame.language).join(list(names))))
    notes += fonts.note(msgspec.json.encode(drawings).decode(), frame.language)
    notes += [f"{table.name}: {note}" for table in tables for note in table.notes]
    used = [naming.with_rows(one, frame.language) for one in tables]
    return _Charts(pairs, used, omissions, notes)


def _of_sections(files: Sequence[File], frame: Frame, parts: Sequence[Section]) -> _Charts:
    """The drawing of each section that asks for figures."""
    all_figures = figures.compute(files, parts, frame.language, frame.style.colour)
    charts, notes = [], []
    for one in all_figures:
        if one is not None and one.drawing is not None:
            charts.append((one.drawing, ""))
            notes += [*one.notes, *one.drawing.notes]
    if not charts:
        raise CannotSucceed("There is nothing to draw: a chart needs groups or a time axis.")
    return _Charts(charts, [file.name for file in files], (), notes)


def _drawing(dataset: Dataset, query: Query, frame: Frame) -> tuple[Drawing, str]:
    """The picture of a query, and what it says in a sentence."""
    table, code = dataset.table(query.table), frame.language
    phrases, grains = texts("chart", code)["notes"], texts("story", code)["grains"]
    notes: list[str] = []
    if frame.style.chart == "scatter":
        drawing = _scatter(dataset, query, table, frame)
        if drawing is not None:
            return drawing, ""
        notes.append(phrases["scatter_columns"])
        query = queries.with_axis(query, table)
    result = dataset.run(query)
    while (longer := choosing.coarser(result.query, _periods(result))) is not None:
        result = dataset.run(longer)
        notes.append(phrases["coarser"].format(grains[str(longer.grain)]))
    if is_empty(result):
        raise _nothing(query, table, code)
    claims = findings(result, table, 0, code)
    source = naming.source_line([table], code)
    drawing = draw(result, table, source, claims, frame.style, code)
    drawing = replace(drawing, notes=(*result.notes, *notes, *drawing.notes))
    return drawing, next((c.sentence for c in claims if c.headline == drawing.picture.title), "")


def _periods(result: Result) -> int:
    at = len(result.query.groups)
    return len({row[at] for row in result.rows}) if result.query.time is not None else 0


def _nothing(query: Query, table: Table, code: str) -> JobFailed:
    conditions = ", ".join(naming.condition(one, table, code) for one in query.filters)
    under = f" with {conditions}" if conditions else ""
    return JobFailed(f"There is nothing to draw: {table.name} has no values{under}.")


def _scatter(dataset: Dataset, query: Query, table: Table, frame: Frame) -> Drawing | None:
    """Two columns against each other; None where the table has no two columns of numbers."""
    code = frame.language
    columns = list(dict.fromkeys(m.column for m in query.measures if m.column))
    others = [c for c in table.columns if c.kind is Kind.NUMBER and c.name not in columns]
    columns += [c.name for c in sorted(others, key=lambda c: c.role is Role.IDENTIFIER)]
    if len(columns) < 2:
        return None
    up, across = columns[:2]  # "y against x": the measure that was named first goes up
    if query.groups and len(query.measures) >= 2:
        points: list[tuple[Cell, ...]] = [
            (row[-1], row[-2], str(row[0])) for row in dataset.run(query).rows if row[0] is not None
        ]
        return scatter(query, table, (across, up), points, frame.style, code)
    names = [c.name for c in table.columns
             if c.kind is Kind.TEXT and c.distinct == table.rows and table.rows <= 400]  # fmt: skip
    rows = dataset.cells(query.table, [across, up, *names[:1]], _MOST_ROWS, query)
    if len(rows) < 2:
        raise _nothing(query, table, code)
    drawing = scatter(query, table, (across, up), rows, frame.style, code)
    if len(rows) < _MOST_ROWS:
        return drawing
    counts = (numbers.full(count, None, code) for count in (len(rows), table.rows))
    note = texts("chart", code)["notes"]["sample"].format(*counts)
    return replace(drawing, notes=(*drawing.notes, note))


def _size(style: Style) -> tuple[int, int] | None:
    """The pixels that were asked for; of a width or height alone, in the usual proportion."""
    wide, high = style.options.get("wide"), style.options.get("high")
    if style.size is not None or not (wide or high):
        return style.size
    ratio = SIZE[0] / SIZE[1]
    return round(wide or float(high or 0) * ratio), round(high or float(wide or 0) / ratio)


def write(
    files: Sequence[File], frame_json: Any, sections: Any, drawing_json: Any,
    form: Literal["png", "svg", "pdf", "csv", "txt"],
) -> bytes:  # fmt: skip
    """A write: a drawing as a picture, its data or its alternative text. Raises `JobFailed` when a
    PNG is blank."""
    from PIL import Image

    frame, drawing = from_json(frame_json), msgspec.convert(drawing_json, Drawing)
    if form == "csv":
        return csv_of([drawing.header, *drawing.rows])
    if form == "txt":
        return f"{drawing.alt}\n".encode()
    content = render(drawing, form, size=_size(frame.style), code=frame.language,
                     accent=frame.style.colour)  # fmt: skip
    if form == "png":
        with Image.open(io.BytesIO(content)) as image:
            colours = image.convert("RGB").resize((160, 90)).getcolors(maxcolors=160 * 90)
        if colours is not None and len(colours) < _LEAST_COLOURS:
            raise JobFailed("The chart came out blank.")
    return content
