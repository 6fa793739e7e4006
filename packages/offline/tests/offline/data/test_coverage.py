"""Which periods the data covers whole: answers and charts judge it alike."""

import datetime as dt
from pathlib import Path

import pytest

from agentpost_offline.data.answers import answer_query
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.frame import Aggregate, Filter, Grain, Measure, Op, Order, Query
from agentpost_offline.story.tell import findings
from tests.offline.data.given import file

SUM = Measure("v", Aggregate.SUM)
MEAN = Measure("v", Aggregate.MEAN)


def days(first: str, last: str, step: int = 1) -> list[str]:
    start, end = dt.date.fromisoformat(first), dt.date.fromisoformat(last)
    return [str(start + dt.timedelta(n)) for n in range(0, (end - start).days + 1, step)]


def months(first: int, last: int) -> list[str]:
    return [f"{2024 + n // 12}-{n % 12 + 1:02}-01" for n in range(first - 1, last)]


UNTIL_MAY = Filter("day", Op.AT_MOST, ("2025-05-10",))
YEAR = Filter("day", Op.BETWEEN, ("2024-01-01", "2024-12-31"))
CASES = [
    # dates, grain, filters, periods that are not covered whole
    (days("2025-01-01", "2025-04-10"), Grain.MONTH, (), ("2025-04-01",)),
    (days("2025-01-20", "2025-04-30"), Grain.MONTH, (), ("2025-01-01",)),
    (days("2025-01-04", "2025-04-27"), Grain.MONTH, (), ()),
    (days("2025-01-01", "2025-12-31"), Grain.MONTH, (UNTIL_MAY,), ("2025-05-01",)),
    (days("2024-01-01", "2025-12-31", 9), Grain.MONTH, (YEAR,), ()),
    (days("2025-01-01", "2025-02-10"), Grain.MONTH, (), ("2025-02-01",)),
    (days("2025-01-01", "2025-11-30"), Grain.YEAR, (), ("2025-01-01",)),
    (months(1, 22), Grain.MONTH, (), ()),
    (months(1, 22), Grain.QUARTER, (), ("2025-10-01",)),
    (months(1, 23), Grain.YEAR, (), ("2025-01-01",)),
    (months(1, 24), Grain.YEAR, (), ()),
    (months(3, 24), Grain.YEAR, (), ("2024-01-01",)),
    (["2023-01-01", "2024-01-01", "2025-01-01"], Grain.YEAR, (), ()),
]


@pytest.mark.parametrize(("dates", "grain", "filters", "partial"), CASES)
def test_periods_that_are_not_covered_whole(
    tmp_path: Path,
    dates: list[str],
    grain: Grain,
    filters: tuple[Filter, ...],
    partial: tuple[str, ...],
) -> None:
    text = "day,k,v\n" + "".join(f"{day},{'b' if n else 'a'},5\n" for n, day in enumerate(dates))
    with open_tables([file(tmp_path, "t.csv", text)]) as data:
        [table] = data.tables
        query = Query(table.id, (SUM,), time="day", grain=grain, filters=filters)
        result = data.run(query)
        assert result.partial == partial
        assert sum("only in part" in note for note in result.notes) == len(partial)
        assert not {mark for one in findings(result, table) for mark in one.marks} & set(partial)
        # A group whose rows are older makes no period incomplete; averages may be compared.
        group = Filter("k", Op.IS, ("a",))
        assert (
            data.run(
                Query(table.id, (SUM,), time="day", grain=grain, filters=(*filters, group))
            ).partial
            == partial
        )
        assert not data.run(
            Query(table.id, (MEAN,), time="day", grain=grain, filters=filters)
        ).partial


@pytest.mark.parametrize(
    ("order", "answer"), [(Order(False, 1), "March 2025: 31"), (Order(True, 1), "January 2025: 62")]
)
def test_the_lowest_month_is_a_whole_one(tmp_path: Path, order: Order, answer: str) -> None:
    rows = [(day, 2 if "-01-" in day else 1) for day in days("2025-01-01", "2025-05-10")]
    rows = [(day, 9 if "-02-" in day and day.endswith("28") else v) for day, v in rows]
    text = "day,v\n" + "".join(f"{day},{value}\n" for day, value in rows if "-04-" not in day)
    with open_tables([file(tmp_path, "t.csv", text)]) as data:
        query = Query(data.tables[0].id, (SUM,), time="day", grain=Grain.MONTH, order=order)
        said, result = answer_query(data, query, "en")
    assert said.startswith(answer)
    assert any("May 2025" in note for note in result.notes)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("182 90 182", "January 2025 and March 2025, both 182 (highest: total V). Next: February"),
        ("5 5 5 1", "January 2025, February 2025 and March 2025, each 5 (highest"),
    ],
)
def test_a_tie_is_told_with_both(tmp_path: Path, values: str, said: str) -> None:
    rows = [f"{day},{value}" for day, value in zip(months(13, 24), values.split(), strict=False)]
    with open_tables([file(tmp_path, "t.csv", "\n".join(["month,v", *rows]))]) as data:
        query = Query(
            data.tables[0].id, (SUM,), time="month", grain=Grain.MONTH, order=Order(True, 1)
        )
        text, result = answer_query(data, query, "en")
    assert text.startswith(said)
    assert not result.notes
