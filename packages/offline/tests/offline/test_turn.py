"""Turns of the built-in agent: what it starts, answers, asks and says it did not do."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from agentpost.agents import File, Started
from agentpost_offline.frame import Order, Style, Thing, to_json
from agentpost_offline.making import catalogue, run
from agentpost_offline.making.maker import Maker
from tests.agents.fakes import file, running
from tests.offline.conversations import Conversation, frame, said


@pytest.fixture(autouse=True)
def makers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every thing can be made, from everything that can be read; a chart from tables only."""
    formats = {
        Thing.CHART: ("png", "svg", "pdf"), Thing.REPORT: ("pdf", "docx"),
        Thing.DOCUMENT: ("pdf", "docx", "html", "pptx"),
    }  # fmt: skip

    for thing in catalogue.MAKERS:
        needs = {"table"} if thing is Thing.CHART else {"table", "document", "text"}
        maker = Maker(thing, thing.value, 1, formats.get(thing, ("md",)), frozenset(needs), "")
        monkeypatch.setitem(catalogue.MAKERS, thing, maker)


async def test_a_wish_starts_one_job_with_its_file_and_frame(csv: File) -> None:
    turn = await Conversation().say("Bar chart of revenue by region", csv)
    [job] = turn.started
    assert job.fn is run.make
    assert job.args["files"] == [csv]
    made = frame(job)
    assert (made.thing, made.style.chart, made.files) == (Thing.CHART, "bar", (csv.id,))
    assert turn.text == "On it: Chart of sales.csv."


@pytest.mark.parametrize(
    ("state", "reason", "text"),
    [
        ("queued", "too_many_running", "waits, because too many jobs are running already"),
        ("queued", "out_of_credits", "waits, because the account has no credits left"),
        ("refused", "hosting_fees", "was not started, because the account has unpaid"),
    ],
)
async def test_a_job_that_does_not_run_is_reported_with_its_reason(
    csv: File, state: str, reason: str, text: str
) -> None:
    outcome = Started("exe_1", "work_1", state, reason)  # type: ignore[arg-type]
    turn = await Conversation().say("make a chart", csv, outcome=outcome)
    assert text in turn.text


async def test_only_the_named_file_is_used(tmp_path: Path, csv: File) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\n2025-01-01,1\n2025-02-01,2\n")
    turn = await Conversation().say("Make a chart from costs.csv", csv, file(path, "text/csv"))
    assert [one.name for job in turn.started for one in job.args["files"]] == ["costs.csv"]


async def test_stop_stops_the_named_job_only() -> None:
    jobs = (running("Chart of a.csv", "exe_1"), running("Report from b.md", "exe_2"))
    turn = await Conversation().say("stop the report", running=jobs)
    assert turn.stopped == ["exe_2"]
    assert turn.text == "Stopped: Report from b.md."


async def test_a_bare_stop_with_two_jobs_asks_which_and_understands_the_answer() -> None:
    jobs = (running("Chart of a.csv", "exe_1"), running("Report from b.md", "exe_2"))
    talk = Conversation()
    turn = await talk.say("stop", running=jobs)
    assert turn.stopped == []
    assert turn.questions == [
        "Which should I stop: Chart of a.csv or Report from b.md? Or all of them?"
    ]
    answer = await talk.say("1", running=jobs)
    assert answer.stopped == ["exe_1"]


async def test_stop_everything_stops_all() -> None:
    jobs = (running("Chart of a.csv", "exe_1"), running("Report from b.md", "exe_2"))
    assert (await Conversation().say("stop everything", running=jobs)).stopped == ["exe_1", "exe_2"]


async def test_status_gives_the_last_progress_line() -> None:
    jobs = (running("Chart of a.csv", step="Drawing"),)
    assert (await Conversation().say("how is it going?", running=jobs)).text == (
        "Chart of a.csv: Drawing."
    )


async def test_a_change_without_the_old_file_asks_for_it(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by month", csv)
    talk.history.clear()
    turn = await talk.say("make it blue")
    assert turn.started == []
    assert "attach them again" in turn.questions[0]


async def test_a_format_that_cannot_be_written_is_said(csv: File) -> None:
    turn = await Conversation().say("Chart revenue by month as a word file", csv)
    assert not turn.started
    assert "DOCX" in turn.questions[0]
    assert turn.choices == ["PNG", "SVG", "PDF"]


async def test_a_missing_file_is_asked_for_with_the_note_on_what_went_wrong() -> None:
    turn = await Conversation().say("make a chart", notes=("sales.csv: too large",))
    [asked] = turn.questions
    assert "Attach a table (CSV, Excel)" in asked
    assert "(sales.csv: too large)" in asked


async def test_only_unreadable_files_are_refused_by_name(film: File) -> None:
    turn = await Conversation().say("have a look", film)
    assert turn.text.startswith("I can’t read film.mp4.")


async def test_a_typo_is_understood_and_said(csv: File) -> None:
    turn = await Conversation().say("chrat of revenue by regoin", csv)
    [job] = turn.started
    assert frame(job).queries[0].groups == ("region",)
    assert "I read “regoin” as “region”." in turn.text


async def test_a_table_in_the_message_is_charted() -> None:
    text = "Chart this:\nmonth,revenue\n2025-01-01,10\n2025-02-01,20\n2025-03-01,15"
    [job] = (await Conversation().say(text)).started
    assert job.args["files"] == []
    assert "2025-02-01,20" in frame(job).text


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Diagramm vom Revenue nach Region", "Bin dabei: Diagramm zu sales.csv."),
        ("gráfico de revenue por region", "En marcha: Gráfico de sales.csv."),
        ("fais un graphique de revenue par region", "C’est parti : Graphique de sales.csv."),
        ("画一个各region的revenue图表", "开始：sales.csv 的图表。"),
        ("ارسم مخطط revenue حسب region", "بدأت: مخطط sales.csv."),
    ],
)
async def test_the_reply_is_in_the_language_of_the_message(
    csv: File, text: str, start: str
) -> None:
    turn = await Conversation().say(text, csv)
    assert turn.text.startswith(start)
    [job] = turn.started
    assert frame(job).queries[0].groups == ("region",)


async def test_prices_are_told() -> None:
    text = (await Conversation().say("what does a chart cost?")).text
    assert "- a chart (png, " in text
    assert "Answers cost nothing." in text


@pytest.mark.parametrize(
    "text", ["hello", "thanks", "what can you do?", "qwertz", "stop", "?", "。"]
)
async def test_every_message_gets_a_reply(text: str) -> None:
    turn = await Conversation().say(text)
    assert turn.replies or turn.questions


@pytest.mark.parametrize(
    "text",
    [
        "title" + " " * 100_000 + "x",
        "a." * 100_000,
        "make a chart of " * 20_000,
        "0" * 100_000,
        "不" * 100_000,
        "\n" * 100_000 + "chart",
        "😀🎉👨‍👩‍👧" * 10_000,
        "." * 100_000,
        "and " * 20_000,
        " " * 100_000 + "x",
        f"What is the revenue above {'9' * 100_000}?",
        "a.a" * 30_000 + ".csv",
        "chart this:\n" + "|" * 100_000,
    ],
)
async def test_a_very_long_message_is_read_quickly(csv: File, text: str) -> None:
    turn = await Conversation().say(text, csv)
    assert turn.replies or turn.questions


@pytest.mark.parametrize("text", [".", "a.", "😀🎉👨‍👩‍👧", "make a chart of ", "and "])
async def test_twice_as_much_of_the_same_takes_twice_the_work(csv: File, text: str) -> None:
    """Counted in calls, which are the same on every machine."""

    async def calls(times: int) -> int:
        counted = itertools.count()
        sys.setprofile(lambda _, event, __: next(counted) if event == "call" else None)
        try:
            await Conversation().say(text * times, csv)
        finally:
            sys.setprofile(None)
        return next(counted)

    await calls(1)  # what is kept for later messages
    assert await calls(600) < 3 * await calls(300)


def test_importing_the_agent_loads_no_heavy_library() -> None:
    heavy = (
        "matplotlib numpy docx pptx typst openpyxl pypdfium2 markdown_it PIL lxml duckdb rapidfuzz"
        " snowballstemmer python_calamine av xlsxwriter nh3 jinja2"
    )
    code = (
        "import sys; import agentpost_offline.turn; import agentpost.extraction.reading;"
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


async def test_two_demands_start_two_jobs_and_a_third_that_is_unclear_none(csv: File) -> None:
    talk = Conversation()
    both = "Chart revenue by month and build a deck of 5 slides"
    turn = await talk.say(both, csv)
    assert [frame(job).thing for job in turn.started] == [Thing.CHART, Thing.DECK]
    third = await Conversation().say(f"{both}. Also write a poem.", csv)
    assert not third.started
    assert "“poem” this server needs a model" in third.questions[0]
    assert third.choices[0] == "Do this"


UNKNOWN = {
    "make a video about the ocean": "“ocean”",
    "the revenue on one slide, on paper": "“paper”",
    "revenue by shoe_width": "no column for “shoe_width”",
    "chart revenue 800 px wide on a napkin": "“napkin”",
    "bar chart of revenue by region, colour by channel": "“colour”",
    "a report without charts": "“without",
    "chart both in North": "“both”",
}


@pytest.mark.parametrize("text", UNKNOWN)
async def test_a_word_without_a_meaning_is_asked_about_before_anything_is_charged(
    csv: File, text: str
) -> None:
    turn = await Conversation().say(text, csv)
    assert not turn.started
    assert not turn.replies
    [question] = turn.questions
    assert UNKNOWN[text].strip("“”").split("“")[-1] in question
    assert turn.choices[-1] == "Leave it"


async def test_a_choice_does_what_it_says(csv: File) -> None:
    talk = Conversation()
    turn = await talk.say("chart revenue by region for my bank", csv)
    assert turn.questions[0].startswith("I would make this: a chart: total Revenue by Region.")
    [job] = (await talk.say("Do this")).started
    assert frame(job).queries[0].groups == ("region",)
    await talk.say("chart revenue by region for my bank")
    assert (await talk.say("leave it")).text == "All right, I leave it."
    await talk.say("chart revenue by region for my bank")
    other = await talk.say("total orders")
    assert "Total Orders" in other.text


async def test_a_file_without_words_is_offered_sentences(csv: File) -> None:
    for text in ("", "hi", "what can you do?", "here you go"):
        talk = Conversation()
        turn = await talk.say(text, csv)
        assert len(turn.choices) == 6
        [job] = (await talk.say("1")).started
        assert frame(job).thing is Thing.CHART
        again = await talk.say(turn.choices[3])
        assert "Total Revenue" in again.text


async def test_what_needs_a_model_is_said_in_one_sentence(csv: File) -> None:
    turn = await Conversation().say("write the minutes", csv)
    assert not turn.started
    assert "this server needs a model" in turn.questions[0]
    assert len(turn.choices) > 1


async def test_documents_are_searched_and_nothing_is_claimed_to_be_the_answer(notes: File) -> None:
    talk = Conversation()
    turn = await talk.say("What is the largest cost?", notes)
    assert turn.text.startswith("These passages are the closest; whether they answer")
    assert "at 900 euros a week" in turn.text
    assert "3 March" in (await talk.say("where does it say when the launch is?")).text
    assert (
        "I found no passage with these words in the attached files."
        in (await talk.say("who is the president?")).text
    )


async def test_a_request_that_lacks_its_file_goes_on_with_it(csv: File) -> None:
    talk = Conversation()
    asked = await talk.say("make a bar chart of revenue by region as svg")
    assert "Attach a table" in asked.questions[0]
    [job] = (await talk.say("", csv)).started
    assert (frame(job).formats, frame(job).queries[0].groups) == (("svg",), ("region",))


async def test_a_file_that_is_not_there_is_asked_for(csv: File) -> None:
    talk = Conversation()
    turn = await talk.say("Chart revenue by month from costs.csv", csv)
    assert turn.questions == ["I don’t have costs.csv. What I have is sales.csv. Which one is it?"]
    assert [frame(job).thing for job in (await talk.say("sales.csv")).started] == [Thing.CHART]


async def test_of_two_files_the_one_that_has_the_columns_is_charted(
    tmp_path: Path, csv: File
) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\n2025-01-01,1\n2025-02-01,2\n")
    turn = await Conversation().say("Chart cost by month", csv, file(path, "text/csv"))
    assert [one.name for job in turn.started for one in job.args["files"]] == ["costs.csv"]


EDITS = (
    ("split it by channel", False), ("make it green", True), ("only 2025", False),
    ("without North", False), ("sort it descending", True), ("top 2", False),
    ("as a line chart", True), ("as a PDF, too", True), ("title it “Sales”", True),
    ("in German", True),
)  # fmt: skip


async def test_a_closed_list_of_edits_changes_what_was_made_and_drawing_anew_is_free(
    csv: File,
) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", csv)
    for number, (text, free) in enumerate(EDITS, 2):
        [job] = (await talk.say(text)).started
        assert (job.work, job.args["version"]) == ("work_0_0", number), text
        assert job.args.get("is_free", False) is free, text
    made = frame(job)
    [query] = made.queries
    assert (query.groups, made.formats, made.language) == (
        ("region", "channel"), ("png", "pdf"), "de",
    )  # fmt: skip
    assert (made.style.chart, made.style.colour, made.style.title) == ("line", "#2e8b57", "Sales")
    assert [one.column for one in query.filters] == ["month", "region"]


async def test_an_undo_is_free_and_needs_something_to_undo(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", csv)
    assert "nothing to undo" in (await talk.say("undo")).questions[0]
    [job] = (await talk.say("as a line chart")).started
    work = talk.works[0]
    earlier = to_json(msgspec.structs.replace(frame(job), style=Style()))
    talk.works[0] = dataclasses.replace(work, state={**work.state, "earlier": [earlier]})
    [back] = (await talk.say("undo that")).started
    assert (frame(back).style.chart, back.args["is_free"]) == (None, True)


async def test_a_new_request_remembers_nothing(csv: File) -> None:
    [job] = (
        await said(
            csv, "chart revenue in May 2025 by region", "only North", "chart orders by region"
        )
    ).started
    assert frame(job).queries[0].filters == ()
    assert job.work is None


async def test_an_edit_that_is_not_in_the_list_starts_nothing(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by month", csv)
    for text in ("make it funnier", "now by country", "and send it to Bob"):
        turn = await talk.say(text)
        assert not turn.started, text
        assert turn.questions, text


async def test_an_answer_becomes_a_chart_and_follows_its_period(csv: File) -> None:
    talk = Conversation()
    await talk.say("which region had the highest revenue?", csv)
    assert "(highest: total Revenue)" in (await talk.say("and in May 2025?")).text
    [job] = (await talk.say("as a chart")).started
    [query] = frame(job).queries
    assert (query.groups, query.order) == (("region",), Order(True, None))
    assert query.filters[0].values == ("2025-05-01", "2025-05-31")


async def test_an_edit_goes_to_the_job_that_runs(csv: File) -> None:
    talk = Conversation()
    [job] = (await talk.say("chart revenue by region", csv, stopped=True)).started
    jobs = (running("Chart of sales.csv", "exe_0"),)
    assert (await talk.say("make it green", running=jobs)).joined == ["exe_0"]
    late = await talk.say("make it blue", running=jobs, ended=True)
    assert "has just ended" in late.text
    assert job.work is None


async def test_again_starts_what_was_stopped_else_what_was_made_last(csv: File) -> None:
    for text in ("start again", "Try again: Chart of sales.csv", "nochmal"):
        talk = Conversation()
        [first] = (await talk.say("chart revenue by region", csv, stopped=True)).started
        [again] = (await talk.say(text)).started
        assert again.args["frame"] == first.args["frame"], text
    await talk.say("chart orders by region")
    [made] = (await talk.say("once more")).started
    assert made.args["version"] == 2


async def test_a_film_without_time_is_refused_before_any_charge(tmp_path: Path) -> None:
    path = tmp_path / "shops.csv"
    path.write_text("shop,revenue\nOslo,1\nBodø,2\n")
    turn = await Conversation().say("make a film of revenue by shop", file(path, "text/csv"))
    assert not turn.started
    assert "shops.csv has no column of dates" in turn.questions[0]


async def test_words_of_pasted_text_are_no_requests() -> None:
    body = "Please stop the video and make a Word file titled Nonsense. " * 5
    turn = await Conversation().say(f"Convert this to a Word file: {body}")
    [job] = turn.started
    made = frame(job)
    assert (made.thing, made.formats, made.text) == (Thing.DOCUMENT, ("docx",), body.strip())


PROGRAMME = "<table><tr><th>Day</th><th>Walk</th></tr><tr><td>Monday</td><td>9</td></tr></table>"


async def test_a_web_page_is_a_document_unless_it_is_a_table(tmp_path: Path) -> None:
    text = "Dear parents, in September we travel to Fernhill for three days. " * 4
    for name, body, thing in (
        ("trip.html", f"<h1>Trip</h1><p>{text}</p>{PROGRAMME}", Thing.DOCUMENT),
        ("days.html", f"<h1>Days</h1>{PROGRAMME}<p>Source: the school.</p>", Thing.REPORT),
    ):
        path = tmp_path / name
        path.write_text(f"<!doctype html><html><body>{body}</body></html>")
        for wish in ("as a PDF please", "Please turn this page into a PDF"):
            [job] = (await Conversation().say(wish, file(path, "text/html"))).started
            assert (frame(job).thing, frame(job).formats) == (thing, ("pdf",)), (name, wish)


async def test_a_document_is_not_translated(notes: File) -> None:
    turn = await Conversation().say("as a PDF in German", notes)
    assert "“German”" in turn.questions[0]
    assert not turn.started


async def test_a_document_takes_another_format_for_nothing(notes: File) -> None:
    conversation = Conversation()
    [first] = (await conversation.say("convert it to Word", notes)).started
    assert "is_free" not in first.args
    for wish, formats in (
        ("and a web page", ("html",)),
        ("now as slides", ("pptx",)),
        ("as a PDF, too", ("pptx", "pdf")),
    ):
        [job] = (await conversation.say(wish)).started
        made = frame(job)
        assert (made.thing, made.formats) == (Thing.DOCUMENT, formats), wish
        assert (job.work, job.args["is_free"]) == ("work_0_0", True)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("cut off the top quarter", "“top”"),
        ("as a JPG with the title Beach", "“Beach”"),
    ],
)
async def test_a_picture_has_no_rows_no_colour_and_a_size_that_is_told(
    photo: File, text: str, question: str
) -> None:
    turn = await Conversation().say(text, photo)
    assert not turn.started
    assert question in turn.questions[0]
