"""Turns over what cannot be read, counted or made: the reply says which file or word, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File, JobFailed
from agentpost.agents.deaths import LimitExceeded
from agentpost.agents.offline import steps
from agentpost.agents.offline.making import run
from agentpost.agents.offline.making.chart import making
from agentpost.agents.offline.replying import details
from tests.agents.fakes import FakeJob, file
from tests.agents.offline.conversations import Conversation, frame


async def test_a_number_that_nobody_counts_with_is_named(csv: File) -> None:
    turn = await Conversation().say(f"What is the revenue above {'9' * 400}?", csv)
    [asked] = turn.questions
    assert "9999" in asked


async def test_words_no_picture_says_are_not_invented() -> None:
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


@pytest.mark.parametrize("text", ["Chart revenue by month", "What is the total revenue?"])
async def test_files_that_take_too_much_are_no_reason_to_guess(
    csv: File, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(steps, "survey", exhausted)
    turn = await Conversation().say(text, csv)
    assert not turn.started
    assert "more memory or time than one call may use" in turn.text
    assert "survey" not in turn.text
    assert "surveyed" not in turn.state


async def test_a_question_that_takes_too_much_says_so(
    csv: File, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "ask_tables", exhausted)
    turn = await Conversation().say("What is the total revenue?", csv)
    assert "more memory or time than one call may use" in turn.text
    assert "survey" not in turn.text


async def test_a_job_that_takes_too_much_fails_with_a_text_for_its_reader(
    csv: File, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = await Conversation().say("Chart revenue by month", csv)
    [job] = talk.started
    monkeypatch.setattr(making, "plan", exhausted)
    with pytest.raises(JobFailed, match="more memory or time than one call may use"):
        await run.make(FakeJob(tmp_path), **job.args)


async def test_a_change_that_changes_nothing_starts_nothing(csv: File) -> None:
    talk = Conversation()
    await talk.say("Line chart of revenue by month", csv)
    turn = await talk.say("make the lines thicker and put it into a pdf")
    assert [frame(job).formats for job in turn.started] == [("pdf",)]
    assert "thicker" in " ".join([*turn.replies, *turn.questions])


def exhausted(*args: object, **kwargs: object) -> object:
    """Stands for a function whose worker process was ended at its limit."""
    raise LimitExceeded("agentpost.agents.offline.steps:survey did not finish")
