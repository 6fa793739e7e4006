"""Cutting a message: its wish from the material that it brings along, and the wish into clauses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentpost.agents.offline.understanding.segments import Segment, segments
from agentpost.agents.offline.understanding.words import WISH_CHARACTERS, normal

_HEAD_WORDS = 30
_BODY_WORDS = 25
_BODY_HAN = 40
_BREAKS = ".!?;\n。！？；؟؛…"
CLAUSES_MAX = 12
"""Clauses of a message that are read; more are named as not read."""


def wish_and_material(text: str) -> tuple[str, str]:
    """What a message wants, and the text or table pasted into it.

    Words of the material are never wishes: they are data.
    """
    for mark in ("\n", ":", "："):
        head, found, body = text.partition(mark)
        if found and len(head.split()) <= _HEAD_WORDS and _is_material(body):
            return head.strip()[:WISH_CHARACTERS], body.strip(" \n")
    lines = text.split("\n")
    for start in range(len(lines)):
        if _is_table("\n".join(lines[start:])):
            return "\n".join(lines[:start])[:WISH_CHARACTERS], "\n".join(lines[start:])
        if start > 20:
            break
    return text.strip()[:WISH_CHARACTERS], ""


def _is_material(body: str) -> bool:
    if len(body.split()) >= _BODY_WORDS or len(re.findall("[\u4e00-\u9fff]", body)) >= _BODY_HAN:
        return True
    return _is_table(body)


def _is_table(body: str) -> bool:
    lines = [line for line in body.strip().splitlines() if line.strip()][:50]
    if len(lines) < 3:
        return False
    for mark in ("\t", "|", ";", ","):
        counts = [line.count(mark) for line in lines]
        if min(counts) >= 1 and max(counts) - min(counts) <= (2 if mark == "|" else 0):
            return True
    return False


def clauses(text: str, language: str) -> list[str]:
    """The clauses of a wish, each as it was said: cut at sentence ends, and where a new thing or
    a new verb begins after a comma or an "and"."""
    text = normal(text)
    found = segments(text, language)
    cuts: list[int] = []
    first = 0
    at = 0
    while at < len(found):
        segment = found[at]
        if segment.kind == "mark" and segment.text in _BREAKS and _ends(text, found, at):
            cuts.append(segment.end)
            first = at + 1
        elif _line_break(text, found, at):
            cuts.append(segment.start)
            first = at
        elif at > first and (begins := _begins(found, first, at)):
            cuts.append(segment.start)
            first = at = at + begins - 1
        at += 1
    pieces = [text[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return _together([piece for piece in pieces if re.search(r"\w|%", piece)], language)


def _ends(text: str, found: Sequence[Segment], at: int) -> bool:
    """Whether a mark ends a sentence: not in "2. Quartal" and "e.g."."""
    if found[at].text != ".":
        return True
    before = found[at - 1] if at else None
    after = found[at + 1] if at + 1 < len(found) else None
    if after is None:
        return True
    if before is not None and before.number is not None:
        return not (after.has("grain") or after.has("month") or after.has("half"))
    spaced = text[found[at].end : found[at].end + 1].isspace()
    return spaced and not (before is not None and len(before.text) == 1)


def _line_break(text: str, found: Sequence[Segment], at: int) -> bool:
    return at > 0 and "\n" in text[found[at - 1].end : found[at].start]


def _begins(found: Sequence[Segment], first: int, at: int) -> int:
    """How many joining words at a place begin a new clause; 0 when none does."""
    size = 0
    while at + size < len(found) and (
        found[at + size].has("and")
        or found[at + size].text in (",", ":", "，", "、", "：", "،")
        or (found[at + size].joined and size == 0)
    ):
        size += 0 if found[at + size].joined and not found[at + size].has("and") else 1
        if found[at].joined:
            break
    if size == 0 and not found[at].joined:
        return 0
    follow = at + size
    while follow < len(found) and _small(found[follow]):
        follow += 1
    if follow >= len(found):
        return 0
    before = found[first:at]
    head = found[follow]
    colon = found[at].text in (":", "：")
    verb = _is_verb(found, follow) or (follow > at + size and _is_verb(found, follow - 1))
    asks = head.has("question") and not head.has("and") and not head.has("for")
    sends = head.has("unable", "email", "booking", "translation", "web")
    if (verb or asks or sends) and not colon and _whole(before):
        return max(1, size)
    if _thing_follows(found, follow) and _object(before):
        return max(1, size)
    return 0


def _small(segment: Segment) -> bool:
    content = ("act", "thing", "question", "format", "kind", "colour", "length", "number", "option")
    if any(segment.has(section) for section in content):
        return False
    return segment.has("filler") or segment.has("and") or segment.has("the") or segment.has("too")


def _is_verb(found: Sequence[Segment], at: int) -> bool:
    segment = found[at]
    if segment.has("op") or segment.has("by") or segment.has("only") or segment.has("not"):
        return False
    return segment.has("act", "make", "want", "show", "into", "change", "add", "remove") or (
        segment.has("thing", "summary") and segment.has("act")
    )


def _whole(before: Sequence[Segment]) -> bool:
    """Whether what was said so far can stand alone."""
    grouped = any(segment.has("by") for segment in before)
    if grouped and any(segment.has("concept") for segment in before):
        return True
    return any(
        segment.has("thing") or segment.has("act") or segment.has("question")
        or segment.has("option") or segment.has("colour") or segment.has("control")
        for segment in before
    )  # fmt: skip


def _object(before: Sequence[Segment]) -> bool:
    """Whether a thing to make was named before, not as something that it has or comes from."""
    for at, segment in enumerate(before):
        if segment.has("thing") and not segment.columns:
            rest = before[at + 1 :]
            for index, part in enumerate(rest):
                if part.has("from") and any(
                    p.has("thing") and not p.has("unit") for p in rest[index + 1 : index + 4]
                ):
                    return False
            return not is_source(before, at)
    return False


def _thing_follows(found: Sequence[Segment], at: int) -> bool:
    """Whether a thing comes next, after its number, length, format or kind."""
    for index in range(at, min(len(found), at + 5)):
        segment = found[index]
        if segment.has("into"):
            return False
        if segment.has("thing") and not segment.columns:
            only_format = segment.has("format") and not _another_thing(found, index)
            return not only_format
        described = (
            segment.number is not None or segment.has("number") or segment.has("length")
            or segment.has("format") or segment.has("kind") or segment.has("colour")
            or segment.has("filler") or segment.has("unit") or segment.has("option")
            or segment.has("grain") or segment.has("act", "make", "want")
        )  # fmt: skip
        if not described:
            return False
    return False


def _another_thing(found: Sequence[Segment], at: int) -> bool:
    following = found[at + 1] if at + 1 < len(found) else None
    return following is not None and following.has("thing")


def is_source(found: Sequence[Segment], at: int) -> bool:
    """Whether the thing at a place is what something is made from, or has in it."""
    index = at - 1
    while index >= 0 and (
        found[index].has("filler") or found[index].has("the") or found[index].has("number")
        or found[index].has("pronoun") or found[index].has("kind") or found[index].has("colour")
    ):  # fmt: skip
        if _places(found, index):
            return False
        if found[index].has("from") or found[index].has("source"):
            return True
        if found[index].has("act", "make", "into", "want"):
            return False
        index -= 1
    if index < 0:
        return False
    segment = found[index]
    return (segment.has("from") or segment.has("source")) and not segment.has("act")


def _places(found: Sequence[Segment], at: int) -> bool:
    """As in "show it as a chart" and "put that in a deck": what comes next is made."""
    if found[at].has("into") and not found[at].has("from"):
        return True
    given = at > 0 and found[at - 1].has("pronoun") and found[at].has("in")
    return given and any(s.has("act", "into") for s in found[:at])


def _together(pieces: Sequence[str], language: str) -> list[str]:
    """Join a piece that cannot stand alone, like "how many?", to the one before it."""
    made: list[str] = []
    for piece in pieces:
        found = segments(piece, language)
        bare = all(
            segment.kind == "mark" or segment.has("filler") or segment.has("question")
            for segment in found
        )
        talk = any(segment.has("talk") or segment.has("control") for segment in found)
        if bare and made and not talk and any(segment.has("question") for segment in found):
            made[-1] = f"{made[-1]} {piece}"
        else:
            made.append(piece)
    return made
