"""The built-in agent's makers as tools of a model: each call is made of recorded calls on the job.

A maker takes steps and writes files of its own, so it is no step: it is run with the job itself.
What a maker refuses is the tool's result, in words that let the model call again.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any, Final, Literal, ParamSpec

import msgspec
from pydantic.json_schema import JsonSchemaMode
from pydantic_ai import Tool
from pydantic_ai.tools import GenerateToolJsonSchema

from agentpost.agents.adapters.current import current_job
from agentpost.agents.adapters.pydantic_ai import OWN_CALLS
from agentpost.agents.base import Job, JobFailed
from agentpost.agents.llm import requests, tables
from agentpost.agents.llm.requests import ChartKind, SectionRequest, SheetRequest, TableQuery
from agentpost.agents.llm.tables import Refused
from agentpost.agents.llm.writing import files_of_names, read_document
from agentpost.extraction import Unreadable
from agentpost_offline.data.model import Table
from agentpost_offline.frame import Act, Frame, Query, Style, Thing
from agentpost_offline.making import catalogue
from agentpost_offline.making.content import Section

_VERSIONS: Final = "llm_made"
_COLOUR: Final = re.compile("#[0-9a-fA-F]{6}")
P = ParamSpec("P")


def _refusing(tool: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
    """The tool, with refusals as its result."""

    @wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return await tool(*args, **kwargs)
        except (Refused, JobFailed, Unreadable) as error:
            return f"Not done: {error}"

    return call


async def _survey(names: Sequence[str]) -> list[Table]:
    """The tables in the files of those names."""
    return await tables.survey(current_job(), await files_of_names(names))


async def describe_tables(files: list[str]) -> str:
    """The tables in files: their names, columns, and what is in the columns."""
    surveys = await _survey(files)
    return "\n\n".join(map(tables.describe, surveys)) or "There are no tables in these files."


async def ask_tables(files: list[str], query: TableQuery) -> str:
    """Compute figures from tables, exactly: one measure or several, of one table or of several,
    with differences, ratios and percentages of them."""
    job, sources = current_job(), await files_of_names(files)
    request = msgspec.to_builtins(requests.request(query, await tables.survey(job, sources)))
    return str(await job.step(tables.compute, sources, request, timeout=tables.SECONDS))


async def make_chart(
    files: list[str], query: TableQuery, title: str, kind: ChartKind | None = None,
    colour: str | None = None, width: int | None = None, height: int | None = None,
    formats: list[str] | None = None,
) -> str:  # fmt: skip
    """Draw a chart (png, svg or pdf). `colour` is #rrggbb; `width` and `height` are pixels."""
    size = (width, height) if width and height else None
    style = Style(title=title, colour=colour, chart=kind, size=size)
    request = requests.request(query, await _survey(files))
    if kind == "scatter":
        first = request.parts[0].query
        measures = tuple(measure for part in request.parts for measure in part.query.measures)
        query_ = Query(first.table, measures, first.groups, filters=first.filters)
        return await _make(Thing.CHART, files, style, formats, queries=(query_,))
    section = Section(title, request=request, chart=kind)
    return await _make(Thing.CHART, files, style, formats, sections=(section,))


async def make_from_sections(
    product: Literal["deck", "report", "page", "film"], title: str,
    sections: list[SectionRequest], files: list[str] | None = None, colour: str | None = None,
    formats: list[str] | None = None, seconds: float | None = None, language: str = "en",
) -> str:  # fmt: skip
    """Make a deck (pptx, pdf), report (pdf, docx, html), web page (html) or film (mp4, up to 180
    seconds, `notes` as captions) of sections in your words, with charts, tables and pictures of
    `files`. A deck has a title slide, then one slide a section, laid out by its content."""
    if not sections:
        raise Refused("give at least one section")
    names = list(dict.fromkeys([*(files or []), *(s.picture for s in sections if s.picture)]))
    is_computed = any(section.query for section in sections)
    surveys = await _survey(names) if is_computed and names else []
    parts = tuple(requests.section(one, surveys, names) for one in sections)
    style = Style(title=title, colour=colour, seconds=seconds)
    thing = {"page": Thing.SITE, "film": Thing.VIDEO}.get(product) or Thing(product)
    return await _make(thing, names, style, formats, sections=parts, language=language)


async def make_document(
    markdown: str | None = None, files: list[str] | None = None, title: str | None = None,
    colour: str | None = None, formats: list[str] | None = None, language: str = "en",
) -> str:  # fmt: skip
    """Write a document (pdf, docx, html, pptx), as a letter, minutes, a brief: from Markdown, with
    tables and, as ![name](file.png), pictures of `files`; or convert files (Markdown, Word, HTML,
    text) as they are."""
    if not (markdown or "").strip() and not files:
        raise Refused("give `markdown`, or `files` to convert")
    style = Style(title=title, colour=colour)
    return await _make(
        Thing.DOCUMENT, files or [], style, formats, text=markdown or "", language=language
    )


async def make_table(
    files: list[str], sheets: list[SheetRequest], title: str | None = None,
    formats: list[str] | None = None,
) -> str:  # fmt: skip
    """Make a workbook (xlsx, csv) with a sheet for each query."""
    surveys = await _survey(files)
    sections = tuple(Section(one.title, request=requests.request(one.query, surveys))
                     for one in sheets)  # fmt: skip
    return await _make(Thing.TABLE, files, Style(title=title), formats, sections=sections)


async def edit_pictures(
    files: list[str], edit: requests.PictureEdit, format: str | None = None,  # noqa: A002
) -> str:  # fmt: skip
    """Crop, resize, turn, convert, letter pictures, or put several into a collage."""
    style = Style(size=edit.size(), options=edit.options())
    return await _make(Thing.IMAGE, files, style, [format] if format else [])


def tools() -> list[Tool[Any]]:
    """All of them."""
    functions: list[Callable[..., Awaitable[str]]] = [
        describe_tables, ask_tables, make_chart, make_table, make_from_sections, make_document,
        edit_pictures, read_document,
    ]  # fmt: skip
    return [
        Tool(_refusing(one), sequential=True, metadata={OWN_CALLS: True},
             schema_generator=_ShortSchema)
        for one in functions
    ]  # fmt: skip


class _ShortSchema(GenerateToolJsonSchema):
    """A schema without what says nothing to a model: titles and defaults of nothing."""

    def generate(self, schema: Any, mode: JsonSchemaMode = "validation") -> dict[str, Any]:
        """The schema of a tool's arguments."""
        short: dict[str, Any] = _without_noise(super().generate(schema, mode))
        return short


def _without_noise(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_noise(one) for one in value]
    if not isinstance(value, dict):
        return value
    schema_ = {
        key: _without_noise(one) for key, one in value.items()
        if not (key == "title" and isinstance(one, str))
        and not (key == "default" and one in (None, "", [], False, True))
    }  # fmt: skip
    options = schema_.get("anyOf", [])
    if len(options) == 2 and {"type": "null"} in options:
        (option,) = (one for one in options if one != {"type": "null"})
        schema_ = {**{key: one for key, one in schema_.items() if key != "anyOf"}, **option}
    return schema_


async def _make(
    thing: Thing, names: Sequence[str], style: Style, formats: Sequence[str] | None, *,
    sections: tuple[Section, ...] = (), queries: tuple[Query, ...] = (), text: str = "",
    language: str = "en",
) -> str:  # fmt: skip
    job = current_job()
    maker = catalogue.MAKERS[thing]
    extra = catalogue.missing_extra(maker)
    if extra is not None:
        raise Refused(f"a {maker.title.lower()} needs the extra {extra}, which is not installed")
    unknown = [form for form in formats or () if form not in maker.formats]
    if unknown:
        raise Refused(f"formats are {', '.join(maker.formats)}, not {', '.join(unknown)}")
    if style.colour is not None and not _COLOUR.fullmatch(style.colour):
        raise Refused(f"a colour is #rrggbb, not {style.colour!r}")
    sources = await files_of_names(names) if names else []
    default = () if thing is Thing.IMAGE else maker.usual
    frame = Frame(
        Act.MAKE, thing, queries, style, tuple(formats or default), language=language, text=text,
        files=tuple(file.id for file in sources),
    )  # fmt: skip
    result = await maker.make(job, frame, sources, _next_version(job, thing), sections)
    names_ = ", ".join(file.name for file in result.files)
    return "\n".join([f"Written: {names_}.", result.text, *result.skipped, *result.notes])


def _next_version(job: Job, thing: Thing) -> int:
    """How many results of this kind the work has with the next one."""
    state = job.state.get(_VERSIONS)
    counts = dict(state) if isinstance(state, dict) else {}
    before = counts.get(thing.value)
    version = (before if isinstance(before, int) else 0) + 1
    job.state[_VERSIONS] = {**counts, thing.value: version}
    return version
