"""Sentences of one plain pattern in six languages: one measure, columns and values by their names,
at most one condition. Each must be answered, and with what plain Python computes."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentpost_offline.data.answers import answer_query
from agentpost_offline.data.dataset import Dataset, open_tables
from agentpost_offline.frame import Thing
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.style.numbers import full as figure
from tests.offline.data.given import file

Row = dict[str, Any]
ROWS: list[Row] = [
    {
        "date": f"{year}-{month:02d}-{day:02d}", "region": region, "shop": shop,
        "units": 3 + (month * day + at) % 11, "revenue": 10.5 * month + at + year % 7,
        "unit_price": 4.5 + at,
    }
    for year, month, day in itertools.product((2024, 2025), range(1, 13), (2, 19))
    for at, (region, shop) in enumerate([("North", "Praxis Dr. Lang"), ("South", "Blue Fox"),
                                         ("West", "Corner Shop")])
]  # fmt: skip
ALL = ROWS


def at(**fixed: Any) -> list[Row]:
    """The rows whose cells begin with these."""
    return [row for row in ROWS if all(str(row[k]).startswith(v) for k, v in fixed.items())]


def total(rows: list[Row], name: str) -> float:
    return float(sum(row[name] for row in rows))


def mean(rows: list[Row], name: str) -> float:
    return statistics.fmean(row[name] for row in rows)


def by(name: str, of: str, how: Callable[[list[Row], str], float]) -> list[float]:
    return [how(at(**{name: value}), of) for value in {row[name] for row in ROWS}]


def best(name: str, of: str, *, low: bool = False) -> str:
    groups = {value: total(at(**{name: value}), of) for value in {row[name] for row in ROWS}}
    return str((min if low else max)(groups, key=lambda one: groups[one]))


NORTH, MAY = at(region="North"), at(date="2025-05")
SENTENCES: dict[str, list[tuple[str, Any]]] = {
    "en": [
        ("total revenue", total(ALL, "revenue")),
        ("What is the total of units?", total(ALL, "units")),
        ("average unit_price", mean(ALL, "unit_price")),
        ("what was the average unit price in May 2025?", mean(MAY, "unit_price")),
        ("revenue by region", by("region", "revenue", total)),
        ("show me the units per shop", by("shop", "units", total)),
        ("average units by region", by("region", "units", mean)),
        ("revenue in North", total(NORTH, "revenue")),
        ("how much revenue did Praxis Dr. Lang make?",
         total(at(shop="Praxis Dr. Lang"), "revenue")),
        ("revenue without North", total(ALL, "revenue") - total(NORTH, "revenue")),
        ("units in May 2025", total(MAY, "units")),
        ("revenue for 2024", total(at(date="2024"), "revenue")),
        ("revenue in Q1 2025", sum(total(at(date=f"2025-0{m}"), "revenue") for m in (1, 2, 3))),
        ("which region has the highest revenue?", best("region", "revenue")),
        ("which shop sold the fewest units?", best("shop", "units", low=True)),
        ("top 2 shops by revenue", best("shop", "revenue")),
        ("highest revenue", max(row["revenue"] for row in ROWS)),
        ("median units", statistics.median(row["units"] for row in ROWS)),
        ("how many units did we sell in North?", total(NORTH, "units")),
        ("how many shops are there", 3.0),
        ("number of rows", float(len(ROWS))),
        ("revenue by month 2025", total(MAY, "revenue")),
        ("revenue where units over 10",
         total([row for row in ROWS if row["units"] > 10], "revenue")),
        ("share of North in revenue", 100 * total(NORTH, "revenue") / total(ALL, "revenue")),
        ("hi, could you please tell me the total revenue? thanks!", total(ALL, "revenue")),
    ],
    "de": [
        ("gesamter revenue", total(ALL, "revenue")),
        ("Wie hoch ist der durchschnittliche unit_price?", mean(ALL, "unit_price")),
        ("revenue nach region", by("region", "revenue", total)),
        ("Zeig mir bitte die units pro shop", by("shop", "units", total)),
        ("revenue in North", total(NORTH, "revenue")),
        ("revenue ohne North", total(ALL, "revenue") - total(NORTH, "revenue")),
        ("units im Mai 2025", total(MAY, "units")),
        ("welche region hat den höchsten revenue?", best("region", "revenue")),
        ("die 2 besten shop nach revenue", best("shop", "revenue")),
        ("Wie viele units wurden in North verkauft?", total(NORTH, "units")),
        ("Anzahl der Zeilen", float(len(ROWS))),
        ("Anteil von North am revenue", 100 * total(NORTH, "revenue") / total(ALL, "revenue")),
    ],
    "es": [
        ("revenue total", total(ALL, "revenue")),
        ("¿Cuál es el unit_price medio?", mean(ALL, "unit_price")),
        ("revenue por region", by("region", "revenue", total)),
        ("Muéstrame las units por shop, por favor", by("shop", "units", total)),
        ("revenue en North", total(NORTH, "revenue")),
        ("revenue sin North", total(ALL, "revenue") - total(NORTH, "revenue")),
        ("units en mayo de 2025", total(MAY, "units")),
        ("¿qué region tiene el mayor revenue?", best("region", "revenue")),
        ("¿Cuántas units se vendieron en North?", total(NORTH, "units")),
        ("número de filas", float(len(ROWS))),
    ],
    "fr": [
        ("revenue total", total(ALL, "revenue")),
        ("Quel est le unit_price moyen ?", mean(ALL, "unit_price")),
        ("revenue par region", by("region", "revenue", total)),
        ("Montre-moi les units par shop, s’il te plaît", by("shop", "units", total)),
        ("revenue dans North", total(NORTH, "revenue")),
        ("revenue sans North", total(ALL, "revenue") - total(NORTH, "revenue")),
        ("units en mai 2025", total(MAY, "units")),
        ("quelle region a le plus haut revenue ?", best("region", "revenue")),
        ("Combien de units dans North ?", total(NORTH, "units")),
        ("nombre de lignes", float(len(ROWS))),
    ],
    "zh": [
        ("revenue总计", total(ALL, "revenue")),
        ("unit_price的平均值是多少？", mean(ALL, "unit_price")),
        ("按region统计revenue", by("region", "revenue", total)),
        ("North的revenue", total(NORTH, "revenue")),
        ("不包括North的revenue", total(ALL, "revenue") - total(NORTH, "revenue")),
        ("2025年5月的units", total(MAY, "units")),
        ("哪个region的revenue最高？", best("region", "revenue")),
        ("行数", float(len(ROWS))),
    ],
    "ar": [
        ("إجمالي revenue", total(ALL, "revenue")),
        ("ما هو متوسط unit_price؟", mean(ALL, "unit_price")),
        ("revenue حسب region", by("region", "revenue", total)),
        ("revenue في North", total(NORTH, "revenue")),
        ("revenue بدون North", total(ALL, "revenue") - total(NORTH, "revenue")),
        ("units في مايو 2025", total(MAY, "units")),
        ("أي region لديها أعلى revenue؟", best("region", "revenue")),
        ("عدد الصفوف", float(len(ROWS))),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dataset]:
    lines = [",".join(ROWS[0]), *(",".join(map(str, row.values())) for row in ROWS)]
    given = file(tmp_path_factory.mktemp("plain"), "sales.csv", "\n".join(lines))
    with open_tables([given]) as found:
        yield found


@pytest.mark.parametrize(
    ("language", "text", "truth"),
    [(code, *one) for code, listed in SENTENCES.items() for one in listed],
)
def test_a_plain_sentence_is_answered_right(
    data: Dataset, language: str, text: str, truth: Any
) -> None:
    around = Surrounding(data.tables, frozenset({"table"}), today="2026-01-15", language=language)
    [reading] = read(text, around)
    assert reading.is_sure, (reading.draft.unknown, reading.question)
    assert reading.frame is not None
    [query] = reading.frame.queries
    said, _ = answer_query(data, query, language)
    if isinstance(truth, str):
        assert truth in said.split("\n")[1 if "2" in text.split()[:2] else 0][: len(truth) + 4]
        return
    for value in truth if isinstance(truth, list) else [truth]:
        assert figure(round(value, 2), None, language) in said, said


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Gruppiertes Balkendiagramm revenue nach region und shop"),
        ("es", "Gráfico de barras agrupadas de revenue por region y shop"),
    ],
)
def test_a_grouped_chart_is_grouped_and_a_chart(data: Dataset, language: str, text: str) -> None:
    around = Surrounding(data.tables, frozenset({"table"}), today="2026-01-15", language=language)
    [reading] = read(text, around)
    assert reading.is_sure, (reading.draft.unknown, reading.question)
    assert reading.frame is not None
    assert (reading.frame.thing, reading.frame.style.chart) == (Thing.CHART, "grouped")
