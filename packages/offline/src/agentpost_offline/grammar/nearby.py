"""What a question may mean whose words were not all understood: the same rows under a condition
that one of those words may stand for, as "that nobody picked up" does for a column "Collected"."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agentpost_offline.data.model import Column, Kind, Table
from agentpost_offline.frame import (
    Act,
    Aggregate,
    Derivation,
    Filter,
    Frame,
    Measure,
    Op,
    Query,
    Thing,
)
from agentpost_offline.grammar.describing import frame_text
from agentpost_offline.grammar.material import no_value, yes_value
from agentpost_offline.grammar.reading import Choice
from agentpost_offline.grammar.vocabulary import concept_of

_MOST = 4
_FEW = 4
"""As many values of a column "status" are offered."""


def count_of_rows(table: Table, language: str) -> Choice:
    """The number of a table's rows, which "how many" of a word that is not understood may mean."""
    query = Query(table.id, (Measure(None, Aggregate.COUNT),))
    frame = Frame(Act.ASK, Thing.ANSWER, (query,), language=language)
    return Choice(frame_text(frame, table), (frame,))


def with_conditions(frame: Frame, table: Table) -> list[Choice]:
    """The answer that a frame stands for, under each condition that a word may stand for; none
    where something is made, or where several figures are asked for.

    Args:
        frame: what was understood.
        table: the table that its query is about.
    """
    if frame.thing is not Thing.ANSWER or len(frame.queries) != 1:
        return []
    (query,) = frame.queries
    used = {one.column for one in query.filters} | {*query.groups, query.time}
    columns = [one for one in table.columns if one.name not in used]
    flags = [one for column in columns for one in _values(column)]
    days = [one.name for one in columns if one.kind is Kind.DATE and one.missing]
    conditions = [
        *flags[:2],
        *(Filter(name, Op.MISSING) for name in days),  # "unredeemed" of a column "Redeemed on"
        *flags[2:],
        *(Filter(name, Op.PRESENT) for name in days),
    ]
    if any(one.derived is Derivation.SHARE for one in query.measures) and query.filters:
        names = dict.fromkeys(one.column for one in conditions)  # the share of those that paid
        queries = [msgspec.structs.replace(query, groups=(name,)) for name in names]
    else:
        queries = [
            msgspec.structs.replace(query, filters=(*query.filters, one)) for one in conditions
        ]
    frames = [msgspec.structs.replace(frame, queries=(one,)) for one in queries[:_MOST]]
    return [Choice(frame_text(one, table), (one,)) for one in frames]


def _values(column: Column) -> Iterator[Filter]:
    """A condition for each value of a column of yes and no, or of few states."""
    values = [value for value in (yes_value(column), no_value(column)) if value]
    if concept_of(column.name) == "status" and column.distinct <= _FEW:
        values = list(column.values)
    yield from (Filter(column.name, Op.IS, (value,)) for value in values)
