"""Decks from real inputs, written and opened again: what is on the slides and how it fits."""

from __future__ import annotations

import io
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image
from pptx import Presentation

from agentpost.agents import File, JobFailed
from agentpost.extraction import slides
from agentpost.extraction.office import Archive
from agentpost_offline.frame import Style, Thing, to_json
from agentpost_offline.making import fit, material
from agentpost_offline.making.catalogue import MAKERS
from agentpost_offline.making.deck import making, outline, written
from agentpost_offline.making.deck.arrange import arranged
from agentpost_offline.making.deck.pages import Text
from agentpost_offline.making.deck.slides import Layout, Slide
from agentpost_offline.making.maker import Inputs
from tests.agents.fakes import FakeJob, file
from tests.agents.offline.making import stories

LANGUAGES = ("en", "de", "es", "fr", "zh", "ar")


@pytest.fixture
def orders(tmp_path: Path) -> File:
    return stories.orders(tmp_path)


async def made(
    folder: Path, files: list[File], **wish: Any
) -> tuple[FakeJob, Any, dict[str, Presentation]]:  # type: ignore[valid-type]
    job = FakeJob(folder)
    result = await MAKERS[Thing.DECK].make(
        job, Inputs(stories.frame(Thing.DECK, files, **wish), tuple(files))
    )
    decks = {
        name: Presentation(io.BytesIO((folder / name).read_bytes()))
        for name in job.written
        if name.endswith("pptx")
    }
    return job, result, decks


async def test_a_deck_of_a_table_has_native_charts_titles_and_notes(
    tmp_path: Path, orders: File
) -> None:
    job, result, decks = await made(tmp_path, [orders])
    deck: Any = decks["orders-deck.pptx"]
    slides = list(deck.slides)
    layouts = [slide.slide_layout.name for slide in slides]
    assert layouts[0] == "Title"
    assert {"Key figures", "Chart and takeaways", "Table"} <= set(layouts)
    charts = [shape.chart for slide in slides for shape in slide.shapes if shape.has_chart]
    by_month = charts[0].plots[0]
    assert len(list(by_month.categories)) == 24
    total = sum(by_month.series[0].values)
    lines = Path(orders.blob).read_text().splitlines()[1:]
    assert total == pytest.approx(sum(float(line.split(",")[-1]) for line in lines))
    assert all(slide.shapes.title.text_frame.text for slide in slides)
    assert all(slide.has_notes_slide for slide in slides if slide.slide_layout.name != "Title")
    assert result.text.startswith("“Orders” is ready: orders-deck.pptx")
    assert result.used == ["orders.csv (240 rows)"]
    assert job.charged == MAKERS[Thing.DECK].credits


def test_no_sentence_stands_on_two_slides(orders: File) -> None:
    planned = outline.outline(stories.local([orders]), stories.frame(Thing.DECK, [orders]))
    points = [point for slide in planned.slides for point in slide.points]
    assert points
    assert len(points) == len(set(points))
    assert len({slide.title for slide in planned.slides}) == len(planned.slides)


@pytest.fixture(scope="module")
def orders_read(tmp_path_factory: pytest.TempPathFactory) -> tuple[File, material.Material]:
    """A table, and what a deck says of it: reading takes half the time of making one."""
    file = stories.orders(tmp_path_factory.mktemp("orders"))
    return file, material.gathered(stories.local([file]), stories.frame(Thing.DECK, [file]))


@pytest.mark.parametrize("count", [3, 5, 8, 12])
def test_a_deck_has_as_many_slides_as_were_asked_for(
    tmp_path: Path, orders_read: tuple[File, material.Material], count: int
) -> None:
    orders, found = orders_read
    files = stories.local([orders])
    frame = stories.frame(Thing.DECK, [orders], style=Style(pages=count))
    planned = msgspec.to_builtins(outline.planned(found, frame))
    paths = tmp_path / "deck.pptx", tmp_path / "deck.pdf"
    for path in paths:
        path.write_bytes(making.write(path.suffix[1:], planned, files, to_json(frame), []))
    deck, _ = paths
    assert [making.check(one, planned) for one in stories.local([*map(file, paths)])] == [count] * 2
    written: Any = Presentation(io.BytesIO(deck.read_bytes()))
    assert len(list(written.slides)) == count
    with Archive(deck, deck.name) as archive:
        preview = slides.read(archive)
    picture = Image.open(io.BytesIO(b64decode(preview["picture"].partition(",")[2])))
    rows = -(-count // 2)
    assert picture.size == (1292, rows * 372 - 12)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_decks_speak_the_language_of_the_wish(
    tmp_path: Path, orders: File, language: str
) -> None:
    frame = stories.frame(Thing.DECK, [orders], language=language)
    planned = outline.outline(stories.local([orders]), frame)
    table = next(slide for slide in planned.slides if slide.layout is Layout.TABLE)
    expected = {
        "en": "The figures behind it",
        "de": "Die Zahlen dahinter",
        "es": "Las cifras en detalle",
        "fr": "Les chiffres en détail",
        "zh": "详细数据",
        "ar": "الأرقام بالتفصيل",
    }
    assert table.title == expected[language]
    content = written.pptx(planned, [])
    deck: Any = Presentation(io.BytesIO(content))
    rights = b'rtl="1"' in deck.slides[0].shapes.title._element.xml.encode()
    assert rights == (language == "ar")


@pytest.mark.parametrize("layout", [Layout.POINTS, Layout.STATEMENT])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("length", [4, 60, 290])
def test_points_fill_their_slide_without_overflowing(
    layout: Layout, count: int, length: int
) -> None:
    words = ("sentence " * 60)[:length].strip()
    if layout is Layout.STATEMENT:  # one long point, or three short ones
        count = min(count, max(1, 300 // length), 3)
    page = arranged(Slide(layout, "Title", points=tuple(words for _ in range(count))), 2)
    for element in page.elements:
        left, top, wide, tall = element.box
        assert left >= 0
        assert left + wide <= page.width + 0.5
        assert top + tall <= page.height + 0.5
        if isinstance(element, Text):
            assert fit.height(element.paragraphs, element.size, wide, bold=element.bold) <= tall + 9


async def test_nothing_to_work_with_is_said(tmp_path: Path) -> None:
    broken = stories.picture(tmp_path, "broken.png")
    Path(broken.blob).write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    with pytest.raises(JobFailed, match=r"broken\.png"):
        await made(tmp_path, [broken])


async def test_words_of_files_are_text_only(tmp_path: Path) -> None:
    path = tmp_path / "evil.csv"
    rows = [f"2025-{m:02d}-01,#eval(1) <b>{g}</b>,{m * 10}" for m in range(1, 13) for g in "AB"]
    path.write_text("\n".join(["date,group,revenue", *rows]))
    _, _, decks = await made(tmp_path, [file(path, "text/csv")], formats=("pptx", "pdf"))
    deck: Any = decks["evil-deck.pptx"]
    charts = [s.chart for slide in deck.slides for s in slide.shapes if s.has_chart]
    names = [name for chart in charts for name in chart.plots[0].categories]
    assert "#eval(1) <b>A</b>" in names


async def test_hostile_texts_fit_and_break_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hostile.csv"
    groups = ["x" * 900, "a\x01b\x0b", "</a:t><p:evil/>", "&amp; <&>", "مرحبا", "😀" * 40]
    rows = [
        f'2025-{month:02d}-01,"{group}",{month * 10 + at}'
        for month in range(1, 13)
        for at, group in enumerate(groups)
    ]
    path.write_text("\n".join(["date,group,revenue", *rows]))
    notes = tmp_path / "notes.txt"
    notes.write_text(f"{'A' * 400}\n\n{'word ' * 3000}\n\nB\x02 ends. " + "C" * 2000)
    files = [file(path, "text/csv"), file(notes, "text/plain")]
    _, result, _ = await made(tmp_path, files, formats=("pptx", "pdf"))
    assert [one.name for one in result.files] == ["hostile-deck.pptx", "hostile-deck.pdf"]
