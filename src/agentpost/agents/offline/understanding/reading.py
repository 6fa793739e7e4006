"""One clause, read: its frame, and how it stands to what was made before.

`wish` reads a clause without data; `resolve` finds the columns and values of tables that it means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from agentpost.agents.offline.data.model import Table
from agentpost.agents.offline.frame import Act, Aggregate, Frame, Query, Thing
from agentpost.agents.offline.understanding.draft import Draft
from agentpost.agents.offline.understanding.intents import intent
from agentpost.agents.offline.understanding.marks import Intent
from agentpost.agents.offline.understanding.names import Names, names_of
from agentpost.agents.offline.understanding.queries import drafted
from agentpost.agents.offline.understanding.segments import Segment, segments
from agentpost.agents.offline.understanding.styles import Look, looks, subjects, titled
from agentpost.agents.offline.understanding.words import lexicon, normal

TABLES_MAX = 40
"""Tables that a clause is compared with; more are not looked at."""
_SUBJECTS = (Thing.REPORT, Thing.DECK, Thing.SITE, Thing.VIDEO)


_TOLD = (Thing.REPORT, Thing.DECK, Thing.SITE)
"""Things of many findings: "growth of revenue" after one is a question, not another of them."""


@dataclass
class Reading:
    """A clause as it was understood."""

    frame: Frame
    intent: Intent
    look: Look = field(default_factory=Look)
    named: frozenset[str] = frozenset()
    """Which parts of a query the clause itself names: ``measure group time filter order``."""
    ambiguous: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Words with the columns that each can mean."""
    tables: tuple[str, ...] = ()
    """Names of tables that fit equally well, when it cannot be reported which is meant."""
    corrected: tuple[tuple[str, str], ...] = ()
    """Typos, with what they were read as."""
    unclear: tuple[str, ...] = ()
    """What was said that no query can say; also in the frame's ``unused``."""
    data: bool = False
    """Whether it has words like "by", "only" and "without", which are followed by data."""
    aggregate: Aggregate | None = None
    """An aggregate that was said without a column, for a change of one made before."""


def wish(
    clause: str, language: str = "en", *, works: bool = False, running: bool = False
) -> Reading:
    """A clause without data: act, thing and style; content words stand in ``unused``."""
    return resolve(clause, language, (), works=works, running=running)


def resolve(
    clause: str,
    language: str,
    tables: Sequence[Table],
    *,
    works: bool = False,
    running: bool = False,
    today: str = "2026-01-01",
    base: Frame | None = None,
) -> Reading:
    """A clause over tables. ``works``: something was made before; ``running``: something is being
    made; ``today``: ISO 8601, what "last year" counts from; ``base``: the frame that a change is
    about, which says what is being changed."""
    text = normal(clause)
    plain = segments(text, language)
    title, (start, end) = titled(text, plain)
    if title:
        text = text[:start] + " " * (end - start) + text[end:]
        plain = segments(text, language)
    words = lexicon(language)
    best: tuple[tuple[int, int], Draft, Intent, Look] | None = None
    equal: list[str] = []
    for table in tables[:TABLES_MAX]:
        names = names_of(table, words)
        found = segments(text, language, names)
        answered = base is not None and (base.act is Act.ASK or base.thing in _TOLD)
        read = _read(
            found, text, works=works, running=running, titled=bool(title), answered=answered
        )
        made, look = read
        if made.act in (Act.TALK, Act.CONTROL):
            best, equal = None, []
            break
        _use_audience(found)
        about = _changed_thing(made, base)
        _use_thing(found, made)
        if about in (Thing.DECK, Thing.REPORT, Thing.SITE, Thing.VIDEO) and made.add:
            look.sections = subjects(text, found)
        draft = drafted(found, names, today, asked=_asked(made, base))
        if about in _SUBJECTS and not look.sections and not draft.named:
            look.sections = subjects(text, found)
        if made.thing is Thing.IMAGE and "measure" in draft.named and not look.options:
            made.thing = Thing.CHART
        score = (len(draft.unused()), -_covered(draft))
        if best is None or score < best[0]:
            best, equal = (score, draft, made, look), [table.name]
        elif score == best[0] and draft.named:
            equal.append(table.name)
    if best is None:
        return _without_tables(plain, text, clause, language, title, works=works, running=running)
    _, draft, made, look = best
    look.title = title
    return _reading(draft, made, look, clause, language, equal)


def _reading(
    draft: Draft, made: Intent, look: Look, clause: str, language: str, equal: Sequence[str]
) -> Reading:
    found = draft.found
    query = draft.query()
    changes = made.act is Act.CHANGE and "measure" not in draft.named
    aggregate = _aggregate(found) if changes else None
    frame = Frame(
        act=made.act,
        thing=made.thing,
        queries=(query,) if draft.named or (made.act is Act.ASK and _computes(query)) else (),
        style=look.style(),
        formats=tuple(look.formats),
        language=look.language or language,
        said=clause,
        unused=draft.unused(),
    )
    return Reading(
        frame,
        made,
        look,
        frozenset(draft.named),
        tuple(dict.fromkeys(draft.ambiguous)),
        tuple(equal) if len(equal) > 1 else (),
        tuple((s.text, s.corrected) for s in found if s.corrected),
        tuple(draft.unclear),
        any(s.has("by") or s.has("only") or s.has("not") for s in found),
        aggregate,
    )


def _aggregate(found: Sequence[Segment]) -> Aggregate | None:
    """The aggregate that a change asks for: the first one said, "instead of" the other."""
    said = [s for s in found if s.has("aggregate") and not s.columns]
    keys = [key for s in said if (key := s.key("aggregate")) and key not in ("count", "distinct")]
    for segment in said:
        segment.used = True
    return Aggregate(keys[0]) if keys else None


def _computes(query: Query) -> bool:
    return bool(query.measures or query.groups or query.filters)


def _read(
    found: Sequence[Segment],
    text: str,
    *,
    works: bool,
    running: bool,
    titled: bool,
    answered: bool = False,
) -> tuple[Intent, Look]:
    made = intent(found, text, works=works, running=running, answered=answered)
    if titled and works and made.thing is None and made.act is not Act.CHANGE:
        made.act, made.thing = Act.CHANGE, None
    changing = made.act is Act.CHANGE
    if made.act is Act.ASK:
        return made, Look()
    thing = None if changing and made.thing is None else made.thing
    return made, looks(found, thing, changing=changing)


def _asked(made: Intent, base: Frame | None) -> bool:
    if made.act is Act.CHANGE and base is not None:
        return base.act is Act.ASK
    return made.act is Act.ASK


def _changed_thing(made: Intent, base: Frame | None) -> Thing | None:
    if made.act is Act.CHANGE and made.thing is None and base is not None:
        return base.thing
    return made.thing


def _use_thing(found: Sequence[Segment], made: Intent) -> None:
    for at, segment in enumerate(found):
        if segment.has("thing") and not segment.columns and not segment.values:
            segment.used = segment.used or made.act is not Act.ASK
        after = found[at + 1] if at + 1 < len(found) else None
        counted = segment.has("number") or segment.number is not None
        if counted and after is not None and (after.has("thing") or after.has("counted")):
            segment.used = True
        if segment.has("ordinal") and made.ordinal is not None and made.act is Act.CHANGE:
            segment.used = True


def _use_audience(found: Sequence[Segment]) -> None:
    """As in "for Monday's board meeting" says whom it is for, not which rows count."""
    for at, segment in enumerate(found):
        if not segment.has("for"):
            continue
        for end in range(at + 1, min(len(found), at + 6)):
            if found[end].has("audience") and not found[end].columns and not found[end].values:
                for part in found[at : end + 1]:
                    part.used = True
                break
            if found[end].columns or found[end].values or found[end].kind == "mark":
                break


def _covered(draft: Draft) -> int:
    """How much of the clause a table stands for."""
    return sum(
        (3 if segment.literal else 2) + len(segment.text.split())
        for segment in draft.found
        if segment.columns or segment.values
    )


def _without_tables(
    found: list[Segment],
    text: str,
    clause: str,
    language: str,
    title: str | None,
    *,
    works: bool,
    running: bool,
) -> Reading:
    made, look = _read(found, text, works=works, running=running, titled=bool(title))
    _use_thing(found, made)
    look.title = title
    if made.act in (Act.MAKE, Act.CHANGE) and (made.thing in _SUBJECTS or made.add):
        look.sections = subjects(text, found)
    empty = Draft(found, Names(_NO_TABLE))
    frame = Frame(
        act=made.act,
        thing=made.thing,
        style=look.style(),
        formats=tuple(look.formats),
        language=look.language or language,
        said=clause,
        unused=empty.unused(),
    )
    return Reading(frame, made, look)


_NO_TABLE = Table(id="", file="", name="", rows=0, columns=())


def with_files(frame: Frame, files: Sequence[str]) -> Frame:
    """The frame with the files that it is made from."""
    return msgspec.structs.replace(frame, files=tuple(files))
