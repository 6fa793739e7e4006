"""The steps of a report: read and plan, write, open again and check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import File, Job, JobFailed
from agentpost.agents.offline.frame import to_json
from agentpost.agents.offline.making.chart.rendering import TEMPLATE
from agentpost.agents.offline.making.maker import Inputs, Made
from agentpost.agents.offline.making.names import file_name
from agentpost.agents.offline.making.report import docx_writer
from agentpost.agents.offline.making.report.content import Report
from agentpost.agents.offline.making.report.planning import TEXTS, plan
from agentpost.agents.offline.style import languages
from agentpost.agents.offline.style.typeset import typeset

SECONDS = 120.0
CREDITS = 2.0
FORMATS = ("pdf", "docx")
_PAGE = Path(__file__).with_name("report.typ")
_LEAST_TEXT = 40


async def make(job: Job, inputs: Inputs) -> Made:
    """Write the report of a frame; raises `JobFailed` with a text for the user."""
    frame = inputs.frame
    names = ", ".join(file.name for file in inputs.files)
    await job.progress(f"Reading {names or 'your text'}")
    planned = await job.step(plan, list(inputs.files), to_json(frame), timeout=SECONDS)
    report = msgspec.convert(planned, Report)
    await job.progress(f"Outline: {'; '.join(report.headings()[:6])}")
    asked = [form for form in frame.formats if form in FORMATS] or list(FORMATS)
    source = frame.style.title or (inputs.files[0].name if inputs.files else report.title)
    texts = languages.words(TEXTS, frame.language)
    written: list[File] = []
    pages = ""
    for form in asked:
        name = file_name(source, "report", inputs.version, form)
        await job.progress(f"Writing {name}")
        cost = 0.0 if written else CREDITS
        write = write_pdf if form == "pdf" else write_docx
        file = await job.write(name, write, planned, cost=cost, label=report.title, timeout=SECONDS)
        await job.progress(f"Checking {name}")
        if form == "pdf":
            count = await job.step(check_pdf, file, planned, timeout=SECONDS)
            pages = texts["page"] if count == 1 else texts["pages"].format(count)
        else:
            await job.step(check_docx, file, planned, timeout=SECONDS)
        written.append(file)
    listed = languages.language(frame.language).listed([file.name for file in written])
    made = texts["made"].format(title=report.title, names=listed, pages=pages)
    made = made.replace(" ()", "").replace("（）", "")
    text = " ".join([made, *report.lead[:2]])
    return Made(text, written, list(report.used), list(report.skipped), list(report.notes))


def write_pdf(planned: dict[str, Any]) -> bytes:
    """A write: the PDF of a report."""
    report = msgspec.convert(planned, Report)
    made = typeset(
        [_PAGE, TEMPLATE], _filled(report), form="pdf", code=report.language, accent=report.accent
    )
    return made.pages[0]


def _filled(report: Report) -> Any:
    """The report as JSON with every field of its blocks, as the template reads them."""
    data: Any = msgspec.to_builtins(report)
    for section, filled in zip(report.sections, data["sections"], strict=True):
        filled["blocks"] = [
            {name: msgspec.to_builtins(getattr(block, name)) for name in block.__struct_fields__}
            for block in section.blocks
        ]
    return data


def write_docx(planned: dict[str, Any]) -> bytes:
    """A write: the Word file of a report."""
    return docx_writer.build(msgspec.convert(planned, Report))


def check_pdf(file: File, planned: dict[str, Any]) -> int:
    """A step: open the PDF again; returns the number of its pages.

    Raises `JobFailed` unless its title and headings are in it and no page is empty.
    """
    import pypdfium2

    report = msgspec.convert(planned, Report)
    try:
        with pypdfium2.PdfDocument(file.local) as document:
            texts = [page.get_textpage().get_text_range() for page in document]
            outline = [entry.get_title() for entry in document.get_toc()]
    except pypdfium2.PdfiumError as error:
        raise JobFailed("The PDF came out damaged.") from error
    if not texts or any(not text.strip() for text in texts):
        raise JobFailed("The PDF came out with an empty page.")
    missing = {_squeezed(h) for h in report.headings()} - {_squeezed(h) for h in outline}
    if missing and "…" not in "".join(outline):
        raise JobFailed("The PDF came out without one of its headings.")
    if sum(map(len, texts)) < _LEAST_TEXT:
        raise JobFailed("The PDF came out empty.")
    return len(texts)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def check_docx(file: File, planned: dict[str, Any]) -> int:
    """A step: open the Word file again; returns the number of its paragraphs.

    Raises `JobFailed` unless its headings, tables and pictures are in it.
    """
    import docx
    from docx.opc.exceptions import PackageNotFoundError

    report = msgspec.convert(planned, Report)
    try:
        with file.local.open("rb") as opened:
            word = docx.Document(opened)
    except (PackageNotFoundError, KeyError, ValueError, OSError) as error:
        raise JobFailed("The Word file came out damaged.") from error
    found = [p.text for p in word.paragraphs if str(getattr(p.style, "name", "")) == "Heading 1"]
    if len(found) != len(report.sections):
        raise JobFailed("The Word file came out without one of its headings.")
    kinds = [block.kind for section in report.sections for block in section.blocks]
    if len(word.inline_shapes) != kinds.count("chart") + kinds.count("pair"):
        raise JobFailed("The Word file came out without one of its charts.")
    if len(word.tables) < kinds.count("table") + kinds.count("pair"):
        raise JobFailed("The Word file came out without one of its tables.")
    return sum(bool(paragraph.text.strip()) for paragraph in word.paragraphs)
