"""What people do with tables, and what is read of it."""

from pathlib import Path
from typing import Any

import pytest

from agentpost_offline.data import limits
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.data.model import Kind, Role, Table
from agentpost_offline.frame import Aggregate, Grain, Measure, Query
from agentpost_offline.steps import survey
from tests.offline.data.given import file

Rows = list[tuple[Any, ...]]


def read(folder: Path, text: str | bytes, name: str = "t.csv") -> tuple[Table, Rows]:
    with open_tables([file(folder, name, text)]) as data:
        assert not data.skipped
        assert len(data.tables) == 1
        return data.tables[0], data.cells(data.tables[0].id)


CASES: dict[str, tuple[str, list[str], Rows]] = {
    "European": (
        "Datum;Kunde;Umsatz;Anteil\n01.02.2025;A;1.234,50 €;12,5 %\n15.03.2025;B;99,00 €;3 %\n",
        ["Datum", "Kunde", "Umsatz", "Anteil"],
        [("2025-02-01", "A", 1234.5, 12.5), ("2025-03-15", "B", 99.0, 3.0)],
    ),
    "thousands with points": (
        "k;v\na;1.234\nb;5.678\n", ["k", "v"], [("a", 1234.0), ("b", 5678.0)],
    ),
    "decimals with points": ("k,v\na,1.234\nb,5.678\n", ["k", "v"], [("a", 1.234), ("b", 5.678)]),
    "currencies and brackets": (
        'k,v\na,"$1,200"\nb,-$5.25\nc,($3.00)\n', ["k", "v"],
        [("a", 1200.0), ("b", -5.25), ("c", -3.0)],
    ),
    "thousands and millions": ("k,v\na,1.2M\nb,950K\n", ["k", "v"], [("a", 1.2e6), ("b", 950e3)]),
    "Swiss and French": (
        "k;v\na;1'234.50\nb;2 345.00\n", ["k", "v"], [("a", 1234.5), ("b", 2345.0)],
    ),
    "Indian": ('k,v\na,"12,34,567"\nb,"1,234"\n', ["k", "v"], [("a", 1234567.0), ("b", 1234.0)]),
    "Arabic digits": ("k,v\na,١٢٣\nb,٤٥\n", ["k", "v"], [("a", 123.0), ("b", 45.0)]),
    "cells of errors": (
        "k,v\na,1\nb,#DIV/0!\nc,inf\nd,n/a\ne,2.5\nf,k.A.\ng,-\n", ["k", "v"],
        [("a", 1.0), ("b", None), ("c", None), ("d", None), ("e", 2.5), ("f", None), ("g", None)],
    ),
    "two lines of names": (
        "Region,North,,South,\n,Revenue,Cost,Revenue,Cost\nA,1,2,3,4\nB,5,6,7,8\n",
        ["Region", "North Revenue", "North Cost", "South Revenue", "South Cost"],
        [("A", 1.0, 2.0, 3.0, 4.0), ("B", 5.0, 6.0, 7.0, 8.0)],
    ),
    "a first row of figures that are alike": (
        "category,budget,actual\nRent,1000,1000\nFood,400,450.5\nFun,100,180\n",
        ["category", "budget", "actual"],
        [("Rent", 1000.0, 1000.0), ("Food", 400.0, 450.5), ("Fun", 100.0, 180.0)],
    ),
    "a first row of words that come again": (
        "kind,colour,new,old\nred,red,1000,1200\nred,blue,4,5\n", ["kind", "colour", "new", "old"],
        [("red", "red", 1000.0, 1200.0), ("red", "blue", 4.0, 5.0)],
    ),
    "a title and groups": (
        (
            "Sales report 2025\nRegion;North;;South;\nMonth;Units;Revenue;Units;Revenue\n"
            "2025-01;1;2;3;4\n2025-02;5;6;7;8\n"
        ),
        ["Month", "North Units", "North Revenue", "South Units", "South Revenue"],
        [("2025-01-01", 1.0, 2.0, 3.0, 4.0), ("2025-02-01", 5.0, 6.0, 7.0, 8.0)],
    ),
    "years as columns": (
        "Population\n\nCountry,2023,2024,Total\nSpain,1,2,3\nFrance,4,5,9\nTotal,5,7,12\n",
        ["Country", "Year", "Population"],
        [
            ("Spain", "2023-01-01", 1.0), ("Spain", "2024-01-01", 2.0),
            ("France", "2023-01-01", 4.0), ("France", "2024-01-01", 5.0),
        ],
    ),
    "years of two values": (
        "Item;Revenue 2023;Revenue 2024;Cost 2023;Cost 2024\nA;1;2;3;4\nB;5;6;7;8\n",
        ["Item", "Year", "Revenue", "Cost"],
        [
            ("A", "2023-01-01", 1.0, 3.0), ("A", "2024-01-01", 2.0, 4.0),
            ("B", "2023-01-01", 5.0, 7.0), ("B", "2024-01-01", 6.0, 8.0),
        ],
    ),
    "months under a year": (
        "Sales 2025\nProduct,Jan,Feb,Mar\nA,1,2,3\nB,4,5,6\n",
        ["Product", "Month", "Sales"],
        [
            ("A", "2025-01-01", 1.0), ("A", "2025-02-01", 2.0), ("A", "2025-03-01", 3.0),
            ("B", "2025-01-01", 4.0), ("B", "2025-02-01", 5.0), ("B", "2025-03-01", 6.0),
        ],
    ),
    "names that repeat": (
        "a,b,a,a\n1,2,3,4\n5,6,7,8\n", ["a", "b", "a (2)", "a (3)"],
        [(1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0)],
    ),
    "no header": ("1,2\n3,4\n", ["Column 1", "Column 2"], [(1.0, 2.0), (3.0, 4.0)]),
    "only texts": (
        "name,city\nAnn,Rome\nBob,Paris\n", ["name", "city"], [("Ann", "Rome"), ("Bob", "Paris")],
    ),
    "codes": (
        "zip,v\n01234,1\n04321,2\n", ["zip", "v"], [("01234", 1.0), ("04321", 2.0)],
    ),
    "Namibia": (
        "country,v\nNA,1\nDE,2\nFR,3\nES,4\n", ["country", "v"],
        [("NA", 1.0), ("DE", 2.0), ("FR", 3.0), ("ES", 4.0)],
    ),
    "a remark below": (
        "City;Sales;Share\nA;1;2\nB;3;4\n\nSource: our own\n", ["City", "Sales", "Share"],
        [("A", 1.0, 2.0), ("B", 3.0, 4.0)],
    ),
    "headers within": (
        "k,v\na,1\nk,v\nb,2\n", ["k", "v"], [("a", 1.0), ("b", 2.0)],
    ),
    "the first and the last year": (
        "when,v\n0001-01-01,1\n9999-12-31,2\n", ["when", "v"],
        [("0001-01-01", 1.0), ("9999-12-31", 2.0)],
    ),
    "words for months": (
        "Monat;Wert\nMärz 2025;1\nOkt. 2025;2\n", ["Monat", "Wert"],
        [("2025-03-01", 1.0), ("2025-10-01", 2.0)],
    ),
    "Chinese dates": (
        "月份,收入\n2025年3月,1\n2025年4月,2\n", ["月份", "收入"],
        [("2025-03-01", 1.0), ("2025-04-01", 2.0)],
    ),
    "American dates": (
        "d,v\n03/04/2025,1\n12/31/2025,2\n", ["d", "v"], [("2025-03-04", 1.0), ("2025-12-31", 2.0)],
    ),
    "the day first": (
        "d,v\n03/04/2025,1\n31/12/2025,2\n", ["d", "v"], [("2025-04-03", 1.0), ("2025-12-31", 2.0)],
    ),
    "line breaks in cells": (
        'k,v\n"a\nb",1\n"c  d",2\n', ["k", "v"], [("a b", 1.0), ("c d", 2.0)],
    ),
    "rows of other lengths": (
        "k,v,w\na,1\nb,2,3,4\n", ["k", "v", "w", "Column 4"],
        [("a", 1.0, None, None), ("b", 2.0, 3.0, 4.0)],
    ),
    "a line that names the delimiter": ("sep=;\nk;v\na;1\n", ["k", "v"], [("a", 1.0)]),
    "an inch": ('k,v\n3" pipe,1\n"a ""b""",2\n', ["k", "v"], [('3" pipe', 1.0), ('a "b"', 2.0)]),
    "carriage returns": ("k,v\ra,1\rb,2\r", ["k", "v"], [("a", 1.0), ("b", 2.0)]),
    "truths": ("x,ok\n1,true\n2,false\n", ["x", "ok"], [(1.0, True), (2.0, False)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_tables_as_people_write_them_are_read(tmp_path: Path, name: str) -> None:
    text, names, rows = CASES[name]
    table, found = read(tmp_path, text)
    assert [column.name for column in table.columns] == names
    assert found == rows


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le"])
def test_delimiters_and_encodings(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = f"Stadt{delimiter}Größe\nKoln{delimiter}12\nMunchen{delimiter}30\n"
    table, rows = read(tmp_path, text.encode(encoding))
    assert [column.name for column in table.columns] == ["Stadt", "Größe"]
    assert rows == [("Koln", 12.0), ("Munchen", 30.0)]


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("revenue", "10 20 30 45", Role.AMOUNT),
        ("unit_price", "10 20 30 45", Role.RATE),
        ("Stückpreis", "10 20 30 45", Role.RATE),
        ("单价", "10 20 30 45", Role.RATE),
        ("السعر", "10 20 30 45", Role.RATE),
        ("prix moyen", "10 20 30 45", Role.RATE),
        ("margin", "5% 6% 7% 9%", Role.RATE),
        ("hours", "10 20 30 45", Role.AMOUNT),
        ("Menge", "10 20 30 45", Role.AMOUNT),
        ("ventas", "10 20 30 45", Role.AMOUNT),
        ("age", "10 20 30 45", Role.RATE),
        ("temperature", "10 20 30 45", Role.RATE),
        ("order_id", "1001 1002 1003 1004", Role.IDENTIFIER),
        ("订单编号", "1001 1002 1003 1004", Role.IDENTIFIER),
        ("Kundennummer", "1001 1002 1003 1009", Role.IDENTIFIER),
        ("n", "1 2 3 4 5 6 7 8 9", Role.IDENTIFIER),
        ("conversion", "0.1 0.25 0.3 0.9", Role.RATE),
        ("cost per unit", "1 2 4 8", Role.RATE),
        ("sku", "A-1 A-2 A-3 A-4", Role.IDENTIFIER),
        ("city", "Rome Oslo Rome Bonn", Role.CATEGORY),
        ("day", "2025-01-01 2025-01-02 2025-01-04 2025-01-05", Role.TIME),
        ("Jahr", "2021 2022 2023 2024", Role.TIME),
        # Whole numbers that name something are never summed.
        ("floor", "7 8 7 10", Role.IDENTIFIER),
        ("track", "7 8 7 10", Role.IDENTIFIER),
        ("Track length", "400 380 400 390", Role.AMOUNT),
        ("screen size", "55 65 75 65", Role.AMOUNT),
        ("No-shows", "7 8 7 10", Role.AMOUNT),
        ("class", "7 8 7 10", Role.IDENTIFIER),
        ("Etage", "7 8 7 10", Role.IDENTIFIER),
        ("invoice number", "7 8 7 10", Role.IDENTIFIER),
        ("Rechnungsnr", "7 8 7 10", Role.IDENTIFIER),
        ("numéro client numéro", "7 8 7 10", Role.IDENTIFIER),
        ("number of rooms", "7 8 7 10", Role.AMOUNT),
        ("mark", "7 8 7 10", Role.RATE),
        ("grade", "7 8 7 10", Role.RATE),
        ("rooms", "7 8 7 10", Role.AMOUNT),
    ],
)
def test_a_column_gets_its_role(tmp_path: Path, name: str, cells: str, role: Role) -> None:
    text = f"k,{name}\n" + "\n".join(f"x,{cell}" for cell in cells.split())
    table, _ = read(tmp_path, text)
    assert table.columns[1].role is role


@pytest.mark.parametrize(
    ("name", "label", "unit"),
    [
        ("revenue_eur", "Revenue", "€"),
        ("Weight [kg]", "Weight", "kg"),
        ("rate (%)", "Rate", "%"),
        ("unitPrice", "Unit price", None),
        ("Umsatz (T€)", "Umsatz", "T€"),
        ("Costs (see below)", "Costs (see below)", None),
        ("KPI", "KPI", None),
    ],
)
def test_labels_and_units(tmp_path: Path, name: str, label: str, unit: str | None) -> None:
    table, _ = read(tmp_path, f"k,{name}\na,1\nb,3\n")
    assert (table.columns[1].label, table.columns[1].unit) == (label, unit)


def test_how_exact_dates_are(tmp_path: Path) -> None:
    cases = {
        "2025-01-01T10:30 2025-01-02T11:00": Grain.HOUR,
        "2025-01-05 2025-02-07": Grain.DAY,
        "2025-01 2025-02 2025-03": Grain.MONTH,
        "2025-Q1 2025-Q2 2025-Q3": Grain.QUARTER,
    }
    for cells, grain in cases.items():
        text = "d,v\n" + "\n".join(f"{cell},1" for cell in cells.split())
        table, _ = read(tmp_path, text)
        assert table.columns[0].kind is Kind.DATE
        assert table.columns[0].grain is grain


def test_lines_left_out_are_said(tmp_path: Path) -> None:
    text = "Report;;\n\nCity;Sales;Share\nA;1;2\nB;3;4\nTotal;4;6\n"
    table, rows = read(tmp_path, text)
    assert rows == [("A", 1.0, 2.0), ("B", 3.0, 4.0)]
    assert table.notes == (
        "1 line above the table left out",
        "1 total line below the table left out",
    )


def test_notes_are_in_the_language_of_the_reader(tmp_path: Path) -> None:
    given = file(tmp_path, "t.csv", "Report;;\n\nCity;Sales;Share\nA;1;2\nB;3;4\n")
    said = {"de": "1 Zeile über der Tabelle wurde", "zh": "已忽略表格上方的1行", "fr": "1 ligne au"}
    for language, note in said.items():
        with open_tables([given], language=language) as data:
            assert data.tables[0].notes[0].startswith(note)


def test_a_year_and_a_month_beside_it_are_dates(tmp_path: Path) -> None:
    for head, second, grain in (
        ("Year,Month", "March", Grain.MONTH),
        ("Jahr,Quartal", "Q2", Grain.QUARTER),
    ):
        text = (
            f"{head},v\n2023,{second},1\n2024,{second},2\n2025,{second.replace('March', 'May')},3\n"
        )
        text += "2024,January,5\n" if second == "March" else "2024,Q1,5\n"
        table, rows = read(tmp_path, text)
        assert [column.kind for column in table.columns] == [Kind.DATE, Kind.NUMBER]
        assert (table.columns[0].grain, rows[0][0]) == (
            grain,
            f"2023-{'03' if second == 'March' else '04'}-01",
        )


def test_codes_with_a_letter_are_no_numbers(tmp_path: Path) -> None:
    table, _ = read(tmp_path, "Class,Balance,Sales €\n" + "7A,1,2\n7B,3,4\n8A,5,6\n" * 3)
    assert [column.kind for column in table.columns[:2]] == [Kind.TEXT, Kind.NUMBER]
    assert table.columns[1].role is Role.RATE
    assert (table.columns[2].label, table.columns[2].unit) == ("Sales", "€")


def test_cells_that_do_not_fit_are_said(tmp_path: Path) -> None:
    text = "k,v\n" + "a,1\n" * 30 + "b,oops\n"
    table, rows = read(tmp_path, text)
    assert rows[-1] == ("b", None)
    assert "could not be read as number" in table.notes[0]


def test_categories_list_their_values_by_frequency(tmp_path: Path) -> None:
    found = survey([file(tmp_path, "t.csv", "city,v\nRome,1\nOslo,2\nRome,3\n")])
    column = found["tables"][0]["columns"][0]
    assert (column["values"], column["distinct"]) == (["Rome", "Oslo"], 2)


def test_a_file_of_many_rows_is_computed_whole(tmp_path: Path) -> None:
    count = 300_000
    text = "k,v,d\n" + "".join(f"g{i % 7},{i},2025-01-{i % 28 + 1:02d}\n" for i in range(count))
    with open_tables([file(tmp_path, "t.csv", text)]) as data:
        result = data.run(Query(data.tables[0].id, (Measure("v", Aggregate.SUM),)))
    assert result.rows == ((float(count * (count - 1) // 2),),)
    assert result.counted == count


@pytest.mark.parametrize(("cell", "value"), [("${}.50", 0.5), ("word {}", None)])
def test_a_table_of_many_columns_fits_into_the_memory_of_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, value: float | None
) -> None:
    monkeypatch.setattr(limits, "MEMORY", "64MB")
    columns = range(60)
    rows: list[list[Any]] = [[cell.format(60 * r + c) for c in columns] for r in range(3)]
    header = [f"c{column}" for column in columns]
    _, found = read(tmp_path, "\n".join(",".join(row) for row in [header, *rows]))
    if value is not None:
        rows = [[60 * r + c + value for c in columns] for r in range(3)]
    assert found == [tuple(row) for row in rows]


def test_a_late_cell_that_does_not_fit_does_not_spoil_its_column(tmp_path: Path) -> None:
    text = "k,v\n" + "".join(f"a,{i}\n" for i in range(20_000)) + 'b,"1,5x"\nc,#REF!\nd,7\n'
    with open_tables([file(tmp_path, "t.csv", text)]) as data:
        table = data.tables[0]
        rows = data.cells(table.id, limit=table.rows)
    assert table.columns[1].kind is Kind.NUMBER
    assert rows[-3:] == [("b", None), ("c", None), ("d", 7.0)]


def test_a_quotation_mark_that_is_never_closed_is_said(tmp_path: Path) -> None:
    table, rows = read(tmp_path, 'k,v\na,1\n"b,2\nc,3\n')
    assert rows == [("a", 1.0), ("b", 2.0), ("c", 3.0)]
    assert table.notes == ("a quotation mark in line 3 is never closed; it was left out",)
