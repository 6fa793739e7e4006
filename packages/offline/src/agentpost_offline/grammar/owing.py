"""What is still owed, where a table says of each row what is due and what was paid."""

from typing import Final

from agentpost_offline.frame import Filter, Op
from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.draft import MeasureRequest
from agentpost_offline.grammar.rows import joins_words

_NEAR: Final = 4
"""Among so many terms behind "money" or "still" is the word for what is owed."""


def take_owing(clause: Clause, at: int) -> int:
    """As in "how much is outstanding", which is a figure, and "who still owes", which rows."""
    term, name = clause.terms[at], clause.material.owed
    if name is None:
        return 0
    is_beside_owed = any(one.has("value.unpaid") for one in clause.terms[at + 1 : at + 1 + _NEAR])
    if (
        is_beside_owed
        and not term.values
        and (len(term.columns) > 1 if term.columns else term.has("small.still", "concept.revenue"))
    ):  # "how much of the money is still outstanding"
        return 1
    after = clause.term(clause.skip(at + 1))
    if clause.names(term) or not term.has("value.unpaid"):
        return 0
    draft = clause.draft
    is_beside = bool(draft.measures) and joins_words(clause.term(at - 1))
    condition = Filter(name, Op.ABOVE, (0.0,))
    if condition not in draft.filters and not is_beside:
        draft.filters.append(condition)
    if is_beside or (_asks_figure(clause, at) and not draft.measures):
        draft.measures.append(MeasureRequest(name, clause.pending, term.text))
        clause.pending = None
        clause.measure_places.append(at)
    if after.has("concept.revenue") and not clause.names(after):
        return clause.skip(at + 1) + 1 - at  # "who owes money"
    return 1


def _asks_figure(clause: Clause, at: int) -> bool:
    """Whether a clause asks how much is owed, and not who owes it."""
    after = clause.term(at + 1)
    if "many" in clause.draft.asks or after.has("by"):
        return "many" not in clause.draft.asks
    return bool(clause.draft.asks & {"much", "what"}) or clause.pending is not None or any(
        one.has("extreme", "aggregate", "ask.much") for one in clause.terms
    )  # fmt: skip
