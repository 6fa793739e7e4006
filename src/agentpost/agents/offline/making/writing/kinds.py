"""The kinds of texts, each from the blocks of the material (pure)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from agentpost.agents.offline.documents.model import Block, BlockKind
from agentpost.agents.offline.documents.passages import Sentence, cut
from agentpost.agents.offline.documents.summary import central
from agentpost.agents.offline.style import dates
from agentpost.agents.offline.style.languages import words

_FOLDER = Path(__file__).parent
_NAMED = re.compile(r"^\s*@?([A-ZÀ-ÖØ-Þ][\w'’-]+(?: [A-ZÀ-ÖØ-Þ][\w'’-]+)?)(?:\s*[:–-]|\s)")
_VERSION = re.compile(r"\bv?(\d+\.\d+(?:\.\d+)?)\b")
_ANSWER = 2
_LETTER = 12


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a text: a heading, a paragraph, a list, or a table with its header first."""

    kind: str
    """``heading``, ``paragraph``, ``list`` or ``table``."""
    text: str = ""
    items: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class Text(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text before it is written; ``entries`` counts what it has of the material."""

    title: str
    parts: tuple[Part, ...]
    entries: int
    notes: tuple[str, ...] = ()


Write = Callable[[Sequence[Block], str, str, str], Text]


def _texts(language: str) -> dict[str, Any]:
    return words(_FOLDER / "texts", language)


def _has(line: str, key: str, language: str) -> bool:
    """Whether a line has one of the words under a key, in its language or in English."""
    low = line.lower()
    for code in {language, "en"}:
        for word in words(_FOLDER / "words", code)[key]:
            edge = "" if "\u3400" <= word[0] <= "\u9fff" else r"\b"
            if re.search(rf"{edge}{re.escape(word)}{edge}", low):
                return True
    return False


def _lines(blocks: Sequence[Block], language: str) -> list[str]:
    """The sentences and items of the material."""
    found: list[str] = []
    for block in blocks:
        if block.kind is BlockKind.ITEM:
            found.append(block.text)
        elif block.kind is BlockKind.PARAGRAPH:
            found += cut(block.text, language)
        elif block.kind is BlockKind.TABLE:
            found += [" · ".join(cell for cell in row if cell) for row in block.rows[1:]]
    return [line for line in found if line.strip()]


def minutes(blocks: Sequence[Block], title: str, language: str, today: str) -> Text:
    """Minutes of a meeting: who was there, what was discussed, decided and is to be done."""
    said = _texts(language)
    lines = _lines(blocks, language)
    present = [line for line in lines if _has(line.partition(":")[0], "present", language)
               and ":" in line]  # fmt: skip
    rest = [line for line in lines if line not in present]
    decided = [line for line in rest if _has(line, "decided", language)]
    actions = [
        line for line in rest if line not in decided and _has(line, "action", language)
        and _NAMED.match(line)
    ]  # fmt: skip
    discussed = [line for line in rest if line not in decided and line not in actions]
    parts: list[Part] = []
    if present:
        names = "; ".join(line.partition(":")[2].strip() for line in present)
        parts.append(Part("paragraph", f"{said['present']}: {names}"))
    for key, found in (("discussed", discussed), ("decided", decided)):
        if found:
            parts += [Part("heading", str(said[key])), Part("list", items=tuple(found))]
    if actions:
        head = tuple(str(said[key]) for key in ("who", "what", "when"))
        rows = tuple(_action(line, language) for line in actions)
        parts += [Part("heading", str(said["actions"])), Part("table", rows=(head, *rows))]
    return Text(title or str(said["minutes"]), tuple(parts), len(lines))


def _action(line: str, language: str) -> tuple[str, str, str]:
    match = _NAMED.match(line)
    who = match[1] if match else ""
    when = ""
    for code in (language, "en"):
        for word in words(_FOLDER / "words", code)["by"]:
            found = re.search(rf"\b{re.escape(word)} ([^,.;]{{2,30}})", line, re.IGNORECASE)
            if found and not when:
                when = found[1].strip()
    return who, line, when


def faq(blocks: Sequence[Block], title: str, language: str, today: str) -> Text:
    """Questions and answers: each section's heading as a question, its central sentences as the
    answer."""
    said = _texts(language)
    sections: list[tuple[str, list[Block]]] = []
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            sections.append((block.text, []))
        elif sections:
            sections[-1][1].append(block)
    parts: list[Part] = []
    count = 0
    for heading, inside in sections:
        lines = _lines(inside, language)
        if not lines:
            continue
        sentences = [Sentence(line, "", "", heading) for line in lines]
        chosen = central(sentences, _ANSWER, language)
        asked = heading.rstrip().endswith(("?", "？", "؟"))
        question = heading if asked else str(said["question"]).format(heading)
        parts += [Part("heading", question), Part("paragraph", " ".join(s.text for s in chosen))]
        count += 1
    return Text(title or str(said["faq"]), tuple(parts), count)


def changelog(blocks: Sequence[Block], title: str, language: str, today: str) -> Text:
    """A changelog: what was added, changed, fixed and removed."""
    said = _texts(language)
    groups: dict[str, list[str]] = {"added": [], "changed": [], "fixed": [], "removed": []}
    for line in _lines(blocks, language):
        kind = next(
            (k for k in ("fixed", "removed", "added") if _has(line, k, language)), "changed"
        )
        groups[kind].append(line)
    headings = [block.text for block in blocks if block.kind is BlockKind.HEADING]
    version = next((m[1] for text in headings if (m := _VERSION.search(text))), "")
    parts: list[Part] = []
    if version or today:
        when = dates.period(today, None, language) if today else ""
        parts.append(Part("paragraph", " – ".join(part for part in (version, when) if part)))
    for key, found in groups.items():
        if found:
            parts += [Part("heading", str(said[key])), Part("list", items=tuple(found))]
    count = sum(map(len, groups.values()))
    return Text(title or str(said["changelog"]), tuple(parts), count)


def letter(blocks: Sequence[Block], title: str, language: str, today: str) -> Text:
    """A letter: date, subject, greeting, the material as it is, closing."""
    said = _texts(language)
    bodies = [b.text for b in blocks if b.kind in (BlockKind.PARAGRAPH, BlockKind.ITEM) and b.text]
    lines = [Sentence(line, "", "", "") for line in _lines(blocks, language)]
    if len(lines) > 3 * _LETTER:
        bodies = [sentence.text for sentence in central(lines, _LETTER, language)]
    headings = [block.text for block in blocks if block.kind is BlockKind.HEADING]
    subject = title or (headings[0] if headings else "")
    parts = [Part("paragraph", dates.period(date.fromisoformat(today).isoformat(), None, language))]
    if subject:
        parts.append(Part("paragraph", str(said["subject"]).format(subject)))
    parts.append(Part("paragraph", str(said["greeting"])))
    parts += [Part("paragraph", body) for body in bodies]
    parts += [Part("paragraph", str(said["closing"])), Part("paragraph", str(said["name"]))]
    return Text(subject or str(said["letter"]), tuple(parts), len(bodies),
                (str(said["placeholder"]),))  # fmt: skip


KINDS: dict[str, Write] = {
    "minutes": minutes, "faq": faq, "changelog": changelog, "letter": letter, "email": letter,
    "newsletter": letter,
}  # fmt: skip
