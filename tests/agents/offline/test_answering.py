"""Answers complete the request that was asked about, and a new request takes its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentpost.agents import File
from agentpost.agents.offline import answering, steps
from agentpost.agents.offline.frame import Frame, Thing
from tests.agents.fakes import FakeTurn, file, said
from tests.agents.offline.conversations import Conversation, frame, surveyed

SMALL = "month,region,units,revenue\n2025-01-01,North,1,10\n2025-02-01,South,2,30\n"


@pytest.fixture(autouse=True)
def surveys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same file is read once in all these tests."""
    monkeypatch.setattr(steps, "survey", surveyed)


@pytest.fixture
def small(tmp_path: Path) -> File:
    path = tmp_path / "sales.csv"
    path.write_text(SMALL)
    return file(path, "text/csv")


async def answered(talk: Conversation, *said: str | tuple[str, File]) -> list[Frame]:
    """The frames that the last of several messages starts."""
    turn = None
    for one in said:
        text, files = (one, ()) if isinstance(one, str) else (one[0], (one[1],))
        turn = await talk.say(text, *files)
    assert turn is not None
    return [frame(job) for job in turn.started]


@pytest.mark.parametrize(
    ("request_", "thing", "formats"),
    [
        ("make a chart", Thing.CHART, ()),
        ("I need a chart as PDF", Thing.CHART, ("pdf",)),
        ("write a report as word", Thing.REPORT, ("docx",)),
        ("make a deck of 4 slides", Thing.DECK, ()),
        ("make a film of 20 seconds", Thing.VIDEO, ()),
        ("make a spreadsheet", Thing.TABLE, ()),
        ("build a website", Thing.SITE, ()),
    ],
)
async def test_each_thing_is_made_from_the_file_that_answers(
    small: File, request_: str, thing: Thing, formats: tuple[str, ...]
) -> None:
    [made] = await answered(Conversation(), request_, ("here it is", small))
    assert (made.thing, made.formats, made.files) == (thing, formats, (small.id,))


@pytest.mark.parametrize(
    "answer",
    [
        "", "here", "here it is", "here you go", "from this", "from this file", "this one",
        "use this", "the attached table", "sales.csv", "from sales.csv", "see attached",
        "ok, here is the spreadsheet", "take this one please", "sorry, I forgot it", "again",
        "hier ist sie", "aquí está", "voici le fichier", "给你", "تفضل",
    ],
)  # fmt: skip
async def test_an_answer_with_a_file_keeps_every_parameter_of_the_request(
    small: File, answer: str
) -> None:
    [made] = await answered(
        Conversation(), "make a red bar chart of revenue by region as svg", (answer, small)
    )
    [query] = made.queries
    assert (made.thing, made.formats, made.style.chart) == (Thing.CHART, ("svg",), "bar")
    assert made.style.colour == "#c0392b"
    assert (query.groups, query.measures[0].column) == (("region",), "revenue")


@pytest.mark.parametrize(
    ("answer", "kind", "groups", "formats"),
    [
        ("here, by region please", "bar", ("region",), ()),
        ("this one, as a pdf", "bar", (), ("pdf",)),
        ("a bar chart of revenue by region from this", "bar", ("region",), ()),
    ],
)
async def test_what_else_the_answer_says_belongs_to_the_request(
    small: File, answer: str, kind: str, groups: tuple[str, ...], formats: tuple[str, ...]
) -> None:
    [made] = await answered(Conversation(), "make a bar chart of revenue", (answer, small))
    assert (made.thing, made.style.chart, made.formats) == (Thing.CHART, kind, formats)
    assert made.queries[0].groups == groups


@pytest.mark.parametrize(
    ("answer", "thing"),
    [
        ("make a deck instead", Thing.DECK),
        ("write a report", Thing.REPORT),
        ("what was the total revenue?", None),
        ("which columns are there?", None),
        ("what can you do?", None),
    ],
)
async def test_another_request_is_no_answer(small: File, answer: str, thing: Thing | None) -> None:
    made = await answered(Conversation(), "make a chart", (answer, small))
    assert [one.thing for one in made] == ([thing] if thing else [])


async def test_talk_in_between_does_not_answer_the_question(small: File) -> None:
    [made] = await answered(
        Conversation(), "make a chart as pdf", "what can you do?", ("here", small)
    )
    assert (made.thing, made.formats) == (Thing.CHART, ("pdf",))


async def test_two_requests_without_a_file_are_both_made_of_the_file(small: File) -> None:
    made = await answered(Conversation(), "make a chart and write a report", ("here", small))
    assert [one.thing for one in made] == [Thing.CHART, Thing.REPORT]


async def test_a_table_in_the_message_answers_too() -> None:
    [made] = await answered(Conversation(), "make a bar chart of revenue", f"here:\n{SMALL}")
    assert (made.thing, made.style.chart, made.text) == (Thing.CHART, "bar", SMALL.strip("\n"))


async def test_a_question_without_a_file_is_answered_from_the_file(small: File) -> None:
    talk = Conversation()
    await talk.say("what was the total revenue?")
    assert "40" in (await talk.say("in this one", small)).text


async def test_what_cannot_be_invented_is_made_from_the_file_that_follows(small: File) -> None:
    [made] = await answered(
        Conversation(), "make a film about revenue by region", ("from this", small)
    )
    assert (made.thing, made.queries[0].groups) == (Thing.VIDEO, ("region",))


async def test_a_file_that_cannot_be_read_is_replaced_by_the_next(small: File, film: File) -> None:
    [made] = await answered(Conversation(), ("make a red chart", film), ("then take this", small))
    assert (made.thing, made.style.colour, made.files) == (Thing.CHART, "#c0392b", (small.id,))


@pytest.mark.parametrize("answer", ["sales.csv", "yes", "that one please", "use it"])
async def test_the_file_that_is_there_takes_the_place_of_the_one_that_is_not(
    small: File, answer: str
) -> None:
    [made] = await answered(
        Conversation(), ("Bar chart of revenue by region from costs.csv", small), answer
    )
    assert (made.style.chart, made.files) == ("bar", (small.id,))


async def test_a_file_that_was_missing_is_sent(small: File, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\n2025-01-01,1\n2025-02-01,2\n")
    costs = file(path, "text/csv")
    [made] = await answered(
        Conversation(), ("Chart cost by month from costs.csv", small), ("here", costs)
    )
    assert made.files == (costs.id,)


@pytest.mark.parametrize(
    ("answer", "columns"),
    [
        ("revenue and units", ["revenue", "units"]),
        ("revenue, units", ["revenue", "units"]),
        ("revenue against units", ["revenue", "units"]),
    ],
)
async def test_several_words_are_answered_in_their_order(
    small: File, answer: str, columns: list[str]
) -> None:
    [made] = await answered(Conversation(), ("Plot cost against margin", small), answer)
    assert [measure.column for measure in made.queries[0].measures] == columns


@pytest.mark.parametrize("answer", ["revenue", "use revenue", "the fourth", "4", "revenue please"])
async def test_the_column_that_is_named_is_used(small: File, answer: str) -> None:
    [made] = await answered(Conversation(), ("Red chart of profit by region as pdf", small), answer)
    [query] = made.queries
    assert (query.measures[0].column, query.groups) == ("revenue", ("region",))
    assert (made.style.colour, made.formats) == ("#c0392b", ("pdf",))


async def test_a_file_with_the_missing_column_answers(small: File, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("month,cost\n2025-01-01,1\n2025-02-01,2\n")
    costs = file(path, "text/csv")
    [made] = await answered(Conversation(), ("Chart cost by month", small), ("use this", costs))
    assert (made.files, made.queries[0].measures[0].column) == ((costs.id,), "cost")


@pytest.mark.parametrize("answer", ["2", "the second", "orders.csv", "the orders", "orders"])
async def test_the_table_that_is_chosen_is_used(tmp_path: Path, answer: str) -> None:
    files = []
    for name in ("sales.csv", "orders.csv"):
        path = tmp_path / name
        path.write_text(SMALL)
        files.append(file(path, "text/csv"))
    talk = Conversation()
    asked = await talk.say("Chart revenue by region", *files)
    assert asked.questions
    [job] = (await talk.say(answer)).started
    assert [one.name for one in job.args["files"]] == ["orders.csv"]


@pytest.mark.parametrize("answer", ["pdf", "PDF then", "as a pdf", "the third"])
async def test_a_format_that_can_be_written_is_chosen(small: File, answer: str) -> None:
    [made] = await answered(
        Conversation(), ("Bar chart of revenue by region as word", small), answer
    )
    assert (made.style.chart, made.formats) == ("bar", ("pdf",))


@pytest.mark.parametrize("text", ["make a deck", "what was the total revenue?", "help"])
async def test_another_request_is_no_format(small: File, text: str) -> None:
    made = await answered(Conversation(), ("Chart of revenue as word", small), text)
    assert Thing.CHART not in [one.thing for one in made]


async def test_a_table_that_was_pasted_is_still_there_for_the_answer() -> None:
    table = "order_date,ship_date,revenue\n2025-01-01,2025-01-04,1\n2025-02-01,2025-02-09,2"
    [made] = await answered(Conversation(), f"Chart revenue by date:\n{table}", "ship date")
    assert (made.queries[0].time, made.text) == ("ship_date", table)


async def test_files_that_are_gone_are_attached_again(small: File, tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("chart revenue by region", small)
    talk.history.clear()
    asked = await talk.say("make it blue")
    assert "attach them again" in asked.questions[0]
    path = tmp_path / "again.csv"
    path.write_text(SMALL)
    turn = await talk.say("here", new := file(path, "text/csv"))
    [job] = turn.started
    assert (job.work, job.args["files"], job.args["version"]) == ("work_0_0", [new], 2)
    assert frame(job).style.colour == "#1f5fa8"


async def test_what_can_be_chosen_is_offered(small: File) -> None:
    """A choice that is clicked comes as its text, which completes the request."""
    talk = Conversation()
    turn = await talk.say("make a chart as pptx", small)
    assert turn.choices == ["PNG", "SVG", "PDF"]
    [made] = await answered(talk, turn.choices[1])
    assert (made.thing, made.formats) == (Thing.CHART, ("svg",))

    turn = await talk.say("", small)
    assert len(turn.choices) > 3
    [made] = await answered(talk, turn.choices[0])
    assert made.thing is Thing.CHART


@pytest.mark.parametrize("options", [["One"], ["a", "A"], ["a", "b" * 201], ["a", " "], []])
async def test_what_cannot_be_offered_is_asked(options: list[str]) -> None:
    turn = FakeTurn(said("go"))
    answering.one_of(turn, "Which?", options)
    assert (turn.questions, turn.choices) == (["Which?"], [])
