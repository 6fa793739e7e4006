"""Turns over what cannot be read, counted or made: the reply says which file or word, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File
from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.replying import details
from tests.agents.fakes import file
from tests.agents.offline.conversations import Conversation, frame


async def test_a_number_that_nobody_counts_with_is_named(csv: File) -> None:
    turn = await Conversation().say(f"What is the revenue above {'9' * 400}?", csv)
    [asked] = turn.questions
    assert "9999" in asked


@pytest.mark.parametrize(
    "text", ['Make a poster that says "Summer sale"', "Create a poster titled Grand opening"]
)
async def test_a_poster_needs_nothing_but_its_words(csv: File, text: str) -> None:
    alone = await Conversation().say(text)
    assert [frame(job).thing for job in alone.started] == [Thing.IMAGE]
    beside = await Conversation().say(text, csv)
    assert len(beside.started) == 1
    assert "Not used" not in beside.text


async def test_what_no_picture_says_is_not_invented() -> None:
    turn = await Conversation().say("an image of a cat")
    assert not turn.started
    assert "I can’t invent an image" in turn.text


async def test_why_nothing_can_be_made_of_a_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "sales.zip"
    path.write_bytes(b"PK\3\4 no archive")
    turn = await Conversation().say("Chart revenue by month", file(path, "application/zip"))
    [asked] = turn.questions
    assert "Attach a table" in asked
    assert "sales.zip is" in asked


async def test_nobody_says_what_is_not_in_a_file_that_could_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.pdf"
    path.write_bytes(b"%PDF-1.7 no document")
    turn = await Conversation().say("What is the budget?", file(path, "application/pdf"))
    assert "I could not read plan.pdf" in turn.text
    assert "plan.pdf is damaged" in turn.text
    assert "not in the attached files" not in turn.text


def test_long_lists_of_what_was_used_are_cut() -> None:
    used = details("en", [f"{n}.csv" for n in range(20)], [], [])
    assert used.endswith("; 11.csv; +8.")
