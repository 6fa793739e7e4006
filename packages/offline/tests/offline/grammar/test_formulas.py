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


@pytest.mark.parametrize(
    ("table", "message", "parts"),
    [
        (
            SHOWS,
            "total takings minus costs",
            ["Total Takings − total Costs: €820.", "1 of these rows has no Costs"],
        ),
        (SHOWS, "takings - costs by venue", ["Barn: €720", "Hall: €100"]),
        (
            SHOWS,
            "average takings minus costs",
            ["Average Takings − Costs: €133.33", "no Takings − Costs"],
        ),
        (SHOWS, "what was our profit in January", ["total Takings − total Costs", "€250"]),
        (SHOWS, "which venue has the lowest profit?", ["Hall: €100"]),
        (SHOWS, "difference between takings and costs by venue", ["Barn: €720", "Hall: €100"]),
        (SHOWS, "takings per visitor by venue", ["Barn: €11.5", "Hall: €9.17"]),
        (SHOWS, "costs per km", ["total Costs ÷ total Km"]),
        (SHOWS, "takings divided by visitors", ["€10.50"]),
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
