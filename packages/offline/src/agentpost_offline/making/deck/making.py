"""The steps of a deck: plan, write, open again and check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from agentpost.agents.base import File, Job, JobFailed
from agentpost_offline.archives import unpacking
from agentpost_offline.frame import Frame, Thing, from_json, to_json
from agentpost_offline.making import catalogue, fit
from agentpost_offline.making.deck import outline as planning
from agentpost_offline.making.deck import sectioned, written
from agentpost_offline.making.deck.slides import Outline
from agentpost_offline.making.maker import Inputs, Made
from agentpost_offline.making.names import file_name
from agentpost_offline.making.sections import Section
from agentpost_offline.style import fonts, languages

SECONDS = 120.0
_FORMATS = ("pptx", "pdf")
_LEAST_COVERED = 0.05
_TOLERANCE = 1.15


async def make(job: Job, inputs: Inputs) -> Made:
    """Make the deck; raises `JobFailed` with a text for the user."""
    price = catalogue.MAKERS[Thing.DECK].credits
    frame = inputs.frame
    request = (list(inputs.files), to_json(frame), msgspec.to_builtins(inputs.sections))
    await job.progress("Reading the files")
    planned = await job.step(plan, *request, timeout=SECONDS)
    outline = msgspec.convert(planned, Outline)
    await job.progress(f"Outline: {len(outline.slides)} slides")
    stem = frame.style.title or (inputs.files[0].name if inputs.files else outline.title)
    asked = [form for form in frame.formats if form in _FORMATS] or ["pptx"]
    files: list[File] = []
    for form in asked:
        name = file_name(stem, "deck", inputs.version, form)
        await job.progress(f"Writing {name}")
        file = await job.write(
            name, write, form, planned, *request, cost=0.0 if files else price,
            label=outline.title, timeout=SECONDS,
        )  # fmt: skip
        await job.progress(f"Checking {name}")
        await job.step(check, file, planned, timeout=SECONDS)
        files.append(file)
    texts = languages.words(planning.TEXTS, frame.language)
    remarks = list(outline.remarks)
    missing = fonts.missing(str(planned["slides"])) if "pdf" in asked else ()
    if missing:
        remarks.append(texts["missing"].format(chars=fonts.sample(missing)))
    names = languages.language(frame.language).listed([file.name for file in files])
    text = texts["made"].format(title=outline.title, names=names, count=len(outline.slides))
    text = f"{text} {outline.finding}".rstrip()
    return Made(text, files, list(outline.used), list(outline.skipped), remarks)


def _deck(files: Sequence[File], frame: Frame, sections: Any) -> tuple[Outline, list[bytes]]:
    parts = msgspec.convert(sections, tuple[Section, ...])
    if parts:
        return sectioned.of_sections(files, parts, frame)
    return planning.outline(files, frame), []


@unpacking
def plan(files: Sequence[File], frame: dict[str, Any], sections: Any) -> dict[str, Any]:
    """A step: the slides of a deck, an `Outline` as JSON; raises `JobFailed`."""
    planned: dict[str, Any] = msgspec.to_builtins(_deck(files, from_json(frame), sections)[0])
    return planned


@unpacking
def write(
    form: str, planned: dict[str, Any], files: Sequence[File], frame: dict[str, Any], sections: Any
) -> bytes:
    """A write: the bytes of a planned deck as ``pptx`` or ``pdf``."""
    outline = msgspec.convert(planned, Outline)
    has_images = any(slide.image is not None for slide in outline.slides)
    images = _deck(files, from_json(frame), sections)[1] if has_images else []
    return written.pptx(outline, images) if form == "pptx" else written.pdf(outline, images)


def check(file: File, planned: dict[str, Any]) -> int:
    """A step: open the deck again; returns the number of slides, raises `JobFailed`."""
    outline = msgspec.convert(planned, Outline)
    return _check_pdf(file, outline) if file.name.endswith(".pdf") else _check_pptx(file, outline)


def _check_pptx(file: File, outline: Outline) -> int:
    """Every slide is there, has its title, and is neither nearly empty nor too full."""
    from pptx import Presentation
    from pptx.exc import PythonPptxError

    try:
        with file.local.open("rb") as opened:
            deck = Presentation(opened)
    except (PythonPptxError, OSError, KeyError, ValueError) as error:
        raise JobFailed("The deck came out damaged.") from error
    slides = list(deck.slides)
    if len(slides) != len(outline.slides):
        raise JobFailed(f"The deck came out with {len(slides)} slides.")
    for number, (slide, planned) in enumerate(zip(slides, outline.slides, strict=True), start=1):
        title = slide.shapes.title
        if planned.title and (title is None or title.text_frame.text != planned.title):
            raise JobFailed(f"Slide {number} came out without its title.")
        if planned.chart is not None and not any(shape.has_chart for shape in slide.shapes):
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


def _check_pdf(file: File, outline: Outline) -> int:
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(file.local) as document:
            texts = [page.get_textpage().get_text_range() for page in document]
    except pypdfium2.PdfiumError as error:
        raise JobFailed("The PDF came out damaged.") from error
    if len(texts) != len(outline.slides):
        raise JobFailed(f"The PDF came out with {len(texts)} pages.")
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise JobFailed(f"Page {number} of the PDF came out empty.")
    return len(texts)
