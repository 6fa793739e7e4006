"""Queries with their truths: what plain Python computes from the same rows."""

from collections.abc import Callable
from datetime import date
from typing import Any

from agentpost_offline.frame import Aggregate, Derivation, Filter, Grain, Measure, Op
from tests.offline.data.given import Row, shop

ROWS = shop()
SUM, MIN, MAX = Aggregate.SUM, Aggregate.MIN, Aggregate.MAX
COUNT, DISTINCT = Aggregate.COUNT, Aggregate.DISTINCT


def m(column: str | None, how: Aggregate, derived: Derivation | None = None) -> tuple[Measure, ...]:
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

KEPT: dict[str, tuple[tuple[Filter, ...], Callable[[Row], bool]]] = {
    "one country": ((SPAIN,), spain),
    "two countries": (
        (f("country", Op.IS, "Spain", "Italy"),), lambda r: r["country"] in ("Spain", "Italy"),
    ),
    "without one": ((f("country", Op.IS_NOT, "Spain"),), lambda r: not spain(r)),
    "written otherwise": ((f("country", Op.IS, "SPAIN"),), spain),
    "contains": ((f("product", Op.CONTAINS, "s"),), lambda r: "s" in r["product"].lower()),
    "between": ((f("unit_price", Op.BETWEEN, 10.0, 20.0),), lambda r: 10 <= r["unit_price"] <= 20),
    "between, the other way round": (
        (f("unit_price", Op.BETWEEN, 20.0, 10.0),), lambda r: 10 <= r["unit_price"] <= 20,
    ),
    "a figure as text": ((f("units", Op.IS, "4"),), lambda r: r["units"] == 4),
    "missing": ((f("country", Op.MISSING),), lambda r: r["country"] is None),
    "present": ((f("revenue", Op.PRESENT),), lambda r: r["revenue"] is not None),
    "a truth": ((f("returned", Op.IS, "true"),), lambda r: r["returned"]),
    "a quarter": ((IN_Q2,), q2),
    "a quarter by its name": ((f("date", Op.IS, "2025-Q2"),), q2),
    "a month": ((f("date", Op.IS, "2025-02"),), lambda r: r["date"].startswith("2025-02")),
    "a year": ((f("date", Op.IS, "2024"),), lambda r: r["date"].startswith("2024")),
    "not a year": ((f("date", Op.IS_NOT, "2024"),), lambda r: not r["date"].startswith("2024")),
    "a day": ((f("date", Op.IS, ROWS[5]["date"]),), lambda r: r["date"] == ROWS[5]["date"]),
    "after a day": ((f("date", Op.ABOVE, "2025-06-15"),), lambda r: r["date"] > "2025-06-15"),
    "from a day": ((f("date", Op.AT_LEAST, "2025-06-15"),), lambda r: r["date"] >= "2025-06-15"),
    "before a month": ((f("date", Op.BELOW, "2025-06"),), lambda r: r["date"] < "2025-06-01"),
    "until a month": ((f("date", Op.AT_MOST, "2025-06"),), lambda r: r["date"] < "2025-07-01"),
    "after a year": ((f("date", Op.ABOVE, "2024"),), lambda r: r["date"] >= "2025-01-01"),
    "each May": ((f("date", Op.IS, 5.0, grain=Grain.MONTH),), lambda r: when(r).month == 5),
    "weekdays": (
        (f("date", Op.BETWEEN, 1.0, 5.0, grain=Grain.WEEKDAY),),
        lambda r: when(r).isoweekday() <= 5,
    ),
    "weekends": (
        (f("date", Op.IS, 6.0, 7.0, grain=Grain.WEEKDAY),), lambda r: when(r).isoweekday() >= 6,
    ),
    "second quarters": (
        (f("date", Op.IS, 2.0, grain=Grain.QUARTER),), lambda r: quarter(r) == 2,
    ),
    "a year as a part": (
        (f("date", Op.IS, 2025.0, grain=Grain.YEAR),), lambda r: when(r).year == 2025,
    ),
    "a week": (
        (f("date", Op.IS, 20.0, grain=Grain.WEEK),), lambda r: when(r).isocalendar().week == 20,
    ),
    "all together": (
        (SPAIN, IN_Q2, f("channel", Op.IS_NOT, "store"), f("units", Op.ABOVE, 2.0)),
        lambda r: spain(r) and q2(r) and r["channel"] != "store" and r["units"] > 2,
    ),
}  # fmt: skip
"""Conditions, and which rows fit them."""
NUMBERS: dict[str, tuple[dict[str, Any], Callable[[], float | str]]] = {
    "countries": ({"measures": m("country", DISTINCT)}, lambda: 4),
    "first day": ({"measures": m("date", MIN)}, lambda: min(row["date"] for row in ROWS)),
    "last day": ({"measures": m("date", MAX)}, lambda: max(row["date"] for row in ROWS)),
    "share": (
        {"measures": m("revenue", SUM, Derivation.SHARE), "filters": (SPAIN,)},
        lambda: 100 * total("revenue", spain) / total("revenue"),
    ),
    "share in a quarter": (
        {"measures": m("revenue", SUM, Derivation.SHARE), "filters": (SPAIN, IN_Q2)},
        lambda: 100 * total("revenue", lambda r: spain(r) and q2(r)) / total("revenue", q2),
    ),
    "share of a quarter": (
        {"measures": m("revenue", SUM, Derivation.SHARE), "filters": (IN_Q2,)},
        lambda: 100 * total("revenue", q2) / total("revenue"),
    ),
    "share of rows": (
        {"measures": m(None, COUNT, Derivation.SHARE), "filters": (f("returned", Op.IS, "true"),)},
        lambda: 100 * sum(r["returned"] for r in ROWS) / len(ROWS),
    ),
}
