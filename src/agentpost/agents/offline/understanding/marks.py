"""What single words say about a clause: that it adds, splits, refers back, is to be done again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentpost.agents.offline.frame import Act, Thing
from agentpost.agents.offline.understanding.segments import Segment


@dataclass
class Intent:
    """The outcome: what a clause does and to what."""

    act: Act
    thing: Thing | None = None
    talk: str | None = None
    """``hello thanks help price nothing unable`` when it only talks."""
    subject: str | None = None
    """What cannot be made: a key of the section ``unable``."""
    control: str | None = None
    """``stop``, ``status`` or ``again``."""
    all: bool = False
    it: bool = False
    """Whether it refers to something made before."""
    back: bool = False
    """Whether it is about what came before, not only about the files: "a chart of that"."""
    definite: bool = False
    """Whether its thing is one that is there: "the chart"."""
    named: bool = False
    """Whether its thing was said, not implied by a format or a kind."""
    again: bool = False
    """Whether something is to be done once more."""
    resume: bool = False
    """Whether it only says to carry on, as in "continue"."""
    ordinal: int | None = None
    undo: bool = False
    split: bool = False
    too: bool = False
    instead: bool = False
    add: bool = False
    remove: bool = False
    verb: bool = False
    """Whether a verb of making was said."""
    question: bool = False


def marks(found: Sequence[Segment]) -> Intent:
    """What single words of a clause say of it; its act and its thing are not decided yet."""
    made = Intent(Act.ASK)
    for at, segment in enumerate(found):
        swallowed = segment.has("act", "change") and " " in segment.text
        made.it = made.it or segment.has("pronoun") or swallowed
        made.back = made.back or swallowed or _refers(found, at)
        known = bool(segment.columns or segment.values)
        made.again = made.again or (segment.has("again") and not known)
        made.resume = made.resume or (segment.has("again", "resume") and not known)
        made.undo = made.undo or segment.has("undo")
        made.split = made.split or segment.has("act", "split")
        made.too = made.too or segment.has("too")
        made.instead = made.instead or segment.has("instead")
        made.add = made.add or segment.has("act", "add")
        made.remove = made.remove or segment.has("act", "remove")
        made.verb = made.verb or segment.has("act", "make", "want", "into")
        made.all = made.all or segment.has("control", "all")
        if segment.has("ordinal") and not _counts(found, at):
            made.ordinal = int(segment.key("ordinal") or 1)
    anew = any(segment.has("again", "again") for segment in found)
    made.resume = made.resume and not anew
    return made


def _refers(found: Sequence[Segment], at: int) -> bool:
    """As in "a chart of that" and "as a chart"; not "from this file", "one page"."""
    after = next((s for s in found[at + 1 :] if s.text != "-"), None)
    if found[at].has("pronoun"):
        return after is None or not (after.has("input") or after.has("unit"))
    if not found[at].has("into") or any(s.has("thing") or s.columns for s in found[:at]):
        return False
    thing = next((s for s in found[at + 1 :] if s.has("thing") or s.has("kind")), None)
    return thing is not None and not thing.has("format")


def _counts(found: Sequence[Segment], at: int) -> bool:
    """As in "second quarter" and "first half" count time, not works."""
    following = [s for s in found[at + 1 : at + 3] if s.text != "."]
    if at and found[at].has("unit") and (found[at - 1].number or found[at - 1].has("number")):
        return True
    return any(s.has("grain") or s.has("half") for s in following) or found[at].has("period")
