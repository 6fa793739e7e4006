"""Small words that change what is asked for: none is passed over in silence."""

from pathlib import Path

import pytest

from agentpost_offline.frame import Aggregate, Thing
from tests.offline.conversations import Conversation, csv_file, frame, said

LOST = """ref,found on,shelf,item,days kept,collected
1,2025-02-03,A,Keys,3,yes
2,2025-02-06,B,Scarf,9,no
3,2025-03-06,B,Phone,4,yes
"""
CALLS = """date,kind,duration (h)
2025-01-01,fire,9.5
2025-01-02,door,4
2025-02-02,door,8
"""
WATER = "date,pH,salt kg\n2025-01-01,7.1,3\n2025-01-02,7.4,2\n2025-02-02,7.3,1\n"


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("rows per item, slowest on top", "“slowest”"),
        ("match the items to the shelves", "“match the”"),
    ],
)
async def test_it_is_said_to_be_not_understood(tmp_path: Path, message: str, word: str) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, LOST))
    assert word in "\n".join(turn.questions)
    assert (turn.started, turn.replies) == ([], [])


async def test_what_is_measured_by_a_scale_is_averaged(tmp_path: Path) -> None:
    turn = await Conversation().say("ph by month", csv_file(tmp_path, WATER))
    assert "January 2025: 7.25" in turn.text


async def test_at_most_so_many_seconds(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "a film of salt by month, 15 secs max", csv_file(tmp_path, WATER)
    )
    shown = frame(turn.started[0])
    assert (shown.thing, shown.style.seconds) == (Thing.VIDEO, 15)
    assert [one.aggregate for one in shown.queries[0].measures] == [Aggregate.SUM]


async def test_parts_of_a_whole_are_not_the_rows_unasked(tmp_path: Path) -> None:
    stock = "yarn,brand,skeins,price\na,Rowan,3,7.5\nb,Drops,12,2\nc,Rowan,4,8\n"
    turn = await Conversation().say("by brand as donut, percent on it", csv_file(tmp_path, stock))
    assert (turn.started, bool(turn.questions)) == ([], True)


async def test_a_table_of_rows_is_drawn_as_nothing(tmp_path: Path) -> None:
    turn = await said(csv_file(tmp_path, LOST), "an excel file please", "bars for that, in orange")
    assert (turn.started, bool(turn.questions)) == ([], True)
