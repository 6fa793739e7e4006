"""What a clause does, reported by its words alone: act, thing, and what it refers to."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.agents.offline.frame import Act, Thing
from agentpost.agents.offline.understanding.clauses import is_source
from agentpost.agents.offline.understanding.marks import Intent, marks
from agentpost.agents.offline.understanding.segments import Segment
from agentpost.agents.offline.understanding.styles import of_options

_SHORT = 8
_TALK_WORDS = 6


def intent(
    found: Sequence[Segment], text: str, *, works: bool, running: bool = False,
    answered: bool = False,
) -> Intent:  # fmt: skip
    """Decide what a clause does. ``works``: whether something was made before in the
    conversation, which makes fragments changes to it; ``answered``: whether that was an answer or
    a text about the table, after which "revenue in 2025" is another question."""
    made = marks(found)
    small = _small(found, made, text, running=running)
    if small is not None:
        return small
    made.thing = _thing(found, made)
    made.named = made.thing is not None
    if not made.named and any(s.has("implies", "chart") and " " in s.text for s in found):
        made.act, made.thing = Act.MAKE, Thing.CHART  # as in "graph it"
        made.it = made.back = True
        return made
    if made.thing is Thing.IMAGE and any(s.has("trend") or s.has("kind") for s in found):
        made.thing = Thing.CHART
    made.question = _asks(found, text)
    unable = next((s for s in found if s.has("unable") and not s.columns and not s.values), None)
    if unable is not None and not made.question and _means_unable(found, unable, made):
        made.act, made.talk, made.subject = Act.TALK, "unable", unable.key("unable")
        return made
    if made.question and made.thing is None and _shaped(found, text):
        made.act, made.thing = Act.MAKE, Thing.CHART
        return made
    if works and made.question and _fragment(found):
        made.act, made.question = Act.CHANGE, False
        return made
    if made.question and not _wants(found):
        made.act, made.thing = Act.ASK, Thing.ANSWER
        return made
    if answered and _another_question(found, made):
        made.act, made.thing = Act.ASK, Thing.ANSWER
        return made
    if (works or _only_changes(found, made)) and _changes(found, made):
        made.act = Act.CHANGE
        return made
    if made.thing is None:
        made.thing = _implied(found)
    if made.thing is not None:
        made.act = Act.MAKE
        return made
    made.act, made.thing = Act.ASK, Thing.ANSWER
    return made


def _small(found: Sequence[Segment], made: Intent, text: str, *, running: bool) -> Intent | None:
    """Control and small talk."""
    words = [s for s in found if s.kind != "mark"]
    content = [
        s for s in words
        if not any(s.has(section) for section in ("filler", "talk", "the", "pronoun", "too"))
        and not s.has("question", "yes")
    ]  # fmt: skip
    size = sum(len(s.text.split()) if s.kind != "han" else 1 for s in words)
    if made.again and not any(_says_more(s) for s in content):
        made.act, made.control = Act.CONTROL, "again"
        made.thing = _thing(found, made)
        made.named = made.thing is not None
        return made
    for key in ("stop", "status"):
        at = next((i for i, s in enumerate(words) if s.has("control", key)), None)
        if at is None:
            continue
        rest = [s for s in content if not s.has("control")]
        leads = all(s.has("filler") or s.has("talk") for s in words[:at])
        known = all(s.has("thing") or s.has("number") or s.has("ordinal") for s in rest)
        short = words[at].text.casefold() == text.strip(" .!?¿¡？！。").casefold()
        if short or (leads and (known or running) and size <= _SHORT):
            made.act, made.control = Act.CONTROL, key
            made.thing = _thing(found, made)
            return made
    talk = {tag.key for s in words for tag in s.tags if tag.section == "talk"}
    if not words or (talk and (not content or "price" in talk or "help" in talk) and size <= 12):
        priced = "price" in talk and all(
            s.has("thing") or s.has("talk", "price") or s.has("concept", "cost", "price")
            for s in content
        )
        for key in ("price", "help", "hello", "thanks", "nothing"):
            if key in talk and (key != "price" or priced):
                if key in ("hello", "thanks", "nothing") and content:
                    continue
                if key == "help" and size > 6 and len(content) > 2:
                    continue
                made.act, made.talk = Act.TALK, key
                return made
    if any(s.has("structure") for s in words) and any(s.has("question") for s in words):
        return None
    if not content and not any(s.has("question", "many", "who", "when", "where") for s in words):
        made.act, made.talk = Act.TALK, "nothing"
        return made
    return None


def _says_more(segment: Segment) -> bool:
    """Whether a word beside "again" says how it is to be done, or is about something else."""
    making = segment.has("act", "make", "want", "change") or segment.has("thing")
    return not (segment.has("again") or making)


def _thing(found: Sequence[Segment], made: Intent) -> Thing | None:
    """The object of the clause; of a compound ("sales report chart") its last word."""
    fallback: Thing | None = None
    at = 0
    while at < len(found):
        segment = found[at]
        if (
            not segment.has("thing")
            or segment.values
            or (segment.literal and not segment.has("act"))
        ):
            at += 1
            continue
        last = at
        while (
            last + 1 < len(found)
            and found[last + 1].has("thing")
            and not found[last + 1].values
            and not (found[last].has("format") and not found[last + 1].has("thing"))
        ):
            last += 1
        thing = _key(found[last])
        if segment.has("filler") and _definite(found, at):
            at = last + 1
            continue
        if is_source(found, at):
            # "an image of the chart" is a chart.
            if fallback is Thing.IMAGE and thing is Thing.CHART:
                return thing
            at = last + 1
            continue
        made.definite = made.definite or (at > 0 and _definite(found, at))
        if thing is Thing.IMAGE and fallback is None:
            fallback = thing
            at = last + 1
            continue
        if fallback is None or fallback is Thing.IMAGE:
            return thing
        at = last + 1
    return fallback


def _key(segment: Segment) -> Thing:
    keys = {tag.key for tag in segment.tags if tag.section == "thing"}
    return next(thing for thing in Thing if thing.value in keys)


def _definite(found: Sequence[Segment], at: int) -> bool:
    index = at - 1
    while index >= 0 and (
        any(found[index].has(section) for section in ("ordinal", "kind", "grain", "number"))
    ):
        index -= 1
    return index >= 0 and found[index].has("the")


def _asks(found: Sequence[Segment], text: str) -> bool:
    """Whether it is a question: by its first words, or by its mark."""
    marked = text.rstrip().endswith(("?", "？", "؟"))
    for segment in found:
        if segment.kind == "mark":
            continue
        if segment.has("question", "yes"):
            return marked or not segment.has("filler")
        if segment.has("question") and not segment.has("for"):
            return True
        if (
            segment.has("filler")
            or segment.has("talk")
            or segment.has("and")
            or segment.has("from")
        ):
            continue
        break
    for segment in found:
        shaped = segment.has("kind") and not (segment.columns or segment.values)
        named = segment.has("thing") or shaped
        if segment.has("act", "make", "want", "into") or (named and not marked):
            break
        asking = segment.has("question") and not segment.has("question", "yes")
        if asking and not segment.has("filler") and not segment.has("for"):
            return True
    return marked and not any(s.has("thing") or s.has("kind") for s in found)


_STRONG = ("stacked", "donut", "heatmap", "histogram", "multiples", "scatter")
"""Kinds whose words mean nothing but a chart."""


def _shaped(found: Sequence[Segment], text: str) -> bool:
    """As in "Number of tickets per month, stacked": a chart that begins like a question."""
    asks = any(
        s.has("question", "what", "which", "who", "how", "why", "yes") and not s.has("filler")
        for s in found
    )
    shaped = any(s.has("kind", *_STRONG) and not s.columns and not s.values for s in found)
    return shaped and not asks and not text.rstrip().endswith(("?", "？", "؟"))


def _fragment(found: Sequence[Segment]) -> bool:
    """As in "And for 2024?": no question of its own, but the one before about something else."""
    words = [s for s in found if s.kind != "mark"]
    leads = bool(words) and (words[0].has("and") or words[0].has("act", "want"))
    asked = [s for s in words[1:] if s.has("question") and not s.has("for")]
    ranked = any(s.has("extreme") or s.has("derived") for s in words)
    asks = any(ranked or not s.has("filler") for s in asked)  # "and which region grew most?"
    return leads and not asks and not any(s.has("thing") for s in words) and len(words) <= 6


def _wants(found: Sequence[Segment]) -> bool:
    """As in "Can you make …?", "how about a chart?": a wish in the form of a question."""
    for at, segment in enumerate(found):
        if segment.has("act", "make", "want") and not segment.has("question"):
            later = any(s.has("thing") or s.has("kind") for s in found[at:])
            early = all(
                s.has("filler")
                or s.has("talk")
                or s.has("question", "yes", "how")
                or s.kind == "mark"
                for s in found[:at]
            )
            if early and later:
                return True
    return False


def _means_unable(found: Sequence[Segment], unable: Segment, made: Intent) -> bool:
    if made.thing is None:
        first = next((s for s in found if s.kind != "mark" and not s.has("filler")), None)
        shown = any(s.has("act", "show") for s in found)
        return made.verb or shown or first is unable or unable.has("act")
    return False


def _changes(found: Sequence[Segment], made: Intent) -> bool:
    """Whether a clause without a question changes what was made before."""
    if made.again:
        return True
    acts = ("change", "add", "remove", "split")
    changing = any(s.has("act", *acts) for s in found) or made.instead or made.undo
    if made.thing is not None:
        described = _described(found)
        if made.definite:
            return changing or described or made.verb
        if made.ordinal is not None and (changing or described):
            return True
        if (
            made.thing is Thing.CHART
            and (made.it or changing)
            and any(s.has("kind") for s in found)
        ):
            return not any(s.has("pronoun") and _sourced(found, i) for i, s in enumerate(found))
        counted = all(s.has("unit") for s in found if s.has("thing")) and not made.verb
        if counted:
            return True
        formats = [s for s in found if s.has("thing")]
        if all(s.has("format") or s.has("unit") for s in formats) and (made.it or made.add):
            return True
        return made.add and made.thing in (Thing.DECK, Thing.IMAGE, Thing.CHART, Thing.TABLE)
    if changing or made.ordinal is not None:
        return True
    if any(s.has("act", "show", "compare") and not s.has("filler") for s in found):
        return False
    measured = any(s.columns for s in found) and any(s.has("by") for s in found)
    columns = sum(bool(s.columns) for s in found)
    aggregated = any(s.has("aggregate") and not s.columns for s in found)
    complete = (measured and columns > 1) or (columns > 0 and aggregated)
    return not complete or made.it


def _another_question(found: Sequence[Segment], made: Intent) -> bool:
    """As in "sales in the first half of 2025": complete, though it is no sentence."""
    if made.thing is not None or made.it or made.instead or made.undo:
        return False
    acts = ("change", "add", "remove", "split")
    first = next((s for s in found if s.kind != "mark"), None)
    begins = ("and", "only", "by", "for", "not", "when")
    if first is None or any(first.has(one) for one in begins) or first.has("act", *acts):
        return False
    limits = any(
        s.has("by") or s.has("half") or s.has("month") or s.has("period") or s.kind == "part"
        or bool(s.values) or (s.number is not None and len(s.text) == 4) or s.has("derived")
        for s in found if not s.columns
    )  # fmt: skip
    return bool(first.columns or any(s.columns for s in found[:3])) and limits


def _only_changes(found: Sequence[Segment], made: Intent) -> bool:
    """As in "Make it green" changes something, also when nothing was made yet."""
    styled = any(s.has("colour") or s.has("length") for s in found)
    return made.thing is None and made.it and styled and len(found) <= _SHORT


def _sourced(found: Sequence[Segment], at: int) -> bool:
    return at > 0 and (found[at - 1].has("about") or found[at - 1].has("from"))


def _described(found: Sequence[Segment]) -> bool:
    sections = ("colour", "length", "kind", "format", "title", "unit", "not", "only", "by")
    return any(s.has(section) for s in found for section in sections)


def _implied(found: Sequence[Segment]) -> Thing | None:
    """The thing that is meant without its name."""
    option = of_options(found)
    if option is not None:
        return option
    kinds = [s for s in found if s.has("kind") and not s.columns and not s.values]
    shows = any(s.has("act", "make", "want", "show") for s in found)
    leads = kinds and found[0] in kinds
    if kinds and (
        shows or leads or len(found) <= _SHORT or any(s.has("kind", *_STRONG) for s in kinds)
    ):
        return Thing.CHART
    if any(s.has("trend") for s in found) and shows:
        return Thing.CHART
    if any(s.has("implies", "chart") for s in found):
        return Thing.CHART
    formats = {s.key("format") for s in found if s.has("format")}
    if formats & {"pdf", "docx", "md"}:
        return Thing.REPORT
    if formats & {"png", "svg"}:
        return Thing.CHART
    if formats & {"jpg", "webp", "gif"}:
        return Thing.IMAGE
    if formats & {"xlsx", "csv"}:
        return Thing.TABLE
    if formats & {"pptx"}:
        return Thing.DECK
    if formats & {"html"}:
        return Thing.SITE
    return Thing.VIDEO if formats & {"mp4"} else None
