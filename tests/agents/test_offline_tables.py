"""Reading tables and asking them: encodings, delimiters, kinds of columns, aggregates."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from agentpost.agents import JobFailed, Unreadable
from agentpost.agents.offline import limits, query
from agentpost.agents.offline.chart_spec import choose
from agentpost.agents.offline.tables import Table, find_delimiter, read_table
from agentpost.agents.offline.texts import amount, humanise, short_amount, shortened, slug

SALES = "month,region,orders,revenue_k,unit_price\n" + "\n".join(
    f"{year}-{month:02d}-01,{region},{month * factor},{month * factor * 2.5},{9 + factor}"
    for year in (2024, 2025)
    for month in range(1, 13)
    for region, factor in (("North", 3), ("South", 2), ("North East", 1))
)


def table(tmp_path: Path, text: str, encoding: str = "utf-8", name: str = "t.csv") -> Table:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return read(path)


def read(path: Path) -> Table:
    """The table of a file as the server gives it: a path without a suffix, and its name apart."""
    blob = path.parent / "blob"
    blob.write_bytes(path.read_bytes())
    return read_table(blob, path.name)


@pytest.fixture
def sales(tmp_path: Path) -> Table:
    return table(tmp_path, SALES, name="sales.csv")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_delimiters_and_encodings(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = f"Stadt{delimiter}Größe\nKöln{delimiter}12\nMünchen{delimiter}30\n"
    found = table(tmp_path, text, encoding)
    assert [(c.name, c.kind) for c in found.columns] == [("Stadt", "text"), ("Größe", "number")]
    assert found.columns[0].values == ["Köln", "München"]


def test_a_delimiter_inside_quotes_does_not_count() -> None:
    assert find_delimiter('a;b\n"x, y, z";1\n"p, q";2\n') == ";"


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["1,234.50", "12"], [1234.5, 12], ""),
        (["1.234,50", "12,5"], [1234.5, 12.5], ""),
        (["$1,200", "-$5.25"], [1200, -5.25], "$"),
        (["12%", "3.5%"], [12, 3.5], "%"),
        (["(300)", "1 500"], [-300, 1500], ""),
        (["1e3", "n/a"], [1000, None], ""),
    ],
)
def test_numbers_as_people_write_them(
    tmp_path: Path, cells: list[str], values: list[float | None], unit: str
) -> None:
    rows = "\n".join(f"x;{cell}" for cell in cells)
    column = table(tmp_path, f"name;value\n{rows}").columns[1]
    assert (column.kind, column.values, column.unit) == ("number", values, unit)


@pytest.mark.parametrize(
    ("cell", "value", "grain"),
    [
        ("2025-03-04", date(2025, 3, 4), "day"),
        ("31/12/2025", date(2025, 12, 31), "day"),
        ("12/31/2025", date(2025, 12, 31), "day"),
        ("4.3.2025", date(2025, 3, 4), "day"),
        ("Mar 2025", date(2025, 3, 1), "month"),
        ("2025-Q2", date(2025, 4, 1), "quarter"),
        ("March 4, 2025", date(2025, 3, 4), "day"),
        ("2025-03-04T10:00:00Z", date(2025, 3, 4), "day"),
    ],
)
def test_dates_as_people_write_them(tmp_path: Path, cell: str, value: date, grain: str) -> None:
    column = table(tmp_path, f'when|v\n"{cell}"|1').columns[0]
    assert (column.kind, column.values, column.grain) == ("date", [value], grain)


def test_a_number_beyond_all_numbers_is_no_value(tmp_path: Path) -> None:
    rows = "\n".join(["a,1"] * 30)
    found = table(tmp_path, f"k,v\n{rows}\nb,1e999")
    assert found.columns[1].values[-1] is None
    assert query.answer(found, "total v") == "Total V: 30 (from 30 rows)."
    assert choose(found, {}).kind == "bar"


def test_codes_with_leading_zeros_stay_text_and_years_are_dates(tmp_path: Path) -> None:
    found = table(tmp_path, "zip,year,v\n01234,2024,1\n04321,2025,2")
    assert [column.kind for column in found.columns] == ["text", "date", "number"]


def test_lines_above_and_totals_below_are_left_out_and_said(tmp_path: Path) -> None:
    found = table(tmp_path, "Report;;\n\nCity;Sales;Share\nA;1;2\nB;3;4\nTotal;4;6\n")
    assert found.rows == 2
    assert found.notes == ["1 line above the table left out", "1 total line left out"]


def test_cells_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    rows = "\n".join(["a,1"] * 30)
    found = table(tmp_path, f"k,v\n{rows}\nb,oops")
    assert found.columns[1].values[-1] is None
    assert found.notes == ["1 cell of “v” could not be read as number and left out"]


def test_a_table_without_header_gets_numbered_columns(tmp_path: Path) -> None:
    found = table(tmp_path, "1,2\n3,4\n")
    assert [column.name for column in found.columns] == ["Column 1", "Column 2"]
    assert "no header line found, so columns are named by number" in found.notes


def test_long_tables_are_cut_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TABLE_ROWS", 10)
    found = table(tmp_path, "a,b\n" + "x,1\n" * 50)
    assert found.rows == 10
    assert found.notes == ["only the first 10 rows were read"]


def test_excel_files_keep_types_and_name_unread_sheets(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    assert book.active is not None
    book.active.title = "Sales"
    for row in (["Day", "Sum"], [date(2025, 1, 1), 5], [date(2025, 1, 2), 7.5]):
        book.active.append(row)
    book.create_sheet("Notes").append(["hello"])
    path = tmp_path / "book.xlsx"
    book.save(path)
    found = read(path)
    assert [(c.kind, c.values[1]) for c in found.columns] == [
        ("date", date(2025, 1, 2)), ("number", 7.5),
    ]  # fmt: skip
    assert found.notes == ["sheet “Sales” was used; not read: Notes"]


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"a,b\n", b"PK\x03\x04 no zip", bytes(range(256))]
)
def test_what_is_no_table_is_unreadable(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=r"x\.csv"):
        read_table(path, "x.csv")


QUESTIONS = [
    ("how many orders were there in May?", "Total Orders for May: 60 (from 6 rows)."),
    ("How many orders in May 2025 for South?", "Total Orders for May, 2025, South: 10"),
    ("how many rows are there", "Number of rows: 72."),
    ("how many rows for North East", "Number of rows for North East: 24."),
    ("how many regions are there?", "Different values of Region: 3 (North, South and"),
    ("average unit price for North", "Average Unit price for North: 12 (from 24 rows)."),
    ("which region has the highest revenue?", "North: 1,170 (highest by Region"),
    ("which month had the fewest orders?", "Jan 2024: 6 (lowest by month"),
    ("what is the highest revenue?", "In: Month Dec 2024, Region North."),
    ("revenue per year", "- 2024: 1,170\n- 2025: 1,170"),
    ("total revenue by region", "- North: 1,170\n- South: 780\n- North East: 390"),
    ("what was the latest month?", "Latest Month: Dec 2025."),
    ("total orders for 1999", "No rows match for 1999."),
]


@pytest.mark.parametrize(("question", "answer"), QUESTIONS)
def test_table_questions_are_computed(sales: Table, question: str, answer: str) -> None:
    assert answer in (query.answer(sales, question) or "")


@pytest.mark.parametrize(
    "question",
    ["Who is the CEO?", "how many employees do we have?", "what are the main risks?",
     "what may happen to the supplier?", "total cost of ownership"],
)  # fmt: skip
def test_questions_about_something_else_are_left_alone(sales: Table, question: str) -> None:
    assert query.answer(sales, question) is None


def spec_of(source: Table, wording: str = "", **options: object) -> tuple[str, str, int]:
    spec = choose(source, {"wording": [wording], **options})
    return spec.kind, spec.title, len(spec.series)


def test_the_chart_follows_the_request(sales: Table) -> None:
    assert spec_of(sales) == ("line", "Orders by month and region", 3)
    assert spec_of(sales, "revenue by region") == ("bar", "Revenue (k) by region", 1)
    assert spec_of(sales, "unit price by region", kind="pie")[0] == "pie"
    assert spec_of(sales, "orders", grain="quarter") == ("line", "Orders by quarter and region", 3)
    assert spec_of(sales, "", kind="scatter") == ("scatter", "Revenue (k) against Orders", 1)
    assert spec_of(sales, "revenue", kind="histogram")[1] == "Distribution of Revenue (k)"
    assert spec_of(sales, "", title="Mine")[1] == "Mine"


def test_values_of_a_chart_are_aggregated_and_ordered(sales: Table) -> None:
    spec = choose(sales, {"wording": ["revenue by region"], "top": 2})
    assert spec.labels == ["North", "South"]
    assert spec.series[0]["values"] == [1170, 780]
    assert spec.notes == ["the largest 2 of 3 shown"]
    mean = choose(sales, {"wording": ["unit price by region"]})
    assert mean.series[0]["values"] == [12, 11, 10]
    assert mean.subtitle == "Average per region"


def test_a_pie_of_negative_values_becomes_bars_with_a_note(tmp_path: Path) -> None:
    spec = choose(table(tmp_path, "k,v\na,-1\nb,2"), {"kind": "pie"})
    assert spec.kind == "bar"
    assert spec.notes == ["drawn as bars, because a pie cannot show negative values"]


def test_calendar_words_keep_their_order(tmp_path: Path) -> None:
    spec = choose(table(tmp_path, "month,v\nMar,1\nJan,5\nFeb,9"), {})
    assert spec.labels == ["Jan", "Feb", "Mar"]


def test_identifiers_are_not_added_up(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match=r"t\.csv has no numbers"):
        choose(table(tmp_path, "order_id,zip\n77,501\n79,502"), {"kind": "histogram"})


def test_words_for_people() -> None:
    assert humanise("revenue_k") == "Revenue (k)"
    assert humanise("unitPrice") == "Unit price"
    assert humanise("customer_id") == "Customer ID"
    assert humanise("Umsatz (€)") == "Umsatz (€)"
    assert [amount(v, "$") for v in (1234.5, -3, 0.004)] == ["$1,234.5", "-$3", "$0.004"]
    assert [short_amount(v) for v in (13_960_000, 34_000, 999.94, 5.6)] == [
        "14M", "34k", "999.9", "5.6",
    ]  # fmt: skip
    assert shortened("one two three four", 12) == "one two…"
    assert slug("../../Ünï côde.csv", "data") == "n-c-de"
    assert slug("数据.csv", "data") == "data"
