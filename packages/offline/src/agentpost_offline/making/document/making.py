"""The steps of a document: read it, write each format, open it again and look for every word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.base import File, Job, JobFailed
from agentpost_offline.archives import unpacking
from agentpost_offline.frame import Frame, Thing, from_json, to_json
from agentpost_offline.making import catalogue, papers
from agentpost_offline.making.content import BlockKind, Paper, plain
from agentpost_offline.making.document import page, pdf, word_file
from agentpost_offline.making.maker import Inputs, Made, Maker
from agentpost_offline.making.names import file_name
from agentpost_offline.making.sections import Section
from agentpost_offline.style import fonts, languages

SECONDS = 120.0
TEXTS = Path(__file__).with_name("texts")
_ALIASES = {"deck": "pptx", "page": "html", "word": "docx"}
_LOST_SHARE = 0.02
"""Of the words of a PDF: those that are hyphenated or set with ligatures."""


async def make(job: Job, inputs: Inputs) -> Made:
    """Convert documents and text; raises `JobFailed` with a text for the user."""
    return await _make(job, inputs, catalogue.MAKERS[Thing.DOCUMENT])


async def make_report(job: Job, inputs: Inputs) -> Made:
    """Write a report of a table, or of a caller's sections; raises `JobFailed`."""
    return await _make(job, inputs, catalogue.MAKERS[Thing.REPORT])


async def make_page(job: Job, inputs: Inputs) -> Made:
    """Write a dashboard of a table, or a page of a caller's sections; raises `JobFailed`."""
    return await _make(job, inputs, catalogue.MAKERS[Thing.SITE])


async def _make(job: Job, inputs: Inputs, maker: Maker) -> Made:
    """Write a paper in each format that was asked for; credits are charged with the first file."""
    frame, files, thing = inputs.frame, list(inputs.files), maker.thing
    price = maker.credits
    request = (str(thing), files, to_json(frame), msgspec.to_builtins(inputs.sections))
    await job.progress(f"Reading {', '.join(file.name for file in files) or 'the text'}")
    about = await job.step(describe, *request, timeout=SECONDS)
    asked = list(dict.fromkeys(_ALIASES.get(form, form) for form in frame.formats))
    written: list[File] = []
    for form in [form for form in asked if form in maker.formats] or maker.usual:
        name = file_name(frame.style.title or about["stem"], _suffix(thing), inputs.version, form)
        await job.progress(f"Writing {name}")
        file = await job.write(
            name, write, form, *request, cost=0.0 if written else price, label=about["title"],
            timeout=SECONDS,
        )  # fmt: skip
        await job.progress(f"Checking {name}")
        await job.step(check, file, form, *request, timeout=SECONDS)
        written.append(file)
    texts = languages.words(TEXTS, frame.language)
    listed = languages.language(frame.language).listed([file.name for file in written])
    text = str(texts["made"]).format(title=about["title"], names=listed)
    return Made(" ".join([text, *about["lead"]]), written, about["used"], about["skipped"],
                about["notes"])  # fmt: skip


def _suffix(thing: Thing) -> str:
    return {Thing.REPORT: "report", Thing.SITE: "page"}.get(thing, "")


def paper_of(
    thing: str, files: Sequence[File], frame: Frame, sections: Any
) -> tuple[Paper, list[bytes]]:
    """The paper of a request and the bytes of its pictures; raises `JobFailed`."""
    parts = msgspec.convert(sections, tuple[Section, ...])
    if parts:
        return papers.written(files, parts, frame)
    if thing == Thing.DOCUMENT:
        return papers.converted(files, frame)
    from agentpost_offline.making.report import planning

    return planning.report(files, frame), []


@unpacking
def describe(
    thing: str, files: Sequence[File], frame: dict[str, Any], sections: Any
) -> dict[str, Any]:
    """A step: what a paper is called, was made from, and cannot show."""
    request = from_json(frame)
    paper, _ = paper_of(thing, files, request, sections)
    notes = list(paper.notes)
    missing = fonts.missing(msgspec.json.encode(paper).decode())
    if missing:
        texts = languages.words(TEXTS, request.language)
        notes.append(str(texts["missing"]).format(chars=fonts.sample(missing)))
    drawings = [block.drawing for block in paper.blocks if block.drawing is not None]
    notes += [note for drawing in drawings for note in drawing.notes]
    first = paper.blocks[0] if paper.blocks else None
    is_lead = thing == Thing.REPORT and first is not None and first.kind is BlockKind.PARAGRAPH
    return {
        "title": paper.title,
        "stem": paper.used[0].partition(" (")[0] if paper.used else paper.title or "document",
        "lead": [first.text] if is_lead and first is not None else [],
        "used": list(paper.used),
        "skipped": list(paper.skipped),
        "notes": list(dict.fromkeys(notes)),
    }


@unpacking
def write(
    form: str, thing: str, files: Sequence[File], frame: dict[str, Any], sections: Any
) -> bytes:
    """A write: the bytes of a paper in one format."""
    request = from_json(frame)
    paper, pictures = paper_of(thing, files, request, sections)
    if form == "pdf":
        return pdf.build(paper, pictures)
    if form == "docx":
        return word_file.build(paper, pictures)
    if form == "html":
        return page.build(paper, pictures, is_dashboard=thing == Thing.SITE and not sections)
    from agentpost_offline.making.deck import sectioned, written

    return written.pptx(sectioned.of_paper(paper), pictures)


@unpacking
def check(
    file: File, form: str, thing: str, files: Sequence[File], frame: dict[str, Any], sections: Any
) -> int:
    """A step: open a written paper again; returns how many words it has.

    Raises `JobFailed` unless every word of the paper is in it, in a PDF as far as hyphens allow.
    """
    paper, pictures = paper_of(thing, files, from_json(frame), sections)
    try:
        text, shown = _READERS[form](file.local)
    except Exception as error:
        raise JobFailed(f"{file.name} came out damaged.") from error
    if form != "pdf" and shown < len(pictures):
        raise JobFailed(f"{file.name} came out without one of its pictures.")
    expected, there = Counter(_words(_text_of(paper))), Counter(_words(text))
    lost = expected - there
    if lost.total() > (_LOST_SHARE * expected.total() + 3 if form == "pdf" else 0):
        named = ", ".join(list(lost)[:3])
        raise JobFailed(f"{file.name} came out without some of its words ({named}).")
    return there.total()


def _text_of(paper: Paper) -> str:
    pieces = [paper.title] if paper.has_title else []
    for block in paper.blocks:
        pieces.append(plain(block.runs))
        if block.grid is not None:
            pieces += [plain(cell) for row in (block.grid.header, *block.grid.rows) for cell in row]
        pieces += [text for one in block.figures for text in (one.value, one.label)]
    return "\n".join(pieces)


def _words(text: str) -> list[str]:
    """The words of Latin letters and digits: other scripts are shaped when they are set."""
    return re.findall(r"[a-z0-9à-ɏ]{2,}", text.casefold())


def _pdf_text(path: Path) -> tuple[str, int]:
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        texts = [page_.get_textpage().get_text_range() for page_ in document]
    return "\n".join(texts).replace("\ufffe", "").replace("\u00ad", ""), 0


def _word_text(path: Path) -> tuple[str, int]:
    import docx

    word = docx.Document(str(path))
    nodes = (node for node in word.element.body.iter() if node.tag.endswith(("}t", "}p", "}br")))
    texts = [node.text or "" if node.tag.endswith("}t") else "\n" for node in nodes]
    return "".join(texts), len(word.inline_shapes)


def _page_text(path: Path) -> tuple[str, int]:
    import lxml.html

    root = lxml.html.document_fromstring(path.read_bytes())
    for style in list(root.iter("style", "title")):
        style.drop_tree()
    return "\n".join(root.itertext()), len(list(root.iter("img")))


def _deck_text(path: Path) -> tuple[str, int]:
    from pptx import Presentation

    texts: list[str] = []
    shown = 0
    for slide in Presentation(str(path)).slides:
        for shape in slide.shapes:
            shown += shape.shape_type == 13
            if shape.has_text_frame:
                texts.append(shape.text_frame.text)
            if shape.has_table:
                texts += [cell.text for row in shape.table.rows for cell in row.cells]
    return "\n".join(texts), shown


_READERS = {"pdf": _pdf_text, "docx": _word_text, "html": _page_text, "pptx": _deck_text}
