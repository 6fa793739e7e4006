"""Follow-ups: what continues the last result, what is asked first, and what a first choice does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentpost.agents import File
from agentpost_offline.frame import Aggregate, Derivation, Frame, Measure, Thing
from tests.agents.fakes import file
from tests.offline.conversations import Conversation, csv_file, frame, said

REVENUE = Measure("revenue", Aggregate.SUM)
ORDERS = Measure("orders", Aggregate.SUM)
PRICE = Measure("unit_price", Aggregate.MEAN)


@pytest.mark.parametrize(
    ("first", "then", "measure", "groups"),
    [
        ("revenue by region as a chart", "now the same but orders, not revenue", ORDERS,
         ("region",)),
        ("revenue in North", "as a pie chart by region", REVENUE, ("region",)),
        ("chart revenue by region", "stacked by channel", REVENUE, ("region", "channel")),
        ("Excel file with revenue by region", "as bars", REVENUE, ("region",)),
    ],
)  # fmt: skip
async def test_a_follow_up_keeps_the_rest(
    csv: File, first: str, then: str, measure: Measure, groups: tuple[str, ...]
) -> None:
    turn = await said(csv, first, then)
    (job,) = turn.started
    (query,) = frame(job).queries
    assert (query.measures, query.groups) == ((measure,), groups)
    assert not [one for one in query.filters if one.column in groups]


@pytest.mark.parametrize(
    ("first", "then", "changes"),
    [
        ("a deck of 6 slides", "make it 3", lambda made: made.style.pages == 3),
        ("revenue in North", "give me that as excel, sorted by month",
         lambda made: made.queries[0].rows_by == "month" and made.queries[0].filters),
    ],
)  # fmt: skip
async def test_a_change_is_made_of_what_was_shown(
    csv: File, first: str, then: str, changes: Callable[[Frame], object]
) -> None:
    (job,) = (await said(csv, first, then)).started
    assert changes(frame(job))


async def test_what_failed_is_put_nowhere(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", csv, stopped=True)
    turn = await talk.say("put that on a slide too")
    assert (turn.started, turn.questions) == (
        [], ["I cannot change that; please ask for the whole again."]
    )  # fmt: skip


async def test_who_was_counted_is_listed_by_name(tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    path.write_text("name,fee paid\nAda,Yes\nBen,No\nCleo,No\nDina,Yes\n")
    talk = Conversation()
    assert "2" in (await talk.say("how many havent paid?", file(path, "text/csv"))).text
    names = (await talk.say("who are they?")).text
    assert ("Ben" in names, "Cleo" in names, "Ada" in names) == (True, True, False)


async def test_a_share_is_of_the_group_that_was_asked_for(csv: File) -> None:
    talk = Conversation()
    await talk.say("revenue in North", csv)
    turn = await talk.say("and as a percentage of the total?")
    assert turn.text.startswith("North: 50%")
    assert Derivation.SHARE in str(talk.state["answered"])


@pytest.mark.parametrize(
    ("text", "choice", "answer"),
    [
        ("best region in 2024", "top 1: total Revenue by Region, 2024", "North and South"),
        ("how did it develop", "total Revenue by Month", "Total Revenue:"),
        ("share the list with Karl", "", ""),
    ],
)
async def test_the_first_choice_is_what_was_understood(
    csv: File, text: str, choice: str, answer: str
) -> None:
    talk = Conversation()
    turn = await talk.say(text, csv)
    assert turn.questions
    assert not turn.started
    if choice:
        assert turn.choices[0] == choice
        assert (await talk.say(choice)).text.startswith(answer)


Q1_Q2 = ("2025-Q1", "2025-Q2")


@pytest.mark.parametrize(
    ("asked", "then", "measures", "axis", "values"),
    [
        (("revenue in Q1 2025", "and in Q2 2025?"), "draw them", (REVENUE,), "month", Q1_Q2),
        (("total revenue", "total orders"), "plot these as columns", (REVENUE, ORDERS), "", ()),
        (("orders by region",), "draw them", (ORDERS,), "region", ()),
        (("revenue في North", "و South؟"), "ارسمهم أعمدة", (REVENUE,), "region",
         ("North", "South")),
    ],
)  # fmt: skip
async def test_them_are_the_answers_that_belong_together(
    csv: File, asked: tuple[str, ...], then: str, measures: tuple[Measure, ...], axis: str,
    values: tuple[str, ...],
) -> None:  # fmt: skip
    talk = Conversation()
    for at, text in enumerate(asked):
        assert (await talk.say(text, *([] if at else [csv]))).replies
    (job,) = (await talk.say(then)).started
    (query,) = frame(job).queries
    axes = (*query.groups, query.time or "")
    assert (query.measures, axes[0]) == (measures, axis)
    assert not values or query.filters[-1].values == values


async def test_both_together_are_one_figure(csv: File) -> None:
    talk = Conversation()
    await talk.say("revenue in May 2025", csv)
    await talk.say("and in June 2025?")
    assert "4,400" in (await talk.say("both together")).text
    await talk.say("average unit price")
    assert (await talk.say("both together")).questions


async def test_a_thing_that_was_just_made_is_not_made_and_charged_once_more(csv: File) -> None:
    turn = await said(csv, "chart revenue by region", "draw them")
    assert not turn.started
    assert turn.questions


async def test_a_clause_that_only_hands_over_is_no_second_job(csv: File) -> None:
    (job,) = (
        await said(csv, "total revenue", "Clean this table and give it to me as Excel")
    ).started
    assert (frame(job).thing, frame(job).formats) == (Thing.TABLE, ())
    assert frame(job).style.options == {"clean": True}


@pytest.mark.parametrize(
    ("listing", "answer"),
    [
        ("list the regions", "Different values of Region: 2."),
        ("total revenue by region", ""),
    ],
)
async def test_what_was_listed_is_counted(csv: File, listing: str, answer: str) -> None:
    turn = await said(csv, listing, "how many is that?")
    assert turn.text.startswith(answer) if answer else turn.questions


async def test_listed_rows_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "members.csv"
    rows = [f"Member {n},{('Alto', 'Bass')[n % 3 > 0]},{n * 3}" for n in range(1, 13)]
    path.write_text("\n".join(["name,voice,fee", *rows]))
    talk = Conversation()
    assert "Member 3" in (await talk.say("list of the altos", file(path, "text/csv"))).text
    assert (await talk.say("how many is that")).text.startswith("Number of rows: 4")


async def test_the_rows_of_a_clause_before_are_not_all_rows(csv: File) -> None:
    wish = "which region has the highest revenue? and how many rows is that?"
    turn = await Conversation().say(wish, csv)
    assert turn.questions
    assert "48" not in "".join(turn.replies)


async def test_politeness_is_no_part_of_a_title(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", csv)
    turn = await talk.say("as a PDF with the headline Regions 2025 thx")
    (job,) = turn.started
    assert (frame(job).style.title, frame(job).formats) == ("Regions 2025", ("pdf",))
    (job,) = (await talk.say("title Best 2025 and in orange")).started
    assert (frame(job).style.title, frame(job).style.colour) == ("Best 2025", "#e07b39")


async def test_a_share_of_that_is_not_of_what_a_filter_left_out(csv: File) -> None:
    turn = await said(csv, "revenue by region", "only online", "how much of that is North's?")
    assert "total Revenue, Channel = Online, Region = North" in turn.text


async def test_a_measure_is_not_put_into_rows_that_have_none(csv: File) -> None:
    turn = await said(csv, "orders as a table sorted by unit price", "unit price 2")
    assert turn.replies or turn.questions


async def test_a_part_has_no_colour_of_its_own(csv: File) -> None:
    turn = await said(csv, "pie chart of revenue by region", "make the North orange")
    assert turn.questions
    assert not turn.started


async def test_the_words_of_a_question_are_no_data(csv: File) -> None:
    talk = Conversation()
    question = await talk.say("short report on may 2025 for the orchard. not june", csv)
    assert question.questions
    (job,) = (await talk.say("Do this")).started
    assert frame(job).text == ""


async def test_a_verb_makes_a_new_request(csv: File) -> None:
    turn = await said(
        csv,
        "which channel has the highest revenue",
        "ok. now what we earned in each region, biggest on top",
    )
    assert "North" in turn.text
    assert "highest" not in turn.text


async def test_the_others_are_all_groups_of_what_was_shown(csv: File) -> None:
    turn = await said(csv, "revenue in the North", "and the others?")
    for region in ("North", "South"):
        assert region in turn.text
    asked = await Conversation().say("and the others?", csv)
    assert asked.questions


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("revenue by region", "and how much is that in total?", "Revenue"),
        ("average unit price by region", "how much is that in total", ""),
        ("top 2 regions by revenue", "what does that come to?", ""),
    ],
)
async def test_that_comes_to_the_sum_of_what_was_shown(
    csv: File, first: str, second: str, answer: str
) -> None:
    turn = await said(csv, first, second)
    assert bool(turn.questions) is not bool(answer), turn.replies
    assert answer in "".join(turn.replies)


async def test_no_edit_adds_up_the_readings_of_a_meter(tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    rows = [f"{('Polo', 'Golf')[n % 2]},{n * 7 % 11},{41000 + n * 900}" for n in range(12)]
    path.write_text("\n".join(["car,fuel (l),mileage (km)", *rows]))
    talk = Conversation()
    await talk.say("fuel by car", file(path, "text/csv"))
    for wish in ("and the mileage?", "mileage instead"):
        assert (await talk.say(wish)).questions, wish


async def test_a_format_after_an_answer_is_of_the_answer_or_of_the_file(csv: File) -> None:
    turn = await said(csv, "revenue by region", "as pdf")
    assert turn.questions
    assert not turn.started


BY_REGION = "chart revenue by region"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("chart revenue by region in 2025", "vs 2024"),  # it would only replace the year
        ("chart revenue by region without South", "with South again"),
        ("line chart of revenue by month and region", "by channel"),
        ("excel of the rows in North", "by channel"),  # of rows, no figure is known
        (BY_REGION, "sort by region"),
        (BY_REGION, "only the blue region"),
        (BY_REGION, "average instead of sum"),
        (BY_REGION, "with a table"),
        ("chart revenue by month in 2025", "until June"),
        ("report on revenue, 3 pages", "one page less"),
        ("a deck of 6 slides", "add a slide about orders"),
        ("film of revenue by region", "10 seconds longer"),
        ("revenue by region as excel. And a chart of orders by channel", "both in blue"),
        ("revenue by region as excel. And a chart of orders by channel", "the excel for 2025"),
    ],
)
async def test_a_change_that_would_drop_a_word_is_asked_about(
    csv: File, first: str, then: str
) -> None:
    talk = Conversation()
    assert (await talk.say(first, csv)).started
    turn = await talk.say(then)
    assert turn.questions
    assert (turn.started, turn.replies) == ([], [])


@pytest.mark.parametrize(
    ("first", "then", "filters"),
    [
        ("line chart of revenue by month in North", "versus South", ["North South"]),
        ("line chart of revenue by month in North", "plus South", ["North South"]),
        ("excel of the rows in North", "add South", ["North South"]),
        ("chart revenue by channel in North and South", "remove South", ["North"]),
        ("chart revenue by region without South", "without 2024", ["South", "2024"]),
        (BY_REGION, "compare North and South", ["North South"]),
    ],
)  # fmt: skip
async def test_values_join_what_is_shown_and_are_taken_from_it(
    csv: File, first: str, then: str, filters: list[str]
) -> None:
    (job,) = (await said(csv, first, then)).started
    (query,) = frame(job).queries
    assert [" ".join(map(str, one.values)) for one in query.filters] == filters
    assert bool(query.measures) == bool(query.groups)


async def test_another_length_of_periods_keeps_the_lines(csv: File) -> None:
    (job,) = (await said(csv, "line chart of revenue by month and region", "by quarter")).started
    (query,) = frame(job).queries
    assert (query.groups, query.grain) == (("region",), "quarter")


async def test_other_groups_are_charged_and_another_order_is_not(csv: File) -> None:
    talk = Conversation()
    await talk.say("chart revenue by month, top 3", csv)
    for wish, is_free in (("bottom 3", False), ("in blue", True)):
        (job,) = (await talk.say(wish)).started
        assert job.args.get("is_free", False) is is_free, wish


@pytest.mark.parametrize("change", ["in orange", "only 2025", "by channel"])
@pytest.mark.parametrize(
    ("wish", "is_stopped"),
    [("chart orders by salesperson", False), ("chart orders by channel", True)],
)
async def test_a_change_after_a_new_request_without_a_result_is_asked_about(
    csv: File, wish: str, is_stopped: bool, change: str
) -> None:
    talk = Conversation()
    await talk.say(BY_REGION, csv)
    await talk.say(wish, stopped=is_stopped)
    turn = await talk.say(change)
    assert (turn.started, turn.replies) == ([], [])
    (job,) = (await talk.say(turn.choices[0])).started
    assert frame(job).queries[0].measures == (REVENUE,)
    assert job.work == "work_0_0"


async def test_a_change_after_a_new_file_is_not_of_the_old_one(csv: File, tmp_path: Path) -> None:
    path = tmp_path / "clubs.csv"
    path.write_text("club,members\nOtters,30\nFoxes,12\n")
    talk = Conversation()
    await talk.say(BY_REGION, csv)
    assert (await talk.say("the same here", file(path, "text/csv"))).questions
    turn = await talk.say("as a pie")
    assert turn.questions
    assert not turn.started


PUPILS = "name,form,days absent\nAnn,8A,12\nBo,8B,14\nCy,8B,3\nDi,8A,18\n"
TILLS = """day,branch,paid,fee €
2025-02-03,North,no,5
2025-03-04,South,yes,7
2025-03-05,North,no,9
"""


async def test_them_are_those_that_were_listed(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("list the pupils with more than 10 days absent", csv_file(tmp_path, PUPILS))
    assert "Number of rows: 1." in (await talk.say("how many of them are in 8B")).text
    await talk.say("average days absent")
    assert (await talk.say("how many of them are in 8B")).questions


async def test_a_form_alone_is_of_the_question_before(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, TILLS), "fees not paid, for the orchard", "as an Excel file"
    )
    assert not turn.started  # the whole table was not asked for
    assert any("Paid = no" in one for one in (turn.questions[0], *turn.choices))


async def test_the_month_of_march_is_a_month(tmp_path: Path) -> None:
    text = (
        await said(csv_file(tmp_path, TILLS), "fee by branch", "and in the month of March?")
    ).text
    assert "South: €7" in text
    assert "North: €9" in text


async def test_rows_that_were_listed_come_whole_as_a_table(tmp_path: Path) -> None:
    (query,) = frame(
        (
            await said(
                csv_file(tmp_path, PUPILS),
                "list the pupils with more than 10 days absent",
                "as Excel",
            )
        ).started[0]
    ).queries
    assert (query.measures, query.groups) == ((), ())
    assert query.filters


async def test_the_most_of_one_group_is_asked_about(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, TILLS), "chart of fee by branch", "and in North what is the most"
    )
    assert turn.questions
    assert not turn.started


@pytest.mark.parametrize("change", ["with a chart", "the chart in blue"])
async def test_a_question_after_a_refused_change_is_a_question(csv: File, change: str) -> None:
    talk = Conversation()
    await talk.say(BY_REGION, csv)
    await talk.say("report on orders", stopped=True)
    assert (await talk.say(change)).questions
    turn = await talk.say("total revenue")
    assert not turn.started
    assert turn.text.startswith("Total Revenue")


async def test_a_period_alone_is_of_the_question_that_was_left_open(tmp_path: Path) -> None:
    talk = Conversation()
    table = "date,payee,amount €\n" + "\n".join(
        f"2024-0{day % 3 + 1}-{day:02},{('Band', 'Hall')[day % 2]},{day}" for day in range(1, 9)
    )
    assert (await talk.say("refunds by payee", csv_file(tmp_path, table))).questions
    turn = await talk.say("by month")
    assert turn.questions, turn.text
