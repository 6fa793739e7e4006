"""What a clause says beside its request: for whom a result is, and what somebody does with it."""

from collections.abc import Sequence
from typing import Final

from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.material import NO_TABLE
from agentpost_offline.grammar.tagging import END, Term
from agentpost_offline.grammar.text import fold, name_tokens
from agentpost_offline.grammar.vocabulary import lexicon

_PURPOSE: Final = 6
"""So many terms a purpose has at most: "for the annual meeting of the parents"."""
_STARTS: Final = 4
"""Among so many terms of a remark one is a subject or a verb: "the housekeeper has to …"."""
_SIGNATURE: Final = 2
"""Who wrote a message is so many terms at most."""
_OF_REMARKS: Final = ("small", "concept", "idle", "statement", "greeting", "audience", "having",
                      "reason", "there", "carry", "talk", "them")  # fmt: skip
"""What the words of a remark may mean otherwise."""


def take_purpose(clause: Clause, at: int) -> int:
    """As in "for the area manager": for whom a result is, which changes nothing about it."""
    if not clause.terms[at].has("small.purpose"):
        return 0
    if size := _take_deadline(clause, at) or _take_report(clause, at):
        return size
    end, others = at + 1, list[Term]()
    while (one := clause.term(end)) is not END and end - at <= _PURPOSE:
        is_day = one.has("weekday") and clause.material is NO_TABLE  # "slides for Tuesday"
        if (one.has("audience") or is_day) and not clause.names(one):
            break
        is_adjective = one.has("grain") and clause.term(end + 1).has(
            "audience"
        )  # "monthly meeting"
        has_sense = clause.names(one) or not (one.is_glue or is_without_sense(one))
        if has_sense and not is_adjective:
            return 0
        others += [] if one.is_glue or one.meanings else [one]
        end += 1
    else:
        return 0
    while (one := clause.term(end)) is not END and not clause.names(one) and (
        one.has("audience", "weekday")
        or (one.has("small.in") and clause.term(end + 1).has("weekday"))  # "… on Thursday"
    ):  # fmt: skip
        end += 1
    if clause.names(one) or not _is_audience(clause, others, at, end):
        return 0
    day = clause.term(end + 1)
    if one.has("small.in") and (
        day.kind == "date" or day.number is not None or day.has("month")
    ):  # "for the meeting in June": is that when it is, or which rows?
        clause.draft.unknown.append(clause.text[clause.terms[at].start : day.end])
    if others:  # "the area manager"
        purpose = clause.text[clause.terms[at].start : clause.terms[end - 1].end]
        clause.draft.purposes.append(purpose)
    return end - at


def take_closing(clause: Clause, at: int) -> int:
    """As the "cheers, Terry" at the end of a message: who wrote it is no condition."""
    if not clause.terms[at].has("closing"):
        return 0
    names = [one for one in clause.terms[at + 1 :] if one.kind != "mark"]
    if len(names) > _SIGNATURE or any(one.kind != "word" for one in names):
        return 0
    if not all(one.text[:1].isupper() or not (clause.names(one) or one.meanings) for one in names):
        if len(names) == 1 and names[0].values:  # "thanks terry": who wrote it, or whose rows?
            clause.draft.unknown.append(names[0].text)
            return len(clause.terms) - at
        return 0
    return len(clause.terms) - at


def _take_deadline(clause: Clause, at: int) -> int:
    """As in "need it for Monday", which says when a result is needed."""
    day = clause.term(clause.skip(at + 1))
    start = clause.start_of_part(at)
    needs = any(one.has("small.it") for one in clause.terms[start:at])
    if not (needs and day.has("weekday")) or any(
        map(clause.names, clause.terms[start:at])
    ):  # fmt: skip
        return 0
    clause.draft.purposes.append(clause.text[clause.terms[start].start : day.end])
    return clause.skip(at + 1) + 1 - at


def _take_report(clause: Clause, at: int) -> int:
    """As in "for the May report", for which something else is wanted."""
    first, end = clause.term(at + 1), at + 1
    if not first.is_glue or first.has("number"):
        return 0  # "data for a report"
    while (one := clause.term(end)) is not END and end - at <= _PURPOSE:
        if one.has("thing.report", "thing.deck", "thing.site") and not clause.names(one):
            break
        if clause.names(one) or not (
            one.is_glue
            or one.has("month", "grain", "number")
            or one.number is not None
            or is_without_sense(one)
        ):
            return 0
        end += 1
    else:
        return 0
    others = [*clause.terms[:at], *clause.terms[end + 1 :]]
    if not any(clause.names(each) or each.has("thing") for each in others):
        return 0
    clause.draft.purposes.append(clause.text[clause.terms[at].start : one.end])
    return end + 1 - at


def _is_audience(clause: Clause, others: Sequence[Term], at: int, end: int) -> bool:
    """Whether nothing of a purpose may narrow a result: no name or number, as in "the Bristol
    office", and no word of a value, as in "the party" where there is a party box."""
    if any(one.kind != "word" for one in others) or (
        clause.language != "de" and any(one.text[:1].isupper() for one in others)
    ):  # fmt: skip
        return False
    words = clause.material.value_words
    key = lexicon(clause.language).key
    return not any(
        all(fold(word) in words or key(word) in words for word in name_tokens(one.text))
        for one in clause.terms[at:end] if one.has("audience")
    )  # fmt: skip


def set_remarks_apart(clause: Clause) -> None:
    """Take the words of remarks out of the unknown ones: "…, they get a cake". Nothing else may
    be in them, and a request has to stand beside them."""
    start = 0
    for end in range(len(clause.terms) + 1):
        term = clause.term(end)
        if term.kind != "mark" or term.text not in "\n,;:()–，；：،؛":
            continue
        terms = clause.terms[start:end]
        start = end + 1
        if not (clause.draft.has_query and is_remark(terms)):
            continue
        first, last = terms[0].start, terms[-1].end
        inside = [one for one in clause.unknown if first <= one[0] < last]
        if inside:
            is_reason = len(terms) <= _PURPOSE and (
                terms[0].has("reason")
                or any(one.has("small.purpose") for one in terms[1:2])  # "it's for the wall"
            )
            texts = clause.draft.purposes if is_reason else clause.draft.remarks
            texts.append(clause.text[first:last])
            clause.unknown = [one for one in clause.unknown if one not in inside]


def is_remark(terms: Sequence[Term]) -> bool:
    """Whether terms only say what somebody does or feels: "they get a cake"."""
    states = any(one.has("statement.statement", "reason") for one in terms[:_STARTS]) or (
        bool(terms) and terms[0].has("audience")  # "committee meets tonight"
    )
    return states and not any(one.has("statement.demand") for one in terms) and all(
        one.is_glue or (one.kind == "word" and not (one.columns or one.values)
                        and one.number is None and is_without_sense(one))
        for one in terms
    )  # fmt: skip


def is_without_sense(term: Term) -> bool:
    """Whether a word that names nothing of the table may stand in a remark."""
    meanings = (one for one in term.meanings if one != "model.send")
    return all(one.partition(".")[0] in _OF_REMARKS for one in meanings)
