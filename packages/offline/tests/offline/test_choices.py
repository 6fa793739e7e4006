"""What a choice says and does: it names what is made, and what was not understood once is not asked
about again."""

import copy
from pathlib import Path

import pytest

from agentpost_offline.frame import Thing
from tests.offline.conversations import Conversation, csv_file, frame

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


async def test_a_choice_names_what_is_made(tmp_path: Path) -> None:
    turn = await Conversation().say("chart by town", csv_file(tmp_path, GIGS))
    assert turn.choices[0] == "a chart: total Fee by Town"


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


@pytest.mark.parametrize(
    ("message", "figure"),
    [
        ("fastest F with distance over 9", "47.08\xa0min"),
        ("slowest F with distance over 9", "50.17\xa0min"),
    ],
)
async def test_a_condition_may_stand_beside_what_is_ranked(
    tmp_path: Path, message: str, figure: str
) -> None:
    assert figure in (await Conversation().say(message, csv_file(tmp_path, RUNS))).text


async def test_a_condition_that_was_not_understood_is_offered_by_yes_and_no(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("how many drills that nobody brought home", csv_file(tmp_path, LOANS))
    condition = next(one for one in turn.choices if "no" in one.split())
    assert condition == "number of rows, Item = drill, Returned = no"
    assert "Number of rows: 2" in (await talk.say(condition)).text


async def test_a_condition_is_offered_by_whether_a_day_is_missing(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("total weight of the UPS ones still lying", csv_file(tmp_path, PARCELS))
    assert "total Weight, Carrier = UPS, Collected missing" in turn.choices
    assert len(turn.choices) <= 7


async def test_a_word_that_stops_work_is_no_part_of_a_question(tmp_path: Path) -> None:
    turn = await Conversation().say("how many cancelled by shelf", csv_file(tmp_path, LOANS))
    assert "“cancelled”" in turn.questions[0]


async def test_what_is_suggested_has_the_named_columns(tmp_path: Path) -> None:
    turn = await Conversation().say("merch per town for my aunt", csv_file(tmp_path, GIGS))
    assert turn.choices[:2] == ["Do this", "total Merch"]
    assert not any("fee" in one.casefold() for one in turn.choices)


async def test_rows_that_are_listed_by_their_codes_say_what_they_are(tmp_path: Path) -> None:
    turn = await Conversation().say("list the codes on shelf B", csv_file(tmp_path, LOANS))
    assert "- L-02: ladder, yes\n- L-03: drill, no" in turn.text


async def test_a_column_of_one_table_is_no_word_of_the_files_names(tmp_path: Path) -> None:
    games = csv_file(tmp_path, "room,fee €\nCave,10\nAttic,20\nCave,5\n", "room games.csv")
    gifts = csv_file(tmp_path, "buyer,fee €\nAnn,50\nBo,30\n", "room gifts.csv")
    turn = await Conversation().say("fee by room", games, gifts)
    assert "Cave: €15" in turn.text


MEMBERS = """name,section,joined,fee paid?,fee €
Ann,Judo,2023-05-01,yes,90
Bo,Judo,2024-02-01,Yes,60
Cy,Tennis,2024-03-01,no,60
Di,Judo,2022-04-01,no,90
"""


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("which section has the most members?", "Judo: 3 (highest: number of rows)"),
        ("how many members havent paid", "Number of rows: 2."),
        (
            "who joined since 1 january 2024?",
            "- Bo: Joined February 2024, Fee €60\n- Cy: Joined March 2024, Fee €60\nIn all: 2",
        ),
    ],
)
async def test_the_rows_of_a_list_of_people_are_the_people(
    tmp_path: Path, message: str, answer: str
) -> None:
    file = csv_file(tmp_path, MEMBERS, "members.csv")
    assert answer in (await Conversation().say(message, file)).text


async def test_a_no_before_a_comma_takes_back_what_was_shown(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("fee by section", csv_file(tmp_path, MEMBERS, "members.csv"))
    turn = await talk.say("no, by month joined")
    assert "total Fee by month" in turn.text


async def test_what_is_counted_by_a_name_of_its_own_is_a_new_request(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("chart of the fee by section", csv_file(tmp_path, MEMBERS, "members.csv"))
    turn = await talk.say("members per section")
    assert "Computed: number of rows by Section" in turn.text


async def test_a_column_may_be_called_as_a_verb_is(tmp_path: Path) -> None:
    jobs = csv_file(tmp_path, "Building,Cost €\nA,3\nB,4\nA,5\n", "jobs.csv")
    assert "A: €8" in (await Conversation().say("cost by building", jobs)).text


async def test_a_column_called_by_a_word_alone_comes_before_one_with_more_words(
    tmp_path: Path,
) -> None:
    file = csv_file(tmp_path, MEMBERS, "members.csv")
    assert "Judo: €240" in (await Conversation().say("fee by section", file)).text


async def test_how_many_of_an_unknown_word_may_be_rows(tmp_path: Path) -> None:
    turn = await Conversation().say("how many things are still out?", csv_file(tmp_path, PARCELS))
    assert "number of rows, Collected missing" in turn.choices


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


async def test_a_list_of_rows_without_names_is_the_rows(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "rides more than 15 min late, complete list please", csv_file(tmp_path, RIDES, "rides.csv")
    )
    assert not turn.choices
    assert "- 6 February 2024, 31, €7" in turn.text
    assert "In all: 3 rows, Fee €23" in turn.text


@pytest.mark.parametrize("edit", ["by month joined", "no, by month joined"])
async def test_months_after_the_best_group_come_in_their_order(tmp_path: Path, edit: str) -> None:
    talk = Conversation()
    await talk.say("which section has the highest fee?",
                   csv_file(tmp_path, MEMBERS, "members.csv"))  # fmt: skip
    turn = await talk.say(f"{edit} as a line chart")
    (query,) = frame(turn.started[0]).queries
    assert (query.groups, query.order) == ((), None)


async def test_months_are_no_parts_of_a_pie(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("donut of the fee by section", csv_file(tmp_path, MEMBERS, "members.csv"))
    turn = await talk.say("by month joined")
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
        (VISITS, ["fee by vet, paid ones dont coount"], "total Fee by Vet, Paid = no"),
        (VISITS, ["fee in May 2024", "the year by month in excel for our bookkeeper"],
         "a spreadsheet: total Fee by month, 2024"),
        (VISITS, ["which species do we see most, roughly"], "top 1: number of rows by Species"),
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
    talk = Conversation()
    files = [csv_file(tmp_path, table)]
    for message in messages:
        turn = await talk.say(message, *files)
        files = []
    assert suggestion in turn.choices, (turn.choices, turn.text)


async def test_a_suggestion_does_what_it_says(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("which plots are free at the mo", csv_file(tmp_path, PLOTS))
    turn = await talk.say("a list: table.csv, Holder missing")
    assert "A2" in turn.text
    assert "B1" not in turn.text


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
