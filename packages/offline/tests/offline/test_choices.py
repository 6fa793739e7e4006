"""What a choice says and does: it names what is made, and what was not understood once is not asked
about again."""

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
