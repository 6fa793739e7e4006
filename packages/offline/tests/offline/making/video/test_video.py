"""Films from real inputs, decoded again: length, captions, what is on the pictures."""

import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from PIL import Image, ImageChops

from agentpost.agents import File, JobFailed
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.frame import (
    Aggregate,
    Filter,
    Grain,
    Measure,
    Op,
    Order,
    Query,
    Style,
    Thing,
)
from agentpost_offline.grammar.requests import Surrounding, read
from agentpost_offline.making.catalogue import MAKERS
from agentpost_offline.making.content import Section
from agentpost_offline.making.video import film, making
from agentpost_offline.making.video.film import Film
from tests.agents.fakes import FakeJob, file
from tests.libraries import av, encoding
from tests.offline.making import stories


@pytest.fixture
def orders(tmp_path: Path) -> File:
    return stories.orders(tmp_path)


def planned(files: list[File], **wish: Any) -> Film:
    frame = stories.frame(Thing.VIDEO, files, **wish)
    return making.film_of(stories.local(files), frame, [])


def pictures(path: Path, *parts: float) -> list[Any]:
    """The pictures at some parts of a film."""
    with av.open(str(path)) as container:
        frames: list[Any] = list(container.decode(video=0))
        places = [min(len(frames) - 1, int(part * len(frames))) for part in parts]
        return [frames[place].to_image(threads=encoding.THREADS) for place in places]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says how many threads there are")
def test_no_thread_stays_behind_a_film(tmp_path: Path) -> None:
    """Where one does, with PyAV 19, a process that uvloop starts in another thread hangs."""
    path, size, tasks = tmp_path / "film.mp4", (320, 180), Path("/proc/self/task")
    threads = set(tasks.iterdir())
    pictures = [Image.linear_gradient("L").convert("RGB").resize(size)] * film.RATE
    encoding.encode(iter(pictures), path, size, still=True)
    encoding.check(path, size, 1.0)
    assert set(tasks.iterdir()) <= threads


async def test_a_race_moves_and_lasts_as_long_as_asked(tmp_path: Path, orders: File) -> None:
    style = Style(seconds=4, size=(320, 180))
    one = await stories.make(tmp_path, Thing.VIDEO, [orders], style=style)
    first, last = pictures(one.main, 0.05, 0.95)
    assert first.size == (320, 180)
    assert ImageChops.difference(first, last).getbbox() is not None
    with av.open(str(one.main)) as container:
        stream: Any = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.frames == 4 * film.RATE
    assert "4 seconds" in one.product.text


def test_a_race_shows_the_running_totals(orders: File) -> None:
    race = planned([orders], said="bar race").race
    assert race is not None
    assert len(race.periods) == 24
    rows = [line.split(",") for line in Path(orders.blob).read_text().splitlines()[1:]]
    for runner in race.runners:
        total = sum(float(row[-1]) for row in rows if row[2] == runner.name)
        assert runner.values[-1] == pytest.approx(total)
        assert list(runner.values) == sorted(runner.values)


def test_a_race_is_of_what_was_named(orders: File) -> None:
    query = Query(
        f"{orders.id}#0", (Measure("quantity", Aggregate.SUM),), ("product",), "date",
        Grain.QUARTER, (Filter("region", Op.IS, ("East",)),),
    )  # fmt: skip
    frame = stories.frame(Thing.VIDEO, [orders], said="race")
    frame = structs.replace(frame, queries=(query,))
    race = making.film_of(stories.local([orders]), frame, []).race
    assert race is not None
    assert {runner.name for runner in race.runners} == {"Espresso Machine", "Grinder", "Beans 1kg"}
    assert len(race.periods) == 8
    rows = [line.split(",") for line in Path(orders.blob).read_text().splitlines()[1:]]
    east = sum(int(row[4]) for row in rows if row[2] == "East")
    assert sum(runner.values[-1] for runner in race.runners) == east


def test_a_race_shows_as_many_bars_as_asked(orders: File) -> None:
    query = Query(
        f"{orders.id}#0", (Measure("quantity", Aggregate.SUM),), ("product",), "date",
        Grain.MONTH, order=Order(True, 2),
    )  # fmt: skip
    frame = structs.replace(stories.frame(Thing.VIDEO, [orders], said="race"), queries=(query,))
    one = making.film_of(stories.local([orders]), frame, [])
    assert one.race is not None
    assert (one.race.bars, len(one.race.runners)) == (2, 3)
    assert one.notes == ("Of 3 names, the film shows the 2 largest at a time.",)


def test_columns_race_where_no_column_has_names(tmp_path: Path) -> None:
    path = tmp_path / "clubs.csv"
    rows = [f"{year},{year % 7 + 10},{40 - year % 9},{30 + year % 5}" for year in range(2000, 2012)]
    path.write_text("\n".join(["Year,Judo,Bowls,Scouts", *rows]))
    clubs = stories.local([file(path, "text/csv")])
    with open_tables(clubs) as data:
        around = Surrounding(data.tables, frozenset({"table"}))
        (one,) = read("a bar race video of the clubs over the years", around)
        (alone,) = read("a video of Judo over the years", around)
    assert one.frame is not None
    race = making.film_of(clubs, one.frame, []).race
    assert race is not None
    last = {runner.name: runner.values[-1] for runner in race.runners}
    assert last == {"Judo": 12, "Bowls": 36, "Scouts": 31}  # members are not added up over years
    assert alone.question is not None


def test_a_weekly_table_races_by_the_week_and_says_that_not_all_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    rows = [f"2025-{1 + week // 4:02}-{1 + 7 * (week % 4):02},p{name},{1 + week + name}"
            for week in range(12) for name in range(11)]  # fmt: skip
    path.write_text("\n".join(["week,product,sold", *rows]))
    weeks = stories.local([file(path, "text/csv")])
    with open_tables(weeks) as data:
        around = Surrounding(data.tables, frozenset({"table"}))
        (one,) = read("a bar race of sold by product over the weeks", around)
    assert one.frame is not None
    film = making.film_of(weeks, one.frame, [])
    assert film.race is not None
    assert len(film.race.periods) == 12
    assert film.notes == ("Of 11 names, the film shows the 10 largest at a time.",)


async def test_sections_are_captioned_in_a_strip_of_their_own(tmp_path: Path) -> None:
    parts = (Section("Opening", text="In May.", notes="We open in May."), Section("Thanks"))
    frame = stories.frame(Thing.VIDEO, style=Style(seconds=6, title="Kiosk"))
    result = await MAKERS[Thing.VIDEO].make(FakeJob(tmp_path), frame, (), 1, parts)
    path = tmp_path / "kiosk-video.mp4"
    assert [file.name for file in result.files] == ["kiosk-video.mp4"]
    (middle,) = pictures(path, 0.2)
    strip = middle.crop((0, 628, 1280, 720)).convert("L")
    assert strip.getpixel((3, 40)) < 40
    assert strip.getextrema()[1] > 200


async def test_a_film_that_cannot_be_made_is_said(tmp_path: Path, orders: File) -> None:
    photo = stories.picture(tmp_path)
    with pytest.raises(JobFailed, match="180 seconds"):
        await stories.make(tmp_path, Thing.VIDEO, [orders], style=Style(seconds=4000))
    with pytest.raises(JobFailed, match="date column"):
        await stories.make(tmp_path, Thing.VIDEO, [photo])


def test_captions_are_short_enough_to_read() -> None:
    text = "This sentence is long. " * 12 + "word " * 60
    for caption in film.scenes_of(0, text):
        assert len(caption.text) < 260
        assert 2.5 <= caption.seconds <= 12
    words = " ".join(caption.text for caption in film.scenes_of(0, text)).split()
    assert words == text.split()
    chinese = "".join(caption.text for caption in film.scenes_of(0, "这是一个很长的句子" * 30))
    assert chinese == "这是一个很长的句子" * 30


def test_a_damaged_film_is_found(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"not a film")
    with pytest.raises(JobFailed, match="damaged"):
        encoding.check(path, (320, 180), 4)


@pytest.mark.parametrize(
    ("points", "title"),
    [
        ({"Red": 10, "Blue": 10, "Green": 7}, "Blue and Red finish level"),
        ({"Red": 10, "Blue": 9, "Green": 7}, "Red comes out ahead"),
        (dict.fromkeys(("Red", "Blue", "Green", "Grey"), 5), "Points by team"),
    ],
)
def test_a_race_names_a_winner_only_where_there_is_one(
    tmp_path: Path, points: dict[str, int], title: str
) -> None:
    rows = [
        f"2025-{month:02}-01,{team},{point}"
        for month in range(1, 5)
        for team, point in points.items()
    ]
    path = tmp_path / "teams.csv"
    path.write_text("\n".join(["month,team,points", *rows]))
    race = planned([file(path, "text/csv")], said="bar race").race
    assert race is not None
    assert race.title == title
