"""Changes of what was made, as people ask for them."""

from pathlib import Path

import pytest
from PIL import Image

from agentpost.agents import File
from agentpost_offline.frame import ROW_COUNT, Filter, Frame, Op, Thing
from tests.agents.fakes import file
from tests.offline.conversations import Conversation, csv_file, frame, said

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
    turn = await said(source, *messages)
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


async def test_a_report_on_one_group_is_not_one_bar(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(source, "a report on the total by channel", "only the shop")
    assert not result.queries[0].groups
    assert result.queries[0].filters == (Filter("channel", Op.IS, ("Shop",)),)


async def test_the_same_report_is_written_in_another_format(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(source, "a report on the total by channel", "do it as pdf")
    assert result.queries[0].groups == ("channel",)
    assert "pdf" in result.formats


async def test_how_many_slides_says_how_short(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(
        source,
        "a deck of the total by channel, 4 slides",
        "a bit shorter, 2 slides. and call it Us",
    )
    assert (result.style.pages, result.style.length) == (2, None)
    assert result.queries[0].groups == ("channel",)


async def test_going_back_to_bars_undoes_nothing_else(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS)
    result = await changed(
        source, "bar chart of the total by channel", "as a pie",
        "hm no go back to the bars, biggest first, and call it Channels 2026",
    )  # fmt: skip
    assert (result.style.chart, result.style.title) == ("bar", "Channels 2026")
    assert result.queries[0].order is not None


async def test_rows_are_counted_instead_of_a_figure(tmp_path: Path) -> None:
    source = csv_file(tmp_path, ORDERS, "orders.csv")
    result = await changed(
        source, "pivot of the total by channel and month", "number of orders instead of total pls"
    )
    assert result.thing is Thing.TABLE
    assert result.queries[0].measures == (ROW_COUNT,)
    assert result.queries[0].groups == ("channel",)


async def test_a_film_is_slower(tmp_path: Path) -> None:
    source = csv_file(tmp_path, TURBINES)
    result = await changed(source, "bar race of the output by turbine", "más lento, por favor")
    assert result.style.options["pace"] == pytest.approx(1.6)


async def test_values_are_numbered_between_two(tmp_path: Path) -> None:
    source = csv_file(tmp_path, TURBINES)
    result = await changed(source, "one page dashboard for the monthly meeting", "just WT01-WT02")
    assert result.queries[0].filters == (Filter("turbine", Op.IS, ("WT01", "WT02")),)


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
        ("red and bigger", {"top": True, "lettering": "larger"}, "#c0392b"),
        ("a bit bigger the text, and in red", {"top": True, "lettering": "larger"}, "#c0392b"),
        ("the text smaller", {"top": True, "lettering": "smaller"}, None),
    ],
)
async def test_the_text_on_a_picture_changes(
    photos: list[File], message: str, options: dict[str, object], colour: str | None
) -> None:
    result = await changed(photos[0], 'put "Open studio" at the top of this photo', message)
    assert result.style.options == {"text": "Open studio", **options}
    assert result.style.colour == colour


async def test_bigger_alone_may_be_the_picture(photos: list[File]) -> None:
    assert (
        "How large should the picture be?"
        in (
            await said(photos[0], 'put "Open studio" at the top of this photo', "bigger")
        ).questions[0]
    )


async def test_two_pictures_with_a_demand_each_are_asked_about(photos: list[File]) -> None:
    turn = await Conversation().say("the mug max 600 wide, and the bowl as jpg", *photos)
    assert turn.questions == ["I do the same to all pictures. Please ask for each of them apart."]
    assert not turn.started
