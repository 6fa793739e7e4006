"""Reports by their maker: what they say, and the files opened again as their reader would."""

from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from agentpost.agents import File
from agentpost_offline.frame import Aggregate, Filter, Measure, Op, Query, Style, Thing
from agentpost_offline.making.maker import Product
from tests.agents.fakes import FakeJob
from tests.libraries import docx
from tests.offline.making import stories


async def made(
    folder: Path, files: list[File], *queries: Query, **wish: Any
) -> tuple[Product, FakeJob]:
    """What the maker gives back."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    one = await stories.make(out, Thing.REPORT, files, queries=queries, **wish)
    return one.product, one.job


def pages(path: Path) -> list[str]:
    """The text of each page of a PDF, on one line."""
    with pypdfium2.PdfDocument(path) as document:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in document]


def outline(path: Path) -> list[str]:
    """The headings of a PDF's outline."""
    with pypdfium2.PdfDocument(path) as document:
        return [entry.get_title() for entry in document.get_toc()]


async def test_a_table_becomes_answers_figures_pictures_and_tables(tmp_path: Path) -> None:
    result, _ = await made(tmp_path, [stories.orders(tmp_path)])
    assert [one.name for one in result.files] == ["orders-report.pdf", "orders-report.docx"]
    first, *_ = text = pages(tmp_path / "out/orders-report.pdf")
    assert first.index("Revenue fell from") < first.index("Revenue per month")
    assert "orders.csv, 240 rows, 1 January 2024 to" in first
    assert all(f"{n} / {len(text)}" in page for n, page in enumerate(text, start=1))
    assert "Espresso Machine leads with" in " ".join(text)
    with pypdfium2.PdfDocument(tmp_path / "out/orders-report.pdf") as document:
        assert document.get_metadata_dict()["Title"].startswith("Revenue")
        assert document.is_tagged()


async def test_the_word_file_has_the_same_parts(tmp_path: Path) -> None:
    await made(tmp_path, [stories.orders(tmp_path)])
    word = docx.Document(str(tmp_path / "out/orders-report.docx"))
    heads = [p.text for p in word.paragraphs if p.style and p.style.name == "Heading 1"]
    assert heads == outline(tmp_path / "out/orders-report.pdf")
    assert word.core_properties.title.startswith("Revenue")
    assert word.core_properties.language == "en"
    assert len(word.inline_shapes) >= 2
    assert all(shape._inline.docPr.get("descr") for shape in word.inline_shapes)


async def test_no_sentence_stands_twice(tmp_path: Path) -> None:
    source = stories.orders(tmp_path)
    await made(tmp_path, [source], formats=("docx",))
    word = docx.Document(str(tmp_path / "out/orders-report.docx"))
    said = [text for p in word.paragraphs for text in p.text.split(". ") if len(text) > 30]
    assert len(said) == len(set(said))
    assert not any("drove" in text or "driven" in text for text in said)


async def test_a_filter_holds_in_the_whole_report(tmp_path: Path) -> None:
    source = stories.orders(tmp_path)
    query = Query(
        f"{source.id}#0", (Measure("revenue", Aggregate.SUM),), ("product",),
        filters=(Filter("region", Op.IS, ("East",)),),
    )  # fmt: skip
    await made(tmp_path, [source], query, formats=("pdf",))
    text = " ".join(pages(tmp_path / "out/orders-report.pdf"))
    assert "region = East" in text
    assert "West" not in text


@pytest.mark.parametrize(("length", "sections"), [("shorter", 3), (None, 4)])
async def test_length(tmp_path: Path, length: str | None, sections: int) -> None:
    result, _ = await made(
        tmp_path, [stories.orders(tmp_path)], style=Style(length=length), formats=("pdf",)
    )
    assert len(outline(tmp_path / "out/orders-report.pdf")) == sections
    assert result.files[0].label


@pytest.mark.parametrize("code", ["de", "ar"])
async def test_languages(tmp_path: Path, code: str) -> None:
    result, _ = await made(tmp_path, [stories.orders(tmp_path)], language=code, formats=("pdf",))
    text = " ".join(pages(tmp_path / "out/orders-report.pdf"))
    assert "highest" not in text + result.text
    assert "How this was made" not in text


@pytest.mark.parametrize("thing", [Thing.CHART, Thing.REPORT, Thing.DECK, Thing.SITE])
async def test_figures_of_two_scales_are_both_shown(tmp_path: Path, thing: Thing) -> None:
    orders = stories.orders(tmp_path)
    measures = (Measure("revenue", Aggregate.SUM), Measure("quantity", Aggregate.SUM))
    query = Query(f"{orders.id}#0", measures, ("region",))
    out = tmp_path / "out"
    out.mkdir()
    one = await stories.make(out, thing, [orders], queries=[query])
    assert "scale is another" not in " ".join(one.product.notes)
    if thing is Thing.CHART:
        titles = [file.label for file in one.product.files if file.name.endswith(".png")]
        assert [title.split()[-1] for title in titles if title] == ["revenue", "quantity"]
    if thing is Thing.SITE:
        page = next(out.glob("*.html")).read_text()
        assert "Revenue by region" in page
        assert "Quantity by region" in page
