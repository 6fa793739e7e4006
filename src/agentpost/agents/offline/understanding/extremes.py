"""The best and the worst, the first and the last, and of which groups."""

from __future__ import annotations

from collections.abc import Sequence

from agentpost.agents.offline.data.model import Role
from agentpost.agents.offline.frame import Aggregate, Measure
from agentpost.agents.offline.understanding.draft import Best, Draft
from agentpost.agents.offline.understanding.measuring import hinted, names_rows, names_table
from agentpost.agents.offline.understanding.segments import Segment

_FLIPPED = {"top": True, "bottom": False}
_FAR = 4
"""How many segments before "most" its number may stand, as in Spanish."""
_PEOPLE = ("name", "salesperson", "customers")
_PLACES = ("store", "city", "region", "country")


def extreme(draft: Draft) -> Best | None:
    """The place of "top", whether the largest are meant, and how many."""
    found = draft.found
    for at, segment in enumerate(found):
        key = segment.key("extreme")
        if segment.used or key is None or segment.values or segment.literal:
            continue
        if at and found[at - 1].has("question", "how") and any(s.has("derived") for s in found):
            segment.used = True  # "wie stark ist … gewachsen" asks how much
            continue
        direction, _, concept = key.partition("_")
        count = _number_near(found, at)
        segment.used = True
        top = _FLIPPED[direction]
        if concept == "hours" and any(one.has("derived", "growth") for one in found):
            concept, top = "", not top  # what grows fastest grows most
        if segment.has("most") and _most_rows(draft, at):
            pass
        elif concept == "time" or (concept == "age" and "age" not in draft.names.concepts):
            # The oldest is the one with the first date.
            if not _dated(draft, first=top == (concept == "age")):
                draft.unclear.append(segment.text)
            top = top != (concept == "age")
        elif concept and concept != "sold" and not hinted(draft, concept):
            draft.unclear.append(segment.text)
        return at, top != draft.flipped, count or _counted(found, at)
    return _first_or_last(draft)


def _number_near(found: Sequence[Segment], at: int) -> int | None:
    """As in "top 5", "the five largest", "los 3 productos con más"."""
    for index in (at + 1, at - 1, at + 2, at - 2, *range(at - 3, at - 1 - _FAR, -1)):
        if not 0 <= index < len(found) or found[index].used:
            continue
        number = found[index]
        value = number.number
        if value is None and number.has("number") and not number.has("filler"):
            value = float(number.key("number") or 0)
        following = found[index + 1] if index + 1 < len(found) else None
        if value is None or not 1 <= value <= 1000 or (following and following.has("unit")):
            continue
        far = index < at - 2
        if far and not (following and (following.columns or following.has("rows"))):
            continue
        number.used = True
        return int(value)
    return None


def _most_rows(draft: Draft, at: int) -> bool:
    """As in "who closed the most tickets": rows are counted."""
    following = (
        s for s in draft.found[at + 1 : at + 4] if s.has("rows") or s.columns or not s.has("filler")
    )
    noun = next(following, None)
    if noun is None or noun.values:
        return False
    made = names_rows(draft, noun)
    if made is None:
        return False
    noun.used = True
    draft.measures.append(made)
    draft.named.add("measure")
    return True


def _dated(draft: Draft, *, first: bool) -> bool:
    """Measure the first or the last date."""
    if not draft.dates:
        return False
    said = [c.name for c in draft.dates for s in draft.found if c.name in s.columns]
    column = said[0] if said else draft.dates[0].name
    draft.measures.append(Measure(column, Aggregate.MIN if first else Aggregate.MAX))
    draft.named.add("measure")
    for segment in draft.found:
        dated = segment.columns == (column,) or segment.has("hint", "start")
        segment.used = segment.used or dated or segment.has("question", "when")
    return True


def _first_or_last(draft: Draft) -> Best | None:
    """As in "when was the first order", "who was hired last"."""
    found = draft.found
    if not draft.asked or not draft.dates:
        return None
    for at, segment in enumerate(found):
        first = segment.has("ordinal", "1")
        last = segment.has("ordinal", "-1") or segment.has("period", "last")
        if segment.used or segment.columns or segment.values or not (first or last):
            continue
        after = found[at + 1] if at + 1 < len(found) else None
        asks = any(s.has("question", "when", "who", "which", "what") for s in found[:at])
        noun = after is not None and names_rows(draft, after) is not None
        if not (noun or (asks and (after is None or after.text in "?.!"))):
            continue
        if after is not None and noun:
            after.used = True
        segment.used = True
        return (at, last, None) if _dated(draft, first=first) else None
    return None


def _counted(found: Sequence[Segment], at: int) -> int | None:
    """As in "Which 3 months", "the second best": how many of the best show the answer."""
    for index, segment in enumerate(found):
        before = found[index - 1] if index else None
        asked = before is not None and before.has("question", "which", "what")
        if asked and not segment.used and segment.number is not None and segment.number <= 100:
            segment.used = True
            return int(segment.number)
    before = found[at - 1] if at else None
    place = before.key("ordinal") if before is not None else None
    if before is not None and place and int(place) > 1 and not before.used:
        before.used = True
        return int(place)
    return None


def which(draft: Draft, best: Best | None) -> None:
    """As in "which region", "who": what is asked for is a group."""
    found = draft.found
    for at, segment in enumerate(found):
        if segment.has("question", "which", "what"):
            _asked_for(draft, at)
        elif segment.has("question", "who") and not draft.groups and not segment.has("of"):
            people = [n for c in _PEOPLE for n in draft.names.concepts.get(c, ())]
            if people:
                draft.add_group(people[0])
            else:
                draft.unclear.append(segment.text)
    if best is None or draft.groups or draft.time or _is_dated(draft, best):
        return
    if _place_or_time(draft) or _what_sells(draft):
        return
    for segment in found[best[0] :]:
        column = draft.category(segment)
        if column is not None and not segment.values:
            draft.add_group(column)
            segment.used = True
            return
        if segment.has("rows") or segment.has("hint", "name"):
            for name in draft.names.concepts.get("name", ()):
                draft.add_group(name)
                segment.used = True
                return
        if Measure(None, Aggregate.COUNT) not in draft.measures and _group_rows(draft, segment):
            return


def _asked_for(draft: Draft, at: int) -> None:
    """The group that stands after "which"."""
    found = draft.found
    for other in found[at + 1 : at + 5]:
        if draft.numeric(other) is not None:
            return
        column = draft.category(other)
        if column is not None and not other.values:
            draft.add_group(column)
            other.used = True
            return
        if other is found[at + 1] and _group_rows(draft, other):
            return


def _is_dated(draft: Draft, best: Best) -> bool:
    """Whether the first or last date itself is asked for: "when was the last order"."""
    dates = {column.name for column in draft.dates}
    dated = any(measure.column in dates for measure in draft.measures)
    return dated and best[2] is None


def _what_sells(draft: Draft) -> bool:
    """As in "What sells best": products."""
    asked = any(s.has("question", "what") or s.has("extreme", "top_sold") for s in draft.found)
    if asked and any(segment.has("hint", "quantity", "revenue") for segment in draft.found):
        for name in draft.names.concepts.get("product", ()):
            draft.add_group(name)
            return True
    return False


def _group_rows(draft: Draft, segment: Segment) -> bool:
    """As in "which orders", "the five largest orders" over a table of orders: each row by the
    column that tells rows apart."""
    plain = segment.text.casefold()
    named = segment.has("rows") or names_table(plain, draft.names.words)
    counted = any(one.has("question", "many") for one in draft.found)
    if segment.columns or counted or not named:
        return False
    table = draft.names.table
    for column in table.columns:
        if column.role is Role.IDENTIFIER and column.distinct == table.rows:
            draft.add_group(column.name)
            segment.used = draft.each_row = True
            return True
    return False


def _place_or_time(draft: Draft) -> bool:
    """As in "Where did we sell most", "when was it lowest": the group that is asked for."""
    for segment in draft.found:
        if segment.has("question", "where"):
            for concept in _PLACES:
                for name in draft.names.concepts.get(concept, ()):
                    draft.add_group(name)
                    return True
            draft.unclear.append(segment.text)
        if segment.has("question", "when"):
            if draft.dates:
                draft.time = draft.dates[0].name
                draft.named.add("time")
                return True
            draft.unclear.append(segment.text)
    return False
