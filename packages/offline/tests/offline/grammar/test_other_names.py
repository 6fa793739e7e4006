"""Columns are found by other names of the same thing, of other languages too, and it is said."""

from pathlib import Path

import pytest

from tests.offline.conversations import Conversation, csv_file

TAXI = "Fahrer,Fahrpreis,Trinkgeld\nBrandt,10,1\nOduya,20,3\nBrandt,30,2\n"
GIGS = "venue,capacity,fee\nHope,80,300\nVera,400,500\n"


@pytest.mark.parametrize(
    ("table", "message", "words", "figures"),
    [
        (TAXI, "total tips by driver", "I read “driver” as “Fahrer”", ["Brandt: 3", "Oduya: 3"]),
        (TAXI, "propinas en total por conductor", "«conductor» como «Fahrer»",
         ["Brandt: 3", "Oduya: 3"]),
    ],
)  # fmt: skip
async def test_another_name_is_read(
    tmp_path: Path, table: str, message: str, words: str, figures: list[str]
) -> None:
    attached = csv_file(tmp_path, table)
    text = (await Conversation().say(message, attached)).text
    assert words in text
    assert [one for one in figures if one not in text] == []


async def test_a_name_of_two_columns_is_asked_about(tmp_path: Path) -> None:
    attached = csv_file(tmp_path, "Fahrer,Chauffeur,km\nA,B,10\nC,D,20\n")
    turn = await Conversation().say("total km by driver", attached)
    assert "driver" in "\n".join(turn.questions)


CLUB = "Mitglied,Verein,Mitgliedschaft €\nAda,Rudern,10\nBo,Tennis,20\nCy,Rudern,30\n"
RACE = "runner,sex,time\nAnn,F,0:50:10\nBea,F,0:24:30\nCid,M,0:42:15\n"
VIEWS = "spectacle,ville,recette €\nHamlet,Lyon,10\nFaust,Nice,20\nHamlet,Nice,30\n"


async def test_words_of_sentences_name_no_column(tmp_path: Path) -> None:
    turn = await Conversation().say("best time", csv_file(tmp_path, RACE))
    assert (turn.replies, turn.started) == ([], [])
    assert "The best of what?" in turn.questions[0]
