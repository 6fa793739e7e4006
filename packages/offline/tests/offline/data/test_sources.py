"""Tables of every kind of file; the content decides what a file is."""

import io
import json
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import File
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.data.model import Table
from tests.offline.data.given import file

Rows = list[tuple[Any, ...]]


def tables(files: list[File], pasted: str = "") -> list[tuple[Table, Rows]]:
    with open_tables(files, pasted) as data:
        assert not data.skipped
        return [(table, data.cells(table.id)) for table in data.tables]


def workbook() -> bytes:
    import xlsxwriter

    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    page = book.add_worksheet("Orders")
    page.write_row(0, 0, ["Orders of 2025"])
    page.write_row(2, 0, ["Region", "Month", "Revenue", "Paid"])
    for at, (month, value) in enumerate([(1, 10), (2, 20), (3, 30.5), (4, None)], 3):
        page.write_datetime(at, 1, datetime(2025, month, 1), day)
        if value is not None:
            page.write_number(at, 2, value)
        page.write_boolean(at, 3, month % 2 == 0)
    page.merge_range("A4:A5", "North")
    page.write(5, 0, "South")
    page.write(6, 0, "South")
    page.write_formula(6, 2, "=1/0", None, "#DIV/0!")
    page.set_row(2, None, None, {"hidden": True})
    costs = book.add_worksheet("Costs")
    costs.write_row(0, 0, ["Item", "Cost"])
    costs.write_row(1, 0, ["Rent", 5])
    costs.write_row(2, 0, ["Power", 7])
    book.add_worksheet("Empty")
    book.close()
    return out.getvalue()


def test_all_sheets_of_a_workbook(tmp_path: Path) -> None:
    found = tables([file(tmp_path, "a.xlsx", workbook())])
    assert [table.name for table, _ in found] == ["a.xlsx, sheet Orders", "a.xlsx, sheet Costs"]
    assert found[0][1] == [
        ("North", "2025-01-01", 10.0, False),
        ("North", "2025-02-01", 20.0, True),
        ("South", "2025-03-01", 30.5, False),
        ("South", "2025-04-01", None, True),
    ]
    assert found[1][1] == [("Rent", 5.0), ("Power", 7.0)]


@pytest.mark.parametrize("name", ["a", "a.csv", "a.txt", "a.xlsx", "a.png.csv"])
def test_a_workbook_by_any_name(tmp_path: Path, name: str) -> None:
    assert len(tables([file(tmp_path, name, workbook())])) == 2


@pytest.mark.parametrize("name", ["a", "a.csv", "a.txt", "a.xlsx", "a.json"])
def test_delimited_text_by_any_name(tmp_path: Path, name: str) -> None:
    found = tables([file(tmp_path, name, "city;sales\nRome;1,5\nOslo;2,5\n")])
    assert found[0][1] == [("Rome", 1.5), ("Oslo", 2.5)]


def test_an_opendocument_sheet(tmp_path: Path) -> None:
    spaces = " ".join(
        f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"'
        for n in ("office", "table", "text")
    )

    def cell(kind: str, value: str) -> str:
        held = {"string": "", "date": f'office:date-value="{value}"'}.get(
            kind, f'office:value="{value}"'
        )
        text = f"<text:p>{value}</text:p>"
        start = f'<table:table-cell office:value-type="{kind}" {held}>'
        return f"{start}{text}</table:table-cell>"

    rows = [
        cell("string", "day") + cell("string", "sales"),
        cell("date", "2025-01-05") + cell("float", "1.5"),
        cell("date", "2025-02-05") + cell("currency", "2"),
    ]
    many = 'table:number-rows-repeated="1048000"'
    blank = f"<table:table-row {many}><table:table-cell/></table:table-row>"
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows) + blank
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        packed.writestr("META-INF/manifest.xml", "<manifest/>")
        packed.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>"
            f'<table:table table:name="Sheet1">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    found = tables([file(tmp_path, "a.ods", out.getvalue())])
    assert found[0][0].name == "a.ods, sheet Sheet1"
    assert found[0][1] == [("2025-01-05", 1.5), ("2025-02-05", 2.0)]


JSONS: dict[str, tuple[Any, Rows]] = {
    "records": ([{"a": "x", "b": 1}, {"a": "y", "c": 2}], [("x", 1.0, None), ("y", None, 2.0)]),
    "nested": (
        {"meta": {"n": 2}, "data": [{"name": "A", "geo": {"city": "Rome"}}, {"name": "B"}]},
        [("A", "Rome"), ("B", None)],
    ),
    "by name": ({"Spain": {"v": 1}, "Italy": {"v": 2}}, [("Spain", 1.0), ("Italy", 2.0)]),
    "by column": ({"k": ["a", "b"], "v": [1, 2]}, [("a", 1.0), ("b", 2.0)]),
    "rows": ([["k", "v"], ["a", 1], ["b", 2]], [("a", 1.0), ("b", 2.0)]),
    "lists within": (
        [{"k": "a", "t": ["x", "y"]}, {"k": "b", "t": []}],
        [("a", "x, y"), ("b", None)],
    ),
}


@pytest.mark.parametrize("name", JSONS)
def test_json(tmp_path: Path, name: str) -> None:
    data, rows = JSONS[name]
    assert tables([file(tmp_path, "a.json", json.dumps(data))])[0][1] == rows


def test_lines_of_json(tmp_path: Path) -> None:
    found = tables([file(tmp_path, "a.jsonl", '{"k": "a", "v": 1}\n{"k": "b", "v": 2}\n')])
    assert found[0][1] == [("a", 1.0), ("b", 2.0)]


def test_tables_of_documents(tmp_path: Path) -> None:
    import docx
    from pptx import Presentation
    from pptx.util import Inches

    cells = [["City", "Sales"], ["Rome", "5"], ["Oslo", "7"]]
    document = docx.Document()
    document.add_heading("Costs", 1)
    table = document.add_table(3, 2)
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    size = [Inches(n) for n in (1, 1, 4, 2)]
    shown = slide.shapes.add_table(3, 2, *size).table
    for at, row in enumerate(cells):
        for to, text in enumerate(row):
            table.cell(at, to).text = text
            shown.cell(at, to).text = text
    word, powerpoint = io.BytesIO(), io.BytesIO()
    document.save(word)
    deck.save(powerpoint)
    marked = "# T\n\n| City | Sales |\n|---|--:|\n| Rome | 5 |\n| Oslo | 7 |\n"
    page = "<html><body><table><tr><th>City<th>Sales<tr><td>Rome<td>5<tr><td>Oslo<td>7</table>"
    files = [
        file(tmp_path, "a.docx", word.getvalue()), file(tmp_path, "a.pptx", powerpoint.getvalue()),
        file(tmp_path, "a.md", marked), file(tmp_path, "a.html", page),
    ]  # fmt: skip
    found = tables(files)
    assert [table.name for table, _ in found] == [
        "a.docx, Costs, table", "a.pptx, slide 1, table", "a.md, T, table", "a.html, table",
    ]  # fmt: skip
    assert all(rows == [("Rome", 5.0), ("Oslo", 7.0)] for _, rows in found)


MESSAGES = {
    "tabs": "Chart this, please:\nMonth\tSales\nJan\t5\nFeb\t6\n",
    "commas": "Make a bar chart\n\nMonth,Sales\nJan,5\nFeb,6\n\nThanks, and hurry",
    "bars": "draw it\n| Month | Sales |\n|---|---|\n| Jan | 5 |\n| Feb | 6 |",
    "semicolons": "hier:\nMonth;Sales\nJan;5\nFeb;6",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_tables_in_a_message(name: str) -> None:
    found = tables([], MESSAGES[name])
    assert len(found) == 1
    assert found[0][1] == [("Jan", 5.0), ("Feb", 6.0)]


@pytest.mark.parametrize(
    "text", ["Hello, how are you?\nFine, thanks.", "Make a chart, a report, and a deck.", "a\nb\nc"]
)
def test_prose_is_no_table(tmp_path: Path, text: str) -> None:
    assert tables([file(tmp_path, "a.txt", text)], text) == []


def test_a_file_that_cannot_be_read_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    files = [
        file(tmp_path, "empty.csv", b""), file(tmp_path, "broken.xlsx", b"PK\x03\x04nothing"),
        file(tmp_path, "fine.csv", "a,b\nx,1\n"), file(tmp_path, "noise.csv", bytes(range(256))),
    ]  # fmt: skip
    with open_tables(files) as data:
        assert [table.name for table in data.tables] == ["fine.csv"]
        assert data.skipped == (
            "empty.csv is empty", "broken.xlsx is damaged", "noise.csv is not a text file",
        )  # fmt: skip
