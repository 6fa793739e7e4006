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
_NAME = re.compile(r"[A-ZÀ-ÖØ-Þ][\w'’-]+")
_RELEASE = re.compile(r"v?\d+\.\d+(?:\.\d+)?(?:\s.{0,30})?$")
_ANSWER = 2
_LETTER = 12
_CHANGES = ("fixed", "removed", "added", "changed")
"""Kinds of changes, in the order in which their words are looked for."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A piece of a text: a heading, a paragraph, a list, or a table with its header first."""

    kind: str
    """``heading``, ``subheading``, ``paragraph``, ``list`` or ``table``."""
    text: str = ""
    items: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class Text(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text before it is written; ``entries`` counts what it has of the material."""

    title: str
    parts: tuple[Part, ...]
    entries: int
    notes: tuple[str, ...] = ()
    headed: bool = True
    """Whether it begins with its title."""


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
    heading = rest.pop(0) if len(rest) > 1 and _is_heading(rest[0]) else ""
    people = {name for line in present for name in _NAME.findall(line.partition(":")[2])}
    unsettled = [
        line for line in rest if line.rstrip().endswith(("?", "？", "؟"))
        or (":" in line and _has(line.partition(":")[0], "open", language))
    ]  # fmt: skip
    rest = [line for line in rest if line not in unsettled]
    decided = [line for line in rest if _has(line, "decided", language)]
    actions = [
        line for line in rest if line not in decided and (match := _NAMED.match(line))
        and (_has(line, "action", language)
             or (match[1].split()[0] in people and _action(line, language)[2]))
    ]  # fmt: skip
    discussed = [line for line in rest if line not in decided and line not in actions]
    parts = [Part("paragraph", heading)] if heading else []
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
    if unsettled:
        parts += [Part("heading", str(said["open"])), Part("list", items=tuple(unsettled))]
    return Text(title or str(said["minutes"]), tuple(parts), len(lines))


def _is_heading(line: str) -> bool:
    """Whether a first line names the meeting and says nothing of it yet."""
    ended = line.rstrip()[-1:] in (*".!?:;", "。", "\uff01", "\uff1f")
    return len(line) < 80 and not ended and any(map(str.isdigit, line))


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
        first = not parts and len(sections) > 1 and blocks[0].text == heading
        pattern = str(said["about" if first and blocks[0].level == 1 else "question"])
        question = heading if asked else pattern.format(heading)
        parts += [Part("heading", question), Part("paragraph", " ".join(s.text for s in chosen))]
        count += 1
    return Text(title or str(said["faq"]), tuple(parts), count)


def changelog(blocks: Sequence[Block], title: str, language: str, today: str) -> Text:
    """A changelog: what was added, changed, fixed and removed."""
    said = _texts(language)
    releases: list[tuple[str, dict[str, list[str]]]] = []
    for line in _lines(blocks, language):
        if _RELEASE.match(line) or not releases:
            groups: dict[str, list[str]] = {key: [] for key in _CHANGES}
            releases.append((line if _RELEASE.match(line) else "", groups))
            if _RELEASE.match(line):
                continue
        kind = next((k for k in _CHANGES if k != "changed" and _has(line, k, language)), "changed")
        groups[kind].append(line)
    headings = [block.text for block in blocks if block.kind is BlockKind.HEADING]
    version = next((m[1] for text in headings if (m := _VERSION.search(text))), "")
    parts: list[Part] = []
    count = sum(len(found) for _, groups in releases for found in groups.values())
    if len(releases) > 1:
        for release, groups in releases:
            parts += [Part("heading", release)] if release else []
            parts += _changes(groups, said, "subheading")
        return Text(title or str(said["changelog"]), tuple(parts), count)
    version = version or releases[0][0] if releases else version
    if version or today:
        when = dates.period(today, None, language) if today else ""
        parts.append(Part("paragraph", " – ".join(part for part in (version, when) if part)))
    parts += _changes(releases[0][1], said, "heading") if releases else []
    return Text(title or str(said["changelog"]), tuple(parts), count)


def _changes(groups: dict[str, list[str]], said: dict[str, Any], kind: str) -> list[Part]:
    """What one release changed, under a heading for each kind of change."""
    return [
        part
        for key in ("added", "changed", "fixed", "removed")
        if groups[key]
        for part in (Part(kind, str(said[key])), Part("list", items=tuple(groups[key])))
    ]


def letter(blocks: Sequence[Block], title: str, language: str, today: str) -> Text:
    """A letter: sender and recipient where they are named, date, subject, greeting, the material
    as it is, closing."""
    said = _texts(language)
    named: dict[str, str] = {}
    bodies: list[str] = []
    kept: list[Block] = []
    for block in blocks:
        if block.kind not in (BlockKind.PARAGRAPH, BlockKind.ITEM) or not block.text:
            continue
        key = None if kept else _label(block.text, language)
        if key and key not in named:
            named[key] = block.text.partition(":")[2].strip()
        else:
            bodies.append(block.text)
            kept.append(block)
    lines = [Sentence(line, "", "", "") for line in _lines(kept, language)]
    if len(lines) > 3 * _LETTER:
        bodies = [sentence.text for sentence in central(lines, _LETTER, language)]
    headings = [block.text for block in blocks if block.kind is BlockKind.HEADING]
    subject = title or named.get("subject") or (headings[0] if headings else "")
    parts = [Part("paragraph", named[key]) for key in ("from", "to") if key in named]
    day = date.fromisoformat(today).isoformat()
    parts.append(Part("paragraph", dates.period(day, None, language)))
    if subject:
        parts.append(Part("heading", str(said["subject"]).format(subject)))
    parts.append(Part("paragraph", str(said["greeting"])))
    parts += [Part("paragraph", body) for body in bodies]
    name = re.split("[,،，]", named.get("from", ""))[0].strip()
    parts += [Part("paragraph", str(said["closing"])), Part("paragraph", name or str(said["name"]))]
    return Text(subject or str(said["letter"]), tuple(parts), len(bodies),
                () if name else (str(said["placeholder"]),), headed=False)  # fmt: skip


def _label(line: str, language: str) -> str | None:
    """As in "To: Nordlicht": which part of a letter's head a line is."""
    head, colon, rest = line.replace("：", ":").partition(":")
    if not colon or not rest.strip():
        return None
    said = head.strip().casefold()
    keys = ("from", "to", "subject")
    tongues = [words(_FOLDER / "words", code) for code in (language, "en")]
    return next((key for key in keys if any(said in tongue[key] for tongue in tongues)), None)


KINDS: dict[str, Write] = {
    "minutes": minutes, "faq": faq, "changelog": changelog, "letter": letter, "email": letter,
    "newsletter": letter,
}  # fmt: skip
