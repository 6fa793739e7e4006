"""Reports: what goes into one, and the steps of building it (all run in a worker process).

A source is an attached file or text from the message. Texts keep their structure, tables become
an overview with a chart; what cannot be placed is left out by name.
"""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

from agentpost.agents.base import File, JobFailed
from agentpost.agents.offline import chart_draw, chart_spec, docx_writer, limits, pdf_writer
from agentpost.agents.offline.answers import extent
from agentpost.agents.offline.columns import aggregate, default_aggregate, measures
from agentpost.agents.offline.document import Block, Document, parse, table, text_runs
from agentpost.agents.offline.fonts import missing_in_pdfs, scripts
from agentpost.agents.offline.summary import facts
from agentpost.agents.offline.tables import Column, Table, is_table, read_table
from agentpost.agents.offline.texts import amount, day, humanise, listed, plural, shortened
from agentpost.extraction import Unreadable
from agentpost.extraction.reading import read_text

_MARKDOWN = (".md", ".markdown", ".docx", ".html", ".htm", ".pptx")


def read_sources(files: list[File], text: str, options: dict[str, Any]) -> dict[str, Any]:
    """Read everything once to tell what the report will be.

    Returns ``title``, ``headings`` (as they will stand in the Word file), ``read``, ``skipped``
    and ``notes``. Raises `JobFailed` when nothing could be read.
    """
    document, read, skipped = _compose(files, text, options, draw=False)
    missing = missing_in_pdfs(document.text())
    notes = list(document.notes)
    if missing and "pdf" in options.get("formats", ("pdf",)):
        notes.append(f"no font here can show {scripts(missing)}, so the PDF has boxes there")
    return {
        "title": document.title,
        "headings": document.headings(),
        "read": read,
        "skipped": skipped,
        "notes": notes,
    }


def build_docx(files: list[File], text: str, options: dict[str, Any]) -> bytes:
    """Return the report as a Word file."""
    return docx_writer.build(_compose(files, text, options, draw=True)[0])


def build_pdf(files: list[File], text: str, options: dict[str, Any]) -> bytes:
    """Return the report as a PDF."""
    return pdf_writer.build(_compose(files, text, options, draw=True)[0])


def _compose(
    files: list[File], text: str, options: dict[str, Any], *, draw: bool
) -> tuple[Document, list[str], list[str]]:
    parts: list[Document] = []
    read: list[str] = []
    skipped: list[str] = []
    budget = limits.REPORT_CHARACTERS
    if text:
        parts.append(parse(_fitting(text, budget), markdown=False))
        read.append(f"your text ({plural(len(text.split()), 'word')})")
    for file in files:
        try:
            part, phrase = _part(file, budget, draw=draw)
        except Unreadable as error:
            skipped.append(str(error))
            continue
        budget = max(0, budget - len(part.text()))
        parts.append(part)
        read.append(f"{file.name} ({phrase})")
    if not parts:
        raise JobFailed(f"There is nothing to report on: {listed(skipped) or 'no text was given'}.")
    document = parts[0] if len(parts) == 1 else _joined(parts)
    document.title = options.get("title") or document.title or "Report"
    document.subtitle = f"From {listed([file.name for file in files])}" if files else ""
    document.notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    return document, read, skipped


def _part(file: File, budget: int, *, draw: bool) -> tuple[Document, str]:
    if is_table(file.name, file.content_type):
        data = read_table(file.local, file.name)
        return _from_table(data, draw=draw), plural(data.rows, "row")
    if budget < 1:
        raise Unreadable(f"{file.name}, because the report is full")
    text = read_text(file.local, file.name, file.content_type)
    phrase = extent(text)
    fitting = _fitting(text, budget)
    document = parse(fitting, markdown=file.name.lower().endswith(_MARKDOWN))
    if len(fitting) < len(_unpaged(text)):
        document.notes.append(f"{file.name} is cut after {len(fitting):,} characters")
    document.title = document.title or humanise(file.name.rpartition(".")[0] or file.name)
    if not document.blocks:
        raise Unreadable(f"{file.name} has no text in it")
    return document, phrase


def _fitting(text: str, budget: int) -> str:
    lines = _unpaged(text)[:budget].split("\n")
    return "\n".join(lines[: limits.REPORT_LINES])


def _unpaged(text: str) -> str:
    return text.replace("\f", "\n\n")


def _joined(parts: list[Document]) -> Document:
    """Several documents under one title: each becomes a chapter."""
    blocks: list[Block] = []
    for part in parts:
        name = part.title or "Text"
        blocks.append({"type": "heading", "level": 1, "runs": text_runs(name)})
        for block in part.blocks:
            if block["type"] == "heading":
                block = {**block, "level": min(block["level"] + 1, 6)}
            blocks.append(block)
    return Document(f"{parts[0].title or 'Report'} and more" if len(parts) > 1 else "", blocks)


def _from_table(data: Table, *, draw: bool) -> Document:
    name = humanise(data.source.rpartition(".")[0] or data.source)
    document = Document(name, [], notes=[f"{data.source}: {note}" for note in data.notes])
    document.blocks.append(_heading("Overview"))
    items = [[{"type": "paragraph", "runs": text_runs(line)}] for line in facts(data)]
    document.blocks.append({"type": "list", "ordered": False, "start": 1, "items": items})
    figure = _figure(data, draw=draw)
    if figure is not None:
        document.blocks.extend((_heading("Chart"), figure))
    document.blocks.extend(_breakdowns(data))
    document.blocks.extend((_heading("Columns"), _column_table(data)))
    if data.rows <= 40 and len(data.columns) <= 8:
        document.blocks.extend((_heading("Data"), _rows_table(data)))
    return document


def _heading(text: str) -> Block:
    return {"type": "heading", "level": 1, "runs": text_runs(text)}


def _figure(data: Table, *, draw: bool) -> Block | None:
    try:
        spec = chart_spec.choose(data, {})
    except JobFailed:
        return None  # a table of words alone has no picture
    png = chart_draw.draw(spec.json()) if draw else b""
    return {"type": "figure", "png": png, "alt": spec.title}


def _breakdowns(data: Table) -> list[Block]:
    """The first two measures by the first two small text columns, largest first."""
    blocks: list[Block] = []
    numbers = measures(data)[:2]
    groups = [c for c in data.of_kind("text") if 2 <= len(c.distinct()) <= 25][:2]
    for group in groups if numbers else ():
        if len(group.distinct()) >= data.rows:
            continue
        blocks.append(_heading(f"By {group.label[:1].lower()}{group.label[1:]}"))
        rows = []
        for key in group.distinct():
            chosen = [i for i, value in enumerate(group.values) if value == key]
            cells = [_total(column, chosen) for column in numbers]
            rows.append((cells[0][0], [str(key), *(text for _, text in cells), f"{len(chosen):,}"]))
        rows.sort(key=lambda row: -row[0])
        words = ["total" if default_aggregate(c) == "sum" else "average" for c in numbers]
        heads = [f"{c.label}, {word}" for c, word in zip(numbers, words, strict=True)]
        blocks.append(_table([group.label, *heads, "Rows"], [cells for _, cells in rows]))
    return blocks


def _total(column: Column, rows: list[int]) -> tuple[float, str]:
    values = [value for i in rows if isinstance(value := column.values[i], float)]
    result = aggregate(values, default_aggregate(column))
    return (0.0, "–") if result is None else (result, amount(result, column.unit))


def _column_table(data: Table) -> Block:
    rows = []
    for column in data.columns:
        values = [value for value in column.values if value is not None]
        empty = data.rows - len(values)
        rows.append(
            [column.name, column.kind, f"{len(column.distinct()):,}", f"{empty:,}", _span(column)]
        )
    return _table(["Column", "Kind", "Different values", "Empty", "Range or most common"], rows)


def _span(column: Column) -> str:
    numbers = [value for value in column.values if isinstance(value, float)]
    days = [value for value in column.values if isinstance(value, date)]
    if numbers:
        return f"{amount(min(numbers), column.unit)} to {amount(max(numbers), column.unit)}"
    if days:
        return f"{day(min(days), column.grain)} to {day(max(days), column.grain)}"
    common = Counter(value for value in column.values if value is not None).most_common(2)
    return shortened(", ".join(str(value) for value, _ in common), 60)


def _rows_table(data: Table) -> Block:
    def cell(column: Column, row: int) -> str:
        value = column.values[row]
        if isinstance(value, float):
            return amount(value, column.unit)
        if isinstance(value, date):
            return day(value, column.grain)
        return shortened(str(value), 80) if value is not None else ""

    rows = [[cell(column, row) for column in data.columns] for row in range(data.rows)]
    return _table([column.label for column in data.columns], rows)


def _table(header: list[str], rows: list[list[str]]) -> Block:
    cells = [[text_runs(value) for value in row] for row in rows]
    return table([text_runs(value) for value in header], cells, ["left"] * len(header))
