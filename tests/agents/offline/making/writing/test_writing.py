"""Texts from given material: arranged, never invented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import JobFailed
from agentpost.agents.offline.frame import Act, Frame, Style, Thing, to_json
from agentpost.agents.offline.making.writing.making import arrange, as_markdown, as_word, check
from tests.agents.offline.data.given import file

NOTES = """Present: Ann, Bob, Carla
- Sales of bicycles were 12,000.
- We agreed to raise the price to €430.
- Bob will call Voltas by 31 March.
- Carla must send the contract until Friday.
"""
CHANGES = """# Version 1.4.0

- Added search on each page
- Fix crash when a file is empty
- Removed the old menu
- The button is larger
"""
HELP = """# Shop

## Returns

Goods can be returned within 30 days. The shop pays for the parcel.

## How do I pay?

You pay by card or by invoice.
"""


def arranged(kind: str, text: str, language: str = "en") -> Any:
    frame = Frame(
        Act.MAKE, Thing.WRITING, text=text, language=language, style=Style(options={kind: True})
    )
    return arrange([], to_json(frame), "2025-11-22")


def shown(made: Any) -> list[Any]:
    return [
        part.get("text") or part.get("items") or part.get("rows") for part in made["text"]["parts"]
    ]


def test_minutes() -> None:
    assert shown(arranged("minutes", NOTES)) == [
        "Present: Ann, Bob, Carla",
        "Discussed",
        ["Sales of bicycles were 12,000."],
        "Decisions",
        ["We agreed to raise the price to €430."],
        "Actions",
        [
            ["Who", "What", "By when"],
            ["Bob", "Bob will call Voltas by 31 March.", "31 March"],
            ["Carla", "Carla must send the contract until Friday.", "Friday"],
        ],
    ]


def test_a_changelog() -> None:
    assert shown(arranged("changelog", CHANGES)) == [
        "1.4.0 – 22 November 2025",
        "Added", ["Added search on each page"],
        "Changed", ["The button is larger"],
        "Fixed", ["Fix crash when a file is empty"],
        "Removed", ["Removed the old menu"],
    ]  # fmt: skip


def test_notes_line_by_line() -> None:
    notes = "1.4.0\nAdd dark mode\nFix the total of orders\n1.3.2\nFix a crash\nNicer buttons\n"
    assert shown(arranged("changelog", notes)) == [
        "1.4.0", "Added", ["Add dark mode"], "Fixed", ["Fix the total of orders"],
        "1.3.2", "Changed", ["Nicer buttons"], "Fixed", ["Fix a crash"],
    ]  # fmt: skip
    meeting = "Meeting of 3 May\nPresent: Anna Berg, Tom Lee\nAnna asks the insurer by 15 May.\n"
    assert shown(arranged("minutes", f"{meeting}We spoke of rent.\nWho pays?")) == [
        "Meeting of 3 May", "Present: Anna Berg, Tom Lee", "Discussed", ["We spoke of rent."],
        "Actions",
        [["Who", "What", "By when"], ["Anna", "Anna asks the insurer by 15 May.", "15 May"]],
        "Open", ["Who pays?"],
    ]  # fmt: skip


def test_questions_and_answers() -> None:
    assert shown(arranged("faq", HELP)) == [
        "What should I know about Returns?",
        "Goods can be returned within 30 days. The shop pays for the parcel.",
        "How do I pay?",
        "You pay by card or by invoice.",
    ]


def test_a_letter_says_what_is_left_to_fill_in() -> None:
    made = arranged("letter", "The order arrives on 3 May.")
    assert shown(made) == [
        "22 November 2025", "Dear Sir or Madam,", "The order arrives on 3 May.",
        "Yours faithfully,", "[Name]",
    ]  # fmt: skip
    assert made["text"]["notes"] == ["the name is left for you to fill in"]


def test_a_letter_with_its_head() -> None:
    head = "To: Nordlicht, Kiel\nFrom: Anna Berg, Coffee & Co\nSubject: Your offer\n\n"
    made = arranged("letter", f"{head}We accept.")
    assert shown(made) == [
        "Anna Berg, Coffee & Co", "Nordlicht, Kiel", "22 November 2025", "Subject: Your offer",
        "Dear Sir or Madam,", "We accept.", "Yours faithfully,", "Anna Berg",
    ]  # fmt: skip
    assert not made["text"].get("notes")


def test_nothing_is_invented() -> None:
    with pytest.raises(JobFailed, match="given material only"):
        arranged("letter", "")


@pytest.mark.parametrize("write", [as_markdown, as_word])
@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "zh", "ar"])
def test_a_text_opens_after_it_was_written(tmp_path: Path, write: Any, language: str) -> None:
    made = arranged("minutes", NOTES, language)
    name = "a.md" if write is as_markdown else "a.docx"
    assert check(file(tmp_path, name, write(made)), made) > 5
