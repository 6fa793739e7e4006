"""Charts by their maker: every kind, each opened again as its reader would."""

import csv
import io
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from PIL import Image

from agentpost.agents import File, JobFailed
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
from agentpost_offline.making.catalogue import MAKERS
from agentpost_offline.making.maker import Product
from tests.agents.fakes import FakeJob, file
from tests.offline.making import stories

REVENUE = Measure("revenue", Aggregate.SUM)
PRICE = Measure("price", Aggregate.MEAN)


def table(folder: Path, name: str, text: str) -> File:
    """A file of comma-separated values."""
    (folder / name).write_text(text, "utf-8")
    return file(folder / name, "text/csv")


async def made(
    folder: Path, source: File, query: Query, style: Style | None = None, **wish: Any
) -> tuple[Product, FakeJob]:
    """What the maker gives back for one query."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    one = await stories.make(out, Thing.CHART, [source], style=style, queries=[query], **wish)
    return one.product, one.job


def read(path: Path) -> str:
    """The text of a PDF."""
    with pypdfium2.PdfDocument(path) as document:
        return "".join(page.get_textpage().get_text_range() for page in document)


def query(source: File, *groups: str, measure: Measure = REVENUE, **given: object) -> Query:
    """A query of a file's only table."""
    return Query(f"{source.id}#0", (measure,), groups, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "groups", "grain", "drawn"),
    [
        (None, ("product",), None, "Bar chart"),
        (None, (), Grain.MONTH, "Column chart"),
        (None, ("region",), Grain.QUARTER, "Line chart"),
        (None, ("region", "product"), None, "Column chart"),
        (None, (), Grain.WEEKDAY, "Column chart"),
        ("line", (), Grain.MONTH, "Line chart"),
        ("stacked", ("region",), Grain.QUARTER, "Stacked column chart"),
        ("grouped", ("product", "region"), None, "Grouped column chart"),
        ("donut", ("product",), None, "Donut (pie) chart"),
        ("heatmap", ("region",), Grain.MONTH, "Heat map"),
    ],
)
async def test_kinds(
    tmp_path: Path, kind: str | None, groups: tuple[str, ...], grain: Grain | None, drawn: str
) -> None:
    source = stories.orders(tmp_path)
    time = "date" if grain else None
    result, job = await made(
        tmp_path, source, query(source, *groups, time=time, grain=grain), Style(chart=kind)
    )
    assert result.text.startswith(drawn)
    assert [f.name for f in result.files] == [
        "orders-chart.png", "orders-chart-data.csv", "orders-chart-alt.txt",
    ]  # fmt: skip
    with Image.open(tmp_path / "out/orders-chart.png") as image:
        assert image.size == (1600, 900)
    assert job.charged == MAKERS[Thing.CHART].credits
    assert result.used == ("orders.csv (240 rows)",)


async def test_the_data_beside_it_has_no_noise_of_sums(tmp_path: Path) -> None:
    text = "region,revenue\nNorth,0.1\nNorth,0.2\nSouth,1\n"
    source = table(tmp_path, "sums.csv", text)
    await made(tmp_path, source, query(source, "region"), Style())
    assert "North,0.3\n" in (tmp_path / "out/sums-chart-data.csv").read_text("utf-8-sig")


async def test_a_scatter_plot_of_two_columns(tmp_path: Path) -> None:
    rows = "\n".join(f"{n * 7 % 50},{n * 14 % 100}.5" for n in range(50))
    source = table(tmp_path, "pairs.csv", f"size,price\n{rows}")
    result, _ = await made(
        tmp_path, source, Query("file_pairs.csv#0", (PRICE,)), Style(chart="scatter")
    )
    assert result.text.startswith("Scatter plot “Price – Size”")
    points = list(csv.reader((tmp_path / "out/pairs-chart-data.csv").open(encoding="utf-8-sig")))
    assert points[:3] == [["Size", "Price"], ["0", "0.5"], ["7", "14.5"]]
    assert len(points) == 51


async def test_the_title_states_the_finding_and_the_figures_are_in_the_file(
    tmp_path: Path,
) -> None:
    source = table(tmp_path, "sales.csv", "shop,revenue\nA,4000\nB,1000\nC,3000\nD,2000\n")
    result, _ = await made(tmp_path, source, query(source, "shop"), formats=("pdf",))
    text = read(tmp_path / "out/sales-chart.pdf")
    assert "A leads with 40% of revenue" in text
    assert [figure in text for figure in ("4,000", "3,000", "2,000", "1,000")] == [True] * 4
    assert "Source: sales.csv, 4 rows" in text
    data = list(csv.reader(io.StringIO((tmp_path / "out/sales-chart-data.csv").read_text())))
    assert data[1:] == [["A", "4000"], ["C", "3000"], ["D", "2000"], ["B", "1000"]]
    alt = (tmp_path / "out/sales-chart-alt.txt").read_text()
    assert alt.startswith("Bar chart: A leads with 40% of revenue.")
    assert "C 3,000" in alt
    assert "A accounts for 4k of 10k (40%)" in result.text


async def test_months_without_a_year_stand_in_their_order_and_have_no_shares(
    tmp_path: Path,
) -> None:
    rows = "Apr,151\nFeb,135\nJan,120\nJun,182\nMar,128\nMay,170"
    source = table(tmp_path, "sales.csv", f"month,revenue\n{rows}\n")
    result, _ = await made(tmp_path, source, query(source, "month"))
    assert result.text.startswith("Column chart “Jun has the highest revenue”")
    data = (tmp_path / "out/sales-chart-data.csv").read_text().splitlines()[1:]
    assert [line[:3] for line in data] == ["Jan", "Feb", "Mar", "Apr", "May", "Jun"]


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
async def test_formats_and_sizes(tmp_path: Path, form: str) -> None:
    source = stories.orders(tmp_path)
    result, _ = await made(
        tmp_path, source, query(source, "region"), Style(size=(1080, 1350)), formats=(form,)
    )
    assert result.files[0].name == f"orders-chart.{form}"
    if form == "png":
        with Image.open(tmp_path / "out/orders-chart.png") as image:
            assert image.size == (1080, 1350)


async def test_a_long_axis_gets_longer_periods(tmp_path: Path) -> None:
    days = (date(2024, 1, 1) + timedelta(days=n) for n in range(400))
    rows = "\n".join(f"{day},{n}" for n, day in enumerate(days))
    source = table(tmp_path, "days.csv", f"date,revenue\n{rows}")
    result, _ = await made(tmp_path, source, query(source, time="date", grain=Grain.DAY))
    assert "drawn per week to keep it readable" in result.notes


async def test_many_groups_and_long_names_fit(tmp_path: Path) -> None:
    rows = "\n".join(f"The {n}th of many long names of things,{n * n}" for n in range(1, 61))
    source = table(tmp_path, "many.csv", f"name,revenue\n{rows}")
    result, _ = await made(tmp_path, source, query(source, "name"), formats=("pdf",))
    assert result.notes == ("39 groups with small values are not shown",)
    assert "3,600" in read(tmp_path / "out/many-chart.pdf")


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        ("donut", "drawn as bars, because a ring cannot show negative or empty values"),
        ("stacked", "drawn unstacked, because there is one series"),
    ],
)
async def test_a_kind_that_cannot_show_the_values_is_replaced(
    tmp_path: Path, kind: str, note: str
) -> None:
    source = table(tmp_path, "profit.csv", "unit,revenue\nA,12000\nB,-4500\nC,3000\n")
    result, _ = await made(
        tmp_path, source, query(source, "unit"), Style(chart=kind), formats=("pdf",)
    )
    assert note in result.notes
    assert "−4.5k" in read(tmp_path / "out/profit-chart.pdf")


async def test_averages_are_no_parts_of_a_ring(tmp_path: Path) -> None:
    source = table(tmp_path, "prices.csv", "shop,price\nA,4\nB,1\nC,3\n")
    result, _ = await made(
        tmp_path, source, query(source, "shop", measure=PRICE), Style(chart="donut")
    )
    assert "drawn as bars, because averages are no parts of a whole" in result.notes


async def test_a_ring_of_many_parts_is_drawn(tmp_path: Path) -> None:
    """The finding marks one part; the greys of the other eleven stay colours."""
    rows = "".join(f"2025-{n:02}-01,{100 + 9 * n}\n" for n in range(1, 13))
    source = table(tmp_path, "months.csv", f"month,revenue\n{rows}")
    asked = query(source, time="month", grain=Grain.MONTH)
    result, _ = await made(tmp_path, source, asked, Style(chart="donut"))
    assert result.text.startswith("Donut (pie) chart")


async def test_odd_cells_are_text(tmp_path: Path) -> None:
    names = ('"#panic(1) *x* $y$ \\"', "<b>&amp;", "=cmd|' /C calc'!A0", "A\u0fa4B")
    rows = "".join(f"{name},{5 + at}\n" for at, name in enumerate(names))
    source = table(tmp_path, "odd.csv", f"shop,revenue\n{rows}")
    result, _ = await made(tmp_path, source, query(source, "shop"), formats=("pdf",))
    text = read(tmp_path / "out/odd-chart.pdf")
    assert "#panic(1) *x* $y$ \\" in text
    assert "<b>&amp;" in text
    assert "'=cmd" in (tmp_path / "out/odd-chart-data.csv").read_text()
    assert "no font here has \u0fa4; an ellipsis stands for them" in result.notes


async def test_nothing_to_draw_is_said_before_anything_is_charged(tmp_path: Path) -> None:
    source = stories.orders(tmp_path)
    nowhere = (Filter("region", Op.IS, ("Mars",)),)
    with pytest.raises(JobFailed, match="region = Mars"):
        await made(tmp_path, source, query(source, "product", filters=nowhere))


async def test_the_best_two(tmp_path: Path) -> None:
    source = stories.orders(tmp_path)
    result, _ = await made(
        tmp_path, source, query(source, "product", order=Order(count=2)), formats=("pdf",)
    )
    shown = read(tmp_path / "out/orders-chart.pdf")
    assert "Espresso Machine leads with" in result.text
    assert "Grinder" in shown
    assert "Beans" not in shown


async def test_a_colour_is_that_of_all_bars(tmp_path: Path) -> None:
    source = table(tmp_path, "a.csv", "shop,revenue\nNorth,90\nSouth,30\nWest,20\n")
    product, _ = await made(
        tmp_path, source, query(source, "shop"), Style(chart="bar", colour="#2e8b57")
    )
    with Image.open(tmp_path / "out" / product.files[0].name) as image:
        pixels = image.convert("RGB").load()
        assert pixels is not None
        columns = range(0, image.width, 2)
        rows = [
            y for y in range(0, image.height, 4)
            if any(pixels[x, y] == (0x2E, 0x8B, 0x57) for x in columns)
        ]  # fmt: skip
    gaps = sum(later - before > 4 for before, later in pairwise(rows))
    assert gaps == 3, "the mark above the title and three bars"


async def test_a_line_runs_with_time_whatever_was_sorted_before(tmp_path: Path) -> None:
    source = table(tmp_path, "a.csv", "year,revenue\n2021,90\n2022,30\n2023,50\n")
    _, job = await made(
        tmp_path, source, query(source, time="year", grain=Grain.YEAR, order=Order()),
        Style(chart="line"),
    )  # fmt: skip
    (data,) = [file for name, file in job.written.items() if name.endswith(".csv")]
    years = [
        line.split(",")[0] for line in Path(str(data.blob)).read_text("utf-8-sig").splitlines()
    ]
    assert years[1:] == ["2021", "2022", "2023"]
