"""Stories: what is claimed, in which words, and that every figure is what plain Python says."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.frame import Aggregate, Derivation, Grain, Measure, Order, Query
from agentpost_offline.story.tell import ClaimKind, Story, tell
from tests.agents.fakes import file

SUM = Measure("revenue", Aggregate.SUM)
MEAN = Measure("revenue", Aggregate.MEAN)
SHARE = Measure("revenue", Aggregate.SUM, Derivation.SHARE)
LANGUAGES = ("en", "de", "es", "fr", "zh", "ar")
SHOPS = {"A": 500, "B": 300, "C": 80, "D": 60, "E": 40, "F": 20}
BY_MONTH = {"time": "day", "grain": Grain.MONTH}
Rows = Sequence[Sequence[object]]


@contextmanager
def dataset(rows: Rows) -> Iterator[Dataset]:
    """A table of day, shop, revenue opened as the agent opens it."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "sales.csv")
        lines = [",".join(str(cell) for cell in row) for row in rows]
        path.write_text("\n".join(["day,shop,revenue", *lines]), "utf-8")
        with open_tables([replace(file(path, "text/csv"), local_path=path)]) as data:
            yield data


def story(rows: Rows, *groups: str, measure: Measure = SUM, language: str = "en",
          **of_query: Any) -> Story:  # fmt: skip
    """The story of one query."""
    with dataset(rows) as data:
        query = Query(data.tables[0].id, (measure,), groups, **of_query)
        return tell(data, [query], language)


def by_shop(**values: float) -> Rows:
    """A row for each shop."""
    return [("2024-01-01", shop, value) for shop, value in values.items()]


def monthly(values: Sequence[float]) -> list[tuple[object, ...]]:
    """One row at the beginning of and one late in each month from January 2024 on."""
    rows: list[tuple[object, ...]] = []
    for at, value in enumerate(values):
        start = date(2024 + at // 12, at % 12 + 1, 1)
        rows += [(start, "A", value / 2), (start + timedelta(days=27), "B", value / 2)]
    return rows


BEGUN = [*monthly([10, 10, 10, 10, 10, 16]), (date(2024, 7, 3), "A", 1)]
YEARS = [
    (date(year, month, day), shop, value)
    for month in range(1, 13)
    for year, east, west in ((2024, 10, 20), (2025, 40, 15))
    for shop, value, day in (("East", east, 1), ("West", west, 28))
]

TOLD: list[tuple[str, Rows, tuple[str, ...], dict[str, Any], ClaimKind, str, str]] = [
    ("whole years are compared", monthly([10] * 12 + [20] * 12), (), BY_MONTH, ClaimKind.GROWTH,
     "Revenue grew by 100% from 2024 to 2025",
     "Revenue rose from 120 (2024) to 240 (2025), by 100%."),
    ("a month that has only begun is left out", BEGUN, (), BY_MONTH, ClaimKind.GROWTH,
     "Revenue grew by 60% from January 2024 to June 2024",
     "Revenue rose from 10 (January 2024) to 16 (June 2024), by 60%."),
    ("the best month", monthly([10, 10, 40, 20]), (), BY_MONTH, ClaimKind.HIGHEST,
     "March 2024 had the highest revenue",
     "March 2024 reached 40; the average per month was 20."),
    ("two best months", monthly([10, 40, 40, 20]), (), BY_MONTH, ClaimKind.HIGHEST,
     "February 2024 and March 2024 share the highest revenue",
     "February 2024 and March 2024 each have 40, the highest value."),
    ("two best groups", by_shop(A=7, B=9, C=9), ("shop",), {}, ClaimKind.HIGHEST,
     "B and C share the highest revenue", "B and C each have 9, the highest value."),
    ("a share of the sum", by_shop(**SHOPS), ("shop",), {}, ClaimKind.HIGHEST,
     "A leads with 50% of revenue", "A accounts for 500 of 1,000 (50%); B follows with 300."),
    ("of the best few no share", by_shop(**SHOPS), ("shop",), {"order": Order(count=2)},
     ClaimKind.HIGHEST, "A has the highest revenue", "A leads with 500; B follows with 300."),
    ("the lowest few", by_shop(**SHOPS), ("shop",), {"order": Order(descending=False, count=2)},
     ClaimKind.LOWEST, "F has the lowest revenue", "F comes last with 20."),
    ("losses have no shares", by_shop(A=500, B=-300, C=1), ("shop",), {}, ClaimKind.HIGHEST,
     "A has the highest revenue", "A leads with 500; C follows with 1."),
    ("averages have no shares", by_shop(A=4, B=9), ("shop",), {"measure": MEAN},
     ClaimKind.HIGHEST, "B has the highest average revenue", "B leads with 9; A follows with 4."),
    ("shares that were asked for", by_shop(A=50, B=30, C=20), ("shop",), {"measure": SHARE},
     ClaimKind.HIGHEST, "A has the highest share of revenue",
     "A leads with 50%; B follows with 30%."),
    ("groups over time, by their sums", YEARS, ("shop",), BY_MONTH, ClaimKind.HIGHEST,
     "East leads with 59% of revenue",
     "East accounts for 600 of 1,020 (59%); West follows with 420."),
    ("groups over time, added up", YEARS, ("shop",), BY_MONTH, ClaimKind.GROWTH,
     "Revenue grew by 83% from 2024 to 2025",
     "Revenue rose from 360 (2024) to 660 (2025), by 83%."),
    ("one figure", by_shop(A=4, B=9), (), {}, ClaimKind.TOTAL, "Revenue: 13 in total",
     "Revenue came to 13 in total."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "groups", "of_query", "kind", "headline", "sentence"),
    [case[1:] for case in TOLD], ids=[case[0] for case in TOLD],
)  # fmt: skip
def test_what_is_said(
    rows: Rows, groups: tuple[str, ...], of_query: dict[str, Any], kind: ClaimKind, headline: str,
    sentence: str,
) -> None:  # fmt: skip
    claim = next(one for one in story(rows, *groups, **of_query).claims if one.kind is kind)
    assert (claim.headline, claim.sentence) == (headline, sentence)


@pytest.mark.parametrize(
    ("rows", "groups", "of_query", "kinds"),
    [
        (by_shop(A=40, B=40, C=40, D=40, E=20), ("shop",), {}, (ClaimKind.HIGHEST,)),
        (by_shop(A=10, B=10), ("shop",), {}, (ClaimKind.HIGHEST,)),
        (by_shop(A=1_000_000_001, B=1_000_000_000), ("shop",), {}, (ClaimKind.HIGHEST,)),
        (by_shop(**SHOPS), ("shop",), {"order": Order(count=2)},
         (ClaimKind.LOWEST, ClaimKind.TOTAL)),
        (by_shop(A=4, B=9), ("shop",), {"measure": MEAN}, (ClaimKind.TOTAL,)),
        (monthly([10, 12, 14, 16, 18]), (), {**BY_MONTH, "order": Order(count=3)},
         (ClaimKind.GROWTH,)),
    ],
    ids=["many are equal", "all are equal", "written the same", "some groups only",
         "averages add up to nothing", "the best few periods are no course"],
)  # fmt: skip
def test_what_is_not_said(
    rows: Rows, groups: tuple[str, ...], of_query: dict[str, Any], kinds: tuple[ClaimKind, ...]
) -> None:
    claims = story(rows, *groups, **of_query).claims
    assert not [claim for claim in claims if claim.kind in kinds]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_tells_the_same_findings(language: str) -> None:
    rows = monthly([10, 10, 40, 20] * 6)
    with dataset(rows) as data:
        query = Query(data.tables[0].id, (SUM,), time="day", grain=Grain.MONTH)
        kinds = [one.kind for one in tell(data, [query]).claims]
        story_ = tell(data, [query], language)
    assert [one.kind for one in story_.claims] == kinds
    assert all("{" not in one.headline + one.sentence for one in story_.claims)


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
        groups = tell(data, [Query(table, (SUM,), ("shop",))])
        times = tell(data, [Query(table, (SUM,), time="day", grain=grain)])
        averages = tell(data, [Query(table, (MEAN,), ("shop",))])
    size = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]
    shops: dict[str, list[float]] = defaultdict(list)
    periods: dict[str, float] = defaultdict(float)
    years: dict[str, float] = defaultdict(float)
    for day, shop, value in rows:
        shops[shop].append(value)
        start = date(day.year, (day.month - 1) // size * size + 1, 1)
        periods[start.isoformat()] += value
        years[str(day.year)] += value
    check(groups, {shop: math.fsum(values) for shop, values in shops.items()})
    check(averages, {shop: statistics.fmean(values) for shop, values in shops.items()})
    check(times, periods, years)


def check(story_: Story, values: dict[str, float], years: dict[str, float] | None = None) -> None:
    """Every figure against the values of the groups or periods."""
    total = math.fsum(values.values())
    for claim in story_.claims:
        figures = dict(claim.figures)
        if claim.kind is ClaimKind.TOTAL:
            assert math.isclose(figures["value"], total, abs_tol=1e-6)
        elif claim.kind is ClaimKind.HIGHEST:
            for mark in claim.marks:
                assert math.isclose(figures["value"], values[mark], abs_tol=1e-6)
            if years is None:
                ordered = sorted(values.values(), reverse=True)
                second = figures.get("other", figures["value"])
                assert math.isclose(second, ordered[1], abs_tol=1e-6)
                assert ("other" in figures) == (len(claim.marks) == 1)
            if "share" in figures:
                share = 100 * figures["value"] / total
                assert math.isclose(figures["share"], share, abs_tol=1e-6)
                assert min(values.values()) >= 0
        elif claim.kind is ClaimKind.GROWTH:
            every = [*values.values(), *(years or {}).values()]
            for name in ("before", "after"):
                assert any(math.isclose(figures[name], value, abs_tol=1e-6) for value in every)
            if "percent" in figures:
                rate = 100 * (figures["after"] / figures["before"] - 1)
                assert math.isclose(figures["percent"], rate, abs_tol=1e-6)
