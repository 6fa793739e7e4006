"""Stories: what is claimed, in which words, and that every figure is what plain Python says."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from agentpost_offline.data.dataset import Dataset, opened
from agentpost_offline.data.model import Result
from agentpost_offline.frame import Aggregate, Derived, Grain, Measure, Order, Query
from agentpost_offline.story.model import Claim, ClaimKind, Story
from agentpost_offline.story.second import Source
from agentpost_offline.story.tell import tell
from tests.agents.fakes import file

REVENUE = Measure("revenue", Aggregate.SUM)
LANGUAGES = ("en", "de", "es", "fr", "zh", "ar")


@contextmanager
def dataset(
    rows: Sequence[Sequence[object]], header: str = "day,shop,revenue"
) -> Iterator[Dataset]:
    """A table opened as the agent opens it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "sales.csv")
        lines = [",".join(str(cell) for cell in row) for row in rows]
        path.write_text("\n".join(["day,shop,revenue", *lines]), "utf-8")
        with opened([replace(file(path, "text/csv"), local_path=path)]) as data:
            yield data


def story(rows: Sequence[Sequence[object]], *groups: str, language: str = "en",
          **given_: object) -> Story:  # fmt: skip
    """The story of one query over rows of day, shop, revenue."""
    with dataset(rows) as data:
        query = Query(data.tables[0].id, (REVENUE,), groups, **given_)  # type: ignore[arg-type]
        return tell(data, [query], language)


def claim(found: Story, kind: ClaimKind) -> Claim:
    """The one claim of a kind."""
    return next(one for one in found.claims if one.kind is kind)


def monthly(values: Sequence[float], first: date = date(2024, 1, 1)) -> list[tuple[object, ...]]:
    """One row in the middle of and one at the end of each month."""
    rows: list[tuple[object, ...]] = []
    for n, value in enumerate(values):
        year, month = divmod(first.month - 1 + n, 12)
        start = date(first.year + year, month + 1, 1)
        rows += [(start, "A", value / 2), (start + timedelta(days=27), "B", value / 2)]
    return rows


def test_growth_compares_whole_years() -> None:
    found = story(monthly([10] * 12 + [20] * 12), time="day", grain=Grain.MONTH)
    growth = claim(found, ClaimKind.GROWTH)
    assert growth.headline == "Revenue grew by 100% from 2024 to 2025"
    assert growth.sentence == "Revenue rose from 120 (2024) to 240 (2025), by 100%."
    assert growth.key == ("+100%", "Revenue, 2025")
    assert found.claims[0] == growth


def test_a_period_that_has_only_begun_is_not_compared() -> None:
    rows = monthly([10, 10, 10, 10, 10, 16])
    rows.append((date(2024, 7, 3), "A", 1))
    found = story(rows, time="day", grain=Grain.MONTH)
    growth = claim(found, ClaimKind.GROWTH)
    assert growth.headline == "Revenue grew by 60% from January 2024 to June 2024"
    assert all("July" not in one.sentence for one in found.claims)


def test_the_best_month_and_how_far_it_is_ahead() -> None:
    found = story(monthly([10, 10, 40, 20]), time="day", grain=Grain.MONTH)
    best = claim(found, ClaimKind.BEST)
    assert best.headline == "March 2024 had the highest revenue"
    assert best.sentence == "March 2024 reached 40, 2.0 times the average of 20 per month."
    assert best.marks == ("2024-03-01",)


def test_two_best_months_are_not_called_the_best() -> None:
    found = story(monthly([10, 40, 40, 20]), time="day", grain=Grain.MONTH)
    best = claim(found, ClaimKind.BEST)
    assert best.headline == "February 2024 and March 2024 share the highest revenue"
    assert best.sentence == "February 2024 and March 2024 each have 40, the highest value."
    assert best.marks == ("2024-02-01", "2024-03-01")


@pytest.mark.parametrize("values", [[40, 40, 40, 40, 20], [10, 10]])
def test_of_many_that_are_equal_none_is_named(values: list[int]) -> None:
    rows = [(date(2024, 1, 1), f"Shop {n}", float(value)) for n, value in enumerate(values)]
    assert not [one for one in story(rows, "shop").claims
                if one.kind in (ClaimKind.BEST, ClaimKind.COMPARISON)]  # fmt: skip


def test_two_groups_that_lead_together() -> None:
    rows = [(date(2024, 1, 1), name, float(v)) for name, v in (("A", 7), ("B", 9), ("C", 9))]
    best = claim(story(rows, "shop"), ClaimKind.BEST)
    assert best.headline == "B and C share the highest revenue"


def test_shares_and_concentration() -> None:
    shops = {"A": 500, "B": 300, "C": 80, "D": 60, "E": 40, "F": 20}
    found = story([("2024-01-01", shop, value) for shop, value in shops.items()], "shop")
    best, top = claim(found, ClaimKind.BEST), claim(found, ClaimKind.CONCENTRATION)
    assert best.headline == "A leads with 50% of revenue"
    assert top.headline == "A and B make up 80% of revenue"
    assert top.sentence == "A and B, 2 of 6, together account for 800 of 1,000 (80%)."


def test_of_the_best_few_shares_are_of_everything() -> None:
    shops = {"A": 500, "B": 300, "C": 80, "D": 60, "E": 40, "F": 20}
    rows = [("2024-01-01", shop, value) for shop, value in shops.items()]
    found = story(rows, "shop", order=Order(count=2))
    assert claim(found, ClaimKind.BEST).headline == "A leads with 50% of revenue"
    assert not [one for one in found.claims if one.kind in (ClaimKind.WORST, ClaimKind.TOTAL)]


def test_losses_have_no_shares() -> None:
    found = story([("2024-01-01", "A", 500), ("2024-01-01", "B", -300), ("2024-01-02", "C", 1)],
                 "shop")  # fmt: skip
    assert claim(found, ClaimKind.BEST).headline == "A has the highest revenue"
    assert claim(found, ClaimKind.WORST).sentence == "B comes last with −300."


def test_which_group_changed_most() -> None:
    rows: list[tuple[object, ...]] = []
    for month in range(1, 13):
        for year, east, west in ((2024, 10, 20), (2025, 40, 15)):
            rows += [(date(year, month, 1), "East", east), (date(year, month, 28), "West", west)]
    found = story(rows, "shop", time="day", grain=Grain.MONTH)
    driver = claim(found, ClaimKind.CONTRIBUTION)
    assert driver.headline == "East changed most in revenue: +360"
    assert driver.sentence == (
        "Between 2024 and 2025, revenue changed by +300: East by +360, West by −60."
    )
    assert driver.marks == ("East",)


def test_nobody_drove_a_change_that_two_share() -> None:
    rows = [(f"2025-0{month}-01", shop, 10 * month) for month in range(1, 7) for shop in "AB"]
    found = story(rows, "shop", time="day", grain=Grain.MONTH)
    assert not [one for one in found.claims if one.kind is ClaimKind.CONTRIBUTION]


def test_the_best_few_periods_are_no_course() -> None:
    rows = [(f"2025-0{month}-01", "A", 10 * month + month % 2) for month in range(1, 9)]
    found = story(rows, time="day", grain=Grain.MONTH, order=Order(count=3))
    assert not [one for one in found.claims if one.kind is ClaimKind.GROWTH]


def test_nobody_is_ahead_by_what_nobody_sees() -> None:
    rows = [("2025-01-01", "A", 1_000_000_001), ("2025-01-01", "B", 1_000_000_000)]
    found = story(rows, "shop")
    assert not [one for one in found.claims if "ahead" in one.headline]


def test_averages_are_never_added_up() -> None:
    rows = [("2024-01-01", "A", 4), ("2024-01-02", "A", 6), ("2024-02-01", "B", 9)]
    with dataset(rows) as data:
        query = Query(data.tables[0].id, (Measure("revenue", Aggregate.MEAN),), ("shop",))
        found = tell(data, [query])
    assert not [one for one in found.claims if one.kind is ClaimKind.TOTAL]
    assert "%" not in claim(found, ClaimKind.BEST).headline


def test_missing_values_are_told() -> None:
    with dataset([("2024-01-01", "A", 4), ("2024-01-02", "", 6), ("2024-02-01", "B", 9)]) as data:
        found = tell(data, [Query(data.tables[0].id, (REVENUE,), ("shop",))])
    missing = claim(found, ClaimKind.MISSING)
    assert missing.sentence == "Shop is empty in 1 of 3 rows (33%)."


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_tells_the_same_findings(language: str) -> None:
    rows = monthly([10, 10, 40, 20] * 6)
    with dataset(rows) as data:
        query = Query(data.tables[0].id, (REVENUE,), time="day", grain=Grain.MONTH)
        kinds = [one.kind for one in tell(data, [query]).claims]
        found = tell(data, [query], language)
    assert [one.kind for one in found.claims] == kinds
    assert all("{" not in one.headline + one.sentence for one in found.claims)
    assert found.language == language


class Wrong:
    """A source whose filtered answers disagree with its grouped ones."""

    def __init__(self, inner: Source) -> None:
        self._inner = inner
        self.tables = inner.tables

    def run(self, query: Query) -> Result:
        result = self._inner.run(query)
        if query.groups or query.time:
            return result
        rows = tuple((*row[:-1], 1.5 + float(row[-1] or 0)) for row in result.rows)
        return structs.replace(result, rows=rows)


def test_a_figure_that_does_not_come_out_again_is_not_claimed() -> None:
    with dataset(monthly([10, 10, 40, 20])) as data:
        queries = [
            Query(data.tables[0].id, (REVENUE,), time="day", grain=Grain.MONTH),
            Query(data.tables[0].id, (REVENUE,), ("shop",)),
        ]
        assert tell(data, queries).claims
        assert tell(Wrong(data), queries).claims == ()


ROWS = st.lists(
    st.tuples(
        st.dates(date(2023, 1, 1), date(2025, 12, 31)),
        st.sampled_from(["North", "South", "East", "West", "Überlingen"]),
        st.integers(-50_000, 200_000).map(lambda cents: cents / 100),
    ),
    min_size=3,
    max_size=60,
)


@settings(max_examples=12)
@given(ROWS, st.sampled_from([Grain.MONTH, Grain.QUARTER, Grain.YEAR]))
def test_figures_are_what_python_says(rows: list[tuple[date, str, float]], grain: Grain) -> None:
    """Of groups, over time and of averages; opening the table is what takes long."""
    with dataset(rows) as data:
        table = data.tables[0].id
        mean = Measure("revenue", Aggregate.MEAN)
        groups = tell(data, [Query(table, (REVENUE,), ("shop",))])
        times = tell(data, [Query(table, (REVENUE,), time="day", grain=grain)])
        averages = tell(data, [Query(table, (mean,), ("shop",))])
    check_groups(groups, rows)
    check_times(times, rows, grain)
    check_averages(averages, rows)


def check_groups(found: Story, rows: list[tuple[date, str, float]]) -> None:
    """The sums of the shops."""
    sums: dict[str, float] = defaultdict(float)
    for _, shop, value in rows:
        sums[shop] += value
    ordered = sorted(sums.values(), reverse=True)
    for one in found.claims:
        figures = dict(one.figures)
        if one.kind is ClaimKind.TOTAL:
            assert math.isclose(figures["value"], sum(sums.values()), abs_tol=1e-6)
        elif one.kind is ClaimKind.BEST:
            assert math.isclose(figures["value"], ordered[0], abs_tol=1e-6)
            assert all(math.isclose(sums[m], ordered[0], abs_tol=1e-6) for m in one.marks)
            second = figures.get("other", figures["value"])  # of those that share the first place
            assert math.isclose(second, ordered[1], abs_tol=1e-6)
            assert ("other" in figures) == (len(one.marks) == 1)
            if "share" in figures:
                share = 100 * ordered[0] / sum(ordered)
                assert math.isclose(figures["share"], share, abs_tol=1e-6)
                assert min(ordered) >= 0
        elif one.kind is ClaimKind.WORST:
            assert math.isclose(figures["value"], ordered[-1], abs_tol=1e-6)
        elif one.kind is ClaimKind.CONCENTRATION:
            top = sum(sums[mark] for mark in one.marks)
            assert math.isclose(figures["value"], top, abs_tol=1e-6)


def check_times(found: Story, rows: list[tuple[date, str, float]], grain: Grain) -> None:
    """The sums of the periods."""
    size = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]
    sums: dict[str, float] = defaultdict(float)
    years: dict[str, float] = defaultdict(float)
    for day, _, value in rows:
        start = date(day.year, (day.month - 1) // size * size + 1, 1)
        sums[start.isoformat()] += value
        years[str(day.year)] += value
    for one in found.claims:
        figures = dict(one.figures)
        if one.kind in (ClaimKind.BEST, ClaimKind.WORST):
            assert math.isclose(figures["value"], sums[one.marks[0]], abs_tol=1e-6)
            if "mean" in figures and len(sums) > 2:
                known = [value for key, value in sums.items()]
                assert min(known) - 1e-6 <= figures["mean"] <= max(known) + 1e-6
            if "times" in figures:
                assert math.isclose(figures["times"], figures["value"] / figures["mean"])
        elif one.kind is ClaimKind.GROWTH:
            every = [*sums.values(), *years.values()]
            for name in ("before", "after"):
                assert any(math.isclose(figures[name], value, abs_tol=1e-6) for value in every)
            if "percent" in figures:
                rate = 100 * (figures["after"] / figures["before"] - 1)
                assert math.isclose(figures["percent"], rate, abs_tol=1e-6)
        elif one.kind is ClaimKind.TOTAL:
            assert math.isclose(figures["value"], sum(sums.values()), abs_tol=1e-6)


def check_averages(found: Story, rows: list[tuple[date, str, float]]) -> None:
    """The means of the shops."""
    groups: dict[str, list[float]] = defaultdict(list)
    for _, shop, value in rows:
        groups[shop].append(value)
    means = {shop: statistics.fmean(values) for shop, values in groups.items()}
    for one in found.claims:
        figures = dict(one.figures)
        if one.kind is ClaimKind.BEST:
            assert math.isclose(figures["value"], max(means.values()), abs_tol=1e-6)
        elif one.kind is ClaimKind.WORST:
            assert math.isclose(figures["value"], min(means.values()), abs_tol=1e-6)


def test_shares_asked_for_are_checked_against_the_whole() -> None:
    shops = {"A": 50, "B": 30, "C": 20}
    rows = [("2024-01-01", shop, value) for shop, value in shops.items()]
    with dataset(rows) as data:
        share = Measure("revenue", Aggregate.SUM, Derived.SHARE)
        found = tell(data, [Query(data.tables[0].id, (share,), ("shop",))])
    assert claim(found, ClaimKind.BEST).sentence == "A leads with 50%; B follows with 30%."
