"""A message, read: its language, its clauses and what it brings along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from agentpost.agents.offline.data.model import Table
from agentpost.agents.offline.frame import Act, Frame
from agentpost.agents.offline.understanding.clauses import (
    CLAUSES_MAX,
    clauses,
    wish_and_material,
)
from agentpost.agents.offline.understanding.followups import changed
from agentpost.agents.offline.understanding.reading import Reading, resolve
from agentpost.agents.offline.understanding.words import language_of, normal


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
    for piece in pieces[:CLAUSES_MAX]:
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
        if last is None or not _continues(last, one):
            found.append(one)
    return Message(spoken, _whole(found), material, tuple(pieces[CLAUSES_MAX:]))


def _continues(last: Reading, one: Reading) -> bool:
    """Let "Use red." change the wish that stands before it in the same message."""
    same = one.frame.thing in (None, last.frame.thing)
    if one.frame.act is not Act.CHANGE or not same or "measure" in one.named:
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
        return not (last.named and one.named)
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
        queries=old.queries or new.queries,
        style=style,
        formats=tuple(dict.fromkeys((*old.formats, *new.formats))),
        said=f"{old.said} {new.said}",
        unused=(*old.unused, *new.unused),
    )
    last.named = last.named | one.named
    return last


def plain(text: str) -> str:
    """A text as it is compared."""
    return normal(text).casefold()
