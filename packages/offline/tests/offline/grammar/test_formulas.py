"""Figures of two columns: what one is without the other, for each of the other, times the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.offline.conversations import Conversation, csv_file

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
        (
            SHOWS,
            "total takings minus costs",
            [
                "Total Takings − total Costs: €820.",
                "1 of these rows has no Costs, which counts as 0",
            ],
        ),
        (SHOWS, "takings - costs by venue", ["Barn: €720", "Hall: €100", "no Costs, which counts"]),
        (SHOWS, "recettes sur visitors", ["10,50"]),
        (SHOWS, "كم ربحنا", ["820"]),
        (
            SHOWS,
            "average takings minus costs",
            ["Average Takings − Costs: €133.33", "no Takings − Costs"],
        ),
        (SHOWS, "what was our profit in January", ["total Takings − total Costs", "€250"]),
        (SHOWS, "which venue has the lowest profit?", ["Hall: €100"]),
        (SHOWS, "difference between takings and costs by venue", ["Barn: €720", "Hall: €100"]),
        (SHOWS, "takings per visitor by venue", ["Barn: €11.5", "Hall: €9.17"]),
        # The third show has no costs, so its kilometres are none of a cost.
        (SHOWS, "costs per km", ["total Costs ÷ total Km", "€10.83"]),
        (SHOWS, "takings divided by visitors", ["€10.50"]),
        (SHOWS, "takings على visitors", ["10.50"]),
        (SHOWS, "which venue has the biggest gap between takings and costs", ["Barn: €720"]),
        (SHOWS, "Einnahmen minus Kosten", ["820\xa0€"]),
        (PARTS, "what is the stock worth", ["In stock × Price: £246"]),
        (PARTS, "in stock × price by part", ["chain: £50", "tyre: £180", "lock: £16"]),
        (PARTS, "which parts have a stock below reorder at?", ["chain", "bell"]),
        (PARTS, "how many parts with stock below reorder at", ["2", "In stock < Reorder at"]),
        (ORDERS, "total revenue", ["€25.5"]),
        (ORDERS, "revenue by customer", ["Ann: €15.5", "Bo: €10"]),
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
        (SHOWS, "takings-costs by venue"),
        (SHOWS, "takings minus costs per km"),
        (SHOWS, "average takings minus total costs"),
        (GIGS, "costs with and without receipt"),
        (GIGS, "Kosten mit und ohne receipt"),
        (SHOWS, "takings and costs per km"),
        (SHOWS, "takings - costs - visitors"),
        (SHOWS, "(takings - costs) / visitors"),
        (SHOWS, "top 2 venues by takings, lowest first"),
        (SHOWS, "Verlust nach venue"),  # the profit is no loss
        (SHOWS, "how many days did we make a profit"),
        (SHOWS, "an wie vielen Tagen haben wir Gewinn gemacht"),
        (SHOWS, "costes por fila"),
        (SHOWS, "how many costs in the Barn"),
        (SHOWS, "costs per gig"),  # the rows of gigs.csv
        (SHOWS, "profit per gig"),
        (OFFERS, "price per item"),
        (OFFERS, "which item has more in stock than sold"),
        (OFFERS, "which items have more sold than stock"),
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


async def test_who_is_named_as_it_was_asked(tmp_path: Path) -> None:
    turn = await Conversation().say("wer hat keine costs", csv_file(tmp_path, SHOWS))
    assert "„wer“" in turn.questions[0]


async def test_one_figure_is_no_line(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("total takings", csv_file(tmp_path, SHOWS))
    turn = await talk.say("as a line chart")
    assert turn.questions
    assert not turn.started


async def test_them_are_no_rows_where_a_question_was_left_open(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("which items have stock below the sky", csv_file(tmp_path, OFFERS))
    assert turn.questions
    turn = await talk.say("how many of them are from Kiln")
    assert turn.questions, turn.text


async def test_a_word_of_two_languages_is_of_that_of_the_table(tmp_path: Path) -> None:
    table = "Datum;Fahrer;Ziel;km;Kosten €;Beleg\n" + "\n".join(
        f"0{day}.01.2024;Anna;Köln;{100 * day};{40 * day},50;{('ja', 'nein')[day % 2]}"
        for day in range(1, 4)
    )
    turn = await Conversation().say("Kosten je km", csv_file(tmp_path, table))
    assert "Kosten gesamt ÷ Km gesamt: 0,40" in turn.text, turn.questions
