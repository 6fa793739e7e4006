"""Growth from the first to the last period, and two periods side by side, in six languages."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest

from agentpost.agents.offline.data.answers import stated
from agentpost.agents.offline.data.dataset import Dataset, opened
from agentpost.agents.offline.understanding import messages
from tests.agents.offline.data.given import file

REVENUE = {
    "North": (100, 110, 120, 130), "South": (200, 210, 400, 420), "West": (300, 305, 290, 310),
}  # fmt: skip
MONTHLY = "month,region,revenue,orders\n" + "".join(
    f"2026-0{month},{region},{values[month - 1]},{month}\n"
    for month in range(1, 5)
    for region, values in REVENUE.items()
)
DAYS = [dt.date(2025, 1, 1) + dt.timedelta(days=n) for n in range(100)]
"""Until 10 April, so that April is not complete."""
SOLD = {day: 5 + day.month * 3 + day.day % 4 for day in DAYS}
DAILY = "date,sales\n" + "".join(f"{day},{value}\n" for day, value in SOLD.items())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    folder = tmp_path_factory.mktemp("growth")
    given = [file(folder, "monthly.csv", MONTHLY), file(folder, "daily.csv", DAILY)]
    with opened(given) as found:
        yield found


def answered(data: Dataset, name: str, text: str) -> str:
    """The answer to a question with its notes, spaces made plain."""
    table = next(table for table in data.tables if table.name == name)
    [reading] = messages.read(text, [table]).readings
    assert not reading.frame.unused
    said, result = stated(data, reading.frame.queries[0], reading.frame.language)
    return "\n".join([said, *result.notes]).replace("\xa0", " ").replace("\u202f", " ")


def rate(before: float, after: float) -> str:
    """A growth as English answers write it."""
    return f"{100 * (after / before - 1):+.2f}".removesuffix(".00").replace("-", "−") + "%"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Which region grew most?", 0, 3),
        ("which region improved the most", 0, 3),
        ("which region grew most in March?", 1, 2),
        ("which region grew most between January and March?", 0, 2),
    ],
)
def test_the_group_that_grew_most(data: Dataset, text: str, first: int, last: int) -> None:
    rates = {name: values[last] / values[first] for name, values in REVENUE.items()}
    best, *others = sorted(rates, key=lambda name: -rates[name])
    said = answered(data, "monthly.csv", text)
    assert said.startswith(f"{best} grew most: {rate(REVENUE[best][first], REVENUE[best][last])}")
    months = ("January 2026", "February 2026", "March 2026", "April 2026")
    edges = [f"{months[at]}: {REVENUE[best][at]}" for at in (first, last)]
    assert f"({edges[0]} → {edges[1]})" in said
    for name in others:
        assert f"{name} {rate(REVENUE[name][first], REVENUE[name][last])}" in said


@pytest.mark.parametrize("text", ["Which region lost the most?", "which region declined most?"])
def test_where_all_grew_nothing_is_said_to_have_fallen(data: Dataset, text: str) -> None:
    assert answered(data, "monthly.csv", text).startswith("West grew least: +")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("growth of revenue by region", 0, 3),
        ("growth of revenue by region from January to April", 0, 3),
        ("revenue in March vs April by region", 2, 3),
        ("revenue in April vs the month before by region", 2, 3),
    ],
)
def test_each_group_with_both_values(data: Dataset, text: str, first: int, last: int) -> None:
    said = answered(data, "monthly.csv", text)
    months = ("January 2026", "February 2026", "March 2026", "April 2026")
    for name, values in REVENUE.items():
        before, after = values[first], values[last]
        line = (
            f"- {name}: {months[first]} {before}, {months[last]} {after}, "
            f"+{after - before} ({rate(before, after)})"
        )
        assert line in said


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("revenue March vs April", "grew by 50 (+6.17%), from 810 (March 2026) to 860 (April"),
        ("Did North grow?", "grew by 30%, from 100 (January 2026) to 130 (April 2026)"),
        ("how much did revenue grow?", "grew by 43.33%, from 600 (January 2026) to 860 (April"),
        ("by how many percent did South increase", "grew by 110%, from 200 "),
        ("monthly growth of revenue", "- March 2026: 29.60%"),
        ("which region had the largest growth in orders", "+300%"),
        ("Compare revenue of North and South by month", "- South, March 2026: 400"),
    ],
)
def test_an_answer(data: Dataset, text: str, truth: str) -> None:
    assert truth in answered(data, "monthly.csv", text)


def test_a_month_that_is_not_complete_is_left_out_and_named(data: Dataset) -> None:
    said = answered(data, "daily.csv", "how much did sales grow?")
    totals = [sum(v for day, v in SOLD.items() if day.month == month) for month in (1, 3)]
    assert f"by {rate(*totals)[1:]}, from {totals[0]} (January 2025) to {totals[1]} (March" in said
    assert "April 2025 is not complete and is left out" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Welche Region ist am stärksten gewachsen?", "South: am stärksten gewachsen, +110 % (Ja"),
        ("Quelle région a le plus augmenté ?", "South : plus forte hausse, +110 % (janvier"),
        ("¿Qué región creció más?", "South: mayor crecimiento, +110 % (enero de 2026: 200 →"),
        ("哪个地区增长最多？", "South增长最多：+110% (2026年1月：200 → 2026年4月：420)"),
        ("أي منطقة نمت أكثر؟", "South: الأكثر نموا، +110%"),
        (
            "Umsatz im März gegenüber April nach Region",
            "South: März 2026 400, April 2026 420, +20 (",
        ),
        ("比较三月和四月各地区的收入", "South：2026年3月 400, 2026年4月 420, +20 (+5%)"),
    ],
)
def test_other_languages(data: Dataset, text: str, said: str) -> None:
    assert said in answered(data, "monthly.csv", text)


def test_a_year_without_the_one_before_is_said(data: Dataset) -> None:
    said = answered(data, "monthly.csv", "revenue 2025 vs 2026")
    assert said.startswith("There is no period before it to compare with.")
