"""Tables with a column for each month: the year of their name, months without one, and figures
that stand once for all months."""

from pathlib import Path

import pytest

from tests.offline.conversations import Conversation, csv_file

SHOPS = """shop,staff,Jan,Feb,Mar,Apr,Oct,Nov,Dec
North,5,10,20,30,40,50,60,70
South,3,1,2,3,4,5,6,7
"""


@pytest.mark.parametrize(
    ("name", "message", "answer"),
    [
        ("takings_2025.csv", "total by shop in Q4", "- North: 180\n- South: 18"),
        ("takings_2025.csv", "total by shop in Q4", "the months are taken to be of 2025"),
        ("takings_2025.csv", "total takings 2025", "Total Value: 308."),
        ("takings.csv", "total by shop in Q4", "Month = Oct or Nov or Dec"),
        ("takings.csv", "total by shop in Q4", "- North: 180\n- South: 18"),
        ("takings.csv", "total value just december", "Total Value: 77."),
        ("takings.csv", "total value from october to december", "Month = Oct or Nov or Dec"),
        ("takings.csv", "total value february to april", "Total Value: 99."),
        ("takings.csv", "total value february-april", "Total Value: 99."),
        ("takings_2024-25.csv", "total value in march", "Month = Mar"),
        ("takings.csv", "average staff", "Average Staff: 4."),
        ("takings_2025.csv", "total per month", "- March 2025: 33\n"),
    ],
)
async def test_months_are_understood(tmp_path: Path, name: str, message: str, answer: str) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, SHOPS, name))
    assert answer in turn.text, (turn.text, turn.questions)


@pytest.mark.parametrize(
    "message", ["total value in march 2025", "total value until march", "total value on 2025-03-01"]
)
async def test_months_without_a_year_are_of_none_and_bound_nothing(
    tmp_path: Path, message: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, SHOPS, "takings.csv"))
    assert turn.questions


async def test_months_over_the_turn_of_a_year_are_not_all_of_the_year_of_the_name(
    tmp_path: Path,
) -> None:
    season = "shop,Oct,Nov,Dec,Jan,Feb\nNorth,1,2,3,4,5\nSouth,1,2,3,4,5\n"
    turn = await Conversation().say(
        "total per month", csv_file(tmp_path, season, "season_2024.csv")
    )
    assert "2024:" not in turn.text
    assert turn.text.index("Dec: 6") < turn.text.index("Jan: 8")


async def test_a_figure_of_all_months_is_not_added_up(tmp_path: Path) -> None:
    turn = await Conversation().say("total staff", csv_file(tmp_path, SHOPS))
    assert turn.questions == ["“Staff” cannot be added up. The average?"]
