"""Columns are found by other names of the same thing, of other languages too, and it is said."""

from pathlib import Path

import pytest

from tests.offline.conversations import Conversation, csv_file, frame

TAXI = "Fahrer,Fahrpreis,Trinkgeld\nBrandt,10,1\nOduya,20,3\nBrandt,30,2\n"
SICK = "Gruppe,Grund,Krankentage\nBären,Fieber,3\nIgel,Husten,5\nBären,Husten,4\n"
GIGS = "venue,capacity,fee\nHope,80,300\nVera,400,500\n"


@pytest.mark.parametrize(
    ("table", "message", "words", "figures"),
    [
        (TAXI, "total tips by driver", "I read “driver” as “Fahrer”", ["Brandt: 3", "Oduya: 3"]),
        (TAXI, "propinas en total por conductor", "«conductor» como «Fahrer»",
         ["Brandt: 3", "Oduya: 3"]),
        (TAXI, "total des pourboires par chauffeur", "« chauffeur » comme « Fahrer »",
         ["Brandt\xa0: 3", "Oduya\xa0: 3"]),
        (SICK, "how many rows by reason", "I read “reason” as “Grund”",
         ["Husten: 2", "Fieber: 1"]),
        (SICK, "how many rows in which group", "I read “group” as “Gruppe”",
         ["Bären: 2", "Igel: 1"]),
        (GIGS, "Anzahl der Zeilen nach Spielort", "„Spielort“ als „venue“",
         ["Hope: 1", "Vera: 1"]),
    ],
)  # fmt: skip
async def test_another_name_is_read(
    tmp_path: Path, table: str, message: str, words: str, figures: list[str]
) -> None:
    attached = csv_file(tmp_path, table)
    text = (await Conversation().say(message, attached)).text
    assert words in text
    assert [one for one in figures if one not in text] == []


async def test_rows_have_other_names_too(tmp_path: Path) -> None:
    attached = csv_file(
        tmp_path, "Vorname,Gruppe\nIda,Bären\nTheo,Igel\nEmil,Bären\n", "Kinder.csv"
    )
    turn = await Conversation().say("how many kids are there", attached)
    assert "Number of rows: 3" in turn.text


async def test_a_name_of_two_columns_is_asked_about(tmp_path: Path) -> None:
    attached = csv_file(tmp_path, "Fahrer,Chauffeur,km\nA,B,10\nC,D,20\n")
    turn = await Conversation().say("total km by driver", attached)
    assert "driver" in "\n".join(turn.questions)


CLUB = "Mitglied,Verein,Mitgliedschaft €\nAda,Rudern,10\nBo,Tennis,20\nCy,Rudern,30\n"
RACE = "runner,sex,time\nAnn,F,0:50:10\nBea,F,0:24:30\nCid,M,0:42:15\n"
VIEWS = "spectacle,ville,recette €\nHamlet,Lyon,10\nFaust,Nice,20\nHamlet,Nice,30\n"
BUSES = "bus,departure\nA,8:05:30\nB,8:15:00\nC,9:30:20\nD,7:45:10\n"


@pytest.mark.parametrize(
    ("table", "message", "word"),
    [
        (CLUB, "total Mitgliedschaft of our club", "“club”"),
        (CLUB, "what is my own total Mitgliedschaft", "“own”"),
        (RACE, "best time", "The best of what?"),
        (BUSES, "total departure", "What shall I count?"),
    ],
)
async def test_words_of_sentences_name_no_column(
    tmp_path: Path, table: str, message: str, word: str
) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, table))
    assert (turn.replies, turn.started) == ([], [])
    assert word in turn.questions[0]


async def test_a_verb_names_no_column(tmp_path: Path) -> None:
    turn = await Conversation().say(
        "a chart that shows total recette by ville", csv_file(tmp_path, VIEWS)
    )
    (job,) = turn.started
    assert frame(job).queries[0].groups == ("ville",)


async def test_what_is_measured_is_no_row(tmp_path: Path) -> None:
    milk = csv_file(tmp_path, "Kuh,Liter,Tag\nN,20,1\nN,20,2\nS,15,1\nS,10,2\n", "milch.csv")
    turn = await Conversation().say("how much milk by Kuh", milk)
    assert turn.replies == []
    assert "“milk”" in turn.questions[0]
