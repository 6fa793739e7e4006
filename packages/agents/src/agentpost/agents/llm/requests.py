"""What a model may ask of the makers: the arguments of the tools, and what they mean."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentpost.agents.llm.tables import Refused
from agentpost_offline.content.blocks import Figure
from agentpost_offline.data.model import Table
from agentpost_offline.frame import Aggregate, Filter, Grain, Measure, Op, Query
from agentpost_offline.making.content import Points, Section
from agentpost_offline.making.tabulating import Calculation, Operation, Part, Request

ChartKind = Literal["bar", "grouped", "stacked", "line", "scatter", "heatmap", "donut"]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Condition(_Arguments):
    """Which rows count. Dates are ISO 8601 days."""

    column: str
    op: Op = Op.IS
    values: list[str | float] = []


class MeasureRequest(_Arguments):
    """A figure to compute from one table, a column of the result."""

    table: str = Field(description="the table's name, as describe_tables gives it")
    column: str | None = Field(None, description="the column; null counts rows")
    aggregate: Aggregate = Aggregate.SUM
    name: str = Field("", description="what it is called in the result")
    by: list[str] | None = Field(None, description="the query's `by`, as this table calls it")
    time: str | None = Field(None, description="the query's `time`, as this table calls it")
    conditions: list[Condition] = []


class CalculationRequest(_Arguments):
    """A column of the result that is computed from two others, by their names."""

    name: str
    operation: Operation
    first: str
    second: str


class TableQuery(_Arguments):
    """A table to compute: measures by groups, of one table or joined over several."""

    measures: list[MeasureRequest] = Field(min_length=1, max_length=12)
    by: list[str] = Field([], description="columns to group by")
    time: str | None = Field(None, description="the date column of a time axis")
    grain: Grain | None = Field(None, description="the length of the time axis' periods")
    calculations: list[CalculationRequest] = []
    sort_by: str | None = Field(None, description="a column of the result")
    descending: bool = True
    top: int | None = Field(None, ge=1, description="only so many rows")


class ColumnRequest(_Arguments):
    title: str
    bullets: list[str]


class MomentRequest(_Arguments):
    when: str
    what: str


class FigureRequest(_Arguments):
    value: str
    label: str


class SectionRequest(_Arguments):
    """A section, slide or scene. The words are yours; use what the content needs, and leave out the
    rest: text or bullets, and one of columns (a comparison), quote, timeline, figures, table, query
    or picture."""

    title: str
    text: str = Field("", description="Markdown")
    bullets: list[str] = []
    columns: list[ColumnRequest] = Field([], max_length=4)
    quote: str = ""
    quoted_from: str = ""
    timeline: list[MomentRequest] = []
    figures: list[FigureRequest] = Field([], description="figures to set large")
    table: list[list[str]] = Field([], description="rows of texts, the header first")
    query: TableQuery | None = None
    show: Literal["chart", "table", "both"] = Field("chart", description="of the query")
    chart: ChartKind | None = None
    picture: str | None = Field(None, description="the name of a picture's file")
    notes: str = Field("", description="what is said while it is shown")


class SheetRequest(_Arguments):
    title: str
    query: TableQuery


class PictureEdit(_Arguments):
    """What becomes of each picture."""

    width: int | None = Field(None, ge=1, le=12_000)
    height: int | None = Field(None, ge=1, le=12_000)
    aspect: tuple[int, int] | None = Field(None, description="proportions to crop to, as [16, 9]")
    keep: Literal["left", "right", "top", "bottom", "centre"] = "centre"
    turn: int = Field(0, description="degrees, clockwise")
    grayscale: bool = False
    text: str = Field("", description="is set at the lower edge")
    collage: bool = Field(False, description="all pictures in one")

    def size(self) -> tuple[int, int] | None:
        """As a frame's style has it: pixels, or proportions."""
        if self.aspect is not None and not (self.width or self.height):
            return self.aspect
        return (self.width, self.height) if self.width and self.height else None

    def options(self) -> dict[str, Any]:
        """As a frame's style has them."""
        options = {
            "wide": self.width, "high": self.height, "rotate": self.turn, "text": self.text,
            "grayscale": self.grayscale, "collage": self.collage, "side": self.keep,
        }  # fmt: skip
        return {name: value for name, value in options.items() if value}


def request(query: TableQuery, tables: Sequence[Table]) -> Request:
    """What a query asks of those tables; raises `Refused` with the names there are."""
    parts = tuple(_part(measure, query, tables) for measure in query.measures)
    calculations = tuple(
        Calculation(one.name, one.operation, one.first, one.second) for one in query.calculations
    )
    return Request(parts, calculations, query.sort_by, query.descending, query.top)


def _part(measure: MeasureRequest, query: TableQuery, tables: Sequence[Table]) -> Part:
    table = next((one for one in tables if measure.table in (one.name, one.id)), None)
    if table is None:
        names = ", ".join(one.name for one in tables) or "none; name the files of the tables"
        raise Refused(f"there is no table {measure.table!r}; the tables are: {names}")
    by = query.by if measure.by is None else measure.by
    if len(by) != len(query.by):
        raise Refused(f"`by` of {measure.table} must have {len(query.by)} columns, as the query's")
    time = measure.time or query.time
    columns = {column.name for column in table.columns}
    used_columns = [measure.column, time, *by, *(one.column for one in measure.conditions)]
    unknown = [name for name in used_columns if name is not None and name not in columns]
    if unknown:
        raise Refused(
            f"{table.name} has no column {', '.join(unknown)}; it has {', '.join(sorted(columns))}"
        )
    aggregate = measure.aggregate if measure.column else Aggregate.COUNT
    return Part(
        Query(
            table.id, (Measure(measure.column, aggregate),), tuple(by), time, query.grain,
            tuple(Filter(one.column, one.op, tuple(one.values)) for one in measure.conditions),
        ),
        measure.name,
    )  # fmt: skip


def section(one: SectionRequest, tables: Sequence[Table], files: Sequence[str]) -> Section:
    """A section with its query and picture found; raises `Refused`."""
    header, *rows = one.table or [[]]
    if one.table and not header:
        raise Refused(f"the table of “{one.title}” has no header")
    return Section(
        one.title, one.text, tuple(one.bullets),
        tuple(Points(each.title, tuple(each.bullets)) for each in one.columns),
        one.quote, one.quoted_from,
        tuple(Points(each.when, (each.what,)) for each in one.timeline),
        tuple(Figure(each.value, each.label) for each in one.figures),
        tuple(header), tuple(map(tuple, rows)),
        request(one.query, tables) if one.query is not None else None, one.show, one.chart,
        files.index(one.picture) if one.picture else None, one.notes,
    )  # fmt: skip
