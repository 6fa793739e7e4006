"""Decks from real inputs, written and opened again: what is on the slides and how it fits."""

import io
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from agentpost.agents import File
from agentpost_offline.content.blocks import (
    Block,
    BlockKind,
    Paper,
    Part,
    heading,
    paragraph,
    words,
)
from agentpost_offline.frame import Style, Thing, to_json
from agentpost_offline.making import fit
from agentpost_offline.making.deck.arrange import Text, arrange
from agentpost_offline.making.deck.slides import WIDTH, Layout, Slide, of_paper
from agentpost_offline.making.document import making
from tests.agents.fakes import file
from tests.libraries import pptx
from tests.offline.making import stories

BEHIND = {"en": "The figures behind it", "de": "Die Zahlen dahinter", "ar": "الأرقام بالتفصيل"}


@pytest.fixture
def orders(tmp_path: Path) -> File:
    return stories.orders(tmp_path)


async def made(folder: Path, files: list[File], **wish: Any) -> tuple[Any, dict[str, Any]]:
    """What the maker gives back, and the decks it wrote."""
    one = await stories.make(folder, Thing.DECK, files, **wish)
    names = [name for name in one.job.written if name.endswith("pptx")]
    return one.product, {name: pptx.Presentation(str(folder / name)) for name in names}


def slides(files: list[File], **wish: Any) -> list[Slide]:
    """The slides of a table's deck."""
    frame = stories.frame(Thing.DECK, files, **wish)
    return of_paper(making.paper_of(stories.local(files), frame, [])[0])


async def test_a_deck_of_a_table_has_native_charts_titles_and_notes(
    tmp_path: Path, orders: File
) -> None:
    result, decks = await made(tmp_path, [orders])
    deck = decks["orders-deck.pptx"]
    written = list(deck.slides)
    layouts = [slide.slide_layout.name for slide in written]
    assert layouts[:2] == ["Title", "Key figures"]
    assert {"Chart and takeaways", "Table"} <= set(layouts)
    charts = [shape.chart for slide in written for shape in slide.shapes if shape.has_chart]
    by_month = charts[0].plots[0]
    assert len(list(by_month.categories)) == 24
    lines = Path(orders.blob).read_text().splitlines()[1:]
    revenue = sum(float(line.split(",")[-1]) for line in lines)
    assert sum(by_month.series[0].values) == pytest.approx(revenue)
    assert all(slide.shapes.title.text_frame.text for slide in written)
    with_charts = [slide for slide in written if any(shape.has_chart for shape in slide.shapes)]
    assert all(slide.notes_slide.notes_text_frame.text for slide in with_charts)
    assert result.text.startswith("“Orders” is ready: orders-deck.pptx")
    assert result.used == ("orders.csv (240 rows)",)


def test_no_sentence_stands_on_two_slides(orders: File) -> None:
    planned = slides([orders])
    points = [point for slide in planned for point in slide.points]
    assert points
    assert len(points) == len(set(points))
    assert len({slide.title for slide in planned}) == len(planned)


@pytest.mark.parametrize("count", [2, 3, 5, 8, 12, 16])
def test_a_deck_has_as_many_slides_as_were_asked_for(orders: File, count: int) -> None:
    planned = slides([orders], style=Style(pages=count))
    assert len(planned) == count
    assert all(slide.points or slide.drawing or slide.grid or slide.figures
               for slide in planned[1:])  # fmt: skip


def test_every_format_has_every_slide(orders: File) -> None:
    frame = to_json(stories.frame(Thing.DECK, [orders], style=Style(pages=6)))
    files = stories.local([orders])
    deck: Any = pptx.Presentation(io.BytesIO(making.write(files, frame, [], "pptx")))
    assert len(list(deck.slides)) == 6
    with pypdfium2.PdfDocument(making.write(files, frame, [], "pdf")) as document:
        assert len(document) == 6


@pytest.mark.parametrize("language", BEHIND)
def test_decks_speak_the_language_of_the_wish(orders: File, language: str) -> None:
    frame = stories.frame(Thing.DECK, [orders], language=language)
    deck: Any = pptx.Presentation(io.BytesIO(
        making.write(stories.local([orders]), to_json(frame), [], "pptx")
    ))  # fmt: skip
    assert deck.slides[-1].shapes.title.text_frame.text.startswith(BEHIND[language])
    is_rtl = b'rtl="1"' in deck.slides[0].shapes.title._element.xml.encode()
    assert is_rtl == (language == "ar")


@pytest.mark.parametrize("layout", [Layout.POINTS, Layout.STATEMENT])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("length", [4, 60, 290])
def test_points_fill_their_slide_without_overflowing(
    layout: Layout, count: int, length: int
) -> None:
    words = ("sentence " * 60)[:length].strip()
    if layout is Layout.STATEMENT:  # one long point, or three short ones
        count = min(count, max(1, 300 // length), 3)
    page = arrange(Slide(layout, "Title", points=tuple(words for _ in range(count))), 2)
    for element in page.elements:
        left, top, wide, tall = element.box
        assert left >= 0
        assert left + wide <= WIDTH + 0.5
        assert top + tall <= page.height + 0.5
        if isinstance(element, Text):
            assert fit.height([element.text], element.size, wide, bold=element.bold) <= tall + 9


def test_the_layout_follows_from_what_stands_under_a_heading() -> None:
    parts = (Part("A", (words("x"),)), Part("B", (words("y"),)))
    blocks = (
        heading("One"), paragraph("A line."),
        heading("Two"), paragraph("First."), paragraph("Second."),
        heading("Three"), Block(BlockKind.COLUMNS, parts=parts),
        heading("Four"), Block(BlockKind.TIMELINE, parts=parts),
        heading("Five"), Block(BlockKind.QUOTE, words("Said.")),
        heading("Six"), *(paragraph("A long paragraph. " * 30) for _ in range(4)),
    )  # fmt: skip
    planned = of_paper(Paper("Title", blocks))
    assert [slide.layout.value for slide in planned[:6]] == [
        "Title", "Statement", "Points", "Two columns", "Timeline", "Quote",
    ]  # fmt: skip
    assert {slide.title for slide in planned[6:]} == {"Six"}
    assert sum(len(slide.points) for slide in planned[6:]) == 4


def test_a_deck_may_be_called_like_its_first_section() -> None:
    frame = to_json(stories.frame(Thing.DECK, style=Style(title="We open")))
    sections = [{"title": "We open", "text": "In May."}, {"title": "Thanks"}]
    deck: Any = pptx.Presentation(io.BytesIO(making.write([], frame, sections, "pptx")))
    titles = [slide.shapes.title.text_frame.text for slide in deck.slides]
    assert titles == ["We open", "We open", "Thanks"]


async def test_hostile_texts_are_text_fit_and_break_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hostile.csv"
    groups = ["x" * 200, "a\x01b\x0b", "</a:t><p:evil/>", "#eval(1) &amp; <&>", "مرحبا", "😀" * 40]
    rows = [
        f'2025-{month:02d}-01,"{group}",{month * 10 + at}'
        for month in range(1, 13)
        for at, group in enumerate(groups)
    ]
    path.write_text("\n".join(["date,group,revenue", *rows]))
    files = [file(path, "text/csv")]
    result, decks = await made(tmp_path, files, formats=("pptx", "pdf"))
    assert [one.name for one in result.files] == ["hostile-deck.pptx", "hostile-deck.pdf"]
    charts = [
        s.chart for one in decks["hostile-deck.pptx"].slides for s in one.shapes if s.has_chart
    ]
    names = [name for chart in charts for name in chart.plots[0].categories]
    assert {"</a:t><p:evil/>", "#eval(1) &amp; <&>"} <= set(names)
