"""The steps of a brief: read and compare, write, check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents import CannotSucceed, File, Job, JobFailed, Unreadable
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.documents import language as tongues
from agentpost.agents.offline.documents.reading import read, read_text
from agentpost.agents.offline.frame import from_json, to_json
from agentpost.agents.offline.making.brief import matrix
from agentpost.agents.offline.making.brief.matrix import Row
from agentpost.agents.offline.making.maker import Inputs, Made
from agentpost.agents.offline.making.names import file_name
from agentpost.agents.offline.making.word import Paper
from agentpost.agents.offline.style.languages import language as tongue
from agentpost.agents.offline.style.languages import words

CREDITS = 2.0
SECONDS = 120.0
_TEXTS = Path(__file__).parent / "texts"
_FORMATS = ("docx", "md")


class Brief(msgspec.Struct, frozen=True, omit_defaults=True):
    """A brief before it is written."""

    title: str
    files: tuple[str, ...]
    rows: tuple[Row, ...]
    differences: tuple[str, ...]
    gaps: tuple[str, ...]
    text: str
    language: str
    skipped: tuple[str, ...] = ()


async def make(job: Job, inputs: Inputs) -> Made:
    """Make the brief; raises `JobFailed` with a text for the user."""
    frame, files = inputs.frame, list(inputs.files)
    made = await job.step(compare, files, to_json(frame), timeout=SECONDS)
    brief = msgspec.convert(made, Brief)
    asked = [form for form in frame.formats if form in _FORMATS] or ["docx"]
    written: list[File] = []
    for form in asked:
        name = file_name(brief.title, "", inputs.version, form)
        write = as_word if form == "docx" else as_markdown
        file = await job.write(
            name, write, made, cost=0.0 if written else CREDITS, label=brief.title, timeout=SECONDS
        )
        await job.step(check, file, made, timeout=SECONDS)
        written.append(file)
    return Made(brief.text, written, list(brief.files), list(brief.skipped))


@unpacking
def compare(files: Sequence[File], frame_json: Any) -> Any:
    """A step: what the documents say. Raises `JobFailed` when there is nothing to compare."""
    frame = from_json(frame_json)
    said = words(_TEXTS, frame.language)
    documents = [read_text(frame.text, "")] if frame.text else []
    skipped: list[str] = []
    for file in files:
        try:
            documents.append(read(file))
        except Unreadable as error:
            skipped.append(str(error))
    if not documents:
        raise CannotSucceed(f"{'; '.join(skipped)}." if skipped else str(said["none"]))
    codes = [
        tongues.detect(" ".join(b.text for b in document.blocks[:400]), frame.language)
        for document in documents
    ]
    wanted = list(frame.style.sections) or matrix.criteria(documents, codes)
    if not wanted:
        raise CannotSucceed(" ".join([str(said["few"]), *(f"{one}." for one in skipped)]))
    found = matrix.rows(documents, codes, wanted)
    names = [document.name or document.title for document in documents]
    differences = [
        str(said["differs"]).format(
            criterion=row.criterion,
            values=tongue(frame.language).listed(
                [
                    str(said["value"]).format(file=name, figure=figure)
                    for name, figure in zip(names, row.figures, strict=True)
                    if figure
                ]
            ),
        )
        for row in found
        if row.figures
    ]
    gaps = [
        str(said["gap"]).format(file=name, criterion=row.criterion)
        for row in found
        for name, cell in zip(names, row.cells, strict=True)
        if not cell
    ]
    listed = tongue(frame.language).listed(names)
    text = str(said["made"]).format(
        count=len(found), files=listed, differences=len(differences), gaps=len(gaps)
    )
    title = frame.style.title or str(said["title"]).format(names=listed)
    made = Brief(
        title, tuple(names), tuple(found), tuple(differences), tuple(gaps),
        "\n".join([text, *(f"- {one}" for one in differences)]), frame.language, tuple(skipped),
    )  # fmt: skip
    return msgspec.json.decode(msgspec.json.encode(made))


def as_word(made: Any) -> bytes:
    """A step: the brief as a Word file with the comparison as a table."""
    brief = msgspec.convert(made, Brief)
    said = words(_TEXTS, brief.language)
    paper = Paper(brief.title, brief.language, wide=len(brief.files) > 2)
    paper.say(brief.text.split("\n")[0], "Subtitle")
    for key, lines in (("differ", brief.differences), ("gaps", brief.gaps)):
        if lines:
            paper.say(str(said[key]), "Heading 1")
            for line in lines:
                paper.item(line)
    paper.say(str(said["compared"]), "Heading 1")
    rows = [
        (row.criterion, *("\n".join(_quoted(brief, q) for q in cell) or str(said["nothing"])
                          for cell in row.cells))
        for row in brief.rows
    ]  # fmt: skip
    paper.table((str(said["criterion"]), *brief.files), rows, words=True, first=0.14)
    return paper.data()


def _quoted(brief: Brief, quote: matrix.Quote) -> str:
    opening, closing = tongue(brief.language).quotes
    return f"{opening}{quote.text}{closing} ({quote.citation})"


def as_markdown(made: Any) -> str:
    """A step: the brief as Markdown."""
    brief = msgspec.convert(made, Brief)
    said = words(_TEXTS, brief.language)
    lines = [f"# {_plain(brief.title)}", "", _plain(brief.text.split("\n")[0]), ""]
    for key, found in (("differ", brief.differences), ("gaps", brief.gaps)):
        if found:
            lines += [f"## {said[key]}", "", *(f"- {_plain(line)}" for line in found), ""]
    head = (str(said["criterion"]), *brief.files)
    lines += [f"| {' | '.join(map(_plain, head))} |", f"|{'---|' * len(head)}"]
    for row in brief.rows:
        cells = [" ".join(_quoted(brief, q) for q in cell) or said["nothing"] for cell in row.cells]
        lines.append(f"| {' | '.join(_plain(text) for text in (row.criterion, *cells))} |")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def check(file: File, made: Any) -> int:
    """A step: open what was written; every quote is in it. Returns how many there are."""
    brief = msgspec.convert(made, Brief)
    blocks = read(file).blocks
    text = _key(
        " ".join([*(b.text for b in blocks), *(c for b in blocks for r in b.rows for c in r)])
    )
    quotes = [quote for row in brief.rows for cell in row.cells for quote in cell]
    if any(_key(quote.text) not in text for quote in quotes):
        raise JobFailed(f"{file.name} was not written whole.")
    return len(quotes)


def _key(text: str) -> str:
    return "".join(c for c in text.replace("&lt;", "<") if c.isalnum())
