"""The steps of a summary: read and choose, write, check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents import CannotSucceed, File, Job, JobFailed, Unreadable
from agentpost.agents.offline.archives import unpacking
from agentpost.agents.offline.documents import language as tongues
from agentpost.agents.offline.documents.model import Document
from agentpost.agents.offline.documents.passages import Sentence, sentences
from agentpost.agents.offline.documents.reading import read, read_text
from agentpost.agents.offline.documents.summary import central
from agentpost.agents.offline.frame import Frame, from_json, to_json
from agentpost.agents.offline.making.maker import Inputs, Made
from agentpost.agents.offline.making.names import file_name
from agentpost.agents.offline.making.word import Paper
from agentpost.agents.offline.story import naming
from agentpost.agents.offline.style.languages import words

CREDITS = 1.0
SECONDS = 120.0
_TEXTS = Path(__file__).parent / "texts"
_FORMATS = ("md", "docx")
_USUAL, _MOST = 5, 60
_DATA = ("csv", "tsv", "tab", "xlsx", "xlsm", "xls", "ods", "json", "jsonl")
_LENGTHS = {"shorter": 0.6, "half": 0.5, "longer": 1.6, "double": 2.0}


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sentence of a summary, and where it stands."""

    text: str
    place: str = ""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is said of one file."""

    name: str
    lines: tuple[Line, ...]


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """A summary before it is written."""

    title: str
    parts: tuple[Part, ...]
    used: tuple[str, ...]
    skipped: tuple[str, ...]
    language: str = "en"


async def make(job: Job, inputs: Inputs) -> Made:
    """Make the summary; raises `JobFailed` with a text for the user."""
    frame, files = inputs.frame, list(inputs.files)
    before = job.state.get("sentences")
    count = _count(frame, before if isinstance(before, int) else _USUAL)
    made = await job.step(summarise, files, to_json(frame), count, timeout=SECONDS)
    found = msgspec.convert(made, Summary)
    asked = [form for form in frame.formats if form in _FORMATS] or ["md"]
    stem = files[0].name if files else found.title
    written: list[File] = []
    for form in asked:
        name = file_name(stem, "summary", inputs.version, form)
        write = as_markdown if form == "md" else as_word
        file = await job.write(
            name, write, made, cost=0.0 if written else CREDITS, label=found.title, timeout=SECONDS
        )
        await job.step(check, file, made, timeout=SECONDS)
        written.append(file)
    job.state["sentences"] = count
    return Made(_text(found), written, list(found.used), list(found.skipped))


def _count(frame: Frame, before: int) -> int:
    """How many sentences there are to be for each file."""
    wanted = frame.style.pages or round(before * _LENGTHS.get(frame.style.length or "", 1.0))
    return max(1, min(wanted, _MOST))


@unpacking
def summarise(files: Sequence[File], frame_json: Any, count: int) -> Any:
    """A step: the sentences of the summary. Raises `JobFailed` when nothing can be summarised."""
    frame = from_json(frame_json)
    parts: list[Part] = []
    used: list[str] = []
    skipped: list[str] = []
    texts = words(_TEXTS, frame.language)
    if frame.text:
        parts.append(_of_document(read_text(frame.text, ""), frame, count, used))
    for file in files:
        try:
            if file.name.lower().rpartition(".")[2] in _DATA:
                parts += _of_tables(file, frame, count, used, skipped)
            else:
                parts.append(_of_document(read(file), frame, count, used))
        except Unreadable as error:
            skipped.append(str(error))
    parts = [part for part in parts if part.lines]
    if not parts:
        raise CannotSucceed(f"{'; '.join(skipped)}." if skipped else str(texts["none"]))
    named = parts[0].name or str(texts["heading"])
    title = frame.style.title or str(texts["title"]).format(name=named)
    if not parts[0].name and not frame.style.title:
        title = str(texts["heading"])
    made = Summary(title, tuple(parts), tuple(used), tuple(skipped), frame.language)
    return msgspec.json.decode(msgspec.json.encode(made))


def _of_document(document: Document, frame: Frame, count: int, used: list[str]) -> Part:
    whole = " ".join(block.text for block in document.blocks[:400])
    language = tongues.detect(whole, frame.language)
    found = sentences(document, language)
    kept = _about(found, frame, language)
    chosen = central(kept, count, language)
    texts = words(_TEXTS, frame.language)
    if document.name:
        extent = str(texts["read"]).format(count=len(chosen), all=f"{len(found):,}")
        used.append(f"{document.name} ({extent})")
    return Part(document.name, tuple(Line(one.text, one.place) for one in chosen))


def _about(found: list[Sentence], frame: Frame, language: str) -> list[Sentence]:
    """The sentences about the subjects that were named, all of them when none was."""
    wanted = {term for said in frame.style.sections for term in tongues.terms(said, language)}
    if not wanted:
        return found
    kept = [
        one
        for one in found
        if wanted & {*tongues.terms(one.text, language), *tongues.terms(one.heading, language)}
    ]
    return kept or found


def _of_tables(
    file: File, frame: Frame, count: int, used: list[str], skipped: list[str]
) -> list[Part]:
    from agentpost.agents.offline.data.dataset import opened
    from agentpost.agents.offline.making import queries
    from agentpost.agents.offline.story.tell import tell

    with opened([file], "", frame.language) as data:
        skipped += data.skipped
        if not data.tables:
            return []
        mine = tuple(q for q in frame.queries if any(t.id == q.table for t in data.tables))
        story = tell(data, queries.wanted(mine, data.tables), frame.language)
        used += [naming.with_rows(table, frame.language) for table in data.tables]
    lines = tuple(Line(claim.sentence) for claim in story.claims[:count])
    return [Part(file.name, lines)]


def _text(found: Summary) -> str:
    """The summary as the reply says it."""
    pieces: list[str] = []
    for part in found.parts:
        if len(found.parts) > 1 and part.name:
            pieces.append(f"{part.name}:")
        pieces += [f"- {line.text}{_placed(line)}" for line in part.lines]
    return "\n".join(pieces)


def _placed(line: Line) -> str:
    return f" [{line.place}]" if line.place else ""


def as_markdown(made: Any) -> str:
    """A step: the summary as Markdown."""
    found = msgspec.convert(made, Summary)
    lines = [f"# {_plain(found.title)}", ""]
    for part in found.parts:
        if len(found.parts) > 1 and part.name:
            lines += [f"## {_plain(part.name)}", ""]
        lines += [f"- {_plain(line.text)}{_plain(_placed(line))}" for line in part.lines]
        lines.append("")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """A text without marks that Markdown or a page would take for its own."""
    return text.replace("<", "&lt;").replace("\n", " ")


def as_word(made: Any) -> bytes:
    """A step: the summary as a Word file."""
    found = msgspec.convert(made, Summary)
    paper = Paper(found.title, found.language)
    for part in found.parts:
        if len(found.parts) > 1 and part.name:
            paper.say(part.name, "Heading 1")
        for line in part.lines:
            paper.item(line.text, line.place)
    return paper.data()


def check(file: File, made: Any) -> int:
    """A step: open what was written; every sentence is in it. Returns how many there are."""
    found = msgspec.convert(made, Summary)
    written = read(file)
    text = " ".join(" ".join(block.text for block in written.blocks).split())
    lines = [line for part in found.parts for line in part.lines]
    missing = [line for line in lines if _key(line.text) not in _key(text)]
    if missing:
        raise JobFailed(f"{file.name} was not written whole.")
    return len(lines)


def _key(text: str) -> str:
    return "".join(c for c in text.replace("&lt;", "<") if c.isalnum())
