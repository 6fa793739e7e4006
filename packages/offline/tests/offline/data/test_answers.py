"""Answers in sentences: the number, how the question was understood, the source."""

from pathlib import Path
from typing import Any

import pytest

from agentpost_offline.data import answers
from agentpost_offline.data.answers import answer
from agentpost_offline.frame import (
    ROW_COUNT,
    Act,
    Aggregate,
    Derivation,
    Filter,
    Frame,
    Grain,
    Measure,
    Op,
    Order,
    Query,
    to_json,
)
from agentpost_offline.steps import survey
from tests.offline.data.given import file

TEXT = """date,country,revenue_eur
2025-01-10,Spain,100
2025-01-20,Italy,50.5
2025-02-10,Spain,120
2025-02-11,Italy,
2025-03-01,Spain,80
2025-03-02,France,30
"""
REVENUE = Measure("revenue_eur", Aggregate.SUM)


def derived(how: Derivation) -> tuple[Measure, ...]:
    return (Measure("revenue_eur", Aggregate.SUM, how),)


def ask(folder: Path, language: str = "en", **given: Any) -> dict[str, Any]:
    files = [file(folder, "sales.csv", TEXT)]
    query = Query(survey(files)["tables"][0]["id"], **given)
    found: dict[str, Any] = answer(
        files, to_json(Frame(Act.ASK, queries=(query,), language=language))
    )
    return found


SPAIN = Filter("country", Op.IS, ("Spain",))
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "total": (
        {"measures": (REVENUE,), "filters": (SPAIN,)},
        (
            "Total Revenue: €300.\n"
            "Computed: total Revenue, Country = Spain, 3 rows. Source: sales.csv."
        ),
    ),
    "with a missing value": (
        {"measures": (Measure("revenue_eur", Aggregate.MEAN),)},
        (
            "Average Revenue: €76.10.\n1 of these rows has no Revenue and does not count.\n"
            "Computed: average Revenue, 6 rows. Source: sales.csv."
        ),
    ),
    "count": (
        {"measures": (ROW_COUNT,)},
        "Number of rows: 6.\nComputed: number of rows, 6 rows. Source: sales.csv.",
    ),
    "rows": (
        {"filters": (SPAIN,)},
        (
            "Date, Revenue:\n- 10 January 2025, €100\n- 10 February 2025, €120\n"
            "- 1 March 2025, €80\n"
            "In all: 3 rows, Revenue €300\n"
            "Computed: number of rows, total Revenue, Country = Spain, 3 rows. Source: sales.csv."
        ),
    ),
    "best": (
        {"measures": (REVENUE,), "groups": ("country",), "order": Order(True, 1)},
        (
            "Spain: €300 (highest: total Revenue). Next: Italy €50.50 and France €30.\n"
            "Computed: total Revenue by Country, 6 rows. Source: sales.csv."
        ),
    ),
    "share": (
        {"measures": derived(Derivation.SHARE), "groups": ("country",), "filters": (SPAIN,)},
        (
            "Spain: 78.84% (€300 of €380.50).\n"
            "Computed: share of total Revenue by Country, Country = Spain, 3 rows. "
            "Source: sales.csv."
        ),
    ),
    "growth": (
        {
            "measures": derived(Derivation.GROWTH), "time": "date", "grain": Grain.MONTH,
            "filters": (Filter("date", Op.BETWEEN, ("2025-01-01", "2025-02-28")),),
        },
        (
            "Total Revenue fell by 20.27%, from €150.50 (January 2025) to €120 (February 2025).\n"
            "Computed: growth of total Revenue by month, January 2025 to February 2025, 4 rows. "
            "Source: sales.csv."
        ),
    ),
    "difference": (
        {
            "measures": derived(Derivation.DIFFERENCE), "groups": ("country",),
            "filters": (Filter("country", Op.IS, ("Spain", "Italy")),),
        },
        (
            "Total Revenue: Spain is €249.50 above Italy: €300 against €50.50.\n"
            "Computed: difference of total Revenue by Country, Country = Spain and Italy, 5 rows. "
            "Source: sales.csv."
        ),
    ),
    "the row of an extreme": (
        {"measures": (Measure("revenue_eur", Aggregate.MAX),)},
        (
            "Highest Revenue: €120.\n(Date 10 February 2025, Country Spain)\n"
            "1 of these rows has no Revenue and does not count.\n"
            "Computed: highest Revenue, 6 rows. Source: sales.csv."
        ),
    ),
    "different values": (
        {"measures": (Measure("country", Aggregate.DISTINCT),)},
        (
            "Different values of Country: 3.\n(Spain, Italy and France)\n"
            "Computed: different values of Country, 6 rows. Source: sales.csv."
        ),
    ),
    "nothing matches": (
        {"measures": (REVENUE,), "filters": (Filter("country", Op.IS, ("Peru",)),)},
        (
            "No rows match: total Revenue, Country = Peru, 0 rows.\n"
            "Computed: total Revenue, Country = Peru, 0 rows. Source: sales.csv."
        ),
    ),
    "months": (
        {"measures": (REVENUE,), "time": "date", "grain": Grain.MONTH},
        (
            "Total Revenue:\n- January 2025: €150.50\n- February 2025: €120\n- March 2025: €110\n"
            "In all: €380.50\nComputed: total Revenue by month, 6 rows. Source: sales.csv."
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_answer(tmp_path: Path, name: str) -> None:
    given, text = CASES[name]
    found = ask(tmp_path, **given)
    assert found["outcome"] == "answered"
    assert found["text"] == text


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Revenue gesamt: 150,50 €.\nBerechnet: Revenue gesamt, Januar 2025, 2 Zeilen."),
        ("zh", "Revenue合计：€150.50."),
        ("ar", "مجموع Revenue: "),
        ("es", "Revenue en total: "),
        ("fr", "Revenue, total"),
    ],
)  # fmt: skip
def test_other_languages(tmp_path: Path, language: str, text: str) -> None:
    january = Filter("date", Op.IS, ("2025-01",))
    found = ask(tmp_path, language, measures=(REVENUE,), filters=(january,))
    assert found["text"].replace("\u00a0", " ").startswith(text)


def test_of_the_best_rows_it_is_told_how_many_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_LISTED", 2)
    reply = ask(tmp_path, order=Order(True, 5), rows_by="revenue_eur", columns=("country",))
    lines = reply["text"].splitlines()
    assert lines[:4] == ["Country:", "- Spain", "- Spain", "- … and 3 more"]
    assert not any(line.startswith("In all") for line in lines)


def test_several_questions_are_all_answered(tmp_path: Path) -> None:
    files = [file(tmp_path, "sales.csv", TEXT)]
    table = survey(files)["tables"][0]["id"]
    queries = (Query(table, (REVENUE,)), Query(table, (ROW_COUNT,)))
    found = answer(files, to_json(Frame(Act.ASK, queries=queries)))
    assert "Total Revenue: €380.50." in found["text"]
    assert "Number of rows: 6." in found["text"]
    assert list(found["used"]) == ["sales.csv (6 rows)"]
