"""The steps of a paper: read it, write each format, open it again and look for every word."""

import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import msgspec
from msgspec.structs import replace

from agentpost.agents.base import File, JobFailed
from agentpost_offline.content import blocks as content
from agentpost_offline.content.blocks import BlockKind, Paper, plain
from agentpost_offline.data.archives import unpacking
from agentpost_offline.frame import Frame, Thing, from_json
from agentpost_offline.making import catalogue, papers
from agentpost_offline.making.chart.rendering import TEMPLATE
from agentpost_offline.making.content import Section
from agentpost_offline.making.deck import arrange
from agentpost_offline.making.document import page
from agentpost_offline.making.maker import Output, Plan, file_name
from agentpost_offline.making.pictures import picture_name
from agentpost_offline.style import fonts, languages
from agentpost_offline.style.languages import texts
from agentpost_offline.style.typeset import typeset

SECONDS = 120.0
_PAGE = Path(__file__).with_name("paper.typ")
_SUFFIXES = {Thing.REPORT: "report", Thing.SITE: "page", Thing.DECK: "deck", Thing.DOCUMENT: ""}
_ABSENT_SHARE = 0.02
"""Of the words of a PDF: those that are hyphenated or set with ligatures."""


def paper_of(files: Sequence[File], frame: Frame, sections: Any) -> tuple[Paper, list[bytes]]:
    """The paper of a request and the bytes of its pictures; raises `JobFailed`."""
    parts = msgspec.convert(sections, tuple[Section, ...])
    if parts:
        return papers.of_sections(files, parts, frame)
    if frame.thing is Thing.DOCUMENT:
        return papers.convert(files, frame)
    return papers.of_tables(files, frame)


@unpacking
def plan(files: Sequence[File], frame: Any, sections: Any, version: int) -> Any:
    """A step: convert documents and text, or write a report, page or deck of tables or of a
    caller's sections."""
    request = from_json(frame)
    assert request.thing is not None, "a frame of a job has a thing"
    paper, _ = paper_of(files, request, sections)
    notes = [*paper.notes, *fonts.note(msgspec.json.encode(paper).decode(), request.language)]
    notes += [note for block in paper.blocks if block.drawing for note in block.drawing.notes]
    paragraphs = paper.of(BlockKind.PARAGRAPH)
    is_told = request.thing in (Thing.REPORT, Thing.DECK) and not sections and bool(paragraphs)
    stem = paper.used[0].partition(" (")[0] if paper.used else paper.title or "document"
    stem, suffix = request.style.title or stem, _SUFFIXES[request.thing]
    outputs = tuple(
        Output(file_name(stem, suffix, version, form), paper.title, (form,))
        for form in catalogue.MAKERS[request.thing].forms(request)
    )
    names = languages.language(request.language).join([one.name for one in outputs])
    text = str(texts("paper", request.language)["made"]).format(title=paper.title, names=names)
    text = f"{text} {paragraphs[0].text}" if is_told else text
    notes = list(dict.fromkeys(notes))
    return msgspec.to_builtins(Plan(text, outputs, paper.used, paper.skipped, tuple(notes)))


@unpacking
def write(files: Sequence[File], frame: Any, sections: Any, form: str) -> bytes:
    """A write: the bytes of a paper in one format. Raises `JobFailed` unless every word and picture
    of it is in them when they are opened again, in a PDF as far as hyphens allow."""
    request = from_json(frame)
    paper, images = paper_of(files, request, sections)
    is_deck = form == "pptx" or request.thing is Thing.DECK
    if not is_deck:
        paper = replace(paper, blocks=content.in_flow(paper.blocks))
    match form:
        case "pdf":
            data = arrange.pdf(paper, images) if is_deck else _pdf(paper, images)
        case "docx":
            from agentpost_offline.making.document import word

            data = word.build(paper, images)
        case "html":
            is_dashboard = request.thing is Thing.SITE and not sections
            data = page.build(paper, images, is_dashboard=is_dashboard)
        case _:
            from agentpost_offline.making.deck import pptx_writer

            data = pptx_writer.build(paper, images)
    _check(data, form, paper, images)
    return data


def _pdf(paper: Paper, pictures: Sequence[bytes]) -> bytes:
    """The PDF, typeset by Typst, with page numbers and an outline of its headings."""
    names = [picture_name(at, content) for at, content in enumerate(pictures)]
    data: Any = {
        **{name: getattr(paper, name) for name in ("title", "subtitle", "has_title")},
        "remarks": list(paper.remarks), "remarks_title": paper.remarks_title,
        "footer": paper.subtitle or paper.title, "pictures": names,
        "blocks": [
            {name: msgspec.to_builtins(getattr(block, name)) for name in block.__struct_fields__
             if name != "parts"} for block in paper.blocks
        ],
    }  # fmt: skip
    return typeset(
        [_PAGE, TEMPLATE], data, form="pdf", code=paper.language, accent=paper.accent,
        assets=dict(zip(names, pictures, strict=True)),
    )[0]  # fmt: skip


def _check(data: bytes, form: str, paper: Paper, pictures: Sequence[bytes]) -> None:
    try:
        text, count = _read(data, form)
    except Exception as error:
        raise JobFailed(f"The {form} came out damaged.") from error
    if form != "pdf" and count < len({*pictures}):
        raise JobFailed(f"The {form} came out without one of its pictures.")
    # The caption of a chart stands on its slide where the title leaves room.
    captions = () if form == "pptx" else paper.of(BlockKind.CHART)
    words = Counter(_words("\n".join([_text_of(paper), *(one.text for one in captions)])))
    absent = words - Counter(_words(text))
    if absent.total() > (_ABSENT_SHARE * words.total() + 3 if form == "pdf" else 0):
        raise JobFailed(f"The {form} came out without some words ({', '.join(list(absent)[:3])}).")


def _text_of(paper: Paper) -> str:
    pieces = [paper.title] if paper.has_title else []
    for block in paper.blocks:
        pieces.append("" if block.kind is BlockKind.CHART else block.text)
        if block.grid is not None:
            pieces += [plain(cell) for row in (block.grid.header, *block.grid.rows) for cell in row]
        pieces += [text for one in block.figures for text in (one.value, one.label)]
        for part in block.parts:
            pieces += [part.title, *map(plain, part.points)]
    return "\n".join(pieces)


def _words(text: str) -> list[str]:
    """The words of Latin letters and digits: other scripts are shaped when they are set."""
    return re.findall(r"[a-z0-9à-ɏ]{2,}", text.casefold())


def _read(data: bytes, form: str) -> tuple[str, int]:
    """What a written file says when it is opened again, and how many pictures are in it."""
    import lxml.etree
    import lxml.html
    import pypdfium2

    if form == "pdf":
        with pypdfium2.PdfDocument(data) as document:
            texts = [one.get_textpage().get_text_range() for one in document]
        return "\n".join(texts).replace("\ufffe", "").replace("\u00ad", ""), 0
    if form == "html":
        root = lxml.html.document_fromstring(data)
        for style in list(root.iter("style", "title")):
            style.drop_tree()
        return "\n".join(root.itertext()), len(list(root.iter("img")))
    with ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        parts = [lxml.etree.fromstring(archive.read(name)) for name in names
                 if re.fullmatch(r"word/document\.xml|ppt/slides/slide\d+\.xml", name)]  # fmt: skip
    nodes = [node for part in parts for node in part.iter("{*}t", "{*}p", "{*}br")]
    text = "".join(node.text or "" if node.tag.endswith("}t") else "\n" for node in nodes)
    return text, sum("/media/" in name for name in names)
