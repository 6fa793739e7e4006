"""What a choice says and does: it names what is made, and what was not understood once is not asked
about again."""

import copy
from pathlib import Path

import pytest

from agentpost_offline.frame import Thing
from tests.offline.conversations import Conversation, csv_file, frame, said

GIGS = """date,town,fee €,merch €
2023-02-01,Bremen,100,40
2023-06-01,Leeds,200,60
2024-02-01,Bremen,150,70
2024-06-01,Leeds,120,20
"""
PARCELS = """arrived,collected,carrier,weight_kg
2024-01-03,2024-01-09,DPD,2
2024-02-05,2024-02-07,UPS,3
2024-02-06,,UPS,4
"""
LOANS = """code,item,shelf,returned
L-01,drill,A,no
L-02,ladder,B,yes
L-03,drill,B,no
L-04,drill,A,yes
"""
RUNS = """runner,sex,distance (km),time
Ann,F,10,0:50:10
Bea,F,5,0:24:30
Cid,M,10,0:42:15
Dot,F,10,0:47:05
"""


async def test_a_race_is_of_the_figure_that_is_named(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("a film of the towns by merch money over the two years",
                          csv_file(tmp_path, GIGS))  # fmt: skip
    (job,) = turn.started
    (query,) = frame(job).queries
    assert (frame(job).thing, query.groups) == (Thing.VIDEO, ("town",))
    assert [one.column for one in query.measures] == ["merch €"]


async def test_how_long_is_no_condition(tmp_path: Path) -> None:
    turn = await Conversation().say("merch by town over the three years", csv_file(tmp_path, GIGS))
    assert "“over the three years”" in turn.questions[0]


async def test_what_was_not_understood_is_said_once(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("weight per month still lying", csv_file(tmp_path, PARCELS))
    assert "“lying”" in turn.questions[0]
    turn = await talk.say("Arrived")
    assert "lying" not in "\n".join([*turn.questions, *turn.replies])
    assert "February 2024: 7\xa0kg" in turn.text


async def test_a_condition_may_stand_beside_what_is_ranked(tmp_path: Path) -> None:
    assert (
        "47.08\xa0min"
        in (
            await Conversation().say("fastest F with distance over 9", csv_file(tmp_path, RUNS))
        ).text
    )


async def test_a_word_that_stops_work_is_no_part_of_a_question(tmp_path: Path) -> None:
    turn = await Conversation().say("how many cancelled by shelf", csv_file(tmp_path, LOANS))
    assert "“cancelled”" in turn.questions[0]


async def test_rows_that_are_listed_by_their_codes_say_what_they_are(tmp_path: Path) -> None:
    turn = await Conversation().say("list the codes on shelf B", csv_file(tmp_path, LOANS))
    assert "- L-02: ladder, yes\n- L-03: drill, no" in turn.text


MEMBERS = """name,section,joined,fee paid?,fee €
Ann,Judo,2023-05-01,yes,90
Bo,Judo,2024-02-01,Yes,60
Cy,Tennis,2024-03-01,no,60
Di,Judo,2022-04-01,no,90
"""


async def test_a_greeting_takes_no_demand_away(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "hi from the coach :) how many members paid and how much is that together",
        csv_file(tmp_path, MEMBERS, "members.csv"),
    )
    assert "“coach”" in turn.questions[0]
    assert turn.choices[0] == "Do this"


RIDES = """day,late min,fee €
2024-01-03,20,9
2024-02-04,5,12
2024-02-06,31,7
2024-03-06,16,7
"""


async def test_months_after_the_best_group_come_in_their_order(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, MEMBERS, "members.csv"),
        "which section has the highest fee?",
        "no, by month joined as a line chart",
    )
    (query,) = frame(turn.started[0]).queries
    assert (query.groups, query.order) == ((), None)


async def test_months_are_no_parts_of_a_pie(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, MEMBERS, "members.csv"), "donut of the fee by section", "by month joined"
    )
    assert frame(turn.started[0]).style.chart is None


async def test_what_is_drawn_of_an_average_has_a_figure_for_each_group(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("average members per section as a bar chart",
                          csv_file(tmp_path, MEMBERS, "members.csv"))  # fmt: skip
    assert turn.choices[0] == "a chart: number of rows by Section"
    assert not any("average of" in one for one in turn.choices)


VISITS = """date,owner,species,fee €,vet,paid
2024-03-01,Lowe,dog,50,Ames,no
2024-05-02,Kim,cat,30,Ames,yes
2024-05-09,Lowe,dog,20,Bell,no
2025-05-11,Novak,rabbit,40,Bell,yes
"""
PLOTS = """plot,section,holder,rent,rent paid
A1,North,Vera,15,yes
A2,North,,60,no
B1,South,Olwen,50,no
"""


@pytest.mark.parametrize(
    ("table", "messages", "suggestion"),
    [
        (VISITS, ["who still owes us and what does each of them owe"],
         "total Fee by Owner, Paid = no"),
        (VISITS, ["fee in May 2024", "the year by month in excel for our bookkeeper"],
         "a spreadsheet: total Fee by month, 2024"),
        (VISITS, ["compare the fees of march to april 2024 with may 2024"],
         "total Fee, March 2024 to April 2024 + total Fee, May 2024"),
        (VISITS, ["which species brings in the best fees and which the worst, roughly"],
         "top 1: total Fee by Species + lowest 1: total Fee by Species"),
        (PLOTS, ["which plots are free at the mo"], "a list: table.csv, Holder missing"),
        (PLOTS, ["rent with it paid or without it"], "total Rent by Rent paid"),
    ],
)  # fmt: skip
async def test_a_request_is_suggested_whole(
    tmp_path: Path, table: str, messages: list[str], suggestion: str
) -> None:
    turn = await said(csv_file(tmp_path, table), *messages)
    assert suggestion in turn.choices, (turn.choices, turn.text)


async def test_what_is_suggested_is_never_asked_about_again(tmp_path: Path) -> None:
    for message in ("make a report with the takings for the bank", "the best? for my aunt",
                    "how many visits did people like", "fee and fee, roundish"):  # fmt: skip
        talk = Conversation()
        first = await talk.say(message, csv_file(tmp_path, VISITS))
        assert len(first.choices) > 1
        for choice in first.choices[:-1]:
            turn = await copy.deepcopy(talk).say(choice)
            assert not turn.questions, (message, choice, turn.questions)


async def test_how_long_something_took_lies_between_its_days(tmp_path: Path) -> None:
    talk = Conversation()
    table = "job,reported,fixed\nA,2025-01-03,2025-01-05\nB,2025-01-04,2025-01-14\nC,2025-01-09,\n"
    turn = await talk.say("how long until things are mended", csv_file(tmp_path, table))
    assert turn.choices[0] == "average Fixed − Reported"
    text = (await talk.say(turn.choices[0])).text
    assert "Average Fixed − Reported: 6\xa0d." in text
    assert "1 of these rows has no Fixed − Reported" in text


async def test_a_percent_sign_of_a_columns_name_asks_for_no_share(tmp_path: Path) -> None:
    table = "member,voice,attendance %\nAnn,alto,40\nBo,bass,80\nCy,alto,90\n"
    turn = await Conversation().say("who is attendance % under 50 %", csv_file(tmp_path, table))
    assert "Ann" in turn.text
    assert "Bo" not in turn.text


async def test_each_table_that_may_be_meant_is_a_choice(tmp_path: Path) -> None:
    income = csv_file(tmp_path, "date,source,amount €\n2024-01-03,Bar,5\n", "income.csv")
    costs = csv_file(tmp_path, "date,payee,amount €\n2024-01-05,Band,3\n", "expenses.csv")
    turn = await Conversation().say("how much did we spend", income, costs)
    assert turn.choices == ["income.csv", "expenses.csv", "Leave it"]
    turn = await Conversation().say("total expenses", income, costs)
    assert turn.choices == ["expenses.csv", "income.csv", "Leave it"]
