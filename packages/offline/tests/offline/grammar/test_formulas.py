"""Figures of two columns: what one is without the other, for each of the other, times the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.offline.conversations import Conversation, csv_file, said

SHOWS = """date,venue,takings €,costs €,visitors,km
2024-01-05,Barn,500,200,50,10
2024-01-20,Hall,300,350,40,20
2024-02-03,Barn,420,,30,10
2024-02-17,Hall,250,100,20,30
"""
PARTS = """part,in stock,reorder at,price £
chain,4,6,12.5
tyre,9,5,20
lock,2,2,8
bell,1,3,
"""
ORDERS = """order no,customer,qty,unit price €,currency
1001,Ann,3,2.5,EUR
1002,Bo,1,10,EUR
1003,Ann,2,4,EUR
"""
GIGS = "date,costs €,receipt\n2024-01-02,5,yes\n2024-01-03,7,no\n2024-01-04,9,\n"
OFFERS = """SKU,item,price £,discount %,stock,sold,supplier
A1,mug,4.5,0,12,3,Kiln
A2,plate,9,10,2,4,Kiln
B1,hat,12,25,1,0,Wool
"""


@pytest.mark.parametrize(
    ("table", "message", "parts"),
    [
        (SHOWS, "recettes sur visitors", ["10,50"]),
        (SHOWS, "كم ربحنا", ["820"]),
        # The third show has no costs, so its kilometres are none of a cost.
        (SHOWS, "which venue has the biggest gap between takings and costs", ["Barn: €720"]),
        (PARTS, "which parts have a stock below reorder at?", ["chain", "bell"]),
    ],
)
async def test_two_columns_make_a_figure(
    tmp_path: Path, table: str, message: str, parts: list[str]
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table))
    assert all(part in turn.text for part in parts), turn.text
    assert not turn.questions


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (OFFERS, "price × discount"),  # 10 % are no 10
        (SHOWS, "takings minus costs per km"),
        (GIGS, "costs with and without receipt"),
        (SHOWS, "takings and costs per km"),
        (SHOWS, "(takings - costs) / visitors"),
        (SHOWS, "top 2 venues by takings, lowest first"),
        (SHOWS, "costes por fila"),
        (OFFERS, "which item has more in stock than sold"),
        # Each row, or all of a group's together; one of two may be the best, and none has parts.
        (SHOWS, "which venues have takings below costs"),
        (SHOWS, "which venue has the highest takings and costs"),
        (SHOWS, "pie chart of costs per visitor by venue"),
        (SHOWS, "how much are we over costs in January"),
        ("customers,receipt\n12,yes\n20,no\n30,\n", "who has no receipt"),
    ],
)
async def test_what_two_columns_do_not_tell_is_asked(
    tmp_path: Path, table: str, message: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table, "gigs.csv"))
    assert turn.questions, turn.text


async def test_them_are_those_of_the_answer_in_spanish_too(tmp_path: Path) -> None:
    talk = Conversation()
    table = "fecha,proveedor,gastos,recibo\n" + "\n".join(
        f"2024-0{day % 3 + 1}-02,{('Ana', 'Luz')[day % 2]},{day},{('sí', 'no')[day % 3 > 0]}"
        for day in range(1, 9)
    )
    turn = await talk.say("me dices los gastos de Ana", csv_file(tmp_path, table))
    assert "20" in turn.text
    turn = await talk.say("¿cuántos de ellos tienen recibo?")
    assert turn.questions, turn.text
    assert turn.choices[0] == "número de filas, Proveedor = Ana, Recibo = sí"


async def test_one_figure_is_no_line(tmp_path: Path) -> None:
    turn = await said(csv_file(tmp_path, SHOWS), "total takings", "as a line chart")
    assert turn.questions
    assert not turn.started


async def test_them_are_no_rows_where_a_question_was_left_open(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("which items have stock below the sky", csv_file(tmp_path, OFFERS))
    assert turn.questions
    turn = await talk.say("how many of them are from Kiln")
    assert turn.questions, turn.text
