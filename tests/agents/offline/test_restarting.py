"""What was stopped or has failed is started again: the same request with the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File, Started
from agentpost.agents.offline import steps
from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.understanding.reading import wish
from tests.agents.fakes import file, running, said
from tests.agents.offline.conversations import Conversation, frame, surveyed

AGAIN = {
    "en": (
        "start again", "try again", "again", "once more", "restart", "do it again", "retry",
        "continue", "please try that again", "start over", "run it again", "redo it", "resume",
        "make it again", "one more time please", "can you try again?", "ok, again",
        "repeat that", "carry on", "start it again",
    ),
    "de": ("nochmal", "noch einmal bitte", "starte neu", "versuch es noch einmal", "weiter"),
    "es": ("otra vez", "inténtalo de nuevo", "empieza de nuevo", "continúa"),
    "fr": ("encore une fois", "recommence", "réessaie", "relance le"),
    "zh": ("再试一次", "重新开始", "继续", "请再来一次"),
    "ar": ("حاول مرة أخرى", "من جديد", "استمر", "ابدأ من جديد"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def surveys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file is read once in all these tests."""
    monkeypatch.setattr(steps, "survey", surveyed)


@pytest.fixture
def small(tmp_path: Path) -> File:
    path = tmp_path / "sales.csv"
    path.write_text("month,region,revenue\n2025-01-01,North,10\n2025-02-01,South,30\n")
    return file(path, "text/csv")


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for code, texts in AGAIN.items() for text in texts]
)
def test_the_words_for_again_are_known(language: str, text: str) -> None:
    assert wish(text, language).intent.control == "again"


@pytest.mark.parametrize(
    "text",
    [
        "what was the revenue again?",
        "start date by region",
        "continue by month",
    ],
)
def test_other_uses_of_the_words_are_no_restart(text: str) -> None:
    assert wish(text).intent.control is None


async def test_a_stopped_request_is_started_again_whole(small: File) -> None:
    talk = Conversation()
    first = await talk.say("Red bar chart of revenue by region as pdf", small, stopped=True)
    again = await talk.say("start again")
    [job], [before] = again.started, first.started
    assert job.args == before.args
    assert (job.title, job.work) == (before.title, "work_0_0")
    assert again.text == "On it: Chart of sales.csv."


async def test_a_stopped_change_is_made_again_as_the_same_version(small: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", small)
    changed = await talk.say("make it red", stopped=True)
    [job] = (await talk.say("try again")).started
    assert (job.args, job.work) == (changed.started[0].args, "work_0_0")
    assert job.args["version"] == 2


async def test_stopped_by_a_word_and_started_by_a_word(small: File) -> None:
    talk = Conversation()
    await talk.say("make a film", small, stopped=True)
    await talk.say("stop", running=(running("Video from sales.csv", "exe_0"),))
    [job] = (await talk.say("again")).started
    assert frame(job).thing is Thing.VIDEO


@pytest.mark.parametrize("text", ["again as a line chart", "try again, as a line chart"])
async def test_it_is_started_again_differently(small: File, text: str) -> None:
    talk = Conversation()
    await talk.say("Red bar chart of revenue by region", small, stopped=True)
    [job] = (await talk.say(text)).started
    made = frame(job)
    assert (made.style.chart, made.style.colour) == ("line", "#c0392b")
    assert (made.queries[0].groups, job.args["version"]) == (("region",), 1)


async def test_the_thing_that_is_named_is_started_again(small: File) -> None:
    talk = Conversation()
    await talk.say("make a deck", small, stopped=True)
    await talk.say("chart revenue by region", small, stopped=True)
    [deck] = (await talk.say("make the deck again")).started
    assert frame(deck).thing is Thing.DECK
    [chart] = (await talk.say("again", stopped=True)).started
    assert frame(chart).thing is Thing.CHART


@pytest.mark.parametrize("text", ["again", "make the chart again", "once more please"])
async def test_what_is_finished_is_made_once_more(small: File, text: str) -> None:
    talk = Conversation()
    first = await talk.say("Red bar chart of revenue by region", small)
    again = await talk.say(text)
    [job], [before] = again.started, first.started
    assert (job.work, job.args["version"]) == ("work_0_0", 2)
    assert {**job.args, "version": 1} == before.args
    assert again.text == "On it: Chart of sales.csv."


async def test_with_other_words_what_is_finished_is_made_once_more_differently(small: File) -> None:
    talk = Conversation()
    await talk.say("Red bar chart of revenue by region", small)
    [job] = (await talk.say("again as a line chart")).started
    assert (frame(job).style.chart, frame(job).style.colour) == ("line", "#c0392b")


@pytest.mark.parametrize("text", ["continue", "resume", "carry on", "start"])
async def test_finished_work_cannot_be_continued(small: File, text: str) -> None:
    talk = Conversation()
    await talk.say("make a deck", small)
    turn = await talk.say(text)
    assert not turn.started
    assert turn.text.startswith("Deck from sales.csv is finished; nothing was stopped")


FOLLOW_UPS = {
    "and as a bar chart, please": ("bar", None, 0, ()),
    "make it red": ("line", "#c0392b", 0, ()),
    "only North": ("line", None, 1, ()),
    "as pdf too": ("line", None, 0, ("png", "pdf")),
}
"""What they make of a line chart: its kind, colour, number of filters and formats."""


@pytest.mark.parametrize("failed", ["job", "refused", "turn"])
@pytest.mark.parametrize(("text", "made"), FOLLOW_UPS.items())
async def test_a_follow_up_completes_what_failed(
    small: File, failed: str, text: str, made: tuple[object, ...]
) -> None:
    talk, first = Conversation(), "Line chart of revenue by region"
    if failed == "turn":
        talk.history.append(said(first, small))
    else:
        refused = Started("", "", "refused", "out_of_credits")
        outcome = refused if failed == "refused" else None
        await talk.say(first, small, stopped=True, outcome=outcome)
    [job] = (await talk.say(text)).started
    wanted = frame(job)
    assert (wanted.thing, wanted.queries[0].groups) == (Thing.CHART, ("region",))
    filters = len(wanted.queries[0].filters)
    assert (wanted.style.chart, wanted.style.colour, filters, wanted.formats) == made


@pytest.mark.parametrize("failed", [True, False])
async def test_what_a_follow_up_to_a_failure_leaves_out_is_said(small: File, failed: bool) -> None:
    talk = Conversation()
    if failed:
        talk.history.append(said("Line chart of revenue by region", small))
    else:
        await talk.say("Line chart of revenue by region", small, stopped=True)
    turn = await talk.say("and the same by weather")
    assert "Not used of what you said" in turn.text or not turn.started
    assert "weather" in turn.text


@pytest.mark.parametrize("text", ["make a deck", "what is the total revenue?", "revenue by month"])
async def test_a_request_of_its_own_after_a_failure_stays_one(small: File, text: str) -> None:
    for stopped in (True, False):
        talk = Conversation()
        if stopped:
            await talk.say("Line chart of revenue by region", small, stopped=True)
        else:
            talk.history.append(said("Line chart of revenue by region", small))
        turn = await talk.say(text)
        assert [frame(job).thing for job in turn.started] == [Thing.DECK] * ("deck" in text)


async def test_one_of_several_is_named_by_its_title(small: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", small, stopped=True)
    await talk.say("make a deck", small, stopped=True)
    [job] = (await talk.say("Try again: Chart of sales.csv")).started
    assert (job.work, frame(job).queries[0].groups) == ("work_0_0", ("region",))


async def test_a_new_one_is_made_when_nothing_of_the_kind_was_stopped(small: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", small)
    [job] = (await talk.say("make a chart again")).started
    assert frame(job).thing is Thing.CHART


async def test_a_refused_request_is_started_again(small: File) -> None:
    talk = Conversation()
    refused = Started("", "", "refused", "out_of_credits")
    await talk.say("chart revenue by region", small, outcome=refused)
    [job] = (await talk.say("try again")).started
    assert (job.work, frame(job).queries[0].groups) == (None, ("region",))
    [more] = (await talk.say("again")).started
    assert more.work is not None
    assert more.args["version"] == 2, "what was made, once more"


async def test_what_waits_is_not_started_twice(small: File) -> None:
    talk = Conversation()
    waits = Started("exe_0", "work_0_0", "queued", "too_many_running")
    await talk.say("chart revenue by region", small, outcome=waits)
    turn = await talk.say("try again")
    assert not turn.started
    assert turn.text.startswith("Chart of sales.csv still waits")
    talk.history.append(said("", role="job"))
    talk.history[-1] = talk.history[-1].__class__("job", "", (), "2026", "msg_0")
    assert (await talk.say("try again")).started


async def test_what_runs_is_told_and_not_started_twice(small: File) -> None:
    talk = Conversation()
    await talk.say("make a film", small, stopped=True)
    turn = await talk.say(
        "continue", running=(running("Video from sales.csv", "exe_0", "Drawing"),)
    )
    assert not turn.started
    assert turn.text == "Video from sales.csv: Drawing."


async def test_without_anything_to_start_again_it_says_what_it_can_do() -> None:
    turn = await Conversation().say("start again")
    assert turn.text.startswith("There is nothing to start again: nothing was stopped")
    assert "- a chart (png, " in turn.text


async def test_a_message_whose_turn_failed_is_done_again(small: File) -> None:
    talk = Conversation()
    talk.history.append(said("Bar chart of revenue by region", small))
    [job] = (await talk.say("try again")).started
    assert (frame(job).style.chart, job.args["files"]) == ("bar", [small])


async def test_an_answered_question_is_answered_again(small: File) -> None:
    talk = Conversation()
    await talk.say("what was the total revenue?", small)
    assert "40" in (await talk.say("again")).text


async def test_a_long_text_is_found_again() -> None:
    body = "The launch is on 3 March. It needs two vans and a driver for each. " * 400
    talk = Conversation()
    first = await talk.say(f"Write a report from this text: {body}", stopped=True)
    [job] = (await talk.say("again")).started
    assert job.args == first.started[0].args
    assert len(str(talk.state["requests"])) < 20_000
