"""The rows themselves: as an answer, as a choice, and what is asked of them afterwards."""

from pathlib import Path

import pytest

from agentpost_offline.frame import Thing
from tests.offline.conversations import Conversation, csv_file, frame, said

VISITS = """visit,day,animal,reason,fee,nights,paid
V1,2024-01-04,Dog,Dental,171,0,no
V2,2024-01-07,Cat,Dental,90,2,yes
V3,2024-02-16,Dog,Injury,300,9,no
V4,2024-02-18,Cat,Dental,189.5,1,yes
"""
DATED = """visit date,animal,fee,weight,paid
2024-01-04,Dog,171,9,no
2024-01-04,Cat,90,4,yes
2024-02-16,Dog,300,20,no
"""
STOCK = """product,in stock,reorder at,supplier,price £
kale,0,10,Own farm,1.50
beetroot,5,8,,0.80
butter,30,10,Oakdene,2.00
"""
EXPENSES = """day,what,amount €,receipt
2024-01-03,paint,20,yes
2024-02-04,bolts,5,no
2024-02-06,paint,31,no
"""


async def test_rows_are_listed(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "list the unpaid visits", csv_file(tmp_path, DATED, "expenses.csv")
    )
    assert "- 4 January 2024, Dog, 171, 9\n" in turn.text, (turn.questions, turn.choices)


async def test_a_list_is_a_choice(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say(
        "everything where in stock is below reorder at, to be phoned, with the supplier",
        csv_file(tmp_path, STOCK),
    )
    assert "a list: table.csv, In stock < Reorder at" in turn.choices
    assert (
        "- kale, 0, 10, Own farm, £1.50\n- beetroot, 5, 8, –, £0.80\n"
        in (await talk.say("a list: table.csv, In stock < Reorder at")).text
    )


async def test_listed_rows_are_narrowed_counted_and_made_a_workbook(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("which expenses have no receipt", csv_file(tmp_path, EXPENSES, "expenses.csv"))
    assert "Total Amount: €36." in (await talk.say("how much is that")).text
    await talk.say("which expenses have no receipt")
    assert "In all: 1 row, Amount €31" in (await talk.say("only paint")).text
    assert (await talk.say("as a bar chart")).questions  # of rows nothing is drawn
    (job,) = (await talk.say("put that in excel")).started
    (query,) = frame(job).queries
    assert frame(job).thing is Thing.TABLE
    assert [one.column for one in query.filters] == ["receipt", "what"]


async def test_a_list_is_narrowed_to_the_ones_who(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, VISITS, "visits.csv"),
        "list the dental visits over 150",
        "only the ones who havent paid",
    )
    assert "- V1: Fee 171" in turn.text
    assert "In all: 1\n" in turn.text


async def test_how_much_of_that_is_the_sum_under_one_more_condition(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("total fee in 2024", csv_file(tmp_path, VISITS))
    assert "Total Fee: 471." in (await talk.say("and how much of that is still not paid")).text
    assert "Total Fee: 171." in (await talk.say("same but only dental")).text
    assert (await Conversation().say("same fee", csv_file(tmp_path, VISITS))).questions


MATHS = """pupil,club,maths,physics,days absent
Ann,yes,49,34,12
Bo,no,42,60,0
Cy,yes,70,30,10
Di,no,38,,3
"""


async def test_a_number_is_of_the_columns_named_behind_it(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "who got under 50 in maths AND physics", csv_file(tmp_path, MATHS)
    )
    assert "- Ann: Maths 49, Physics 34" in turn.text, (turn.questions, turn.choices)


@pytest.mark.parametrize(
    ("message", "choice"),
    [
        ("do the club kids do better in maths", "average Maths by Club"),
        ("not in the club, sum and number of days absent somehow",
         "total Days absent and number of rows, Club = no"),
    ],
)  # fmt: skip
async def test_what_is_probably_meant_is_a_choice(
    tmp_path: Path, message: str, choice: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, MATHS))
    assert choice in turn.choices


CALLS = """call,queue,wait_s,fee €,settled,bedrooms,day
C1,billing,400,10,no,1,2024-01-03
C2,repairs,30,20,yes,2,2024-02-05
C3,billing,310,30,no,2,2024-03-06
C4,repairs,90,40,no,1,2024-06-30
"""


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("how many calls have a wait over 5 min", "Number of rows: 2."),
        ("average wait per queue pls", "- billing: 355\u00a0s\n"),
        ("avg fee by number of bedrooms", "- 1: €25\n- 2: €25\n"),
        ("how much of each queue, total fee", "- repairs: €60\n- billing: €40\n"),
        ("which queue has not settled and how much", "- billing: €40\n- repairs: €40\n"),
        ("which queue has not settled and how much? highest fee first", "- billing: €40\n"),
        ("which calls are not settled, biggest first", "- C4, repairs, 90\u00a0s, €40"),
        ("how many in each queue", "- billing: 2\n"),
    ],
)
async def test_calls_are_asked_about(tmp_path: Path, message: str, answer: str) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, CALLS, "calls.csv"))
    assert answer in turn.text, (turn.text, turn.questions, turn.choices)


async def test_two_quarters_are_compared_by_queue_and_drawn_side_by_side(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("compare q1 and q2 2024, total fee", csv_file(tmp_path, CALLS, "calls.csv"))
    assert "- billing: Q1 2024 €40" in (await talk.say("now by queue")).text
    (job,) = (await talk.say("as a bar chart")).started
    (query,) = frame(job).queries
    assert (query.groups, query.grain, query.measures[0].derived) == (("queue",), "quarter", None)


async def test_one_month_by_month_is_asked_about(tmp_path: Path) -> None:
    turn = await said(csv_file(tmp_path, CALLS), "total fee in march", "as a bar chart per month")
    assert not turn.started
    assert "a chart: total Fee by month, 2024" in turn.choices


async def test_how_many_that_is_by_a_group_is_of_the_rows_listed(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, CALLS, "calls.csv"),
        "which calls are not settled",
        "per queue how many is that",
    )
    assert "- billing: 2\n- repairs: 1\n" in turn.text


async def test_what_is_paid_in_full_is_no_list_of_what_was_paid(tmp_path: Path) -> None:
    table = "player,fee,paid,kit\nAnn,90,90,no\nBo,90,45,no\nCy,80,80,yes\n"
    turn = await Conversation().say(
        "who have paid the full fee but not got their kit", csv_file(tmp_path, table)
    )
    assert "“full”" in turn.questions[0]
    for message in ("the full list of paid players", "the full table of paid players"):
        turn = await Conversation().say(message, csv_file(tmp_path, table))
        assert "“full”" not in "".join(turn.questions)


async def test_a_word_that_is_not_understood_is_told_once(tmp_path: Path) -> None:
    turn = await Conversation().say("list unpaid calls alphabetically", csv_file(tmp_path, CALLS))
    assert turn.questions[0].count("“alphabetically”") == 1


async def test_rows_stand_in_the_order_of_their_only_date(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "list calls not settled, newest first", csv_file(tmp_path, CALLS)
    )
    places = [turn.text.index(call) for call in ("C4", "C3", "C1")]
    assert places == sorted(places)
    turn = await Conversation().say(
        "list calls not settled, oldest first", csv_file(tmp_path, CALLS)
    )
    assert turn.text.index("C1") < turn.text.index("C3")
    table = "call,paid,day,closed on\nC1,no,2024-01-03,2024-02-01\nC2,yes,2024-01-09,2024-01-10\n"
    turn = await Conversation().say("list unpaid calls, oldest first", csv_file(tmp_path, table))
    assert turn.questions == ["The table has several columns of dates. Which one counts?"]


TRIPS = """day,driver,zone,fare €,cancelled
2025-01-03,Paco,Airport,44,no
2025-01-04,Inés,Beach,27,no
2025-01-09,Paco,Airport,43,yes
2025-01-11,Paco,Centre,12,no
2025-01-14,Inés,Airport,45,no
"""


async def test_the_dearest_rows_are_a_choice(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("los 2 viajes mas caros", csv_file(tmp_path, TRIPS))
    choice = "una lista: top 2: table.csv, ordenado por Fare, de mayor a menor"
    assert choice in turn.choices
    text = (await talk.say(choice)).text.replace("\u00a0", " ")
    assert "Inés, Airport, 45 €, no\n" in text
    assert text.count("\n- ") == 2
    assert "En conjunto" not in text


async def test_how_many_of_those_counted_have_more_in_common(tmp_path: Path) -> None:
    talk, table = Conversation(), csv_file(tmp_path, TRIPS, "trips.csv")
    await talk.say("how many trips not cancelled", table)
    assert "Number of rows: 2." in (await talk.say("how many of those are Airport")).text
    turn = await Conversation().say("wie viele kaputt und wie viele davon waren cancelled", table)
    assert not turn.text
    assert turn.questions
