"""Which work of a conversation a clause is about, and what becomes of its frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from agentpost.agents.offline.frame import Act, Frame
from agentpost.agents.offline.understanding import followups
from agentpost.agents.offline.understanding.reading import Reading


@dataclass(frozen=True)
class Work:
    """Something made before: its frame, and the frames that it had earlier, oldest first."""

    id: str
    frame: Frame
    earlier: tuple[Frame, ...] = ()


def target(works: Sequence[Work], reading: Reading) -> Work | None:
    """The work that a clause changes; None when it makes something new. ``works``: newest first."""
    if reading.frame.act is not Act.CHANGE or not works:
        return None
    thing = reading.frame.thing
    of_thing = [work for work in works if work.frame.thing is thing] if thing else list(works)
    if not of_thing:
        return None
    ordinal = reading.intent.ordinal
    if ordinal is not None:
        oldest = of_thing[::-1]
        if ordinal == -1:
            return of_thing[0]
        return oldest[ordinal - 1] if ordinal <= len(oldest) else None
    return of_thing[0]


def changed(work: Work, reading: Reading, *, formats: Sequence[str] = ()) -> Frame | None:
    """The work's frame after a change; None when the clause names nothing that could be changed.

    "Back to" makes the frame what it was: the one before the last change, or the first.
    """
    if reading.intent.undo:
        if not work.earlier:
            return work.frame
        back = work.earlier[0] if reading.intent.ordinal == 1 else work.earlier[-1]
        return msgspec.structs.replace(back, said=reading.frame.said)
    return followups.changed(work.frame, reading, formats=formats)
