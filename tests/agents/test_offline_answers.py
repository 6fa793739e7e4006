"""Cited answers, summaries, and the cutting of texts they stand on."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File
from agentpost.agents.offline import limits
from agentpost.agents.offline.answers import answer_files, search
from agentpost.agents.offline.document import parse, plain
from agentpost.agents.offline.passages import sentences
from agentpost.agents.offline.summary import choose, summarise_files, summarise_text
from tests.agents.fakes import file, localised

TEXT = """---
title: Plan
---
# Expansion plan

Dr. Meier leads the project, e.g. the office in Lyon. It opens in *April*.

Costs
-----

The rent is 4,000 euros a month.
Furniture costs 12,000 euros once.

| Item | Price |
|------|-------|
| Desk | 300 |

## Risks

- The permit may come late.
- Two engineers leave in May.

```
retry = 3
```
"""


def test_sentences_know_their_line_and_section() -> None:
    plan = "[plan.md > Expansion plan"
    found = {s.text: s.citation for s in sentences(TEXT, "plan.md")}
    assert found == {
        "Dr. Meier leads the project, e.g. the office in Lyon.": f"{plan}, line 6]",
        "It opens in April.": f"{plan}, line 6]",
        "The rent is 4,000 euros a month.": "[plan.md > Costs, line 11]",
        "Furniture costs 12,000 euros once.": "[plan.md > Costs, line 12]",
        "Item: Desk · Price: 300": "[plan.md > Costs, line 16]",
        "The permit may come late.": "[plan.md > Risks, line 20]",
        "Two engineers leave in May.": "[plan.md > Risks, line 21]",
        "retry = 3": "[plan.md > Risks, line 24]",
    }


@pytest.mark.parametrize("text", ["![" * 50_000, " *a" * 50_000, ". A" * 50_000])
def test_hostile_text_is_cut_without_trying_every_way(text: str) -> None:
    # With unbounded patterns each of these takes minutes.
    assert 1 <= len(sentences(text, "a.md")) <= 2


def test_sentences_of_pages_are_cited_by_page() -> None:
    found = sentences("One is here.\fTwo is there. # Not a heading.", "a.pdf")
    assert [s.citation for s in found[:2]] == ["[a.pdf, page 1]", "[a.pdf, page 2]"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How much is the rent?", "The rent is 4,000 euros a month."),
        ("When does it open?", "It opens in April."),
        ("what is the price of a desk", "Item: Desk · Price: 300"),
        ("Who leads the project?", "Dr. Meier leads the project, e.g. the office in Lyon."),
        ("which engineers are leaving?", "Two engineers leave in May."),
    ],
)
def test_the_right_sentence_is_found(question: str, answer: str) -> None:
    assert search(sentences(TEXT, "plan.md"), question)[0].text == answer


def test_two_sentences_that_answer_together_are_both_given() -> None:
    found = search(sentences(TEXT, "plan.md"), "When does the office open?")
    assert [s.line for s in found] == [6, 6]


@pytest.mark.parametrize(
    "question",
    ["Who is the CEO?", "What is the rent in Tokyo?", "why?", "dinosaurs and volcanoes", '"', "*"],
)
def test_what_is_not_there_is_not_answered(question: str) -> None:
    assert search(sentences(TEXT, "plan.md"), question) == []


def test_japanese_is_searched_by_character() -> None:
    found = search(sentences("東京は日本の首都です。大阪は西にあります。", "a.txt"), "首都")
    assert [s.text for s in found] == ["東京は日本の首都です。"]


def local(path: Path) -> File:
    found = localised(file(path))
    assert isinstance(found, File)
    return found


def test_a_cut_file_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ANSWER_CHARACTERS", 40)
    path = tmp_path / "long.txt"
    path.write_text("The cat is grey. " * 20 + "The dog is brown.")
    result = answer_files([local(path)], "What colour is the dog?")
    assert result["text"] is None
    assert result["skipped"] == ["long.txt after the first 40 characters"]


def test_a_summary_spreads_over_the_sections_in_text_order() -> None:
    chosen = choose(sentences(TEXT, "plan.md"), 3)
    assert [s.heading for s in chosen] == ["Expansion plan", "Costs", "Risks"]


def test_a_summary_of_a_long_file_says_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SUMMARY_SENTENCES_READ", 5)
    path = tmp_path / "long.txt"
    path.write_text("\n\n".join(f"The number {n} follows the number before it." for n in range(9)))
    result = summarise_files([local(path)], 2)
    assert result["text"].count("- ") == 2
    assert result["skipped"] == ["long.txt after sentence 5 of 9"]


def test_a_summary_of_a_table_gives_its_facts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("day,team,points\n2025-01-01,Red,3\n2025-01-02,Red,4\n2025-01-03,Blue,8\n")
    text = summarise_files([local(path)], 5)["text"]
    assert "- Points: total 15, from 3 to 8" in text
    assert "- Team: 2 values, most often Red (2) and Blue (1)" in text


def test_a_text_without_sentences_is_still_summarised() -> None:
    assert summarise_text("milk eggs bread", 3) == "- milk eggs bread"


def test_markdown_becomes_blocks() -> None:
    document = parse("# T\n\n<b>raw</b> ![cat](x.png) a\\\nb\n\n> quote\n\n3. c\n")
    assert document.title == "T"
    assert [block["type"] for block in document.blocks] == ["paragraph", "quote", "list"]
    assert plain(document.blocks[0]["runs"]) == "<b>raw</b> [picture: cat] a\nb"
    assert document.blocks[2]["start"] == 3
    assert document.notes == ["pictures in the text are shown as their description"]


def test_control_characters_never_reach_a_document() -> None:
    assert parse("a\x01b\x0bc").text() == "abc"


def test_two_top_headings_stay_headings() -> None:
    document = parse("---\ntitle: Both\n---\n# One\n\n# Two")
    assert (document.title, document.headings()) == ("Both", ["One", "Two"])
