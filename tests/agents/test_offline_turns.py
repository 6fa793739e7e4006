"""Turns of the offline agent: what it starts, says and asks, and what it remembers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentpost.agents import File, Started, WorkRef
from agentpost.agents.offline import agent, jobs
from tests.agents.fakes import FakeTurn, file, running, said

NOTES = """# Plan

The launch is on 3 March. It needs two vans.

## Costs

The largest cost is the vans, at 900 euros a week. Fuel is included in this price.
"""


@pytest.fixture
def csv(tmp_path: Path) -> File:
    path = tmp_path / "sales.csv"
    rows = [f"2025-{m:02d}-01,{r},{10 * m}" for m in range(1, 7) for r in ("North", "South")]
    path.write_text("\n".join(["month,region,revenue_k", *rows]))
    return file(path, "text/csv")


@pytest.fixture
def notes(tmp_path: Path) -> File:
    path = tmp_path / "notes.md"
    path.write_text(NOTES)
    return file(path, "text/markdown")


@pytest.fixture
def photo(tmp_path: Path) -> File:
    path = tmp_path / "photo.png"
    path.write_bytes(b"\x89PNG")
    return file(path, "image/png")


def chart_work(csv: File, **options: object) -> WorkRef:
    state = {"kind": "chart", "files": [csv.id], "version": 1, "options": {**options}}
    return WorkRef("work_7", "Chart of sales.csv", "Done.", (), None, state)  # type: ignore[arg-type]


async def test_a_chart_request_starts_a_job_with_the_file_and_the_wording(csv: File) -> None:
    turn = FakeTurn(said("Bar chart of revenue by region", csv))
    await agent(turn)
    [job] = turn.started
    assert job.fn is jobs.chart
    assert job.args["file"] == csv
    assert job.args["options"] == {"wording": ["Bar chart of revenue by region"], "kind": "bar"}
    assert turn.text == "On it: chart of sales.csv."


async def test_files_that_do_not_fit_are_named(csv: File, notes: File) -> None:
    turn = FakeTurn(said("make a chart", csv, notes))
    await agent(turn)
    assert len(turn.started) == 1
    assert "Not used for the chart: notes.md." in turn.text


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
    turn = FakeTurn(said("make a chart", csv))
    turn.outcome = Started("exe_1", "work_1", state, reason)  # type: ignore[arg-type]
    await agent(turn)
    assert text in turn.text


async def test_a_file_without_a_wish_leads_to_a_question_and_its_answer_to_the_job(
    csv: File,
) -> None:
    first = FakeTurn(said("here you go", csv))
    await agent(first)
    assert not first.replies
    [question] = first.questions
    assert question.startswith("What should I do with sales.csv? I can make a chart, a report")
    second = FakeTurn(said("Chart"), history=[said("here you go", csv)], state=first.state)
    await agent(second)
    assert [job.args["file"] for job in second.started] == [csv]
    assert "asked" not in second.state


async def test_a_table_question_is_computed(csv: File) -> None:
    turn = FakeTurn(said("What is the total revenue in May?", csv))
    await agent(turn)
    assert "Total Revenue (k) for May: 100 (from 2 rows). [sales.csv]" in turn.text
    assert "Read: sales.csv (12 rows)." in turn.text


async def test_an_answer_cites_its_place_and_a_follow_up_uses_the_same_file(notes: File) -> None:
    turn = FakeTurn(said("What is the largest cost?", notes))
    await agent(turn)
    assert "at 900 euros a week. [notes.md > Costs, line 7]" in turn.text
    again = FakeTurn(said("When is the launch?"), history=[turn.message])
    await agent(again)
    assert "3 March. [notes.md > Plan, line 3]" in again.text


async def test_what_is_not_in_the_files_is_said(notes: File, photo: File) -> None:
    turn = FakeTurn(said("Who is the chief executive?", notes, photo))
    await agent(turn)
    assert turn.text.startswith("That is not in the attached files.")
    assert "Read: notes.md" in turn.text


async def test_a_summary_is_a_reply_and_can_be_made_shorter(notes: File) -> None:
    turn = FakeTurn(said("Summarise this in three sentences", notes))
    await agent(turn)
    assert turn.text.count("- ") == 3
    shorter = FakeTurn(said("shorter"), history=[turn.message], state=turn.state)
    await agent(shorter)
    assert shorter.text.count("- ") == 1


async def test_a_damaged_file_is_skipped_by_name(tmp_path: Path, notes: File) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing")
    turn = FakeTurn(said("What is the largest cost?", notes, file(broken)))
    await agent(turn)
    assert "Not used: broken.pdf is damaged." in turn.text


async def test_stop_stops_the_named_job_only() -> None:
    jobs_running = [running("Chart of a.csv", "exe_1"), running("Report from b.md", "exe_2")]
    turn = FakeTurn(said("stop the report"), running=jobs_running)
    await agent(turn)
    assert turn.stopped == ["exe_2"]
    assert turn.text == "Stopped: Report from b.md."


async def test_a_bare_stop_with_two_jobs_asks_which_and_understands_the_answer() -> None:
    jobs_running = [running("Chart of a.csv", "exe_1"), running("Report from b.md", "exe_2")]
    turn = FakeTurn(said("stop"), running=jobs_running)
    await agent(turn)
    assert turn.stopped == []
    assert turn.questions == [
        "Which should I stop: Chart of a.csv or Report from b.md? Or all of them?"
    ]
    answer = FakeTurn(said("the chart"), running=jobs_running, state=turn.state)
    await agent(answer)
    assert answer.stopped == ["exe_1"]


async def test_status_gives_the_last_progress_line() -> None:
    turn = FakeTurn(said("how is it going?"), running=[running("Chart of a.csv", step="Drawing")])
    await agent(turn)
    assert turn.text == "Chart of a.csv: Drawing."


async def test_a_change_goes_to_the_running_job_or_says_that_it_ended(csv: File) -> None:
    turn = FakeTurn(said("make it a line chart"), running=[running("Chart of sales.csv")])
    await agent(turn)
    assert turn.joined == ["exe_1"]
    late = FakeTurn(said("make it blue"), running=[running("Chart of sales.csv")], ended=True)
    await agent(late)
    assert "has just ended" in late.text


async def test_a_change_to_a_finished_chart_is_a_new_job_in_the_same_work(csv: File) -> None:
    work = chart_work(csv, wording=["chart revenue by month"], grain="month")
    turn = FakeTurn(said("make it a line chart"), history=[said("x", csv)], works=[work])
    await agent(turn)
    [job] = turn.started
    assert (job.work, job.args["file"], job.args["version"]) == ("work_7", csv, 2)
    assert job.args["options"]["kind"] == "line"
    assert job.args["options"]["grain"] == "month"
    assert job.args["options"]["wording"][1] == "chart revenue by month"


async def test_new_axes_end_the_time_steps_of_the_old_ones(csv: File) -> None:
    work = chart_work(csv, wording=["chart revenue by month"], grain="month")
    turn = FakeTurn(said("now by region"), history=[said("x", csv)], works=[work])
    await agent(turn)
    assert "grain" not in turn.started[0].args["options"]


async def test_a_change_without_the_old_file_asks_for_it(csv: File) -> None:
    turn = FakeTurn(said("make it blue"), works=[chart_work(csv)])
    await agent(turn)
    assert turn.started == []
    assert "attach them again" in turn.questions[0]


async def test_a_report_from_text_in_the_message_needs_no_file() -> None:
    body = "The harbour was busy and loud. " * 8
    turn = FakeTurn(said(f"Make a PDF report from this text:\n{body}"))
    await agent(turn)
    [job] = turn.started
    assert job.fn is jobs.write_report
    assert job.args["files"] == []
    assert job.args["text"] == body.strip()
    assert job.args["options"] == {"formats": ["pdf"]}


@pytest.mark.parametrize("text", ["video about the ocean", "image of a cat", "make a deck"])
async def test_it_says_what_it_cannot_do_and_what_it_can(text: str) -> None:
    turn = FakeTurn(said(text))
    await agent(turn)
    assert turn.started == []
    assert "I can’t make" in turn.text
    assert "draw a chart (PNG)" in turn.text
    assert "deck" not in turn.text.partition("I can:")[2]


async def test_a_missing_file_is_asked_for_with_the_note_on_what_went_wrong() -> None:
    turn = FakeTurn(said("make a chart"), notes=["sales.csv: too large"])
    await agent(turn)
    assert turn.questions == [
        "Which data should I chart? Attach a CSV or Excel file. (sales.csv: too large)"
    ]


async def test_only_unreadable_files_are_refused_by_name(photo: File) -> None:
    turn = FakeTurn(said("have a look", photo))
    await agent(turn)
    assert turn.text.startswith("I can’t read photo.png.")


@pytest.mark.parametrize("text", ["hello", "thanks", "what can you do?", "qwertz", "stop"])
async def test_every_message_gets_a_reply(text: str) -> None:
    turn = FakeTurn(said(text))
    await agent(turn)
    assert turn.replies


def test_importing_the_agent_loads_no_heavy_library() -> None:
    heavy = "matplotlib numpy docx typst openpyxl pypdfium2 markdown_it PIL lxml"
    code = (
        "import sys; import agentpost.agents.offline; import agentpost.extraction.reading;"
        f"print([m for m in {heavy.split()!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
