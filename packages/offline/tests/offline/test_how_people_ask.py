"""What people put around their requests, and how they go on: purposes, remarks, several demands in
one message, and fragments behind a question that nobody answered."""

import csv
from pathlib import Path

import pytest

from agentpost_offline.frame import Thing
from tests.agents.fakes import file
from tests.libraries import openpyxl
from tests.offline.conversations import Conversation, csv_file, frame

STAYS = """res no,guest,channel,nights,total,breakfast,status,arrival
101,Ann,Direct,2,200,yes,confirmed,2024-01-01
102,Bo,Phone,1,90,no,cancelled,2024-03-05
103,Cy,Phone,4,400,yes,confirmed,2024-03-20
104,Di,Direct,2,180,no,confirmed,2024-05-02
105,Ed,Agency,3,330,yes,no-show,2024-08-01
106,Flo,Phone,2,210,no,confirmed,2024-09-12
107,Gus,Agency,5,500,yes,confirmed,2024-11-30
108,Hal,Direct,1,80,no,confirmed,2024-12-31
"""
FUEL = """station,driver,litres,price per litre,amount
Esso,Kev,40,1.45,58.00
Esso,Sue,30,1.37,41.10
BP,Kev,50,1.40,70.00
BP,Sue,20,1.38,27.60
"""
SUBS = """player,team,fee,paid,how,kit given
Jo,U9,90,90,cash,yes
Kim,U9,90,0,,no
Lee,U11,110,110,card,no
Max,U11,110,55,cash,no
"""
TILLS = """receipt,item,amount £,payment,sold
1,lamp,20,card,yes
2,chair,40,cash,yes
3,table,90,,no
4,rug,30,,no
"""
RIDES = """ride,driver,mins,fare
1,Kev,30,9
2,Kev,20,8
3,Sue,26,7
4,Sue,10,6
"""
DUES = """姓名,组别,会费,已缴
王,八岁组,200,否
李,八岁组,100,是
张,十岁组,150,是
"""
MARKS = """姓名,班级,数学
王,一班,90
李,二班,55
张,一班,60
"""
SHELVES = """kind,item,stock,cost £,price £
jam,plum,3,5,10
eggs,six,2,1,2.50
"""
KEYS = """volunteer,keyholder
Ann,no
Bert,yes
Tom,yes
"""
SPENDINGS = """التاريخ,القسم,المبلغ
2024-01-02,النقل,40
2024-01-03,الضيافة,10
2024-01-04,النقل,30
"""
FAMILIES = """Nachname,Vorname,Beitrag,Bezahlt
Busch,Ann,20,nein
Busch,Bo,30,ja
Voigt,Cy,25,nein
"""
VANS = """van,reg,leased,MOT due
Van 1,AB1,no,2025-05-30
Van 2,CD2,yes,2025-11-12
Van 3,EF3,yes,2026-03-08
"""


@pytest.mark.parametrize(
    ("table", "message", "answer"),
    [
        # For whom it is, and what else somebody does, changes nothing about an answer.
        (STAYS, "total nights by channel for the area manager", "- Phone: 7\n"),
        (STAYS, "morning, total nights by channel for the partners meeting thursday", "Phone: 7"),
        (STAYS, "total nights by channel, need it for the notice board", "- Agency: 8\n"),
        (STAYS, "total nights, the housekeeper has to make the beds",
         "“the housekeeper has to make the beds” changes nothing about it.\nTotal Nights: 20."),
        (STAYS, "total nights. i need to ring them", "Total Nights: 20."),
        (STAYS, "total nights für den Vorstand nach channel", "- Agency: 8\n"),
        # What does not count stands behind its name as well.
        (STAYS, "total nights by channel, cancelled ones dont count", "- Phone: 6\n"),
        (STAYS, "total nights by channel, cancelled ones dont count", "Status ≠ cancelled"),
        # A second demand is about the rows of the first.
        (STAYS, "how many no shows did we have and how much money is that", "Total Total: 330."),
        (STAYS, "which channel has the most nights and which the fewest",
         "Direct: 5 (lowest: total Nights)"),
        (STAYS, "best and worst month by nights", "(lowest: total Nights)"),
        (FUEL, "total and average litres by driver", "- Kev: 90, 45\n"),
        (STAYS, "average number of nights by channel", "- Agency: 4\n"),
        (STAYS, "average nights by channel and how many of each we had", "- Agency: 2, 4\n"),
        (STAYS, "bookings and revenue by channel", "- Agency: 2, 830\n"),
        (STAYS, "revenue and number of bookings by channel", "- Agency: 2, 830\n"),
        (STAYS, "number, total nights and average total by channel", "- Agency: 2, 8, 415\n"),
        # Spans of as many months are compared, in several figures.
        (STAYS, "compare march to may with sept to nov, total nights",
         "(March 2024 to May 2024) and 7 (September 2024 to November 2024)"),
        (STAYS, "nights and total, january vs march", "Total Total grew"),
        # The rows have other names, their numbers are no figures, and money is what it cost.
        (STAYS, "how many bookings by channel", "- Direct: 3\n"),
        (FUEL, "fuel cost by driver", "- Kev: 128\n"),
        (FUEL, "which station is cheapest?", "BP: 1.39 (lowest: average Price per litre)"),
        (STAYS, "everything over 300 pounds", "- Cy: Total 400, Nights 4"),
        (STAYS, "total nights by channel, leave the phone ones out", "Channel ≠ Phone"),
        (STAYS, "what was the busiest month of the whole year by nights",
         "March 2024 and November 2024, both 5"),
        (FAMILIES, "wer hat noch nicht bezahlt?", "- Ann, Busch"),
        (SUBS, "how many paid cash", "Number of rows: 2."),
        (SUBS, "which kids have no kit yet", "- Kim: Fee 90, Paid 0\n"),
        (TILLS, "how many paid by card", "Number of rows: 1."),
        (TILLS, "how many items unsold", "Number of rows: 2."),
        (TILLS, "what percent was sold and how much money is that", "Total Amount: £60."),
        (RIDES, "which driver is slowest", "Kev: 25 (highest: average Mins)"),
        (DUES, "每个组收了多少会费", "- 八岁组：300\n"),
        (DUES, "哪些人没缴", "- 王：会费 200"),
        (SHELVES, "whats all our stock worth, at cost and at selling price?",
         "Total Stock × Cost: £17. Total Stock × Price: £35."),
        (SHELVES, "stock worth at cost by kind", "- jam: £15\n"),
        (KEYS, "which of them are keyholders?", "- Bert\n- Tom\n"),
        (SPENDINGS, "كم المصروفات حسب القسم", "- النقل: 70"),
        (VANS, "which vans are leased and when is the MOT due on those",
         "- Van 2: MOT due 12 November 2025\n"),
    ],
)  # fmt: skip
async def test_a_request_is_answered(tmp_path: Path, table: str, message: str, answer: str) -> None:
    name = {STAYS: "reservations.csv", FUEL: "fuel.csv", VANS: "vans.csv"}.get(table, "subs.csv")
    turn = await Conversation().say(message, csv_file(tmp_path, table, name))
    assert answer in turn.text, (turn.text, turn.questions, turn.choices)


@pytest.mark.parametrize(
    "message",
    [
        "total nights by channel, we want net figures",  # a demand, and no remark
        "chart of total nights by channel, they get a cake",  # it costs
        "total nights for the zorble",
        "total nights for Bristol",
        "i need the zorble",
        "how many letters did we send",
    ],
)
async def test_what_may_be_a_demand_is_asked_about(tmp_path: Path, message: str) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, STAYS, "reservations.csv"))
    assert turn.questions, turn.text
    assert not turn.started


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a letter to the guests by channel", "nice, as a bar chart"),
        ("zorble of nights by channel", "can u put that in excel"),
        ("nights of the guests with kids", "which of those have breakfast"),
        ("zorble by channel", "draw it as a pie"),
    ],
)
async def test_a_fragment_behind_an_open_question_is_no_request(
    tmp_path: Path, first: str, second: str
) -> None:
    """Nothing is made of the whole file, and nothing of what was answered earlier."""
    talk = Conversation()
    await talk.say("total nights by channel", csv_file(tmp_path, STAYS, "reservations.csv"))
    assert (await talk.say(first)).questions
    turn = await talk.say(second)
    assert turn.questions
    assert not turn.started
    assert not turn.text


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("zorble of the stays by channel", "ok so what did that cost us in total"),
        ("zorble of the stays by channel", "put them in excel for me, guest, nights and total"),
        ("zorble of the stays by channel", "thanks. can i have that as a pdf"),
    ],
)
async def test_that_behind_an_open_question_is_not_known(
    tmp_path: Path, first: str, second: str
) -> None:
    talk = Conversation()
    assert (await talk.say(first, csv_file(tmp_path, STAYS, "reservations.csv"))).questions
    turn = await talk.say(second)
    assert turn.questions
    assert not turn.started


async def test_bars_are_no_bread(tmp_path: Path) -> None:
    table = "producto,unidades\nBarra,3\nPan,4\nBarra,5\n"
    turn = await Conversation().say(
        "un gráfico de barras con las unidades por producto", csv_file(tmp_path, table)
    )
    (job,) = turn.started
    assert not frame(job).queries[0].filters


async def test_a_sheet_is_named_by_its_place_or_its_name(tmp_path: Path) -> None:
    path, book = tmp_path / "book.xlsx", openpyxl.Workbook()
    book.remove(book.active)
    for name, table in (("Orders", STAYS), ("Phone list", KEYS)):
        sheet = book.create_sheet(name)
        for row in csv.reader(table.splitlines()):
            sheet.append(row)
    book.save(path)
    for message in (
        "which of them are keyholders? 2nd sheet", "phone list tab: who is a keyholder"
    ):  # fmt: skip
        turn = await Conversation().say(message, file(path))
        assert "- Bert\n- Tom\n" in turn.text, (message, turn.questions)


async def test_those_listed_last_are_listed_under_one_more_condition(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("list the guests with more than 1 nights", csv_file(tmp_path, STAYS))
    turn = await talk.say("which of those have breakfast")
    assert "Breakfast = yes" in turn.text
    assert "In all: 4" in turn.text


async def test_halves_of_a_year_are_drawn_side_by_side(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "bar chart: nights first half vs second half", csv_file(tmp_path, STAYS)
    )
    (job,) = turn.started
    query = frame(job).queries[0]
    assert frame(job).thing is Thing.CHART
    assert query.filters[0].values == ("2024-01-01/2024-06-30", "2024-07-01/2024-12-31")


async def test_how_many_percent_of_each_group_is_a_choice(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say(
        "what percentage of bookings was cancelled by channel",
        csv_file(tmp_path, STAYS, "reservations.csv"),
    )
    assert turn.choices[0] == "share of the rows of each by Channel, Status = cancelled"
    text = (await talk.say(turn.choices[0])).text
    assert "- Phone: 33.33%\n- Agency: 0%\n- Direct: 0%\n" in text
    text = (await talk.say("only with breakfast")).text
    assert "Breakfast = yes" in text
    assert "- Phone: 0%\n" in text  # of the rows with breakfast, and not of the cancelled


@pytest.mark.parametrize(
    ("table", "message", "answer"),
    [
        (MARKS, "每个班的数学平均分", "- 一班：75\n"),
        (MARKS, "数学60分以下的有哪些人", "李：55."),
    ],
)
async def test_han_characters_between_a_number_and_its_side(
    tmp_path: Path, table: str, message: str, answer: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table))
    assert answer in turn.text, (turn.questions, turn.choices)
