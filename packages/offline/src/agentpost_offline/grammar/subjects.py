"""The marks of all subjects, where each has a column of its own: "the average of each subject"."""

from typing import Final

from agentpost_offline.data import roles, words
from agentpost_offline.data.model import Column, Kind, Role
from agentpost_offline.frame import Aggregate
from agentpost_offline.grammar.clause import Clause
from agentpost_offline.grammar.draft import MeasureRequest
from agentpost_offline.grammar.material import Material

_FEWEST: Final = 3
"""Fewer columns side by side are hardly those of subjects."""
_HIGHEST: Final = 100.0
"""No mark is higher."""
_OTHERS: Final = ("amount", "money", "pieces", "worse", "duration", "identifier")
"""What a column is called that holds no marks."""


def take_subjects(clause: Clause, at: int) -> int:
    """The columns of marks for "in each subject", averaged unless something else is asked."""
    place = clause.skip(at + 1) if clause.terms[at].has("by.per") else at
    term = clause.term(place)
    if clause.names(term) or not term.has("subjects"):
        return 0
    columns = _marks(clause.material)
    if not columns or clause.draft.measures:
        return 0
    how = clause.pending or Aggregate.MEAN
    clause.draft.measures += [MeasureRequest(one.name, how, term.text) for one in columns]
    clause.pending = None
    clause.measure_places.append(place)
    return place + 1 - at


def _marks(material: Material) -> list[Column]:
    """The longest run of columns of marks, where it is long enough."""
    runs: list[list[Column]] = [[]]
    for column in material.table.columns:
        if _is_mark(column):
            runs[-1].append(column)
        elif runs[-1]:
            runs.append([])
    longest = max(runs, key=len)
    return longest if len(longest) >= _FEWEST else []


def _is_mark(column: Column) -> bool:
    is_number = column.kind is Kind.NUMBER and column.role in (Role.AMOUNT, Role.RATE)
    return (
        is_number and not roles.is_additive(column) and isinstance(column.last, float)
        and column.last <= _HIGHEST and not any(words.names(column.name, one) for one in _OTHERS)
    )  # fmt: skip
