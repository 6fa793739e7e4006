"""The two jobs: a chart and a report. Read, build, check; then say what was used.

A job opens what it wrote before it says that it is done. Follow-up messages that arrive meanwhile
change the result when they ask for something we know, and are named when they do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agentpost.agents.base import File, Job, JobFailed, Said
from agentpost.agents.offline import (
    chart_draw,
    chart_spec,
    docx_writer,
    limits,
    pdf_writer,
    replies,
    report,
    requested,
    wording,
)
from agentpost.agents.offline.fonts import missing_in_charts, scripts
from agentpost.agents.offline.tables import read_table
from agentpost.agents.offline.texts import listed, plural, shortened, slug
from agentpost.extraction import Unreadable


def read_chart(file: File, options: dict[str, Any]) -> dict[str, Any]:
    """Read a table and decide on the picture (a `chart_spec.Spec` as JSON); a worker's step.

    Raises `JobFailed` with what to ask when no wording can be followed, before anything is charged.
    """
    table = read_table(file.local, file.name)
    notes: list[str] = []
    wordings = list(options.get("wording", []))
    rows, followed = requested.usable(table, wordings, notes)
    if wordings and not followed:
        raise JobFailed(str(requested.question(table, wordings[0])))
    spec = chart_spec.choose(rows, {**options, "wording": followed})
    spec.notes.extend(notes)
    texts = [spec.title, *spec.labels, *(str(series["name"]) for series in spec.series)]
    missing = missing_in_charts("".join(texts))
    if missing:
        spec.notes.append(f"no font here can show {scripts(missing)}, so there are boxes instead")
    return spec.json()


async def chart(job: Job, file: File, options: dict[str, Any], version: int) -> str:
    """Draw a chart of one file. ``version`` counts the charts of this work and names the file."""
    unused: list[str] = []
    for _ in range(limits.FOLLOW_UP_ROUNDS):
        await job.progress(f"Reading {file.name}")
        try:
            spec = await job.step(read_chart, file, options, timeout=limits.STEP_SECONDS)
        except Unreadable as error:
            raise JobFailed(f"{error}.") from error
        changes = _changes(await job.inbox(), "chart", unused)
        if not changes:
            break
        options = merged(options, changes)
    stem = slug(file.name, "data")
    name = f"{stem}-chart.png" if version == 1 else f"{stem}-chart-{version}.png"
    await job.progress(f"Drawing a {spec['kind']} chart")
    written = await job.write(
        name, chart_draw.draw, spec, cost=limits.CHART_CREDITS, label=spec["title"]
    )
    await job.progress(f"Checking {name}")
    await job.step(chart_draw.check, written, timeout=limits.STEP_SECONDS)
    _changes(await job.inbox(), None, unused)
    job.state.update(kind="chart", options=options, files=[file.id], version=version)
    result = {
        "read": [f"{file.name} ({plural(spec['rows'], 'row')})"],
        "skipped": [],
        "notes": [*spec["notes"], *unused],
    }
    lead = f"{spec['title']}, as a {spec['kind']} chart: {name}."
    return f"{lead}\n\n{replies.sources(result)}"


async def write_report(
    job: Job, files: list[File], text: str, options: dict[str, Any], version: int
) -> str:
    """Write a report from files and text, as Word and PDF unless ``options`` says which."""
    unused: list[str] = []
    names = listed([file.name for file in files]) or "your text"
    for _ in range(limits.FOLLOW_UP_ROUNDS):
        await job.progress(f"Reading {shortened(names, 80)}")
        outline = await job.step(
            report.read_sources, files, text, options, timeout=limits.STEP_SECONDS
        )
        changes = _changes(await job.inbox(), "report", unused)
        if not changes:
            break
        options = merged(options, changes)
    stem = slug(files[0].name, "report") if files else "text"
    stem = f"{stem}-report" if version == 1 else f"{stem}-report-{version}"
    made: list[str] = []
    extents: list[str] = []
    for form in options.get("formats", ("docx", "pdf")):
        name = f"{stem}.{form}"
        await job.progress(f"Writing {name}")
        build = report.build_docx if form == "docx" else report.build_pdf
        cost = 0.0 if made else limits.REPORT_CREDITS
        written = await job.write(
            name, build, files, text, options, cost=cost, label=outline["title"]
        )
        await job.progress(f"Checking {name}")
        extents.extend(await _checked(job, form, written, outline))
        made.append(name)
    _changes(await job.inbox(), None, unused)
    job.state.update(
        kind="report", options=options, files=[file.id for file in files], text=text,
        version=version,
    )  # fmt: skip
    outline["notes"] = [*outline["notes"], *unused]
    size = f" ({', '.join(extents)})" if extents else ""
    return f"“{outline['title']}” is ready: {listed(made)}{size}.\n\n{replies.sources(outline)}"


async def _checked(job: Job, form: str, written: File, outline: dict[str, Any]) -> list[str]:
    if form == "docx":
        await job.step(docx_writer.check, written, outline["headings"], timeout=limits.STEP_SECONDS)
        return []
    found = await job.step(pdf_writer.check, written, outline["title"], timeout=limits.STEP_SECONDS)
    return [plural(found["pages"], "page")]


def merged(options: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Options with changes on top; the wording of a change comes before older wordings.

    New axes ("now by region") also end the time steps that an older wording asked for.
    """
    said = " ".join(changes.get("wording", []))
    if re.search(r"\b(?:by|per)\b", said.lower()):
        options = {key: value for key, value in options.items() if key != "grain"}
    wordings = [*changes.get("wording", []), *options.get("wording", [])]
    return {**options, **changes} | ({"wording": wordings} if wordings else {})


def _changes(said: Sequence[Said], kind: str | None, unused: list[str]) -> dict[str, Any]:
    """What follow-ups ask for; those that ask for nothing known, or too late, go to ``unused``."""
    changes: dict[str, Any] = {}
    for one in said:
        if kind == "chart":
            found: dict[str, Any] = wording.chart_options(one.text)
            found["wording"] = [one.text[: limits.WISH_CHARACTERS]]
        else:
            found = wording.report_options(one.text) if kind == "report" else {}
        if not found:
            late = "came too late for" if kind is None else "could not be used for"
            unused.append(f"“{shortened(one.text, 80)}” {late} this result")
        changes = merged(changes, found)
    return changes
