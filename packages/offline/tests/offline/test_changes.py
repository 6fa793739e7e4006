"""Changes of what was made, as people ask for them."""

from pathlib import Path

import pytest
from PIL import Image

from agentpost.agents import File
from agentpost_offline.frame import ROW_COUNT, Filter, Frame, Op, Thing
from tests.agents.fakes import file
from tests.offline.conversations import Conversation, csv_file, frame

ORDERS = """order,day,channel,customer,total
O-1,2026-01-02,Market,Ann,10
O-2,2026-02-02,Shop,Bob,20
O-3,2026-02-09,Shop,Cy,40
O-4,2026-03-02,Online,Ann,15
"""
TURBINES = "month,turbine,output_mwh\n" + "\n".join(
    f"2025-{month:02},WT{turbine:02},{month * turbine}"
    for month in range(1, 7) for turbine in range(1, 6)
)  # fmt: skip


async def changed(source: File, *messages: str) -> Frame:
    """The frame of the last of some messages."""
    talk, files = Conversation(), [source]
    for message in messages:
        turn = await talk.say(message, *files)
        files = []
    assert turn.started, (turn.questions, turn.text)
    return frame(turn.started[-1])


@pytest.mark.parametrize("form", ["a report", "one page dashboard", "a report on our orders"])
@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ("leave out the shop please", Filter("channel", Op.IS_NOT, ("Shop",))),
        ("only the market", Filter("channel", Op.IS, ("Market",))),
        ("just february", Filter("day", Op.BETWEEN, ("2026-02-01", "2026-02-28"))),
    ],
)
async def test_all_that_a_table_tells_is_narrowed(
    tmp_path: Path, form: str, change: str, condition: Filter
) -> None:
    result = await changed(csv_file(tmp_path, ORDERS, "orders.csv"), form, change)
    (query,) = result.queries
    assert query.filters == (condition,)
    assert not query.measures


@pytest.mark.parametrize(
    ("message", "has_conditions"), [("a report on our orders", False),
                                    ("a report on the orders without shop", True)]
)  # fmt: skip
async def test_a_report_on_the_rows_is_of_all_that_they_tell(
    tmp_path: Path, message: str, has_conditions: bool
) -> None:
    result = await changed(csv_file(tmp_path, ORDERS, "orders.csv"), message)
    assert not any(one.measures for one in result.queries)
    assert any(one.filters for one in result.queries) is has_conditions


async def test_a_report_on_one_group_is_not_one_bar(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(source, "a report on the total by channel", "only the shop")
    assert not result.queries[0].groups
    assert result.queries[0].filters == (Filter("channel", Op.IS, ("Shop",)),)


@pytest.mark.parametrize("message", ["do it as pdf", "could you also do it as pdf"])
async def test_the_same_report_is_written_in_another_format(tmp_path: Path, message: str) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(source, "a report on the total by channel", message)
    assert result.queries[0].groups == ("channel",)
    assert "pdf" in result.formats


@pytest.mark.parametrize("pages", ["shorter, 2 slides", "a bit shorter, 2 slides. and call it Us"])
async def test_how_many_slides_says_how_short(tmp_path: Path, pages: str) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(source, "a deck of the total by channel, 4 slides", pages)
    assert (result.style.pages, result.style.length) == (2, None)
    assert result.queries[0].groups == ("channel",)


async def test_a_difference_of_slides_is_asked_about(tmp_path: Path) -> None:
    talk = Conversation()
    await talk.say("a deck of the total by channel, 4 slides", csv_file(tmp_path, ORDERS))
    assert (await talk.say("2 slides shorter")).questions


async def test_going_back_to_bars_undoes_nothing_else(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(
        source, "bar chart of the total by channel", "as a pie",
        "hm no go back to the bars, biggest first, and call it Channels 2026",
    )  # fmt: skip
    assert (result.style.chart, result.style.title) == ("bar", "Channels 2026")
    assert result.queries[0].order is not None


@pytest.mark.parametrize(
    "message", ["undo that and make it a pie", "undo, and only the shop", "revert it, in red"]
)
async def test_what_is_undone_is_not_changed_beside_it(tmp_path: Path, message: str) -> None:
    talk = Conversation()
    await talk.say("bar chart of the total by channel", csv_file(tmp_path, ORDERS))
    await talk.say("only february")
    turn = await talk.say(message)
    assert turn.questions
    assert not turn.started


async def test_another_chart_is_of_its_own_groups(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    first, second = "Balken total je channel", "noch ein Balkendiagramm total je customer"
    result = await changed(source, first, second)
    assert result.queries[0].groups == ("customer",)


@pytest.mark.parametrize(
    "message", ["output the orders by channel", "how many orders have a total a bit bigger than 15"]
)
async def test_words_of_other_tables_keep_their_meaning(tmp_path: Path, message: str) -> None:
    turn = await Conversation().say(message, csv_file(tmp_path, ORDERS, "orders.csv"))
    assert not turn.questions


async def test_rows_are_counted_instead_of_a_figure(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS, "orders.csv")
    result = await changed(
        source, "pivot of the total by channel and month", "number of orders instead of total pls"
    )
    assert result.thing is Thing.TABLE
    assert result.queries[0].measures == (ROW_COUNT,)
    assert result.queries[0].groups == ("channel",)


async def test_the_rows_of_a_pivot_are_named_first(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(source, "a pivot customer by channel of the total")
    assert result.queries[0].groups == ("customer", "channel")


@pytest.mark.parametrize(
    ("message", "pace"),
    [("bit slower please", 1.6), ("its too fast", 1.6), ("a bit faster", 0.6),
     ("más lento, por favor", 1.6)],
)  # fmt: skip
async def test_a_film_is_slower(tmp_path: Path, message: str, pace: float) -> None:
    source = csv_file(tmp_path, TURBINES)
    result = await changed(source, "bar race of the output by turbine", message)
    assert result.style.options["pace"] == pytest.approx(pace)


async def test_a_film_is_slower_than_it_is(tmp_path: Path) -> None:
    source = csv_file(tmp_path, TURBINES)
    film = "bar race of the output by turbine"
    result = await changed(source, film, "slower", "not so fast")
    assert result.style.options["pace"] == pytest.approx(1.6 * 1.6)


async def test_a_film_whose_length_was_told_is_slower(tmp_path: Path) -> None:
    source = csv_file(tmp_path, TURBINES)
    result = await changed(source, "bar race of the output by turbine, 10 seconds", "slower")
    assert result.style.seconds == pytest.approx(16)


@pytest.mark.parametrize(
    ("message", "values"),
    [("only WT02 to WT04", ("WT02", "WT03", "WT04")), ("just WT01-WT02", ("WT01", "WT02")),
     ("only WT04 to WT02", ("WT02", "WT03", "WT04")), ("only WT02 and WT04", ("WT02", "WT04"))],
)  # fmt: skip
async def test_values_are_numbered_between_two(
    tmp_path: Path, message: str, values: tuple[str, ...]
) -> None:
    source = csv_file(tmp_path, TURBINES)
    result = await changed(source, "one page dashboard for the monthly meeting", message)
    assert result.queries[0].filters == (Filter("turbine", Op.IS, values),)


async def test_columns_stand_and_bars_may_lie(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    columns = await changed(source, "total by channel as column chart, biggest first")
    bars = await changed(source, "total by channel as bar chart, biggest first")
    assert (columns.style.chart, bars.style.chart) == ("column", "bar")


async def test_from_a_year_is_since_where_rows_are_years(tmp_path: Path) -> None:
    honey = "year,member,kg\n" + "\n".join(
        f"{year},{name},{year - 2010}" for year in range(2012, 2025) for name in ("Ann", "Bob")
    )
    source = csv_file(tmp_path, honey)
    result = await changed(source, "bar race of kg per member", "only from 2018 please")
    assert result.queries[0].filters == (Filter("year", Op.AT_LEAST, ("2018-01-01",)),)


@pytest.fixture
def photos(tmp_path: Path) -> list[File]:
    """Two pictures."""
    results = []
    for name in ("mug.jpg", "bowl.png"):
        path = tmp_path / name
        Image.new("RGB", (80, 60), "#336699").save(path)
        results.append(file(path, "image/png"))
    return results


@pytest.mark.parametrize(
    ("message", "options", "colour"),
    [
        ("text at the bottom and in white", {"top": False}, "#ffffff"),
        ("make the text red", {"top": True}, "#c0392b"),
        ("the text bigger please", {"top": True, "lettering": "larger"}, None),
        ("red and bigger", {"top": True, "lettering": "larger"}, "#c0392b"),
        ("a bit bigger the text, and in red", {"top": True, "lettering": "larger"}, "#c0392b"),
        ("the text smaller", {"top": True, "lettering": "smaller"}, None),
        ("größer und rot", {"top": True, "lettering": "larger"}, "#c0392b"),
    ],
)
async def test_the_text_on_a_picture_changes(
    photos: list[File], message: str, options: dict[str, object], colour: str | None
) -> None:
    result = await changed(photos[0], 'put "Open studio" at the top of this photo', message)
    assert result.style.options == {"text": "Open studio", **options}
    assert result.style.colour == colour


async def test_bigger_alone_may_be_the_picture(photos: list[File]) -> None:
    talk = Conversation()
    await talk.say('put "Open studio" at the top of this photo', photos[0])
    assert "How large should the picture be?" in (await talk.say("bigger")).questions[0]


@pytest.mark.parametrize(
    "message", ["make the picture bigger and the text red", "text bigger and the picture smaller"]
)
async def test_words_about_the_text_are_not_written(photos: list[File], message: str) -> None:
    talk = Conversation()
    await talk.say('put "Open studio" at the top of this photo', photos[0])
    assert (await talk.say(message)).questions


@pytest.mark.parametrize(
    "message",
    ["the mug and the bowl 600 wide, as jpg", 'put "Mug and bowl" on them, at the top',
     "rotate mug and bowl to the left"],
)  # fmt: skip
async def test_several_pictures_that_are_named_together_get_the_same(
    photos: list[File], message: str
) -> None:
    turn = await Conversation().say(message, *photos)
    assert not turn.questions
    (job,) = turn.started
    assert len(frame(job).files) == len(photos)


async def test_two_pictures_with_a_demand_each_are_asked_about(photos: list[File]) -> None:
    turn = await Conversation().say("the mug max 600 wide, and the bowl as jpg", *photos)
    assert turn.questions == ["I do the same to all pictures. Please ask for each of them apart."]
    assert not turn.started


async def test_a_word_for_each_of_two_pictures_is_asked_about(photos: list[File]) -> None:
    talk = Conversation()
    await talk.say("both side by side", *photos)
    turn = await talk.say("write Mug and Bowl on them")
    assert "I did not understand “and”" in turn.questions[0]
    assert not turn.started
