"""Summaries: sentences of the document, verbatim, different from each other and spread over it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import JobFailed
from agentpost.agents.offline.frame import Act, Frame, Style, Thing, to_json
from agentpost.agents.offline.making.summary.making import as_markdown, as_word, check, summarise
from tests.agents.offline.data.given import as_csv, file, shop

REPORT = """# Northwind 2025

Northwind sold 12,000 bicycles in 2025, a quarter more than in the year before. However, this was
expected. The weather was nice.

## Costs

Costs of steel rose by 8% because the supplier Voltas raised its prices for steel twice. The costs
of steel are now the largest part of the costs of a bicycle. Offices were painted.

## Risks

The dependence on one supplier of steel, Voltas, is the main risk for the bicycles of Northwind.
Northwind looks for a second supplier of steel in Portugal until March 2026. Is it enough?

## Outlook

Northwind expects to sell 14,000 bicycles in 2026 when the second supplier delivers steel.
"""


GERMAN = """Der Umsatz stieg um 8 %. Die Kosten für Stahl stiegen, weil der Lieferant die Preise
für Stahl erhöhte. Das Wetter war in dem Jahr sehr schön. Der Lieferant für Stahl ist das größte
Risiko für die Kosten."""
CHINESE = """公司的收入增长了百分之八。钢材供应商提高了钢材价格，所以成本上升。\
天气很好，大家都很高兴。钢材供应商是成本的最大风险。"""
ARABIC = """ارتفعت إيرادات الشركة بنسبة 8 في المئة. رفع مورد الفولاذ أسعار الفولاذ مرتين هذا العام.
كان الطقس جميلا جدا في ذلك العام. مورد الفولاذ هو أكبر خطر على تكاليف الشركة."""


def wish(language: str = "en", **style: Any) -> Any:
    return to_json(Frame(Act.MAKE, Thing.SUMMARY, language=language, style=Style(**style)))


def test_as_many_sentences_as_asked_in_their_order(tmp_path: Path) -> None:
    made = summarise([file(tmp_path, "report.md", REPORT)], wish(), 4)
    lines = made["parts"][0]["lines"]
    whole = " ".join(REPORT.split())
    assert len(lines) == 4
    assert all(line["text"] in whole for line in lines)
    places = [whole.index(line["text"]) for line in lines]
    assert places == sorted(places)
    assert [line["place"] for line in lines] == ["Northwind 2025", "Costs", "Risks", "Outlook"]
    said = " ".join(line["text"] for line in lines)
    assert "12,000" in said
    assert "painted" not in said
    assert "However" not in said


def test_a_subject_that_was_named(tmp_path: Path) -> None:
    made = summarise([file(tmp_path, "report.md", REPORT)], wish(sections=("risks",)), 2)
    assert {line["place"] for line in made["parts"][0]["lines"]} == {"Risks"}


def test_a_table_is_summed_up_by_its_findings(tmp_path: Path) -> None:
    made = summarise([file(tmp_path, "shop.csv", as_csv(shop()))], wish(), 3)
    lines = made["parts"][0]["lines"]
    assert len(lines) == 3
    assert any(char.isdigit() for line in lines for char in line["text"])


def test_a_text_of_the_message() -> None:
    frame = to_json(Frame(Act.MAKE, Thing.SUMMARY, text=REPORT))
    assert len(summarise([], frame, 2)["parts"][0]["lines"]) == 2


def test_nothing_to_summarise(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="is empty"):
        summarise([file(tmp_path, "a.txt", b"")], wish(), 3)


@pytest.mark.parametrize("write", [as_markdown, as_word])
def test_a_summary_opens_after_it_was_written(tmp_path: Path, write: Any) -> None:
    made = summarise([file(tmp_path, "report.md", REPORT)], wish(), 3)
    name = "a.md" if write is as_markdown else "a.docx"
    written = file(tmp_path, name, write(made))
    assert check(written, made) == 3
    other = file(tmp_path, name, "# Something else\n\nText.")
    with pytest.raises(JobFailed, match="not written whole"):
        check(other, made)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", GERMAN),
        ("zh", CHINESE),
        ("ar", ARABIC),
    ],
)  # fmt: skip
def test_other_languages(language: str, text: str) -> None:
    frame = to_json(Frame(Act.MAKE, Thing.SUMMARY, text=text, language=language))
    lines = summarise([], frame, 2)["parts"][0]["lines"]
    assert len(lines) == 2
    assert all(line["text"] in " ".join(text.split()) for line in lines)
