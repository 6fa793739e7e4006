"""Queries against truths that plain Python computes from the same rows."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents.offline.data.dataset import Dataset, opened
from agentpost.agents.offline.frame import (
    Aggregate,
    Derived,
    Filter,
    Grain,
    Measure,
    Op,
    Order,
    Query,
)
from tests.agents.offline.data.given import Row, as_csv, file, shop

ROWS = shop()
SUM, MEAN, MEDIAN, MIN, MAX, COUNT, DISTINCT = (
    Aggregate.SUM, Aggregate.MEAN, Aggregate.MEDIAN, Aggregate.MIN, Aggregate.MAX, Aggregate.COUNT,
    Aggregate.DISTINCT,
)  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    given = file(tmp_path_factory.mktemp("shop"), "shop.csv", as_csv(ROWS))
    with opened([given]) as found:
        yield found


def m(column: str | None, how: Aggregate, derived: Derived | None = None) -> tuple[Measure, ...]:
    return (Measure(column, how, derived),)


def f(column: str, op: Op, *values: str | float, grain: Grain | None = None) -> Filter:
    return Filter(column, op, values, grain)


def when(row: Row) -> date:
    return date.fromisoformat(row["date"])


def quarter(row: Row) -> int:
    return (when(row).month + 2) // 3


def values(column: str, keep: Callable[[Row], bool] = lambda _: True) -> list[float]:
    return [row[column] for row in ROWS if keep(row) and row[column] is not None]


def total(column: str, keep: Callable[[Row], bool] = lambda _: True) -> float:
    return sum(values(column, keep))


def by(key: str, column: str, how: Callable[[list[float]], float] = sum,
       keep: Callable[[Row], bool] = lambda _: True) -> dict[Any, float]:  # fmt: skip
    groups: dict[Any, list[float]] = {}
    for row in ROWS:
        if row[key] is not None and keep(row):
            groups.setdefault(row[key], [])
            if row[column] is not None:
                groups[row[key]].append(row[column])
    return {name: how(found) for name, found in groups.items()}


def by_period(name: Callable[[Row], str], column: str = "revenue",
              keep: Callable[[Row], bool] = lambda _: True) -> dict[str, float]:  # fmt: skip
    found: dict[str, float] = {}
    for row in ROWS:
        if keep(row) and row[column] is not None:
            found[name(row)] = found.get(name(row), 0) + row[column]
    return dict(sorted(found.items()))


def month(row: Row) -> str:
    return f"{row['date'][:7]}-01"


def quarters(row: Row) -> str:
    return f"{when(row).year}-{3 * quarter(row) - 2:02d}-01"


def spain(row: Row) -> bool:
    return bool(row["country"] == "Spain")


def q2(row: Row) -> bool:
    return bool("2025-04-01" <= row["date"] <= "2025-06-30")


IN_Q2 = f("date", Op.BETWEEN, "2025-04-01", "2025-06-30")
SPAIN = f("country", Op.IS, "Spain")

NUMBERS: dict[str, tuple[dict[str, Any], Callable[[], float | str]]] = {
    "rows": ({}, lambda: len(ROWS)),
    "total": ({"measures": m("revenue", SUM)}, lambda: total("revenue")),
    "mean": ({"measures": m("revenue", MEAN)}, lambda: statistics.fmean(values("revenue"))),
    "median": ({"measures": m("revenue", MEDIAN)}, lambda: statistics.median(values("revenue"))),
    "lowest": ({"measures": m("revenue", MIN)}, lambda: min(values("revenue"))),
    "highest": ({"measures": m("revenue", MAX)}, lambda: max(values("revenue"))),
    "with a value": ({"measures": m("revenue", COUNT)}, lambda: len(values("revenue"))),
    "countries": ({"measures": m("country", DISTINCT)}, lambda: 4),
    "prices": ({"measures": m("unit_price", DISTINCT)}, lambda: len(set(values("unit_price")))),
    "average price": (
        {"measures": m("unit_price", MEAN)},
        lambda: statistics.fmean(values("unit_price")),
    ),
    "first day": ({"measures": m("date", MIN)}, lambda: min(row["date"] for row in ROWS)),
    "last day": ({"measures": m("date", MAX)}, lambda: max(row["date"] for row in ROWS)),
    "one country": (
        {"measures": m("revenue", SUM), "filters": (SPAIN,)},
        lambda: total("revenue", spain),
    ),
    "two countries": (
        {"measures": m("revenue", SUM), "filters": (f("country", Op.IS, "Spain", "Italy"),)},
        lambda: total("revenue", lambda r: r["country"] in ("Spain", "Italy")),
    ),
    "without one": (
        {"measures": m("revenue", SUM), "filters": (f("country", Op.IS_NOT, "Spain"),)},
        lambda: total("revenue", lambda r: not spain(r)),
    ),
    "written otherwise": (
        {"measures": m("revenue", SUM), "filters": (f("country", Op.IS, "SPAIN"),)},
        lambda: total("revenue", spain),
    ),
    "contains": (
        {"measures": m(None, COUNT), "filters": (f("product", Op.CONTAINS, "s"),)},
        lambda: sum("s" in r["product"].lower() for r in ROWS),
    ),
    "above": (
        {"measures": m(None, COUNT), "filters": (f("units", Op.ABOVE, 5.0),)},
        lambda: sum(r["units"] > 5 for r in ROWS),
    ),
    "at least": (
        {"measures": m(None, COUNT), "filters": (f("units", Op.AT_LEAST, 5.0),)},
        lambda: sum(r["units"] >= 5 for r in ROWS),
    ),
    "below": (
        {"measures": m(None, COUNT), "filters": (f("units", Op.BELOW, 3.0),)},
        lambda: sum(r["units"] < 3 for r in ROWS),
    ),
    "at most": (
        {"measures": m(None, COUNT), "filters": (f("units", Op.AT_MOST, 3.0),)},
        lambda: sum(r["units"] <= 3 for r in ROWS),
    ),
    "between": (
        {"measures": m(None, COUNT), "filters": (f("unit_price", Op.BETWEEN, 10.0, 20.0),)},
        lambda: sum(10 <= r["unit_price"] <= 20 for r in ROWS),
    ),
    "between, the other way round": (
        {"measures": m(None, COUNT), "filters": (f("unit_price", Op.BETWEEN, 20.0, 10.0),)},
        lambda: sum(10 <= r["unit_price"] <= 20 for r in ROWS),
    ),
    "a figure as text": (
        {"measures": m(None, COUNT), "filters": (f("units", Op.IS, "4"),)},
        lambda: sum(r["units"] == 4 for r in ROWS),
    ),
    "missing": (
        {"measures": m(None, COUNT), "filters": (f("country", Op.MISSING),)},
        lambda: sum(r["country"] is None for r in ROWS),
    ),
    "present": (
        {"measures": m(None, COUNT), "filters": (f("revenue", Op.PRESENT),)},
        lambda: len(values("revenue")),
    ),
    "a truth": (
        {"measures": m(None, COUNT), "filters": (f("returned", Op.IS, "true"),)},
        lambda: sum(r["returned"] for r in ROWS),
    ),
    "a quarter": (
        {"measures": m("revenue", SUM), "filters": (IN_Q2,)},
        lambda: total("revenue", q2),
    ),
    "a quarter by its name": (
        {"measures": m("revenue", SUM), "filters": (f("date", Op.IS, "2025-Q2"),)},
        lambda: total("revenue", q2),
    ),
    "a month": (
        {"measures": m("revenue", SUM), "filters": (f("date", Op.IS, "2025-02"),)},
        lambda: total("revenue", lambda r: r["date"].startswith("2025-02")),
    ),
    "a year": (
        {"measures": m("revenue", SUM), "filters": (f("date", Op.IS, "2024"),)},
        lambda: total("revenue", lambda r: r["date"].startswith("2024")),
    ),
    "not a year": (
        {"measures": m("revenue", SUM), "filters": (f("date", Op.IS_NOT, "2024"),)},
        lambda: total("revenue", lambda r: not r["date"].startswith("2024")),
    ),
    "a day": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.IS, ROWS[5]["date"]),)},
        lambda: sum(r["date"] == ROWS[5]["date"] for r in ROWS),
    ),
    "after a day": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.ABOVE, "2025-06-15"),)},
        lambda: sum(r["date"] > "2025-06-15" for r in ROWS),
    ),
    "from a day": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.AT_LEAST, "2025-06-15"),)},
        lambda: sum(r["date"] >= "2025-06-15" for r in ROWS),
    ),
    "before a month": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.BELOW, "2025-06"),)},
        lambda: sum(r["date"] < "2025-06-01" for r in ROWS),
    ),
    "until a month": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.AT_MOST, "2025-06"),)},
        lambda: sum(r["date"] < "2025-07-01" for r in ROWS),
    ),
    "after a year": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.ABOVE, "2024"),)},
        lambda: sum(r["date"] >= "2025-01-01" for r in ROWS),
    ),
    "each May": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.IS, 5.0, grain=Grain.MONTH),)},
        lambda: sum(when(r).month == 5 for r in ROWS),
    ),
    "weekdays": (
        {
            "measures": m("revenue", SUM),
            "filters": (f("date", Op.BETWEEN, 1.0, 5.0, grain=Grain.WEEKDAY),),
        },
        lambda: total("revenue", lambda r: when(r).isoweekday() <= 5),
    ),
    "weekends": (
        {
            "measures": m("revenue", SUM),
            "filters": (f("date", Op.IS, 6.0, 7.0, grain=Grain.WEEKDAY),),
        },
        lambda: total("revenue", lambda r: when(r).isoweekday() >= 6),
    ),
    "second quarters": (
        {"measures": m("revenue", SUM), "filters": (f("date", Op.IS, 2.0, grain=Grain.QUARTER),)},
        lambda: total("revenue", lambda r: quarter(r) == 2),
    ),
    "a year as a part": (
        {"measures": m("revenue", SUM), "filters": (f("date", Op.IS, 2025.0, grain=Grain.YEAR),)},
        lambda: total("revenue", lambda r: when(r).year == 2025),
    ),
    "a week": (
        {"measures": m(None, COUNT), "filters": (f("date", Op.IS, 20.0, grain=Grain.WEEK),)},
        lambda: sum(when(r).isocalendar().week == 20 for r in ROWS),
    ),
    "all together": (
        {
            "measures": m("revenue", SUM),
            "filters": (SPAIN, IN_Q2, f("channel", Op.IS_NOT, "store"), f("units", Op.ABOVE, 2.0)),
        },
        lambda: total(
            "revenue",
            lambda r: spain(r) and q2(r) and r["channel"] != "store" and r["units"] > 2,
        ),
    ),
    "share": (
        {"measures": m("revenue", SUM, Derived.SHARE), "filters": (SPAIN,)},
        lambda: 100 * total("revenue", spain) / total("revenue"),
    ),
    "share in a quarter": (
        {"measures": m("revenue", SUM, Derived.SHARE), "filters": (SPAIN, IN_Q2)},
        lambda: 100 * total("revenue", lambda r: spain(r) and q2(r)) / total("revenue", q2),
    ),
    "share of a quarter": (
        {"measures": m("revenue", SUM, Derived.SHARE), "filters": (IN_Q2,)},
        lambda: 100 * total("revenue", q2) / total("revenue"),
    ),
    "share of rows": (
        {"measures": m(None, COUNT, Derived.SHARE), "filters": (f("returned", Op.IS, "true"),)},
        lambda: 100 * sum(r["returned"] for r in ROWS) / len(ROWS),
    ),
}

TABLES: dict[str, tuple[dict[str, Any], Callable[[], dict[Any, float]]]] = {
    "by country": ({"measures": m("revenue", SUM), "groups": ("country",)},
                   lambda: by("country", "revenue")),
    "rows by country": ({"groups": ("country",)}, lambda: by("country", "units", len)),
    "mean price by product": ({"measures": m("unit_price", MEAN), "groups": ("product",)},
                              lambda: by("product", "unit_price", statistics.fmean)),
    "median by channel": ({"measures": m("revenue", MEDIAN), "groups": ("channel",)},
                          lambda: by("channel", "revenue", statistics.median)),
    "in a quarter": ({"measures": m("units", SUM), "groups": ("product",), "filters": (IN_Q2,)},
                     lambda: by("product", "units", keep=q2)),
    "months": ({"measures": m("revenue", SUM), "time": "date", "grain": Grain.MONTH},
               lambda: by_period(month)),
    "quarters": ({"measures": m("revenue", SUM), "time": "date", "grain": Grain.QUARTER},
                 lambda: by_period(quarters)),
    "years": ({"measures": m("revenue", SUM), "time": "date", "grain": Grain.YEAR},
              lambda: by_period(lambda r: f"{r['date'][:4]}-01-01")),
    "weeks": (
        {"measures": m("revenue", SUM), "time": "date", "grain": Grain.WEEK},
        lambda: by_period(
            lambda r: date.fromisocalendar(*when(r).isocalendar()[:2], 1).isoformat()
        ),
    ),
    "days": ({"measures": m("units", SUM), "time": "date", "grain": Grain.DAY},
             lambda: by_period(lambda r: r["date"], "units")),
    "days of the week": (
        {"measures": m("revenue", SUM), "time": "date", "grain": Grain.WEEKDAY},
        lambda: {float(k): v for k, v in by_period(lambda r: str(when(r).isoweekday())).items()},
    ),
    "shares": (
        {"measures": m("revenue", SUM, Derived.SHARE), "groups": ("country",)},
        lambda: {
            k: 100 * v / sum(by("country", "revenue").values())
            for k, v in by("country", "revenue").items()
        },
    ),
    "share of one among all": (
        {"measures": m("revenue", SUM, Derived.SHARE), "groups": ("country",), "filters": (SPAIN,)},
        lambda: {
            "Spain": 100 * total("revenue", spain) / sum(by("country", "revenue").values())
        },
    ),
    "ranks": (
        {"measures": m("revenue", SUM, Derived.RANK), "groups": ("country",)},
        lambda: {
            name: place
            for place, name in enumerate(
                sorted(by("country", "revenue"), key=lambda k: -by("country", "revenue")[k]), 1
            )
        },
    ),
    "rank of one": (
        {"measures": m("revenue", SUM, Derived.RANK), "groups": ("country",), "filters": (SPAIN,)},
        lambda: {
            "Spain": 1 + sum(v > total("revenue", spain) for v in by("country", "revenue").values())
        },
    ),
    "more than another": (
        {
            "measures": m("revenue", SUM, Derived.DIFFERENCE),
            "groups": ("country",),
            "filters": (f("country", Op.IS, "Italy", "Spain"),),
        },
        lambda: {
            "Italy": by("country", "revenue")["Italy"] - by("country", "revenue")["Spain"],
            "Spain": by("country", "revenue")["Spain"] - by("country", "revenue")["Italy"],
        },
    ),
    "growth of quarters": (
        {"measures": m("revenue", SUM, Derived.GROWTH), "time": "date", "grain": Grain.QUARTER},
        lambda: changes(by_period(quarters), growth=True),
    ),
    "difference of months": (
        {"measures": m("revenue", SUM, Derived.DIFFERENCE), "time": "date", "grain": Grain.MONTH},
        lambda: changes(by_period(month), growth=False),
    ),
    "running total": (
        {"measures": m("revenue", SUM, Derived.CUMULATIVE), "time": "date", "grain": Grain.MONTH},
        lambda: running(by_period(month)),
    ),
    "groups above": (
        {
            "measures": m("revenue", SUM),
            "groups": ("product",),
            "having": (f("revenue", Op.ABOVE, 6000.0),),
        },
        lambda: {k: v for k, v in by("product", "revenue").items() if v > 6000},
    ),
    "groups with many rows": (
        {
            "measures": m("revenue", SUM),
            "groups": ("product",),
            "having": (f("", Op.AT_LEAST, 80.0),),
        },
        lambda: {
            k: v for k, v in by("product", "revenue").items()
            if by("product", "units", len)[k] >= 80
        },
    ),
}  # fmt: skip


def changes(found: dict[str, float], *, growth: bool) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    before: float | None = None
    for name, value in found.items():
        if before is None:
            made[name] = None
        else:
            made[name] = 100 * (value - before) / before if growth else value - before
        before = value
    return made


def running(found: dict[str, float]) -> dict[Any, float]:
    made: dict[Any, float] = {}
    at = 0.0
    for name, value in found.items():
        at += value
        made[name] = at
    return made


def query(data: Dataset, **given: Any) -> Query:
    return Query(data.tables[0].id, **given)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number(data: Dataset, name: str) -> None:
    given, truth = NUMBERS[name]
    result = data.run(query(data, **given))
    assert len(result.rows) == 1
    expected = truth()
    if isinstance(expected, str):
        assert result.rows[0][0] == expected
    else:
        assert result.rows[0][0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_a_table(data: Dataset, name: str) -> None:
    given, truth = TABLES[name]
    result = data.run(query(data, **given))
    found = {row[0]: row[1] for row in result.rows}
    expected = truth()
    assert len(found) == len(result.rows)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == (None if value is None else pytest.approx(value, rel=1e-9)), key
    if result.query.time is not None:
        assert [row[0] for row in result.rows] == sorted(expected)


@pytest.mark.parametrize("descending", [True, False])
def test_the_best_and_the_worst(data: Dataset, descending: bool) -> None:
    result = data.run(
        query(data, measures=m("revenue", SUM), groups=("product",), order=Order(descending, 2))
    )
    truth = by("product", "revenue")
    best = sorted(truth, key=lambda k: truth[k], reverse=descending)[:2]
    assert [row[0] for row in result.rows] == best


def test_groups_in_periods(data: Dataset) -> None:
    result = data.run(
        query(data, measures=m("revenue", SUM), groups=("channel",), time="date", grain=Grain.YEAR)
    )
    assert result.header == ("channel", "date", "revenue")
    assert len(result.rows) == 4
    for channel, year, value in result.rows:

        def keep(row: Row, channel: Any = channel, year: str = str(year)[:4]) -> bool:
            return row["channel"] == channel and bool(row["date"].startswith(year))

        assert value == pytest.approx(total("revenue", keep))


def test_rows_without_a_group_are_said(data: Dataset) -> None:
    result = data.run(query(data, measures=m("revenue", SUM), groups=("country",)))
    assert result.notes == ("8 rows have no value to group by and are left out",)


def test_the_reading_says_what_was_computed(data: Dataset) -> None:
    count = sum(spain(row) and q2(row) for row in ROWS)
    result = data.run(query(data, measures=m("revenue", SUM), filters=(SPAIN, IN_Q2)))
    assert result.reading == f"total Revenue, Country = Spain, Q2 2025, {count} rows"
    assert result.counted == count


def test_a_time_axis_without_a_grain_gets_few_points(data: Dataset) -> None:
    result = data.run(query(data, measures=m("revenue", SUM), time="date"))
    assert result.query.grain is Grain.MONTH
    assert len(result.rows) == 24


def test_ties_are_kept_and_said(tmp_path: Path) -> None:
    with opened([file(tmp_path, "t.csv", "k,v\na,3\nb,3\nc,1\n")]) as data:
        result = data.run(query(data, measures=m("v", SUM), groups=("k",), order=Order(True, 1)))
    assert [row[0] for row in result.rows] == ["a", "b"]
    assert result.notes == ("2 have the same value",)


def test_sums_beyond_all_numbers_are_empty_and_said(tmp_path: Path) -> None:
    with opened([file(tmp_path, "t.csv", "k,v\na,1e308\nb,1e308\nc,5\n")]) as data:
        result = data.run(query(data, measures=m("v", SUM)))
    assert result.rows == ((None,),)
    assert "larger than any number" in result.notes[0]


def test_months_written_as_words_come_in_the_order_of_the_year(tmp_path: Path) -> None:
    text = "Monat;Umsatz\nMärz;3\nJanuar;9\nFebruar;1\n"
    with opened([file(tmp_path, "t.csv", text)]) as data:
        result = data.run(query(data, measures=m("Umsatz", SUM), groups=("Monat",)))
    assert [row[0] for row in result.rows] == ["Januar", "Februar", "März"]


def test_nothing_outside_is_read(data: Dataset, tmp_path: Path) -> None:
    """A name or a value that is SQL is a name or a value."""
    evil = 'x"; drop table t0; --'
    text = f'"{evil.replace(chr(34), chr(34) * 2)}",v\n"\'; drop table t0; --",1\nb,2\n'
    with opened([file(tmp_path, "t.csv", text)]) as other:
        name = other.tables[0].columns[0].name
        value = "'; drop table t0; --"
        result = other.run(query(other, measures=m("v", SUM), filters=(f(name, Op.IS, value),)))
        assert result.rows == ((1.0,),)
        assert other.run(query(other)).rows == ((2.0,),)
