"""Briefs: criteria against documents, with quotes, differences and gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import JobFailed
from agentpost.agents.offline.documents.reading import read_text
from agentpost.agents.offline.frame import Act, Frame, Style, Thing, to_json
from agentpost.agents.offline.making.brief import matrix
from agentpost.agents.offline.making.brief.making import as_markdown, as_word, check, compare
from tests.agents.offline.data.given import file

ONE = """# Offer of Voltas

## Price

The price of a bicycle is €420.

## Warranty

The warranty runs for 24 months.

## Delivery

Delivery takes 6 weeks.
"""
OTHER = """# Offer of Acme

## Price

The price of a bicycle is €395.

## Warranty

The warranty runs for 12 months and covers the frame.

## Service

There are four workshops.
"""


def compared(folder: Path, **style: Any) -> Any:
    files = [file(folder, "voltas.md", ONE), file(folder, "acme.md", OTHER)]
    return compare(files, to_json(Frame(Act.MAKE, Thing.BRIEF, style=Style(**style))))


def test_criteria_that_were_named(tmp_path: Path) -> None:
    made = compared(tmp_path, sections=("price", "warranty", "delivery"))
    quotes = {row["criterion"]: row["cells"] for row in made["rows"]}
    assert quotes["price"][0][0] == {
        "text": "The price of a bicycle is €420.", "citation": "voltas.md, Price",
    }  # fmt: skip
    assert quotes["delivery"][1] == []
    assert made["differences"] == [
        "price: voltas.md says €420 and acme.md says €395.",
        "warranty: voltas.md says 24 months and acme.md says 12 months.",
    ]
    assert made["gaps"] == ["acme.md says nothing about “delivery”."]


def test_without_names_what_the_documents_share(tmp_path: Path) -> None:
    assert [row["criterion"] for row in compared(tmp_path)["rows"]] == ["Price", "Warranty"]


def test_nothing_in_common(tmp_path: Path) -> None:
    files = [file(tmp_path, "a.md", "# A\n\nx y z"), file(tmp_path, "b.md", "# B\n\nu v w")]
    with pytest.raises(JobFailed, match="name what to compare"):
        compare(files, to_json(Frame(Act.MAKE, Thing.BRIEF)))


@pytest.mark.parametrize("write", [as_markdown, as_word])
def test_a_brief_opens_after_it_was_written(tmp_path: Path, write: Any) -> None:
    made = compared(tmp_path)
    name = "brief.md" if write is as_markdown else "brief.docx"
    assert check(file(tmp_path, name, write(made)), made) == 4


def test_a_word_in_passing_is_no_difference() -> None:
    texts = (
        "Delivery takes 3 days and costs 2 euros.",
        "Delivery takes one day. The warranty of 1,000 euros holds 30 days after delivery.",
    )
    documents = [read_text(text, f"{at}.txt") for at, text in enumerate(texts)]
    (row,) = matrix.rows(documents, ["en", "en"], ["delivery"])
    assert row.cells[1][0].text == "Delivery takes one day."
    assert not row.figures
