"""The planner: what a sentence means, given files, running jobs and what was made before."""

from __future__ import annotations

from typing import Any

import pytest

from agentpost.agents.offline import wording
from agentpost.agents.offline.planner import FileKind, Request, inline_text, offered, plan

DATA: tuple[FileKind, ...] = ("data",)
DOC: tuple[FileKind, ...] = ("document",)
BOTH: tuple[FileKind, ...] = ("data", "document")
PICTURE: tuple[FileKind, ...] = ("other",)
NONE: tuple[FileKind, ...] = ()

MAKES = [
    ("Make a chart of revenue by region", DATA, ("chart",)),
    ("Chart revenue by region", DATA, ("chart",)),
    ("please plot orders over time", DATA, ("chart",)),
    ("Can you draw me a line chart of this data?", DATA, ("chart",)),
    ("bar chart please", DATA, ("chart",)),
    ("Pie chart of orders by region", DATA, ("chart",)),
    ("I need a graph showing cost per month", DATA, ("chart",)),
    ("Turn this into a chart", DATA, ("chart",)),
    ("put the numbers in a bar chart", DATA, ("chart",)),
    ("Visualise the attached sales", DATA, ("chart",)),
    ("Create a chart from the attached report", BOTH, ("chart",)),
    ("make a sales report chart", DATA, ("chart",)),
    ("histogram of prices", DATA, ("chart",)),
    ("draw revenue by month", DATA, ("chart",)),
    ("make an image of the chart", DATA, ("chart",)),
    ("Write a report based on the attached notes", DOC, ("report",)),
    ("Turn notes.md into a PDF", DOC, ("report",)),
    ("convert this to a word document", DOC, ("report",)),
    ("PDF please", DOC, ("report",)),
    ("Report with the charts described in the file", DOC, ("report",)),
    ("write a report about this data", DATA, ("report",)),
    ("Make a report from the summary", DOC, ("report",)),
    ("Prepare a report and a chart", DATA, ("report", "chart")),
    ("Summarise this", DOC, ("summary",)),
    ("Summarize the attached report in three sentences", DOC, ("summary",)),
    ("give me a summary of the document", DOC, ("summary",)),
    ("tl;dr", DOC, ("summary",)),
    ("What are the key points?", DOC, ("summary",)),
    ("what is this document about?", DOC, ("summary",)),
    ("overview of the data please", DATA, ("summary",)),
]


@pytest.mark.parametrize(("text", "files", "makes"), MAKES)
def test_things_to_make_are_reported_by_the_object_of_the_verb(
    text: str, files: tuple[FileKind, ...], makes: tuple[str, ...]
) -> None:
    found = plan(Request(text, files))
    assert (found.action, found.makes) == ("make", makes)


OTHERS = [
    ("how many orders were there in May?", DATA, "answer"),
    ("How many orders were there in May?", BOTH, "answer"),
    ("total revenue by region", DATA, "answer"),
    ("give me the total revenue by region", DATA, "answer"),
    ("show me revenue per month", DATA, "answer"),
    ("Who is the CEO?", DOC, "answer"),
    ("What does the report say about costs?", DOC, "answer"),
    ("which chart shows the costs?", DOC, "answer"),
    ("When was the deck presented?", DOC, "answer"),
    ("find the delivery date", DOC, "answer"),
    ("Who wrote the report?", DOC, "answer"),
    ("Is there a video in the plan?", DOC, "answer"),
    ("Here is the file", DATA, "ask_what"),
    ("sales.csv", DATA, "ask_what"),
    ("see attached", DOC, "ask_what"),
    ("look at this", PICTURE, "unusable"),
    ("Make a chart", NONE, "need"),
    ("Make a chart of the report", DOC, "need"),
    ("write a report about the ocean", NONE, "need"),
    ("Summarise", NONE, "need"),
    ("How many orders in May?", NONE, "need"),
    ("What can you do?", NONE, "help"),
    ("help", DATA, "help"),
    ("blah blah", NONE, "help"),
    ("Hello!", NONE, "hello"),
    ("hi there", NONE, "hello"),
    ("thanks!", NONE, "thanks"),
    ("stop", NONE, "nothing_runs"),
    ("Stop the video", NONE, "nothing_runs"),
    ("how is it going?", NONE, "status"),
    ("Is it done?", NONE, "status"),
]


@pytest.mark.parametrize(("text", "files", "action"), OTHERS)
def test_questions_control_and_small_talk(
    text: str, files: tuple[FileKind, ...], action: str
) -> None:
    assert plan(Request(text, files)).action == action


CANNOT = [
    ("video about the ocean", NONE, "videos"),
    ("Make a video about the ocean", NONE, "videos"),
    ("image of a cat", NONE, "pictures"),
    ("draw a cat", NONE, "pictures"),
    ("Make a deck from the attached report", DOC, "slide decks"),
    ("create a presentation with a chart", DATA, "slide decks"),
    ("build me a website from these files", DOC, "websites"),
    ("Can you make podcasts?", NONE, "sound"),
    ("turn the report into slides", DOC, "slide decks"),
    ("write a poem about spring", NONE, "a poem"),
    ("translate this to French", DOC, ""),
    ("export it as excel", DATA, "spreadsheets"),
]


@pytest.mark.parametrize(("text", "files", "subject"), CANNOT)
def test_what_it_cannot_make_is_said_and_not_taken_for_something_else(
    text: str, files: tuple[FileKind, ...], subject: str
) -> None:
    found = plan(Request(text, files))
    assert (found.action, found.subject) == ("cannot", subject)


RUNNING = ("Chart of sales.csv", "Report on notes.md")
CONTROL: list[tuple[str, tuple[str, ...], str, tuple[int, ...]]] = [
    ("stop", RUNNING[:1], "stop", (0,)),
    ("Please stop the chart", RUNNING, "stop", (0,)),
    ("cancel the report", RUNNING, "stop", (1,)),
    ("stop everything", RUNNING, "stop", (0, 1)),
    ("Stop", RUNNING, "which_stop", ()),
    ("never mind", RUNNING[:1], "stop", (0,)),
    ("status?", RUNNING, "status", ()),
    ("how far are you", RUNNING, "status", ()),
    ("make it a line chart", RUNNING[:1], "join", ()),
    ("also use euros please", RUNNING[:1], "join", ()),
    ("and title it Results", RUNNING[1:], "join", ()),
    ("How do I stop smoking according to the file?", RUNNING[:1], "answer", ()),
]


@pytest.mark.parametrize(("text", "running", "action", "which"), CONTROL)
def test_control_of_running_work_comes_first(
    text: str, running: tuple[str, ...], action: str, which: tuple[int, ...]
) -> None:
    found = plan(Request(text, earlier=DATA, running=running))
    assert (found.action, found.which) == (action, which)


CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("make it a line chart", "chart", {"kind": "line"}),
    ("make it blue", "chart", {"color": "#1f5fa8"}),
    ("Pie instead", "chart", {"kind": "pie"}),
    ("as a bar chart please", "chart", {"kind": "bar"}),
    ("now by region", "chart", {}),
    ("only the top 5", "chart", {"top": 5}),
    ("title it Sales 2025", "chart", {"title": "Sales 2025"}),
    ("turn it into a pie chart", "chart", {"kind": "pie"}),
    ("only the pdf", "report", {"formats": ["pdf"]}),
    ("change the title to Annual Review", "report", {"title": "Annual Review"}),
    ("shorter please", "summary", {"count": 3}),
]


@pytest.mark.parametrize(("text", "made", "options"), CHANGES)
def test_changes_go_to_what_was_made_last(text: str, made: str, options: dict[str, Any]) -> None:
    found = plan(Request(text, earlier=DATA, made=made))
    assert (found.action, found.makes, found.options) == ("revise", (made,), options)


def test_a_change_it_cannot_make_is_not_swallowed() -> None:
    assert plan(Request("make it funnier", made="chart")).action == "unclear_change"


def test_another_thing_after_a_chart_is_made_and_not_revised() -> None:
    found = plan(Request("make it a report", earlier=DATA, made="chart"))
    assert (found.action, found.makes) == ("make", ("report",))


@pytest.mark.parametrize(
    ("text", "makes"),
    [("Chart", "chart"), ("the first", "chart"), ("2", "report"), ("a summary", "summary")],
)
def test_a_short_answer_to_our_question_is_understood(text: str, makes: str) -> None:
    found = plan(Request(text, earlier=DATA, asked="what"))
    assert (found.action, found.makes) == ("make", (makes,))


def test_the_answer_to_which_to_stop_stops_only_that() -> None:
    found = plan(Request("the report", running=RUNNING, asked="stop"))
    assert (found.action, found.which) == ("stop", (1,))


def test_a_request_for_new_work_is_not_joined_to_running_work() -> None:
    found = plan(Request("write a report", files=DOC, running=RUNNING[:1]))
    assert (found.action, found.makes) == ("make", ("report",))


def test_text_in_the_message_is_a_source_for_reports() -> None:
    body = "The harbour was busy. " * 10
    found = plan(Request(f"Make a PDF report from this text:\n{body}"))
    assert (found.action, found.makes) == ("make", ("report",))
    assert found.options == {"report": {"formats": ["pdf"]}}
    assert inline_text(f"Make a report:\n{body}") == body.strip()


def test_words_of_the_text_that_comes_along_are_no_wishes() -> None:
    body = "Please stop the video and make a Word file titled Nonsense. " * 5
    found = plan(Request(f"Report from this text: {body}"))
    assert (found.action, found.makes, found.options) == ("make", ("report",), {"report": {}})


def test_a_very_long_message_is_planned_quickly() -> None:
    assert plan(Request("turn to as in make a " * 20_000)).action in ("help", "cannot", "need")


@pytest.mark.parametrize(
    "text", ["title" + " " * 100_000 + "x", "a." * 100_000, "title it " * 20_000]
)
def test_a_very_long_change_is_read_quickly(text: str) -> None:
    # Without a bound each of these takes minutes, on the loop that all agents share.
    for read in (wording.chart_options, wording.report_options, wording.summary_options):
        assert read(text).keys() <= {"title", "count", "formats"}
    plan(Request(text, made="report"))


def test_only_what_fits_the_files_is_offered() -> None:
    assert offered(DATA) == ("chart", "report", "summary")
    assert offered(DOC) == ("report", "summary")
    assert offered(PICTURE) == ()
