"""Queries against truths that plain Python computes from the same rows."""

from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.frame import Derivation, Grain, Op, Order, Query
from tests.offline.data.given import Row, as_csv, file
from tests.offline.data.truths import (
    COUNT,
    IN_Q2,
    KEPT,
    NUMBERS,
    ROWS,
    SPAIN,
    SUM,
    by,
    by_period,
    f,
    m,
    month,
    q2,
    quarters,
    spain,
    total,
    when,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    given = file(tmp_path_factory.mktemp("shop"), "shop.csv", as_csv(ROWS))
    with open_tables([given]) as found:
        yield found


TABLES: dict[str, tuple[dict[str, Any], Callable[[], dict[Any, float]]]] = {
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
        {"measures": m("revenue", SUM, Derivation.SHARE), "groups": ("country",)},
        lambda: {
            k: 100 * v / sum(by("country", "revenue").values())
            for k, v in by("country", "revenue").items()
        },
    ),
    "share of one among all": (
        {"measures": m("revenue", SUM, Derivation.SHARE), "groups": ("country",),
         "filters": (SPAIN,)},
        lambda: {
            "Spain": 100 * total("revenue", spain) / sum(by("country", "revenue").values())
        },
    ),
    "more than another": (
        {
            "measures": m("revenue", SUM, Derivation.DIFFERENCE),
            "groups": ("country",),
            "filters": (f("country", Op.IS, "Italy", "Spain"),),
        },
        lambda: {
            "Italy": by("country", "revenue")["Italy"] - by("country", "revenue")["Spain"],
            "Spain": by("country", "revenue")["Spain"] - by("country", "revenue")["Italy"],
        },
    ),
    "growth of quarters": (
        {"measures": m("revenue", SUM, Derivation.GROWTH), "time": "date", "grain": Grain.QUARTER},
        lambda: changes(by_period(quarters), growth=True),
    ),
    "difference of months": (
        {"measures": m("revenue", SUM, Derivation.DIFFERENCE), "time": "date",
         "grain": Grain.MONTH},
        lambda: changes(by_period(month), growth=False),
    ),
    "running total": (
        {"measures": m("revenue", SUM, Derivation.CUMULATIVE), "time": "date",
         "grain": Grain.MONTH},
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


@pytest.mark.parametrize("name", KEPT)
def test_rows_are_kept_by_conditions(data: Dataset, name: str) -> None:
    filters, keep = KEPT[name]
    measures = (*m(None, COUNT), *m("revenue", SUM))
    [found] = data.run(query(data, measures=measures, filters=filters)).rows
    assert found[0] == sum(keep(row) for row in ROWS)
    assert found[1] == pytest.approx(total("revenue", keep), rel=1e-12)


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
    assert (result.query.groups, result.query.time) == (("channel",), "date")
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
    with open_tables([file(tmp_path, "t.csv", "k,v\na,3\nb,3\nc,1\n")]) as data:
        result = data.run(query(data, measures=m("v", SUM), groups=("k",), order=Order(True, 1)))
    assert [row[0] for row in result.rows] == ["a", "b"]
    assert result.notes == ("2 have the same value",)


def test_sums_beyond_all_numbers_are_empty_and_said(tmp_path: Path) -> None:
    with open_tables([file(tmp_path, "t.csv", "k,v\na,1e308\nb,1e308\nc,5\n")]) as data:
        result = data.run(query(data, measures=m("v", SUM)))
    assert result.rows == ((None,),)
    assert "larger than any number" in result.notes[0]


def test_figures_whose_squares_are_infinite_are_left_out(tmp_path: Path) -> None:
    with open_tables([file(tmp_path, "t.csv", "k,v\na,1e154\nb,1e140\n")]) as data:
        result = data.run(query(data, measures=m("v", SUM), groups=("k",)))
    assert sorted(result.rows) == [("a", None), ("b", 1e140)]
    assert "larger than any number" in result.notes[0]


@pytest.mark.parametrize(
    ("name", "written", "groups"),
    [
        ("Monat", ("März", "Januar", "Februar"), ["Januar", "Februar", "März"]),
        (
            "Monat",
            ("Oktober", "Dezember", "Januar", "März"),
            ["Oktober", "Dezember", "Januar", "März"],
        ),
        ("quarter", ("Q3", "Q1", "Q2"), ["Q1", "Q2", "Q3"]),
        ("Month", ("11", "2", "1"), [1.0, 2.0, 11.0]),
    ],
)
def test_parts_of_the_year_come_in_its_order(
    tmp_path: Path, name: str, written: tuple[str, ...], groups: list[Any]
) -> None:
    rows = "".join(f"{one};{shop};{at}\n" for at, one in enumerate(written) for shop in "ab")
    with open_tables([file(tmp_path, "t.csv", f"{name};shop;v\n{rows}")]) as data:
        result = data.run(query(data, measures=m("v", SUM), groups=(name,)))
        both = data.run(query(data, measures=m("v", SUM), groups=("shop", name)))
    assert [row[0] for row in result.rows] == groups
    assert [row[:2] for row in both.rows] == [(shop, one) for shop in "ab" for one in groups]


def test_nothing_outside_is_read(data: Dataset, tmp_path: Path) -> None:
    """A name or a value that is SQL is a name or a value."""
    evil = 'x"; drop table t0; --'
    text = f'"{evil.replace(chr(34), chr(34) * 2)}",v\n"\'; drop table t0; --",1\nb,2\n'
    with open_tables([file(tmp_path, "t.csv", text)]) as other:
        name = other.tables[0].columns[0].name
        value = "'; drop table t0; --"
        result = other.run(query(other, measures=m("v", SUM), filters=(f(name, Op.IS, value),)))
        assert result.rows == ((1.0,),)
        assert other.run(query(other)).rows == ((2.0,),)
