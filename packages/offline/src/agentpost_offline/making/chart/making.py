"""The steps of a chart: read and plan, draw, open again and check, write its data beside it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from agentpost.agents.base import File, Job, JobFailed
from agentpost_offline.frame import Thing, to_json
from agentpost_offline.making import catalogue
from agentpost_offline.making.chart.drawing import TEXTS
from agentpost_offline.making.chart.planning import Plan, plan
from agentpost_offline.making.chart.rendering import data_csv, render, sized
from agentpost_offline.making.maker import Inputs, Made
from agentpost_offline.making.names import file_name
from agentpost_offline.making.picture import Drawing
from agentpost_offline.style import languages

SECONDS = 120.0
FORMATS = ("png", "svg", "pdf")
_COLOURS = 3
_LEAST_SHAPES = 5


async def make(job: Job, inputs: Inputs) -> Made:
    """Draw the charts of a frame; raises `JobFailed` with a text for the user."""
    frame = inputs.frame
    await job.progress(f"Reading {', '.join(file.name for file in inputs.files) or 'your table'}")
    planned = await job.step(
        plan,
        list(inputs.files),
        to_json(frame),
        msgspec.to_builtins(inputs.sections),
        timeout=SECONDS,
    )
    made = msgspec.convert(planned, Plan)
    asked = [form for form in frame.formats if form in FORMATS] or ["png"]
    tongue = languages.language(frame.language)
    texts = languages.words(TEXTS, frame.language)
    source = inputs.files[0].name if inputs.files else texts["title"]
    pictures: list[File] = []
    beside: list[File] = []
    said: list[str] = []
    several = len(made.drawings) > 1
    for n, (drawing, sentence) in enumerate(zip(made.drawings, made.sentences, strict=True)):
        thing = f"chart-{n + 1}" if several else "chart"
        kind = texts["kinds"][drawing.picture.kind]
        await job.progress(f"Drawing: {drawing.picture.title}")
        data = msgspec.to_builtins(drawing)
        own: list[File] = []
        for form in asked:
            name = file_name(source, thing, inputs.version, form)
            cost = catalogue.MAKERS[Thing.CHART].credits if not own else 0.0
            file = await job.write(
                name, picture, data, form, frame.style.size, frame.language, frame.style.colour,
                cost=cost, label=drawing.picture.title, timeout=SECONDS,
            )  # fmt: skip
            await job.step(check, file, form, frame.style.size, timeout=SECONDS)
            own.append(file)
        pictures += own
        name = file_name(source, f"{thing}-data", inputs.version, "csv")
        beside.append(await job.write(name, table, data, label="Data"))
        name = file_name(source, f"{thing}-alt", inputs.version, "txt")
        beside.append(await job.write(name, f"{drawing.alt}\n".encode(), label="Alternative text"))
        opening, closing = tongue.quotes
        named = tongue.listed([file.name for file in own])
        said.append(f"{kind} {opening}{drawing.picture.title}{closing}{tongue.colon}{named}.")
        if sentence:
            said.append(sentence)
    return Made(
        " ".join(said), [*pictures, *beside], list(made.used), list(made.skipped), list(made.notes)
    )


def picture(
    drawing: dict[str, Any],
    form: Literal["png", "svg", "pdf"],
    size: Sequence[int] | None,
    code: str,
    accent: str | None,
) -> bytes:
    """A write: one drawing as a file. Raises `JobFailed` when a figure is not to be read in it."""
    wanted = msgspec.convert(drawing, Drawing)
    pixels = (size[0], size[1]) if size else None
    read = render(wanted, "pdf", size=pixels, code=code, accent=accent).pages[0]
    lost = _unreadable(read, wanted.figures)
    if lost:
        raise JobFailed(f"The chart came out without its figures ({', '.join(lost[:3])}).")
    if form == "pdf":
        return read
    return render(wanted, form, size=pixels, code=code, accent=accent).pages[0]


def table(drawing: dict[str, Any]) -> bytes:
    """A write: the data of a drawing."""
    return data_csv(msgspec.convert(drawing, Drawing))


def _unreadable(pdf: bytes, figures: Sequence[str]) -> list[str]:
    """Those figures whose digits are not in the text of a PDF."""
    import pypdfium2

    with pypdfium2.PdfDocument(pdf) as document:
        text = _digits("".join(page.get_textpage().get_text_range() for page in document))
    return [figure for figure in figures if _digits(figure) not in text]


def _digits(text: str) -> str:
    return re.sub(r"[^\d.,]", "", text)


def check(file: File, form: str, size: Sequence[int] | None) -> None:
    """A step: open a chart again; raises `JobFailed` unless it is whole, of its size, not blank."""
    wide, tall = sized((size[0], size[1]) if size else None)
    if form == "png":
        _check_png(file, wide, tall)
    elif form == "svg":
        _check_svg(file, wide, tall)
    else:
        _check_pdf(file, wide, tall)


def _check_png(file: File, wide: int, tall: int) -> None:
    from PIL import Image

    try:
        with Image.open(file.local) as image:
            image.load()
            found = image.size
            colours = image.convert("RGB").resize((160, 90)).getcolors(maxcolors=160 * 90)
    except (OSError, SyntaxError, ValueError) as error:
        raise JobFailed("The chart came out damaged.") from error
    if abs(found[0] - wide) > 1 or abs(found[1] - tall) > 1:
        raise JobFailed(f"The chart came out {found[0]} × {found[1]} pixels.")
    if colours is None or len(colours) < _COLOURS:
        raise JobFailed("The chart came out blank.")


def _check_svg(file: File, wide: int, tall: int) -> None:
    try:
        root = ET.parse(file.local).getroot()  # noqa: S314 - written by the step before
    except ET.ParseError as error:
        raise JobFailed("The chart came out damaged.") from error
    box = [float(part) for part in root.get("viewBox", "0 0 0 0").split()]
    if not box[3] or abs(box[2] / box[3] - wide / tall) > 0.01:
        raise JobFailed("The chart came out in the wrong proportions.")
    if sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}path")) < _LEAST_SHAPES:
        raise JobFailed("The chart came out blank.")


def _check_pdf(file: File, wide: int, tall: int) -> None:
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(file.local) as document:
            pages = len(document)
            width, height = document[0].get_size()
    except pypdfium2.PdfiumError as error:
        raise JobFailed("The chart came out damaged.") from error
    if pages != 1 or abs(width / height - wide / tall) > 0.01:
        raise JobFailed(f"The chart came out with {pages} pages of the wrong size.")
