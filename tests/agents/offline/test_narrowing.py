"""What a later request takes over from an earlier one: nothing, unless it refers back."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File
from agentpost.agents.offline import steps
from tests.agents.fakes import file
from tests.agents.offline.conversations import Conversation, frame, surveyed

MAY = "what was the revenue in May?"
MAY_CHART = "chart of revenue by region in May"


@pytest.fixture(autouse=True)
def surveys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file is read once in all these tests."""
    monkeypatch.setattr(steps, "survey", surveyed)


@pytest.fixture
def small(tmp_path: Path) -> File:
    path = tmp_path / "sales.csv"
    rows = [f"2025-{month:02}-01,{region},{month}" for month in range(1, 9)
            for region in ("North", "South")]  # fmt: skip
    path.write_text("\n".join(["month,region,revenue", *rows]))
    return file(path, "text/csv")


@pytest.mark.parametrize("before", [MAY, MAY_CHART])
@pytest.mark.parametrize(
    "text",
    [
        "write a deck", "make a film", "make a report", "make a chart", "a spreadsheet please",
        "now make a website", "make a chart from this file", "a deck of this table",
        "write a one-page report", "a report about the data", "chart revenue by region",
        "a report as pdf",
    ],
)  # fmt: skip
async def test_a_request_of_its_own_is_about_the_whole_table(
    small: File, before: str, text: str
) -> None:
    talk = Conversation()
    await talk.say(before, small)
    [job] = (await talk.say(text)).started
    assert not [query for query in frame(job).queries if query.filters]


@pytest.mark.parametrize("before", [MAY, MAY_CHART])
@pytest.mark.parametrize(
    "text",
    [
        "a chart of that", "make a report about it", "put that in a deck", "a film of this",
        "turn it into a chart", "as a chart", "now make a chart for that month", "chart it",
        "a chart of these numbers", "that as a spreadsheet",
    ],
)  # fmt: skip
async def test_a_request_that_refers_back_keeps_the_condition(
    small: File, before: str, text: str
) -> None:
    talk = Conversation()
    await talk.say(before, small)
    [job] = (await talk.say(text)).started
    [query] = frame(job).queries
    assert [one.column for one in query.filters] == ["month"]


@pytest.mark.parametrize(
    ("text", "value"), [("and for June?", "12"), ("and in the North?", "5"), ("only North", "5")]
)
async def test_a_fragment_asks_the_same_about_something_else(
    small: File, text: str, value: str
) -> None:
    talk = Conversation()
    await talk.say(MAY, small)
    assert f": {value}." in (await talk.say(text)).text


@pytest.mark.parametrize(
    ("before", "text", "groups", "chart"),
    [
        ("revenue by region", "as a pie chart", ("region",), "donut"),
        ("which region has the most revenue?", "chart the top 2", ("region",), None),
        ("compare North and South", "as a chart", ("region",), None),
    ],
)
async def test_an_answer_becomes_a_picture_of_what_it_compares(
    small: File, before: str, text: str, groups: tuple[str, ...], chart: str | None
) -> None:
    talk = Conversation()
    await talk.say(before, small)
    [job] = (await talk.say(text)).started
    [query] = frame(job).queries
    assert (query.groups, frame(job).style.chart) == (groups, chart)
    assert [one.derived for one in query.measures] == [None]


async def test_which_one_is_best_is_about_what_was_listed(small: File) -> None:
    talk = Conversation()
    await talk.say("revenue by month", small)
    assert (await talk.say("which one is best?")).text.startswith("August 2025: 16 (highest")


async def test_a_question_after_a_deck_is_answered(small: File) -> None:
    talk = Conversation()
    await talk.say("make a deck", small)
    turn = await talk.say("growth of revenue")
    assert not turn.started
    assert "January 2025 and August 2025" in turn.text


async def test_a_declined_question_is_left(small: File) -> None:
    talk = Conversation()
    await talk.say("make a chart of profit", small)
    assert (await talk.say("never mind")).text == "All right, I leave it."
