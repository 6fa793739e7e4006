"""A message, read: its language, its clauses and what it brings along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from agentpost.agents.offline.data.model import Table
from agentpost.agents.offline.frame import Act, Frame, Thing
from agentpost.agents.offline.understanding.clauses import (
    CLAUSES_MAX,
    clauses,
    wish_and_material,
)
from agentpost.agents.offline.understanding.draft import is_number
from agentpost.agents.offline.understanding.followups import changed
from agentpost.agents.offline.understanding.names import names_of
from agentpost.agents.offline.understanding.reading import Reading, resolve
from agentpost.agents.offline.understanding.segments import Segment, segments
from agentpost.agents.offline.understanding.words import language_of, lexicon, normal


@dataclass
class Message:
    """A message as it was understood."""

    language: str
    readings: list[Reading]
    material: str = ""
    """The text or table that it brings along."""
    unread: tuple[str, ...] = ()
    """Clauses after the first dozen."""


def read(
    text: str,
    tables: Sequence[Table] = (),
    *,
    works: bool = False,
    running: bool = False,
    today: str = "2026-01-01",
    language: str = "en",
    base: Frame | None = None,
) -> Message:
    """Read a message; ``language`` is that of the conversation so far."""
    said, material = wish_and_material(text)
    spoken = language_of(said or material, language)
    pieces = clauses(said, spoken)
    found: list[Reading] = []
    for piece in _parted(pieces[:CLAUSES_MAX], spoken, tables):
        last = found[-1] if found and found[-1].frame.act is Act.MAKE else None
        one = resolve(
            piece,
            spoken,
            tables,
            works=works or last is not None,
            running=running,
            today=today,
            base=last.frame if last else base,
        )
        if last is not None and _shows(last, one):
            whole = resolve(f"{last.frame.said} {piece}", spoken, tables, today=today)
            if whole.frame.act is Act.MAKE and not whole.frame.unused:
                found[-1] = whole
                continue
        if last is None or not _continues(last, one):
            found.append(one)
    return Message(spoken, _whole(found), material, tuple(pieces[CLAUSES_MAX:]))


def goes_on(text: str) -> bool:
    """Whether a message begins like "and …": it follows what was said, and answers nothing."""
    found = segments(normal(text), language_of(text))
    return bool(found) and found[0].has("and")


def _shows(last: Reading, one: Reading) -> bool:
    """As in "A pie chart, show revenue by city" is one wish."""
    asks = one.frame.act is Act.ASK and not one.intent.question and bool(one.frame.queries)
    return last.frame.thing is Thing.CHART and not last.named and asks


def _parted(pieces: Sequence[str], language: str, tables: Sequence[Table]) -> list[str]:
    """The pieces, with "revenue by region and orders by month" as two: each its own query."""
    found: list[str] = []
    for piece in pieces:
        text = normal(piece)
        cut = next((at for table in tables if (at := _second(text, language, table))), None)
        if cut is None:
            found.append(piece)
            continue
        head, rest = text[: cut[1]], text[cut[1] :]
        found += [head, f"{text[: cut[0]]} {rest}"]
    return found


def _second(text: str, language: str, table: Table) -> tuple[int, int] | None:
    """Where the words before the first measure end, and where a second "measure by group"
    begins."""
    parts = segments(text, language, names_of(table, lexicon(language)))
    numeric = [
        at for at, s in enumerate(parts)
        if any(is_number(column) for column in table.columns if column.name in s.columns)
    ]  # fmt: skip
    for at in numeric[1:]:
        joint = max((i for i in range(at) if _joins(parts[i])), default=None)
        if joint is None or joint < numeric[0]:
            continue
        before, after = parts[numeric[0] : joint], parts[at:]
        if any(s.has("by") for s in before) and any(s.has("by") for s in after):
            return parts[numeric[0]].start, parts[joint].start
    return None


def _joins(segment: Segment) -> bool:
    return (segment.has("and") and not segment.columns) or segment.text in (",", "，", "、", ";")


def _continues(last: Reading, one: Reading) -> bool:
    """Let "Use red." change the wish that stands before it in the same message."""
    same = one.frame.thing in (None, last.frame.thing)
    another = "measure" in one.named and bool(last.named)
    if one.frame.act is not Act.CHANGE or not same or another:
        return False
    frame = changed(last.frame, one)
    if frame is None or one.frame.unused:
        return False
    last.frame = msgspec.structs.replace(
        frame, said=f"{last.frame.said} {one.frame.said}", unused=last.frame.unused
    )
    last.named = last.named | one.named
    return True


def _whole(found: Sequence[Reading]) -> list[Reading]:
    """Clauses that say one thing together: greetings before a wish, a wish in two sentences."""
    content = [one for one in found if one.intent.talk not in ("hello", "thanks", "nothing")]
    if not content:
        return list(found[:1])
    made: list[Reading] = []
    for one in content:
        last = made[-1] if made else None
        if last is not None and _one_wish(last, one):
            made[-1] = _joined(last, one)
        else:
            made.append(one)
    return made


def _one_wish(last: Reading, one: Reading) -> bool:
    both_make = last.frame.act is Act.MAKE and one.frame.act is Act.MAKE
    if both_make and last.frame.thing is one.frame.thing:
        return not (last.named and one.named) or last.frame.thing is not Thing.CHART
    return False


def _joined(last: Reading, one: Reading) -> Reading:
    old, new = last.frame, one.frame
    style = msgspec.structs.replace(
        old.style,
        **{
            field: getattr(new.style, field)
            for field in new.style.__struct_fields__
            if getattr(new.style, field) not in (None, (), {})
        },
    )
    last.frame = msgspec.structs.replace(
        old,
        queries=(*old.queries, *(one for one in new.queries if one not in old.queries)),
        style=style,
        formats=tuple(dict.fromkeys((*old.formats, *new.formats))),
        said=f"{old.said} {new.said}",
        unused=(*old.unused, *new.unused),
    )
    last.named = last.named | one.named
    return last
