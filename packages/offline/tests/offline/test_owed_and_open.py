"""What is still owed, what is still open, and which marks are of subjects: figures and rows that no
column says outright."""

from pathlib import Path

import pytest

from tests.offline.conversations import Conversation, csv_file, frame, said

SUBS = """player,team,fee,paid,how,gift aid
Jo,U9,90,90,cash,yes
Kim,U9,90,0,,no
Lee,U11,110,110,card,yes
Max,U11,110,55,cash,no
"""
JOBS = """No,Reported,Building,Problem,Done on,Cost,Who
1,2024-09-08,Main,Latch,2024-09-27,7.50,Terry
2,2024-09-10,Main,Door,,36,Sue
3,2024-09-12,Annexe,Radiator,,7.50,Terry
4,2024-10-12,Annexe,Radiator,2024-11-01,12,Sue
"""
SAILINGS = """sailing_date,route,vessel,cancelled,delay min,passengers
2025-04-01,North,Annag,no,26,97
2025-04-01,North,Corran,yes,0,0
2025-04-02,South,Annag,no,70,52
2025-04-02,South,Annag,no,0,40
"""
FOUND = """Ref,Found on,Item,Est value,Claimed,Claimed on
F1,2025-01-02,phone,120,Y,2025-01-09
F2,2025-01-04,scarf,14,N,
F3,2025-02-04,phone,180,N,
F4,2025-05-04,bag,33,Y,2025-05-05
"""

FALLS = """Ref,Date,Wing,Injury,Witnessed
F1,2025-01-02,Hazel,minor,N
F2,2025-02-02,Hazel,,Y
F3,2025-02-05,Alder,major,N
F4,2025-03-01,Hazel,minor,N
"""
MARKS = """Name,Group,Reading,Writing,Maths,Missed,Sessions
Ann,A,40,60,50,12,124
Bo,B,60,80,70,3,124
Cy,A,80,70,90,14,124
"""
SEANCES = """Date;Film;Salle;Entrées;Annulée
06/02/2025;Phare;1;38;non
07/02/2025;Phare;2;50;oui
08/02/2025;Loup;1;45;non
"""
PICKING = """Day,Picker,Kg,Bruised kg,Paid
2024-09-01,Ann,100,4,yes
2024-09-02,Bo,60,9,no
2024-10-02,Ann,20,1,no
2024-10-03,Cy,90,2,yes
"""
PARCELS = """日期,快递公司,重量,运费
2025-05-01,顺丰,4,20
2025-05-02,顺丰,2,10
2025-05-03,圆通,9,30
"""


@pytest.mark.parametrize(
    ("table", "message", "answer"),
    [
        (SUBS, "how much money is still outstanding? committee meets tonite", "total Paid: 145."),
        (SUBS, "which players still owe", "- Kim: Fee 90, Paid 0\n- Max: Fee 110, Paid 55\n"),
        (SUBS, "how many players still owe something", "Number of rows: 2."),
        (SUBS, "who owes the most", "Kim: 90 (highest"),
        (SUBS, "outstanding by team", "- U9: 90\n- U11: 55\n"),
        (SUBS, "total fee and outstanding by team", "- U11: 220, 55\n- U9: 180, 90\n"),
        (SUBS, "how much does Max owe", "total Paid: 55."),
        (SUBS, "how much was paid by the gift aid people", "Total Paid: 200."),
        (JOBS, "how many jobs are still open (no done date)", "Done on missing, 2 rows"),
        (JOBS, "which jobs are not done", "- 2: 10 September 2024, Main, Door"),
        # What each row is, stands in the names of the file and of its dates.
        (SAILINGS, "which vessel had the most sailings", "Annag: 3 (highest: number of rows)"),
        (
            SAILINGS,
            "which sailings had a delay over 60",
            "- 2 April 2025, South, Annag, no, 70, 52\n",
        ),
        (SAILINGS, "show me the cancelled sailings", "- 1 April 2025, North, Corran"),
        (FOUND, "list everything worth more than 60 that nobody claimed", "- F3: Est value 180"),
        (
            FALLS,
            "how many falls on each wing and how many of those were unwitnessed",
            "by Wing, Witnessed = N, 3 rows",
        ),
        (MARKS, "avg in each subject pls", "Reading: 60. Average Writing: 70. Average Maths: 70."),
        (MARKS, "who missed more than 10 sessions", "- Cy: 14\n- Ann: 12\n"),
        (PICKING, "total bruised without the ones that havent paid", "Paid = yes"),
        (SEANCES, "total des entrées sans les séances annulées", "Annulée = non"),
        (PARCELS, "每家快递公司多少件，总运费多少", "- 顺丰：2, 30\n"),
        (SAILINGS, "number of sailings and passengers by route", "- South: 2, 92\n"),
    ],
)
async def test_it_is_answered(tmp_path: Path, table: str, message: str, answer: str) -> None:
    names = {SAILINGS: "sailings.csv", FALLS: "falls.csv", SEANCES: "seances.csv"}
    name = names.get(table, "table.csv")
    turn = await Conversation().say(message, csv_file(tmp_path, table, name))
    assert answer in turn.text, (turn.text, turn.questions, turn.choices)


@pytest.mark.parametrize(
    "message", ["cost by building thanks terry", "when was the first sailing", "who has not paid"]
)
async def test_what_may_be_otherwise_is_asked_about(tmp_path: Path, message: str) -> None:
    table = {"cost": JOBS, "when": SAILINGS}.get(message.split(maxsplit=1)[0], SUBS)
    turn = await Conversation().say(message, csv_file(tmp_path, table, "sailings.csv"))
    assert turn.questions, turn.text


async def test_a_condition_alone_is_of_both_answers_of_a_message(tmp_path: Path) -> None:
    turn = await said(
        csv_file(tmp_path, SAILINGS),
        "passengers by route, and which vessel had the most?",
        "and just the south ones",
    )
    assert turn.text.startswith("South: 92.")
    assert "Annag: 92 (highest" in turn.text


async def test_rows_under_a_condition_are_written_largest_first(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "excel with all the jobs with a cost over 10, biggest first", csv_file(tmp_path, JOBS)
    )
    query = frame(turn.started[0]).queries[0]
    assert (query.rows_by, query.order and query.order.descending) == ("Cost", True)


async def test_what_was_not_made_is_not_narrowed(tmp_path: Path) -> None:
    assert (
        await said(
            csv_file(tmp_path, SUBS), "zorble of the subs", "list who they are pls", "just the u9s"
        )
    ).questions


async def test_two_groups_against_each_other_stand_side_by_side(tmp_path: Path) -> None:
    turn = await said(csv_file(tmp_path, MARKS), "avg in each subject", "group a against group b")
    assert "- B: 60, 80, 70\n" in turn.text


async def test_a_blank_divides_two_chinese_demands(tmp_path: Path) -> None:
    weights = PARCELS.replace("重量", "重量(kg)")
    turn = await Conversation().say("顺丰有多少件 超过3公斤的列出来", csv_file(tmp_path, weights))
    assert turn.questions, turn.text  # of those of one company, or of all?


@pytest.mark.parametrize("purpose", ["it's for the wall", "would look great in the foyer"])
async def test_what_it_is_for_changes_nothing_about_a_chart(tmp_path: Path, purpose: str) -> None:
    message = f"bar chart of fee by team, {purpose}"
    turn = await Conversation().say(message, csv_file(tmp_path, SUBS))
    assert len(turn.started) == 1
    assert f"“{purpose}” changes nothing about it." in turn.text


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (PICKING, "compare bruised in september and october, all animals"),  # no animation
        (PICKING, "line chart of bruised by month, biggest first"),
    ],
)
async def test_nothing_is_left_out_in_silence(tmp_path: Path, table: str, message: str) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table))
    assert turn.questions, turn.text
    assert not turn.started


async def test_a_line_is_drawn_for_each_of_the_values_that_are_named(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "line chart of bruised of just Ann and Bo over the months", csv_file(tmp_path, PICKING)
    )
    query = frame(turn.started[0]).queries[0]
    assert (query.groups, query.order) == (("Picker",), None)
