"""Turns of the built-in agent: what it starts, answers, asks and says it did not do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentpost.agents import File, Started
from agentpost.agents.offline.frame import Thing
from agentpost.agents.offline.making import catalogue, run
from agentpost.agents.offline.making.maker import Maker
from tests.agents.fakes import file, running
from tests.agents.offline.conversations import Conversation, frame


@pytest.fixture(autouse=True)
def makers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every thing can be made, from everything that can be read; a chart from tables only."""
    formats = {Thing.CHART: ("png", "svg", "pdf"), Thing.REPORT: ("pdf", "docx")}

    def maker(thing: Thing) -> Maker | None:
        if thing not in catalogue.MAKERS:
            return None
        needs = {"table"} if thing is Thing.CHART else {"table", "document", "text"}
        return Maker(thing, thing.value, 1, formats.get(thing, ("md",)), frozenset(needs), "")

    monkeypatch.setattr(catalogue, "maker", maker)


async def test_a_wish_starts_one_job_with_its_file_and_frame(csv: File) -> None:
    turn = await Conversation().say("Bar chart of revenue by region", csv)
    [job] = turn.started
    assert job.fn is run.make
    assert job.args["files"] == [csv]
    made = frame(job)
    assert (made.thing, made.style.chart, made.files) == (Thing.CHART, "bar", (csv.id,))
    assert turn.text == "On it: Chart of sales.csv."


async def test_several_wishes_start_several_jobs_and_the_rest_is_named(csv: File) -> None:
    turn = await Conversation().say(
        "Chart revenue by month and build a deck of 5 slides. Also write a poem.", csv
    )
    assert [frame(job).thing for job in turn.started] == [Thing.CHART, Thing.DECK]
    assert "write a poem" in turn.text
    assert "LLM agent" in turn.text


async def test_files_that_do_not_fit_are_named(csv: File, notes: File) -> None:
    turn = await Conversation().say("make a chart", csv, notes)
    assert len(turn.started) == 1
    assert "Not used: notes.md." in turn.text


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


async def test_a_file_without_a_wish_leads_to_a_question_and_its_answer_to_the_job(
    csv: File,
) -> None:
    talk = Conversation()
    first = await talk.say("here you go", csv)
    assert not first.replies
    [question] = first.questions
    assert question.startswith("What should I do with sales.csv? I can make a chart, ")
    second = await talk.say("the first")
    assert [frame(job).thing for job in second.started] == [Thing.CHART]
    assert "asked" not in second.state


async def test_a_table_question_is_computed_over_the_whole_file(csv: File) -> None:
    talk = Conversation()
    turn = await talk.say("What was the total revenue in May 2025?", csv)
    assert "2,000" in turn.text
    assert "May 2025" in turn.text
    assert "sales.csv" in turn.text
    june = await talk.say("and in June?")
    assert "2,400" in june.text


async def test_an_answer_cites_its_place_and_a_follow_up_uses_the_same_file(notes: File) -> None:
    talk = Conversation()
    turn = await talk.say("What is the largest cost?", notes)
    assert "at 900 euros a week" in turn.text
    assert "notes.md" in turn.text
    assert "3 March" in (await talk.say("When is the launch?")).text


async def test_a_question_the_documents_do_not_answer_gets_told_so(notes: File) -> None:
    turn = await Conversation().say("Who is the chief executive?", notes)
    assert "That is not in the attached files." in turn.text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Chart cost by month", "“cost”"),
        ("chart profit", "“profit”"),
        ("Plot cost against margin", "“cost” or “margin”"),
        ("Chart revenue for Atlantis", "“Atlantis”"),
        ("Make a chart of temperature", "“temperature”"),
        ("bar chart of revenue by salesperson", "“salesperson”"),
        ("Write a report about cost by region", "“cost”"),
        ("make a video about the ocean", "“ocean”"),
        ("what is the profit by region?", "“profit”"),
    ],
)
async def test_a_column_the_table_has_not_is_asked_about(csv: File, text: str, named: str) -> None:
    turn = await Conversation().say(text, csv)
    assert not turn.started
    [asked] = turn.questions
    assert asked.startswith("sales.csv has no ")
    assert named in asked


async def test_the_answer_to_the_question_is_made(csv: File) -> None:
    talk = Conversation()
    await talk.say("Chart cost by month", csv)
    second = await talk.say("revenue")
    [job] = second.started
    [query] = frame(job).queries
    assert [measure.column for measure in query.measures] == ["revenue"]
    assert query.time == "month"


@pytest.mark.parametrize("text", ["thanks", "what columns are there?", "help"])
async def test_a_message_that_is_no_answer_makes_nothing(csv: File, text: str) -> None:
    talk = Conversation()
    await talk.say("Chart cost by month", csv)
    assert not (await talk.say(text)).started


async def test_only_the_named_file_is_used(tmp_path: Path, csv: File) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\n2025-01-01,1\n2025-02-01,2\n")
    turn = await Conversation().say("Make a chart from costs.csv", csv, file(path, "text/csv"))
    assert [one.name for job in turn.started for one in job.args["files"]] == ["costs.csv"]


async def test_of_two_files_the_one_that_has_it_is_charted(tmp_path: Path, csv: File) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\n2025-01-01,1\n2025-02-01,2\n")
    turn = await Conversation().say("Chart cost by month", csv, file(path, "text/csv"))
    assert [one.name for job in turn.started for one in job.args["files"]] == ["costs.csv"]


@pytest.mark.parametrize("text", ["Chart costs.csv by month", "How many rows are in costs.csv?"])
async def test_a_file_that_is_not_there_is_asked_for(csv: File, text: str) -> None:
    turn = await Conversation().say(text, csv)
    assert not turn.started
    assert turn.questions == ["I don’t have costs.csv. What I have is sales.csv. Which one is it?"]


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
    answer = await talk.say("the chart", running=jobs)
    assert answer.stopped == ["exe_1"]


async def test_stop_everything_stops_all() -> None:
    jobs = (running("Chart of a.csv", "exe_1"), running("Report from b.md", "exe_2"))
    assert (await Conversation().say("stop everything", running=jobs)).stopped == ["exe_1", "exe_2"]


async def test_status_gives_the_last_progress_line() -> None:
    jobs = (running("Chart of a.csv", step="Drawing"),)
    assert (await Conversation().say("how is it going?", running=jobs)).text == (
        "Chart of a.csv: Drawing."
    )


async def test_a_change_goes_to_the_running_job_or_says_that_it_ended() -> None:
    jobs = (running("Chart of sales.csv"),)
    turn = await Conversation().say("make it a line chart", running=jobs)
    assert turn.joined == ["exe_1"]
    late = await Conversation().say("make it blue", running=jobs, ended=True)
    assert "has just ended" in late.text


async def test_a_new_wish_is_not_joined_to_running_work(notes: File) -> None:
    jobs = (running("Chart of sales.csv"),)
    turn = await Conversation().say("build a deck", notes, running=jobs)
    assert not turn.joined
    assert [frame(job).thing for job in turn.started] == [Thing.DECK]


async def test_a_change_is_a_new_version_of_the_same_work(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by month", csv)
    [job] = (await talk.say("make it a line chart")).started
    assert (job.work, job.args["files"], job.args["version"]) == ("work_0_0", [csv], 2)
    made = frame(job)
    assert (made.style.chart, made.queries[0].time) == ("line", "month")


async def test_a_change_reaches_an_older_work_with_its_own_files(csv: File, notes: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by month", csv)
    await talk.say("make a deck from this", notes)
    [job] = (await talk.say("split the chart by channel")).started
    assert (job.work, job.args["files"]) == ("work_0_0", [csv])
    assert frame(job).queries[0].groups == ("channel",)


async def test_a_change_without_the_old_file_asks_for_it(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by month", csv)
    talk.history.clear()
    turn = await talk.say("make it blue")
    assert turn.started == []
    assert "attach them again" in turn.questions[0]


async def test_a_change_that_is_not_understood_is_said(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by month", csv)
    turn = await talk.say("make it funnier")
    assert not turn.started
    assert "“make it funnier”" in turn.text
    lacking = await talk.say("now by country")
    assert "sales.csv has no “country”" in lacking.questions[0]


async def test_a_format_that_cannot_be_written_is_said(csv: File) -> None:
    turn = await Conversation().say("Chart revenue by month as a word file", csv)
    assert not turn.started
    assert "DOCX" in turn.text


async def test_free_invention_is_declined_with_the_way_to_it() -> None:
    for text in ("write a poem about spring", "make a deck about the ocean", "compose a song"):
        turn = await Conversation().say(text)
        assert not turn.started
        assert "LLM agent" in turn.text


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


async def test_words_of_pasted_text_are_no_wishes() -> None:
    body = "Please stop the video and make a Word file titled Nonsense. " * 5
    turn = await Conversation().say(f"Write a report from this text: {body}")
    [job] = turn.started
    made = frame(job)
    assert (made.thing, made.formats, made.text) == (Thing.REPORT, (), body.strip())


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
    ],
)
async def test_a_very_long_message_is_read_quickly(text: str) -> None:
    turn = await Conversation().say(text)
    assert turn.replies or turn.questions


def test_importing_the_agent_loads_no_heavy_library() -> None:
    heavy = (
        "matplotlib numpy docx pptx typst openpyxl pypdfium2 markdown_it PIL lxml duckdb rapidfuzz"
        " snowballstemmer python_calamine av xlsxwriter nh3 jinja2"
    )
    code = (
        "import sys; import agentpost.agents.offline.turn; import agentpost.extraction.reading;"
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
