"""Any table and any query: the database and plain Python say the same."""

import csv
import io
import math
import statistics
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.frame import Aggregate, Filter, Measure, Op, Query
from tests.offline.data.given import file

NAMES = st.sampled_from(["Ost", "West", "Süd", "a b", "it's", 'say "x"', "1,5;2", "北", "شمال"])
FIGURES = st.one_of(
    st.none(),
    st.integers(-10_000, 10_000).map(float),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)),
)
ROWS = st.lists(st.tuples(NAMES, FIGURES), min_size=2, max_size=40).filter(
    lambda rows: sum(value is not None for _, value in rows) > 1
)
TESTS = {
    Op.AT_LEAST: lambda value, limit: value >= limit,
    Op.ABOVE: lambda value, limit: value > limit,
    Op.AT_MOST: lambda value, limit: value <= limit,
    Op.BELOW: lambda value, limit: value < limit,
}
HOW: dict[Aggregate, Any] = {
    Aggregate.SUM: math.fsum,
    Aggregate.MEAN: statistics.fmean,
    Aggregate.MEDIAN: statistics.median,
    Aggregate.MIN: min,
    Aggregate.MAX: max,
    Aggregate.COUNT: len,
    Aggregate.DISTINCT: lambda values: len(set(values)),
}


def csv_text(rows: list[tuple[str, float | None]], delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["region", "amount", "kind"])
    for name, value in rows:
        text = "" if value is None else repr(value)
        if delimiter == ";":  # where cells are parted by it, decimals are written with a comma
            text = text.replace(".", ",")
        writer.writerow([name, text, "x"])
    return out.getvalue()


QUERIES = st.tuples(
    st.sampled_from(list(HOW)), st.sampled_from(list(TESTS)), st.integers(-10_000, 10_000)
)
"""A figure, and of which rows."""


@settings(max_examples=25)
@given(
    rows=ROWS,
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    queries=st.lists(QUERIES, min_size=3, max_size=3),
)
def test_a_table_and_a_query(
    rows: list[tuple[str, float | None]],
    delimiter: str,
    queries: list[tuple[Aggregate, Op, int]],
) -> None:
    """Three queries to each table: opening it is what takes long."""
    with tempfile.TemporaryDirectory() as folder:
        given_file = file(Path(folder), "t.csv", csv_text(rows, delimiter))
        with open_tables([given_file]) as data:
            assert data.tables[0].rows == len(rows)
            for how, op, limit in queries:
                check(data, rows, how, op, float(limit))


def check(
    data: Dataset, rows: list[tuple[str, float | None]], how: Aggregate, op: Op, limit: float
) -> None:
    """One query, whole and by region."""
    table, measure = data.tables[0], Measure("amount", how)
    limits = (Filter("amount", op, (limit,)),)
    whole = data.run(Query(table.id, (measure,), filters=limits)).rows[0][0]
    by_region = data.run(Query(table.id, (measure,), ("region",), filters=limits))
    groups = {row[0]: row[1] for row in by_region.rows}
    kept = [(n, v) for n, v in rows if v is not None and TESTS[op](v, limit)]
    counts = how in (Aggregate.COUNT, Aggregate.DISTINCT)
    if not kept:
        assert whole == (0 if counts else None)
        assert not groups
        return
    assert whole == pytest.approx(HOW[how]([v for _, v in kept]), rel=1e-9, abs=1e-9)
    names = {name for name, _ in kept}
    assert groups.keys() == names
    for name in names:
        truth = HOW[how]([v for n, v in kept if n == name])
        assert groups[name] == pytest.approx(truth, rel=1e-9, abs=1e-9)
