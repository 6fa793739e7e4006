"""A request that names what a table has not is asked about: no job, no charge, no guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File, JobFailed
from agentpost.agents.offline import agent, jobs, planner, query
from agentpost.agents.offline.requested import question
from agentpost.agents.offline.tables import Table, read_table
from tests.agents.fakes import FakeJob, FakeTurn, file, said

SALES = "month,region,orders,revenue_k,unit_price\n" + "\n".join(
    f"{year}-{month:02d}-01,{region},{month},{month * 2},9"
    for year in (2024, 2025)
    for month in range(1, 13)
    for region in ("North", "South", "North East")
)


@pytest.fixture
def csv(tmp_path: Path) -> File:
    path = tmp_path / "sales.csv"
    path.write_text(SALES)
    return file(path, "text/csv")


@pytest.fixture
def sales(csv: File) -> Table:
    return read_table(Path(csv.blob), csv.name)


FOLLOWED = [
    "Make a chart of revenue by region",
    "chart",
    "please plot orders over time",
    "Can you draw me a line chart of this data?",
    "Pie chart of orders by region",
    "Turn this into a chart",
    "put the numbers in a bar chart",
    "Visualise the attached sales",
    "make a sales report chart",
    "histogram of unit prices",
    "Show me a nice blue bar chart of the top 2 regions by revenue, please",
    "Plot monthly revenue as a red line",
    "Chart the average unit price per quarter",
    "Chart revenue by month for North",
    "line chart of orders in 2024",
    'Draw a pie chart of revenue by region titled "Cost of everything"',
    "I need a graph showing revenue per month for the board meeting",
    "scatter plot of revenue vs orders",
    "Chart revenue_k by region",
    "Make a chart from sales.csv",
    "Chart revenue by month and region",
    "chart how revenue developed over the months",
    "Could you please create a chart that shows the revenue trend for each region?",
    "Chart orders for North East by quarter",
    "Give me a chart of orders per region with the highest first",
    "write a report about this data",
    "Write a report on revenue by region as PDF",
]
ASKED = [
    ("Chart cost by month", "“cost”"),
    ("Chart revenue by country", "“country”"),
    ("chart profit", "“profit”"),
    ("Plot revenue and cost by month", "“cost”"),
    ("Plot cost against margin", "“cost” or “margin”"),
    ("Chart revenue by week", "“week”"),
    ("Chart daily revenue", "“daily”"),
    ("Chart revenue for Atlantis", "“atlantis”"),
    ("Chart revenue for the Atlantis office", "“atlantis” or “office”"),
    ("plot revenue for 1999", "no rows for 1999"),
    ("Chart revenue by month since 2024", "“since 2024”"),
    ("Chart revenue by month where orders > 5", "“> 5”"),
    ("Chart revenue except North", "“except north”"),
    ("Chart last 3 months of revenue", "“last 3”"),
    ("Chart revenue by month between 2020 and 2022", "“between 2020”"),
    ("Make a chart of temperature", "“temperature”"),
    ("pie chart of customers", "“customers”"),
    ("Chart the margin per product", "“margin” or “product”"),
    ("draw the number of visits by month", "“visits”"),
    ("bar chart of revenue by salesperson", "“salesperson”"),
    ("Write a report about cost by region", "“cost”"),
]


@pytest.mark.parametrize("text", FOLLOWED)
async def test_what_the_table_has_is_made(csv: File, sales: Table, text: str) -> None:
    assert question(sales, planner.wish(text)) is None
    turn = FakeTurn(said(text, csv))
    await agent(turn)
    assert len(turn.started) == 1
    assert not turn.questions


@pytest.mark.parametrize(("text", "named"), ASKED)
async def test_what_the_table_has_not_is_asked_about(csv: File, text: str, named: str) -> None:
    turn = FakeTurn(said(text, csv))
    await agent(turn)
    assert not turn.started
    [asked] = turn.questions
    assert named in asked
    assert asked.startswith(("sales.csv has no", "I can’t leave out rows"))


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Make a heatmap of revenue by month", "a heatmap"),
        ("radar chart of orders by region", "radar charts"),
        ("stacked bar chart of revenue by month", "stacked bar charts"),
        ("Chart revenue by month as SVG", "a chart as SVG"),
        ("Chart revenue by month as a PDF", "a chart as PDF"),
        ("Write a report as odt", "a report as ODT"),
    ],
)
async def test_a_kind_or_format_that_cannot_be_made_is_said(
    csv: File, text: str, subject: str
) -> None:
    turn = FakeTurn(said(text, csv))
    await agent(turn)
    assert not turn.started
    assert f"I can’t make {subject}" in turn.text


async def test_the_answer_to_the_question_is_charted(csv: File) -> None:
    first = FakeTurn(said("Chart cost by month", csv))
    await agent(first)
    history = [first.message]
    second = FakeTurn(said("revenue by month"), history=history, state=first.state)
    await agent(second)
    assert [job.args["file"] for job in second.started] == [csv]
    assert "asked" not in second.state


@pytest.mark.parametrize("text", ["thanks", "what columns are there?", "forget it", "no", "help"])
async def test_what_is_no_answer_charts_nothing(csv: File, text: str) -> None:
    first = FakeTurn(said("Chart cost by month", csv))
    await agent(first)
    second = FakeTurn(said(text), history=[first.message], state=first.state)
    await agent(second)
    assert not second.started


async def test_of_two_files_the_one_that_has_it_is_charted(tmp_path: Path, csv: File) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\nJan,1\nFeb,2\n")
    turn = FakeTurn(said("Chart cost by month", csv, file(path, "text/csv")))
    await agent(turn)
    assert [job.args["file"].name for job in turn.started] == ["costs.csv"]
    assert "sales.csv has no “cost”" in turn.text


async def test_only_the_named_file_is_charted(tmp_path: Path, csv: File) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\nJan,1\nFeb,2\n")
    turn = FakeTurn(said("Make a chart from costs.csv", csv, file(path, "text/csv")))
    await agent(turn)
    assert [job.args["file"].name for job in turn.started] == ["costs.csv"]


@pytest.mark.parametrize(
    "text", ["Chart costs.csv by month", "How many rows are in costs.csv?", "Summarise costs.csv"]
)
async def test_a_file_that_is_not_there_is_asked_for(csv: File, text: str) -> None:
    turn = FakeTurn(said(text, csv))
    await agent(turn)
    assert not turn.started
    assert turn.questions == ["I don’t have costs.csv. What I have is sales.csv. Which one is it?"]


async def test_a_change_to_what_is_not_there_is_asked_about(csv: File) -> None:
    from tests.agents.test_offline_turns import chart_work

    turn = FakeTurn(said("now by country"), history=[said("chart", csv)], works=[chart_work(csv)])
    await agent(turn)
    assert not turn.started
    assert "sales.csv has no “country”" in turn.questions[0]


async def test_a_job_that_cannot_follow_ends_before_it_charges(tmp_path: Path, csv: File) -> None:
    job = FakeJob(tmp_path)
    with pytest.raises(JobFailed, match=r"sales\.csv has no “cost”"):
        await jobs.chart(job, csv, {"wording": ["cost by month"]}, 1)
    assert job.charged == 0


async def test_a_change_under_way_that_cannot_be_followed_is_said(
    tmp_path: Path, csv: File
) -> None:
    job = FakeJob(tmp_path, mail=[[said("by country")]])
    text = await jobs.chart(job, csv, {"wording": ["revenue by region"]}, 1)
    assert text.startswith("Revenue (k) by region")
    assert "“by country” was not followed: sales.csv has no “country”" in text


async def test_only_the_rows_that_were_asked_for_are_drawn(tmp_path: Path, csv: File) -> None:
    text = await jobs.chart(
        FakeJob(tmp_path), csv, {"wording": ["revenue by month for South in 2025"]}, 1
    )
    assert "only the rows for 2025 and South" in text


COLUMNS = [
    ("Umsatz", "Größe"),
    ("chiffre d'affaires", "année"),
    ("ventas", "región"),
    ("売上", "月"),
    ("выручка", "регион"),
    ("إيرادات", "منطقة"),
]


@pytest.mark.parametrize(("measure", "group"), COLUMNS)
def test_columns_in_other_languages_are_named_as_they_are(
    tmp_path: Path, measure: str, group: str
) -> None:
    path = tmp_path / "t"
    path.write_text(f"{group},{measure}\nA,1\nB,2\n")
    table = read_table(path, "t.csv")
    assert question(table, f"Chart {measure} by {group}") is None
    assert question(table, f"Chart {measure} by region X") is not None


@pytest.mark.parametrize(
    "text",
    [
        "total cost by month",
        "total revenue by country",
        "what is the average cost?",
        "total revenue for Atlantis",
        "highest profit",
        "revenue per salesperson",
    ],
)
def test_a_table_is_not_asked_for_what_it_has_not(sales: Table, text: str) -> None:
    assert query.answer(sales, text) is None
