"""Workbooks: cleaned and pivoted; what is written is opened again."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import File
from agentpost_offline.frame import (
    Act,
    Aggregate,
    Filter,
    Frame,
    Grain,
    Measure,
    Op,
    Query,
    Style,
    Thing,
    to_json,
)
from agentpost_offline.making.table.making import plan, write
from agentpost_offline.steps import survey
from tests.offline.data.given import as_csv as shop_csv, file, shop

ORDERS = "order_id,customer_id,amount_eur\n1,A1,10\n2,A2,20.5\n3,A1,5\n4,A9,7\n"


def frame(*queries: Query, language: str = "en", **options: Any) -> Any:
    return to_json(
        Frame(Act.MAKE, Thing.TABLE, queries=queries, language=language,
              style=Style(options=options))
    )  # fmt: skip


def made(folder: Path, files: list[File], wish: Any) -> tuple[Any, Any]:
    """What is said of a workbook, and the workbook as openpyxl opens it, with its formulas."""
    import openpyxl

    described = plan(files, wish, (), 1)
    path: Any = write(files, wish, (), "xlsx")
    opened = openpyxl.load_workbook(path.rename(folder / "x.xlsx"))
    return described, opened


def test_a_pivot_has_formulas_and_the_data_beside_it(tmp_path: Path) -> None:
    rows = shop()
    files = [file(tmp_path, "shop.csv", shop_csv(rows))]
    table = survey(files)["tables"][0]["id"]
    query = Query(table, (Measure("revenue", Aggregate.SUM),), ("country",), "date", Grain.YEAR)
    described, book = made(tmp_path, files, frame(query))
    assert book.sheetnames == ["Pivot", "Data"]
    page = book["Pivot"]
    assert [cell.value for cell in page[1]] == ["Country", "2024", "2025", "Total"]
    spain = next(row for row in page.iter_rows(values_only=True) if row[0] == "Spain")
    truth = sum(r["revenue"] or 0 for r in rows
                if r["country"] == "Spain" and r["date"].startswith("2025"))  # fmt: skip
    assert spain[2] == pytest.approx(truth)
    assert str(spain[3]).startswith("=SUM(")
    assert [cell.value for cell in page[6]][1] == "=SUBTOTAL(109,B2:B5)"
    assert described["text"].startswith("shop-table.xlsx: total Revenue by Country and year")
    assert book["Data"].freeze_panes == "B2"
    assert book["Data"]["A2"].is_date


def test_the_figures_of_a_pivot_follow_its_data(tmp_path: Path) -> None:
    text = "region,channel,revenue\nEast,Web,1\nEast,Shop,2\nWest,Web,3\nEast,Web,5\n"
    files = [file(tmp_path, "shop.csv", text)]
    table = survey(files)["tables"][0]["id"]
    total = (Measure("revenue", Aggregate.SUM),)
    _, book = made(tmp_path, files, frame(Query(table, total, ("region", "channel"))))
    page = book["Pivot"]
    assert [cell.value for cell in page[1]][:2] == ["Region", "Web"]
    assert page["B2"].value == "=SUMIFS(Data!$C$2:$C$5,Data!$A$2:$A$5,$A2,Data!$B$2:$B$5,B$1)"
    rows = (Measure(None, Aggregate.COUNT),)
    _, book = made(tmp_path, files, frame(Query(table, rows, ("region",))))
    assert book["Pivot"]["B2"].value == "=COUNTIFS(Data!$A$2:$A$5,$A2)"


@pytest.mark.parametrize("name", ["*", "<3", "12"])
def test_names_that_formulas_read_otherwise_have_plain_figures(tmp_path: Path, name: str) -> None:
    files = [file(tmp_path, "shop.csv", f"region,revenue\nEast,1\n{name},2\nWest,4\n")]
    table = survey(files)["tables"][0]["id"]
    query = Query(table, (Measure("revenue", Aggregate.SUM),), ("region",))
    _, book = made(tmp_path, files, frame(query))
    assert sorted(row[1] for row in book["Pivot"].iter_rows(2, 4, values_only=True)) == [1, 2, 4]


def test_what_was_filtered_out_is_in_no_sheet(tmp_path: Path) -> None:
    rows = shop()
    files = [file(tmp_path, "shop.csv", shop_csv(rows))]
    table = survey(files)["tables"][0]["id"]
    out = next(row["country"] for row in rows if row["country"])
    query = Query(
        table,
        (Measure("revenue", Aggregate.SUM),),
        ("country",),
        filters=(Filter("country", Op.IS_NOT, (out,)),),
    )
    _, book = made(tmp_path, files, frame(query))
    cells = {cell for page in book for line in page.iter_rows(values_only=True) for cell in line}
    assert out not in cells
    assert book["Data"].max_row == 2 + sum(row["country"] != out for row in rows), "and totals"


def test_rows_that_meet_a_condition_are_all_that_a_workbook_has(tmp_path: Path) -> None:
    rows = shop()
    files = [file(tmp_path, "shop.csv", shop_csv(rows)), file(tmp_path, "orders.csv", ORDERS)]
    table = survey(files)["tables"][0]["id"]
    only = next(row["country"] for row in rows if row["country"])
    wish = frame(Query(table, filters=(Filter("country", Op.IS, (only,)),)))
    described, book = made(tmp_path, files, wish)
    page = book.worksheets[0]
    at = [str(cell.value).casefold() for cell in page[1]].index("country")
    countries = [line[at] for line in page.iter_rows(min_row=2, values_only=True) if line[at]]
    assert countries == [only] * sum(row["country"] == only for row in rows)
    assert len(book.worksheets) == 2, "and the notes"
    assert f"Country = {only}" in described["text"]


def test_cleaned_data_is_typed_and_says_what_was_done(tmp_path: Path) -> None:
    text = "Report\n\nDatum;Umsatz\n01.02.2025;1.234,50 €\n02.02.2025;n/a\nSumme;1.234,50 €\n"
    described, book = made(tmp_path, [file(tmp_path, "a.csv", text)], frame(clean=True))
    page = book.worksheets[0]
    assert page["B2"].value == 1234.5
    assert page["B3"].value is None
    assert "€" in page["B2"].number_format
    assert page["A2"].is_date
    assert "1 total line below the table left out" in described["notes"]


def test_texts_never_become_formulas(tmp_path: Path) -> None:
    text = "k,v\n=1+1,1\n@SUM(A1),2\nhttps://example.com,3\n"
    files = [file(tmp_path, "a.csv", text)]
    _, book = made(tmp_path, files, frame())
    page = book.worksheets[0]
    assert (page["A2"].value, page["A2"].data_type) == ("=1+1", "s")
    assert page["A4"].hyperlink is None
    written_csv: Any = write(files, frame(), (), "csv")
    written = list(csv.reader(io.StringIO(written_csv.decode("utf-8-sig"))))
    assert [row[0] for row in written] == ["K", "'=1+1", "'@SUM(A1)", "https://example.com"]


def test_a_workbook_is_read_in_the_direction_of_its_language(tmp_path: Path) -> None:
    files = [file(tmp_path, "shop.csv", shop_csv(shop(60)))]
    _, book = made(tmp_path, files, frame(language="ar"))
    assert book.worksheets[0].sheet_view.rightToLeft


def test_a_line_of_totals_has_sums_and_no_averages(tmp_path: Path) -> None:
    text = "item,units,unit price\ntea,2,1.5\nmilk,3,2.5\njam,4,3.5\n"
    _, book = made(tmp_path, [file(tmp_path, "t.csv", text)], frame())
    total = [cell.value for cell in list(book.worksheets[0].rows)[-1]]
    assert total == ["Total", "=SUBTOTAL(109,B2:B4)", ""]
