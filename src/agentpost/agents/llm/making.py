"""The built-in agent's makers as tools: each call is made of recorded calls on the job.

A maker takes steps and writes files of its own, so it is no step: it is run with the job itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Literal

import msgspec
from pydantic import BaseModel, Field
from pydantic_ai import ModelRetry, Tool

from agentpost.agents.adapters.current import current_job
from agentpost.agents.adapters.pydantic_ai import OWN_CALLS
from agentpost.agents.base import File, Job, JobFailed
from agentpost.agents.llm.writing import named
from agentpost.agents.offline import steps
from agentpost.agents.offline.data.model import Table
from agentpost.agents.offline.frame import (
    Act,
    Aggregate,
    Filter,
    Frame,
    Grain,
    Measure,
    Op,
    Order,
    Query,
    Style,
    Thing,
    to_json,
)
from agentpost.agents.offline.making import catalogue
from agentpost.agents.offline.making.maker import Inputs
from agentpost.extraction import Unreadable

_VERSIONS: Final = "llm_made"
_VALUES: Final = 12


class Condition(BaseModel):
    """Which rows count. Dates are ISO 8601 days."""

    column: str
    op: Op = Op.IS
    values: list[str | float] = []


class Look(BaseModel):
    """What to compute from a table, in its own column names (see `describe_tables`)."""

    table: str = Field(description="the table's name, as describe_tables gives it")
    column: str | None = Field(None, description="the number to compute; null counts rows")
    aggregate: Aggregate = Aggregate.SUM
    by: list[str] = Field([], description="columns to group by")
    time: str | None = Field(None, description="the date column of a time axis")
    grain: Grain | None = Field(None, description="the length of the periods of the time axis")
    conditions: list[Condition] = []
    top: int | None = Field(None, description="only the largest so many groups")


ChartKind = Literal[
    "bar", "grouped", "stacked", "line", "area", "scatter", "histogram", "heatmap", "donut",
    "multiples",
]  # fmt: skip


async def describe_tables(files: list[str]) -> str:
    """The tables in files: their names, columns, and what is in the columns."""
    job = current_job()
    tables = await _tables(job, await named(job, files))
    return "\n\n".join(map(_described, tables)) or "There are no tables in these files."


async def ask_tables(files: list[str], looks: list[Look]) -> str:
    """Compute figures from tables, exactly; each comes with how it was computed."""
    job = current_job()
    given = await named(job, files)
    queries = _queries(looks, await _tables(job, given))
    frame = Frame(Act.ASK, Thing.ANSWER, queries, files=tuple(file.id for file in given))
    try:
        found = await job.step(steps.ask_tables, given, to_json(frame), timeout=steps.SECONDS)
    except (JobFailed, Unreadable) as error:
        return f"This cannot be computed: {error}"
    return str(found["text"])


async def make_chart(
    files: list[str], look: Look, kind: ChartKind | None = None, title: str | None = None,
    formats: list[str] | None = None,
) -> str:  # fmt: skip
    """Draw a chart of a table (png, svg or pdf)."""
    return await _make(Thing.CHART, files, [look], Style(chart=kind, title=title), formats)


async def make_deck(
    files: list[str], looks: list[Look] | None = None, title: str | None = None,
    slides: int | None = None, formats: list[str] | None = None,
) -> str:  # fmt: skip
    """Make slides from tables and documents."""
    return await _make(Thing.DECK, files, looks or [], Style(title=title, pages=slides), formats)


async def make_report(
    files: list[str], looks: list[Look] | None = None, title: str | None = None,
    pages: int | None = None, formats: list[str] | None = None,
) -> str:  # fmt: skip
    """Make a report from tables and documents."""
    return await _make(Thing.REPORT, files, looks or [], Style(title=title, pages=pages), formats)


async def make_site(
    files: list[str], looks: list[Look] | None = None, title: str | None = None
) -> str:
    """Make a web page from tables and documents."""
    return await _make(Thing.SITE, files, looks or [], Style(title=title), None)


async def make_table(
    files: list[str], looks: list[Look] | None = None, title: str | None = None,
    formats: list[str] | None = None,
) -> str:  # fmt: skip
    """Make a workbook (xlsx or csv) with what is computed from tables."""
    return await _make(Thing.TABLE, files, looks or [], Style(title=title), formats)


async def make_film(
    files: list[str], looks: list[Look] | None = None, title: str | None = None,
    seconds: float | None = None,
) -> str:  # fmt: skip
    """Make a film from tables and documents."""
    return await _make(Thing.VIDEO, files, looks or [], Style(title=title, seconds=seconds), None)


def tools() -> list[Tool[Any]]:
    """All of them, for the makers whose libraries are installed."""
    made: dict[Thing, Callable[..., Awaitable[str]]] = {
        Thing.CHART: make_chart,
        Thing.DECK: make_deck,
        Thing.REPORT: make_report,
        Thing.SITE: make_site,
        Thing.TABLE: make_table,
        Thing.VIDEO: make_film,
    }
    found: list[Callable[..., Awaitable[str]]] = [describe_tables, ask_tables]
    for thing, function in made.items():
        maker = catalogue.maker(thing)
        if maker is not None and catalogue.missing_extra(maker) is None:
            found.append(function)
    return [Tool(one, sequential=True, metadata={OWN_CALLS: True}) for one in found]


async def _make(
    thing: Thing,
    files: Sequence[str],
    looks: Sequence[Look],
    style: Style,
    formats: Sequence[str] | None,
) -> str:
    job = current_job()
    maker = catalogue.maker(thing)
    assert maker is not None, "it is only offered when it is there"
    unknown = [form for form in formats or () if form not in maker.formats]
    if unknown:
        raise ModelRetry(f"formats are {', '.join(maker.formats)}, not {', '.join(unknown)}")
    given = await named(job, files)
    queries = _queries(looks, await _tables(job, given)) if looks else ()
    frame = Frame(
        Act.MAKE, thing, queries, style, tuple(formats or maker.usual),
        files=tuple(file.id for file in given),
    )  # fmt: skip
    counts = job.state.get(_VERSIONS)
    made_before = dict(counts) if isinstance(counts, dict) else {}
    before = made_before.get(thing.value)
    version = (before if isinstance(before, int) else 0) + 1
    job.state[_VERSIONS] = {**made_before, thing.value: version}
    try:
        made = await maker.make(job, Inputs(frame, tuple(given), version))
    except (JobFailed, Unreadable) as error:
        return f"This cannot be made: {error}"
    names = ", ".join(file.name for file in made.files)
    return "\n".join([f"Written: {names}.", made.text, *made.skipped, *made.notes])


async def _tables(job: Job, files: Sequence[File]) -> list[Table]:
    surveyed = await job.step(steps.survey, list(files), timeout=steps.SECONDS)
    return msgspec.convert(surveyed["tables"], list[Table])


def _queries(looks: Sequence[Look], tables: Sequence[Table]) -> tuple[Query, ...]:
    return tuple(_query(look, tables) for look in looks)


def _query(look: Look, tables: Sequence[Table]) -> Query:
    table = next((one for one in tables if look.table in (one.name, one.id)), None)
    if table is None:
        raise ModelRetry(f"There is no table {look.table!r}: {', '.join(t.name for t in tables)}.")
    columns = {column.name for column in table.columns}
    named = [look.column, look.time, *look.by, *(one.column for one in look.conditions)]
    unknown = [name for name in named if name is not None and name not in columns]
    if unknown:
        raise ModelRetry(
            f"{table.name} has no column {', '.join(unknown)}; it has {', '.join(sorted(columns))}."
        )
    return Query(
        table.id,
        (Measure(look.column, look.aggregate if look.column else Aggregate.COUNT),),
        tuple(look.by),
        look.time,
        look.grain,
        tuple(Filter(one.column, one.op, tuple(one.values)) for one in look.conditions),
        order=Order(count=look.top) if look.top else None,
    )


def _described(table: Table) -> str:
    lines = [f"Table {table.name}: {table.rows} rows"]
    for column in table.columns:
        values = ", ".join(column.values[:_VALUES])
        span = f"{column.first} to {column.last}" if column.first is not None else ""
        unit = f" in {column.unit}" if column.unit else ""
        lines.append(f"- {column.name}{unit} ({column.role}): {values or span}")
    return "\n".join(lines)
