"""The steps of a deck: read and plan, write, open again and check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import File, Job, JobFailed
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.frame import to_json
from agentpost.agents.offline.making import fit
from agentpost.agents.offline.making.deck import outline as planning
from agentpost.agents.offline.making.deck import pptx_writer, typeset
from agentpost.agents.offline.making.deck.arrange import arranged
from agentpost.agents.offline.making.deck.pages import Page
from agentpost.agents.offline.making.deck.slides import Outline
from agentpost.agents.offline.making.maker import Inputs, Made
from agentpost.agents.offline.making.names import file_name
from agentpost.agents.offline.style import fonts, languages

SECONDS = 120.0
CREDITS = 3.0
_FORMATS = ("pptx", "pdf")
_LEAST_COVERED = 0.1
_TOLERANCE = 1.15


async def make(job: Job, inputs: Inputs) -> Made:
    """Make the deck; raises `JobFailed` with a text for the user."""
    frame = inputs.frame
    files = list(inputs.files)
    await job.progress("Reading the files")
    planned = await job.step(planning.plan, files, to_json(frame), timeout=SECONDS)
    outline = msgspec.convert(planned, Outline)
    await job.progress(f"Outline: {len(outline.slides)} slides")
    stem = frame.style.title or (files[0].name if files else outline.title)
    asked = [form for form in frame.formats if form in _FORMATS] or ["pptx"]
    written: list[File] = []
    for form in asked:
        name = file_name(stem, "deck", inputs.version, form)
        await job.progress(f"Writing {name}")
        write = write_pptx if form == "pptx" else write_pdf
        cost = 0.0 if written else CREDITS
        file = await job.write(
            name, write, planned, files, cost=cost, label=outline.title, timeout=SECONDS
        )
        await job.progress(f"Checking {name}")
        check = check_pptx if form == "pptx" else check_pdf
        await job.step(check, file, planned, timeout=SECONDS)
        written.append(file)
    texts = languages.words(planning.TEXTS, frame.language)
    remarks = list(outline.remarks)
    gone = fonts.missing(str(planned["slides"])) if "pdf" in asked else ()
    if gone:
        remarks.append(texts["missing"].format(chars=fonts.sample(gone)))
    names = languages.language(frame.language).listed([file.name for file in written])
    text = texts["made"].format(title=outline.title, names=names, count=len(outline.slides))
    text = f"{text} {outline.finding}".rstrip()
    return Made(text, written, list(outline.used), list(outline.skipped), remarks)


def pages_of(outline: Outline, height: float = 540.0) -> list[Page]:
    """The slides with everything in its place."""
    return [arranged(slide, at, height) for at, slide in enumerate(outline.slides, start=1)]


@unpacking
def write_pptx(planned: dict[str, Any], files: Sequence[File]) -> bytes:
    """A step: the .pptx of an outline."""
    outline = msgspec.convert(planned, Outline)
    pages, images = pages_of(outline), paths(files)
    return pptx_writer.build(
        pages, images, accent=outline.accent, title=outline.title, language=outline.language,
        thumbnail=typeset.sheet(
            pages, images, accent=outline.accent, language=outline.language
        ),
    )  # fmt: skip


@unpacking
def write_pdf(planned: dict[str, Any], files: Sequence[File]) -> bytes:
    """A step: the PDF of an outline."""
    outline = msgspec.convert(planned, Outline)
    set_ = typeset.build(
        pages_of(outline), paths(files), accent=outline.accent, language=outline.language
    )
    return set_.pages[0]


def paths(files: Sequence[File]) -> list[Path]:
    """Where the files are."""
    return [file.local for file in files]


def check_pptx(file: File, planned: dict[str, Any]) -> int:
    """A step: open the .pptx again; returns the number of slides.

    Raises `JobFailed` unless every slide is there, has its title, and is neither nearly empty nor
    too full.
    """
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    outline = msgspec.convert(planned, Outline)
    try:
        with file.local.open("rb") as opened:
            deck = Presentation(opened)
    except (PythonPptxError, OSError, KeyError, ValueError) as error:
        raise JobFailed("The deck came out damaged.") from error
    slides = list(deck.slides)
    if len(slides) != len(outline.slides):
        raise JobFailed(f"The deck came out with {len(slides)} slides.")
    for number, (slide, wanted) in enumerate(zip(slides, outline.slides, strict=True), start=1):
        title = slide.shapes.title
        if title is None or title.text_frame.text != wanted.title:
            raise JobFailed(f"Slide {number} came out without its title.")
        if wanted.chart is not None and not any(shape.has_chart for shape in slide.shapes):
            raise JobFailed(f"Slide {number} came out without its chart.")
        _check_room(slide, number)
    return len(slides)


def _check_room(slide: Any, number: int) -> None:
    """No text larger than its box, and something on the slide."""
    covered = 0.0
    for shape in slide.shapes:
        wide, tall = shape.width / 12700, shape.height / 12700
        words = shape.has_text_frame and shape.text_frame.text
        if words:
            run = shape.text_frame.paragraphs[0].runs[0]
            texts = [paragraph.text for paragraph in shape.text_frame.paragraphs]
            high = fit.height(texts, run.font.size.pt, wide, bold=bool(run.font.bold))
            covered += min(high, tall) * wide
            if high > tall * _TOLERANCE + 8:
                raise JobFailed(f"The text of slide {number} does not fit it.")
        elif not shape.has_text_frame:
            covered += wide * tall
    if covered < _LEAST_COVERED * 960 * 540 * 0.5:
        raise JobFailed(f"Slide {number} came out empty.")


def check_pdf(file: File, planned: dict[str, Any]) -> int:
    """A step: open the PDF again; returns the number of pages, raises `JobFailed`."""
    import pypdfium2

    outline = msgspec.convert(planned, Outline)
    try:
        with pypdfium2.PdfDocument(file.local) as document:
            pages = len(document)
            texts = [page.get_textpage().get_text_range() for page in document]
    except pypdfium2.PdfiumError as error:
        raise JobFailed("The PDF came out damaged.") from error
    if pages != len(outline.slides):
        raise JobFailed(f"The PDF came out with {pages} pages.")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise JobFailed(f"Page {number} of the PDF came out empty.")
    return pages
