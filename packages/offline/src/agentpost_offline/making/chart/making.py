"""The steps of a chart: read, compute and plan; draw and check; write its data beside it."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agentpost.agents.base import CannotSucceed, File, Job, JobFailed
from agentpost_offline.data.model import Cell, Kind, Result, Role, Table
from agentpost_offline.frame import Frame, Query, Thing, from_json, to_json
from agentpost_offline.making import catalogue, queries
from agentpost_offline.making.chart import choosing, figures, scatter
from agentpost_offline.making.chart.drawing import TEXTS, Wish, draw, is_empty
from agentpost_offline.making.chart.rendering import data_csv, render
from agentpost_offline.making.content import Section
from agentpost_offline.making.maker import Inputs, Product, file_name
from agentpost_offline.making.picture import Drawing
from agentpost_offline.story import naming
from agentpost_offline.story.tell import findings, source_line
from agentpost_offline.style import fonts, languages, numbers
from agentpost_offline.style.languages import words

if TYPE_CHECKING:
    from agentpost_offline.data.dataset import Dataset

SECONDS = 120.0
MOST_CHARTS = 6
FORMATS = ("png", "svg", "pdf")
_MOST_ROWS = 200_000
_LEAST_COLOURS = 3


class Plan(msgspec.Struct, frozen=True):
    """The pictures of a job, a sentence about each, and what was read for them."""

    drawings: tuple[Drawing, ...]
    sentences: tuple[str, ...]
    used: tuple[str, ...]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]


async def make(job: Job, inputs: Inputs) -> Product:
    """Draw the charts of a frame; raises `JobFailed` with a text for the user."""
    frame = inputs.frame
    await job.progress(f"Reading {', '.join(file.name for file in inputs.files) or 'your table'}")
    request = (list(inputs.files), to_json(frame), msgspec.to_builtins(inputs.sections))
    plan_ = msgspec.convert(await job.step(plan, *request, timeout=SECONDS), Plan)
    forms = [form for form in frame.formats if form in FORMATS] or ["png"]
    tongue = languages.language(frame.language)
    texts = words(TEXTS, frame.language)
    source = inputs.files[0].name if inputs.files else texts["title"]
    opening, closing = tongue.quotes
    pictures: list[File] = []
    beside: list[File] = []
    lines: list[str] = []
    for n, (drawing, sentence) in enumerate(zip(plan_.drawings, plan_.sentences, strict=True)):
        thing = f"chart-{n + 1}" if len(plan_.drawings) > 1 else "chart"
        title, data = drawing.picture.title, msgspec.to_builtins(drawing)
        await job.progress(f"Drawing: {title}")
        own = [
            await job.write(
                file_name(source, thing, inputs.version, form), picture, data, form,
                frame.style.size, frame.language, frame.style.colour, label=title, timeout=SECONDS,
                cost=0.0 if at else catalogue.MAKERS[Thing.CHART].credits,
            )
            for at, form in enumerate(forms)
        ]  # fmt: skip
        pictures += own
        name = file_name(source, f"{thing}-data", inputs.version, "csv")
        beside.append(await job.write(name, table, data, label="Data"))
        name = file_name(source, f"{thing}-alt", inputs.version, "txt")
        beside.append(await job.write(name, f"{drawing.alt}\n".encode(), label="Alternative text"))
        names = tongue.listed([file.name for file in own])
        kind = texts["kinds"][drawing.picture.kind]
        lines.append(f"{kind} {opening}{title}{closing}{tongue.colon}{names}.")
        lines += [sentence] if sentence else []
    return Product(" ".join(lines), [*pictures, *beside], list(plan_.used), list(plan_.skipped),
                   list(plan_.notes))  # fmt: skip


def plan(files: Sequence[File], frame_json: dict[str, Any], sections: Any = ()) -> Any:
    """A step: the pictures of a frame, a `Plan` as JSON.

    Raises `JobFailed` with a text for the user when there is nothing to draw.
    """
    from agentpost_offline.data.dataset import opened

    frame = from_json(frame_json)
    if sections:
        return msgspec.to_builtins(_of_sections(files, frame, sections))
    with opened(files, frame.text, frame.language) as dataset:
        if not dataset.tables:
            raise CannotSucceed("; ".join(dataset.skipped) or "There is no table to draw.")
        asked = (frame.queries or queries.usual(dataset.tables, 1))[:MOST_CHARTS]
        pairs = [_drawing(dataset, query, frame) for query in asked]
        skipped = tuple(dataset.skipped)
        used = [t for t in dataset.tables if any(q.table == t.id for q in asked)]
    drawings = tuple(drawing for drawing, _ in pairs)
    notes = [note for drawing in drawings for note in drawing.notes]
    missing = fonts.missing("".join(_texts(drawing) for drawing in drawings))
    if missing:
        pattern = words(TEXTS, frame.language)["notes"]["missing"]
        notes.append(pattern.format(fonts.sample(missing)))
    notes.extend(f"{table.name}: {note}" for table in used for note in table.notes)
    return msgspec.to_builtins(Plan(
        drawings, tuple(sentence for _, sentence in pairs),
        tuple(naming.with_rows(table, frame.language) for table in used), skipped,
        tuple(dict.fromkeys(notes)),
    ))  # fmt: skip


def _of_sections(files: Sequence[File], frame: Frame, sections: Any) -> Plan:
    """The drawing of each section that asks for figures."""
    parts = msgspec.convert(sections, tuple[Section, ...])
    computed = figures.compute(files, parts, frame.language, frame.style.colour)
    shown = [one for one in computed if one is not None and one.drawing is not None]
    if not shown:
        raise CannotSucceed("There is nothing to draw: a chart needs groups or a time axis.")
    drawings = tuple(one.drawing for one in shown if one.drawing is not None)
    notes = [note for one in shown for note in one.notes]
    notes += [note for drawing in drawings for note in drawing.notes]
    used = tuple(file.name for file in files)
    return Plan(drawings, ("",) * len(drawings), used, (), tuple(dict.fromkeys(notes)))


def _texts(drawing: Drawing) -> str:
    cells = "".join(str(cell) for row in drawing.rows for cell in row if isinstance(cell, str))
    picture = drawing.picture
    return picture.title + picture.subtitle + picture.source + "".join(drawing.header) + cells


def _drawing(dataset: Dataset, query: Query, frame: Frame) -> tuple[Drawing, str]:
    """The picture of a query, and what it says in a sentence."""
    table, code = dataset.table(query.table), frame.language
    texts = words(TEXTS, code)["notes"]
    notes: list[str] = []
    if frame.style.chart == "scatter":
        drawing = _scatter(dataset, query, table, frame)
        if drawing is not None:
            return drawing, ""
        notes.append(texts["scatter_columns"])
    query = queries.with_axis(query, table, parts=frame.style.chart == "donut")
    result = dataset.run(query)
    while (longer := choosing.coarser(result.query, _periods(result))) is not None:
        result = dataset.run(longer)
        assert longer.grain is not None
        grain = words(naming.WORDS, code)["grains"][longer.grain.value]
        notes.append(texts["coarser"].format(grain))
    if is_empty(result):
        _refuse(query, table, code)
    claims = findings(result, table, 0, code)
    drawing = draw(Wish(result, table, source_line(table, code), claims, frame.style, code))
    notes = [*result.notes, *notes, *drawing.notes]
    drawing = msgspec.structs.replace(drawing, notes=tuple(notes))
    return drawing, next((c.sentence for c in claims if c.headline == drawing.picture.title), "")


def _periods(result: Result) -> int:
    at = len(result.query.groups)
    return len({row[at] for row in result.rows}) if result.query.time is not None else 0


def _refuse(query: Query, table: Table, code: str) -> None:
    conditions = [naming.condition(f, table, code) for f in query.filters]
    under = f" with {', '.join(conditions)}" if conditions else ""
    raise JobFailed(f"There is nothing to draw: {table.name} has no values{under}.")


def _scatter(dataset: Dataset, query: Query, table: Table, frame: Frame) -> Drawing | None:
    """Two columns against each other; None where the table has no two columns of numbers."""
    code = frame.language
    columns = list(dict.fromkeys(m.column for m in query.measures if m.column))
    others = [c for c in table.columns if c.kind is Kind.NUMBER and c.name not in columns]
    columns += [c.name for c in sorted(others, key=lambda c: c.role is Role.IDENTIFIER)]
    if len(columns) < 2:
        return None
    up, across = columns[:2]  # "y against x": the measure that was named first goes up
    wish = Wish(Result(query, (), (), table.rows), table, source_line(table, code), (), frame.style,
                code)  # fmt: skip
    if query.groups and len(query.measures) >= 2:
        points: list[tuple[Cell, ...]] = [
            (row[-1], row[-2], str(row[0])) for row in dataset.run(query).rows if row[0] is not None
        ]
        return scatter.scatter(wish, (across, up), points)
    names = [
        c.name for c in table.columns
        if c.kind is Kind.TEXT and c.distinct == table.rows and table.rows <= 400
    ]  # fmt: skip
    rows = dataset.cells(query.table, [across, up, *names[:1]], _MOST_ROWS, query)[1]
    if len(rows) < 2:
        _refuse(query, table, code)
    drawing = scatter.scatter(wish, (across, up), rows)
    if len(rows) < _MOST_ROWS:
        return drawing
    counts = (numbers.full(n, None, code) for n in (len(rows), table.rows))
    note = words(TEXTS, code)["notes"]["sample"].format(*counts)
    return msgspec.structs.replace(drawing, notes=(*drawing.notes, note))


def picture(
    drawing_json: dict[str, Any], form: Literal["png", "svg", "pdf"], size: Sequence[int] | None,
    code: str, accent: str | None,
) -> bytes:  # fmt: skip
    """A write: one drawing as a file. Raises `JobFailed` when a figure cannot be read in it, or
    when it is blank."""
    drawing = msgspec.convert(drawing_json, Drawing)
    pixels = (size[0], size[1]) if size else None
    page = render([drawing], "pdf", size=pixels, code=code, accent=accent).pages[0]
    lost = _unreadable(page, drawing.figures)
    if lost:
        raise JobFailed(f"The chart came out without its figures ({', '.join(lost[:3])}).")
    if form == "pdf":
        return page
    content = render([drawing], form, size=pixels, code=code, accent=accent).pages[0]
    if form == "png" and _is_blank(content):
        raise JobFailed("The chart came out blank.")
    return content


def table(drawing: dict[str, Any]) -> bytes:
    """A write: the data of a drawing."""
    return data_csv(msgspec.convert(drawing, Drawing))


def _unreadable(pdf: bytes, texts: Sequence[str]) -> list[str]:
    """Those figures whose digits are not in the text of a PDF."""
    import pypdfium2

    with pypdfium2.PdfDocument(pdf) as document:
        text = _digits("".join(page.get_textpage().get_text_range() for page in document))
    return [figure for figure in texts if _digits(figure) not in text]


def _digits(text: str) -> str:
    return re.sub(r"[^\d.,]", "", text)


def _is_blank(png: bytes) -> bool:
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        colours = image.convert("RGB").resize((160, 90)).getcolors(maxcolors=160 * 90)
    return colours is not None and len(colours) < _LEAST_COLOURS
