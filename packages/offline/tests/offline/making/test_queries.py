"""What is looked at in a table when not all was said."""

import pytest

from agentpost_offline.data.model import Column, Kind, Role, Table
from agentpost_offline.frame import Aggregate, Derivation, Filter, Measure, Op, Query
from agentpost_offline.making import queries

SUM = Measure("v", Aggregate.SUM)
MAY = Filter("day", Op.BETWEEN, ("2025-05-01", "2025-05-31"))
NORTH = Filter("region", Op.IS, ("North",))
TABLE = Table("t", "f", "t.csv", 9, (
    Column("day", "Day", Kind.DATE, Role.TIME, first="2025-01-01", last="2025-12-31", distinct=9),
    Column("region", "Region", Kind.TEXT, Role.CATEGORY, distinct=3),
    Column("v", "V", Kind.NUMBER, Role.AMOUNT, distinct=9),
))  # fmt: skip


@pytest.mark.parametrize(
    ("query", "parts", "time", "groups"),
    [
        (Query("t", (SUM,)), False, "day", ()),
        (Query("t", (SUM,)), True, None, ("region",)),
        (Query("t", (SUM,), filters=(MAY,)), False, None, ("region",)),
        (Query("t", (SUM,), filters=(NORTH,)), False, "day", ()),
        (Query("t", (SUM,), filters=(MAY, NORTH)), False, None, ()),
        (Query("t", (SUM,), ("region",)), False, None, ("region",)),
        (Query("t", (Measure("v", Aggregate.SUM, Derivation.SHARE),)), False, None, ()),
    ],
)
def test_one_figure_is_drawn_over_time_or_by_a_category(
    query: Query, parts: bool, time: str | None, groups: tuple[str, ...]
) -> None:
    drawn = queries.with_axis(query, TABLE, parts=parts)
    assert (drawn.time, drawn.groups, drawn.filters) == (time, groups, query.filters)


def test_a_condition_alone_is_put_on_what_is_usual() -> None:
    queries_ = queries.to_tell([Query("t", filters=(NORTH,))], [TABLE], 5)
    assert queries_
    assert all(query.filters == (NORTH,) and query.measures == (SUM,) for query in queries_)
    assert not any("region" in query.groups for query in queries_)


def test_what_is_named_is_told_alone_unless_there_is_to_be_more() -> None:
    named = Query("t", (SUM,))
    assert queries.to_tell([named], [TABLE], 5) == (named,)
    more = queries.to_tell([named], [TABLE], 8)
    assert more[0] == named
    assert len(more) > 1
