"""The steps of a text: arrange the material, write, check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents import CannotSucceed, File, Job, JobFailed, Unreadable
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.documents.model import Block
from agentpost.agents.offline.documents.reading import read, read_text
from agentpost.agents.offline.frame import from_json, to_json
from agentpost.agents.offline.making.maker import Inputs, Made
from agentpost.agents.offline.making.names import file_name
from agentpost.agents.offline.making.word import Paper
from agentpost.agents.offline.making.writing.kinds import KINDS, Part, Text
from agentpost.agents.offline.style.languages import language as tongue
from agentpost.agents.offline.style.languages import words

CREDITS = 1.0
SECONDS = 120.0
_TEXTS = Path(__file__).parent / "texts"
_FORMATS = ("docx", "md")


class Written(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text with what it was written from."""

    text: Text
    said: str
    used: tuple[str, ...]
    skipped: tuple[str, ...]
    language: str = "en"


async def make(job: Job, inputs: Inputs) -> Made:
    """Write the text; raises `JobFailed` with a text for the user."""
    frame, files = inputs.frame, list(inputs.files)
    made = await job.step(arrange, files, to_json(frame), job.message.at[:10], timeout=SECONDS)
    found = msgspec.convert(made, Written)
    asked = [form for form in frame.formats if form in _FORMATS] or ["docx"]
    written: list[File] = []
    for form in asked:
        name = file_name(found.text.title, "", inputs.version, form)
        write = as_word if form == "docx" else as_markdown
        file = await job.write(
            name, write, made, cost=0.0 if written else CREDITS, label=found.text.title,
            timeout=SECONDS,
        )  # fmt: skip
        await job.step(check, file, made, timeout=SECONDS)
        written.append(file)
    return Made(found.said, written, list(found.used), list(found.skipped), list(found.text.notes))


@unpacking
def arrange(files: Sequence[File], frame_json: Any, today: str) -> Any:
    """A step: the text. Raises `JobFailed` when no material was given."""
    frame = from_json(frame_json)
    said = words(_TEXTS, frame.language)
    blocks: list[Block] = []
    used: list[str] = []
    skipped: list[str] = []
    if frame.text.strip():
        try:
            blocks += read_text(frame.text, "").blocks
            used.append(str(said["message"]))
        except Unreadable as error:
            skipped.append(str(error))
    for file in files:
        try:
            blocks += read(file).blocks
            used.append(file.name)
        except Unreadable as error:
            skipped.append(str(error))
    if not blocks:
        raise CannotSucceed(f"{'; '.join(skipped)}." if skipped else str(said["nothing"]))
    kind = next((key for key in KINDS if frame.style.options.get(key)), "letter")
    text = KINDS[kind](blocks, frame.style.title or "", frame.language, today)
    if not text.entries:
        raise CannotSucceed(" ".join([str(said["nothing"]), *(f"{one}." for one in skipped)]))
    made = Written(
        text,
        str(said["made"]).format(
            kind=text.title, sources=tongue(frame.language).listed(used), count=text.entries
        ),
        tuple(used),
        tuple(skipped),
        frame.language,
    )
    return msgspec.json.decode(msgspec.json.encode(made))


def as_word(made: Any) -> bytes:
    """A step: the text as a Word file."""
    found = msgspec.convert(made, Written)
    paper = Paper(found.text.title, found.language, headed=found.text.headed)
    for part in found.text.parts:
        if part.kind == "heading":
            paper.say(part.text, "Heading 1")
        elif part.kind == "subheading":
            paper.say(part.text, "Heading 2")
        elif part.kind == "paragraph":
            paper.say(part.text)
        for item in part.items:
            paper.item(item)
        if part.rows:
            paper.table(part.rows[0], part.rows[1:], words=True, first=0.18)
    return paper.data()


def as_markdown(made: Any) -> str:
    """A step: the text as Markdown."""
    text = msgspec.convert(made, Written).text
    lines = [f"# {_plain(text.title)}", ""] if text.headed else []
    for part in text.parts:
        if part.kind == "heading":
            lines += [f"## {_plain(part.text)}", ""]
        elif part.kind == "subheading":
            lines += [f"### {_plain(part.text)}", ""]
        elif part.kind == "paragraph":
            lines += [_plain(part.text), ""]
        lines += [f"- {_plain(item)}" for item in part.items]
        for at, row in enumerate(part.rows):
            cells = [_plain(cell).replace("|", "\\|") for cell in row]
            lines.append(f"| {' | '.join(cells)} |")
            if not at:
                lines.append("|" + "---|" * len(row))
        if part.items or part.rows:
            lines.append("")
    return "\n".join(lines)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


def check(file: File, made: Any) -> int:
    """A step: open what was written; all of it is there. Returns how many pieces there are."""
    text = msgspec.convert(made, Written).text
    blocks = read(file).blocks
    cells = [cell for block in blocks for row in block.rows for cell in row]
    whole = _key(" ".join([*(block.text for block in blocks), *cells]))
    pieces = [piece for part in text.parts for piece in _pieces(part)]
    if any(_key(piece) not in whole for piece in pieces):
        raise JobFailed(f"{file.name} was not written whole.")
    return len(pieces)


def _pieces(part: Part) -> list[str]:
    return [part.text, *part.items, *(cell for row in part.rows for cell in row)]


def _key(text: str) -> str:
    return "".join(c for c in text.replace("&lt;", "<") if c.isalnum())
