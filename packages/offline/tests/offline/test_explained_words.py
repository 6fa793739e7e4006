"""What a word is that was not understood: a choice of the columns, which is remembered."""

from pathlib import Path

import pytest

from tests.offline.conversations import Conversation, csv_file, frame

GAMES = """day,home,away,goals,spectators
2026-03-01,Rovers,City,2,100
2026-03-08,City,Rovers,1,300
2026-03-15,Rovers,City,4,200
"""
LEAVE = """Beginn,Filiale,Grund,Tage,Kosten
2026-01-05,Nord,Erkältung,3,300
2026-02-05,Süd,Heizung,4,500
"""


@pytest.mark.parametrize(
    ("table", "message", "choice"),
    [
        (GAMES, "average crowd in march", "average Spectators, March 2026"),
        (GAMES, "average crowd at each ground", "crowd = Spectators"),
        (LEAVE, "wieviele krankheitstage hatten wir im januar", "Tage gesamt, Januar 2026"),
        (LEAVE, "wie hoch waren die heizkosten", "Kosten gesamt"),
        (GAMES, "每个主队的平均观众", "观众 = Spectators"),
        (LEAVE, "total tagge by branch", "Tage by Filiale"),
    ],
)
async def test_a_word_may_be_each_column_that_makes_it_understood(
    tmp_path: Path, table: str, message: str, choice: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table))
    assert turn.questions
    assert any(choice in one for one in turn.choices), turn.choices


async def test_what_is_chosen_is_done_and_remembered(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("average crowd at each ground", csv_file(tmp_path, GAMES))
    turn = await talk.say("crowd = Spectators")
    assert "average Spectators by Home" in turn.choices
    turn = await talk.say("average Spectators by Home")
    assert "- City: 300\n- Rovers: 150" in turn.text
    turn = await talk.say("total crowd by ground")
    assert "- City: 300\n- Rovers: 300" in turn.text, (turn.text, turn.choices)


@pytest.mark.parametrize(
    "message",
    ["bar chart of the goals by home, title: Our crowd",
     'bar chart of the total crowd by home, called "Our crowd"'],
)  # fmt: skip
async def test_a_title_keeps_a_word_that_was_explained(tmp_path: Path, message: str) -> None:
    talk = Conversation()
    await talk.say("average crowd in march", csv_file(tmp_path, GAMES))
    await talk.say("average Spectators, March 2026")
    (job,) = (await talk.say(message)).started
    assert frame(job).style.title == "Our crowd"


async def test_a_word_with_a_meaning_is_no_column(tmp_path: Path) -> None:
    turn = await Conversation().say("average without at each ground", csv_file(tmp_path, GAMES))
    assert "average Goals" in turn.choices
    assert not any(one.startswith("without =") for one in turn.choices)


async def test_an_explained_word_is_another_one_where_its_column_is_missing(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("average crowd in march", csv_file(tmp_path, GAMES))
    await talk.say("average Spectators, March 2026")
    turn = await talk.say("total crowd", csv_file(tmp_path, "shop,crowd\nA,3\nB,4\n", "shops.csv"))
    assert "Total Crowd: 7." in turn.text


async def test_a_chart_is_of_the_column_that_a_word_is_chosen_for(tmp_path: Path) -> None:
    talk = Conversation()
    turn = await talk.say("bar chart of the crowd by home", csv_file(tmp_path, GAMES))
    assert "a chart: total Spectators by Home" in turn.choices
    (job,) = (await talk.say("a chart: total Spectators by Home")).started
    assert frame(job).queries[0].measures[0].column == "spectators"
