"""Files as people have them: each is read right, or the notes say what is not."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentpost.extraction import Unreadable
from agentpost.extraction.reading import read_text
from agentpost_offline.data.dataset import open_tables
from agentpost_offline.data.model import Role
from agentpost_offline.frame import Aggregate, Filter, Measure, Op, Query
from tests.agents import fakes
from tests.libraries import docx, openpyxl, pptx
from tests.offline.conversations import Conversation
from tests.offline.data.given import file

SHOPS = "shop,revenue\nKöln,10\nZürich,20\n"


def workbook(*sheets: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    for at, rows in enumerate(sheets):
        sheet = book.active if at == 0 else book.create_sheet()
        for row in rows:
            sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


Rows = list[tuple[Any, ...]]
CASES: dict[str, tuple[str, str | bytes | Callable[[], bytes], list[str], Rows, str]] = {
    "a sheet of one line beside data": (
        "book.xlsx",
        lambda: workbook([["Exported on 3 May."]], [["shop", "revenue"], ["A", 10], ["B", 20]]),
        ["shop", "revenue"], [("A", 10.0), ("B", 20.0)], "",
    ),
    "formulas without stored values": (
        "f.xlsx",
        lambda: workbook([["item", "price", "amount"], ["a", 2, "=B2*3"], ["b", 4, "=B3*3"]]),
        ["item", "price"], [("a", 2.0), ("b", 4.0)], "formulas in “amount” have no stored values",
    ),
    "the index that pandas writes": (
        "t.csv", ",shop,revenue\n0,A,10\n1,B,20\n", ["shop", "revenue"],
        [("A", 10.0), ("B", 20.0)], "",
    ),
    "one empty name among others": (
        "t.csv", ",shop,revenue\nx,A,10\ny,B,20\n", ["Column 1", "shop", "revenue"],
        [("x", "A", 10.0), ("y", "B", 20.0)], "",
    ),
    "NA among regions": (
        "t.csv", "region,sales\nNA,10\nEMEA,20\nAPAC,30\n", ["region", "sales"],
        [("NA", 10.0), ("EMEA", 20.0), ("APAC", 30.0)], "",
    ),
    "NA among answers": (
        "t.csv", "paid,sales\nYES,10\nNO,20\nNA,30\n", ["paid", "sales"],
        [("YES", 10.0), ("NO", 20.0), (None, 30.0)], "",
    ),
    "12E3 among codes": (
        "t.csv", "part,sales\n12E3,10\n13A4,20\n14F1,30\n", ["part", "sales"],
        [("12E3", 10.0), ("13A4", 20.0), ("14F1", 30.0)], "",
    ),
    "powers of ten": (
        "t.csv", "k,v\na,1.2E+05\nb,3.0E+05\n", ["k", "v"], [("a", 1.2e5), ("b", 3e5)], "",
    ),
    "days before months, as their order says": (
        "t.csv", "day,sold\n06/01/2024,1\n03/02/2024,2\n02/03/2024,3\n04/05/2024,4\n",
        ["day", "sold"], [("2024-01-06", 1.0), ("2024-02-03", 2.0), ("2024-03-02", 3.0),
                          ("2024-05-04", 4.0)], "",
    ),
    "months before days, or texts in order": (
        "t.csv", "day,sold\n01/06/2024,1\n02/03/2024,2\n03/02/2024,3\n04/07/2024,4\n",
        ["day", "sold"], [("2024-01-06", 1.0), ("2024-02-03", 2.0), ("2024-03-02", 3.0),
                          ("2024-04-07", 4.0)],
        "dates in “day” are read as month/day/year",
    ),
    "days before months, as their weekday says": (
        "t.csv", "day,sold\n02/03/2024,4\n06/01/2024,1\n03/02/2024,3\n06/07/2024,2\n",
        ["day", "sold"], [("2024-03-02", 4.0), ("2024-01-06", 1.0), ("2024-02-03", 3.0),
                          ("2024-07-06", 2.0)], "",
    ),
    "dates that do not say which comes first": (
        "t.csv", "day,sold\n02/03/2024,4\n06/05/2024,1\n03/02/2024,3\n", ["day", "sold"],
        [("2024-02-03", 4.0), ("2024-06-05", 1.0), ("2024-03-02", 3.0)],
        "dates in “day” are read as month/day/year",
    ),
    "durations in a column called time": (
        "t.csv", "run,time\na,1:30:30\nb,0:25:40\nc,2:00:50\n", ["run", "time"],
        [("a", 90.5), ("b", 25 + 40 / 60), ("c", 120 + 50 / 60)], "",
    ),
    "times of day in a column called time": (
        "t.csv", "run,time\na,9:30:00\nb,8:15:00\nc,7:45:00\n", ["run", "time"],
        [("a", "9:30:00"), ("b", "8:15:00"), ("c", "7:45:00")], "",
    ),
    "several currencies in one column": (
        "t.csv", "item,cost\na,10 €\nb,20 $\nc,5 €\n", ["item", "cost"],
        [("a", "10 €"), ("b", "20 $"), ("c", "5 €")], "“cost” has values in several units (€, $)",
    ),
    "signs and codes of one currency": (
        "t.csv", "item,cost\na,10 €\nb,20 EUR\n", ["item", "cost"], [("a", 10.0), ("b", 20.0)], "",
    ),
    "grams and kilograms": (
        "t.csv", "item,weight\na,500 g\nb,2 kg\nc,300 g\n", ["item", "weight"],
        [("a", 500.0), ("b", 2000.0), ("c", 300.0)], "“weight” has several units and is read in g",
    ),
    "Cyrillic of Windows": (
        "t.csv", "город,выручка\nМосква,10\nКазань,20\nСамара,30\n".encode("cp1251"),
        ["город", "выручка"], [("Москва", 10.0), ("Казань", 20.0), ("Самара", 30.0)],
        "read as Windows-1251, which is a guess",
    ),
    "Shift-JIS": (
        "t.csv", "店舗,売上\n東京本店,10\n大阪支店,20\n".encode("cp932"), ["店舗", "売上"],
        [("東京本店", 10.0), ("大阪支店", 20.0)], "read as CP932",
    ),
    "GB18030": (
        "t.csv", "城市,收入\n北京,10\n上海,20\n".encode("gb18030"), ["城市", "收入"],
        [("北京", 10.0), ("上海", 20.0)], "read as GB18030",
    ),
    "Western": (
        "t.csv", SHOPS.encode("cp1252"), ["shop", "revenue"],
        [("Köln", 10.0), ("Zürich", 20.0)], "read as Windows-1252",
    ),
    "Spanish": (
        "t.csv", "nombre,año\nJosé,10\nIñigo,20\n".encode("cp1252"), ["nombre", "año"],
        [("José", 10.0), ("Iñigo", 20.0)], "read as Windows-1252",
    ),
    "UTF-16": (
        "t.csv", SHOPS.encode("utf-16"), ["shop", "revenue"], [("Köln", 10.0), ("Zürich", 20.0)],
        "",
    ),
    "a stray byte in UTF-8": (
        "t.csv", SHOPS.encode() + b"B\xffd,30\n", ["shop", "revenue"],
        [("Köln", 10.0), ("Zürich", 20.0), ("B\ufffdd", 30.0)], "read as UTF-8",
    ),
    "spans in HTML": (
        "t.html",
        (
            "<html><body><table><tr><th rowspan=2>Shop</th><th colspan=2>2024</th></tr>"
            "<tr><th>Units</th><th>Revenue</th></tr><tr><td>A</td><td>3</td><td>10</td></tr>"
            "<tr><td>B</td><td>4</td><td>20</td></tr></table></body></html>"
        ),
        ["Shop", "2024 Units", "2024 Revenue"], [("A", 3.0, 10.0), ("B", 4.0, 20.0)], "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_read_right_or_its_notes_say_what_is_not(tmp_path: Path, case: str) -> None:
    name, content, columns, rows, note = CASES[case]
    given = content() if callable(content) else content
    with open_tables([file(tmp_path, name, given)]) as data:
        (table,) = data.tables
        assert [column.name for column in table.columns] == columns
        assert data.cells(table.id) == rows
        assert table.notes == () if not note else any(note in one for one in table.notes)


def test_amounts_in_several_currencies_are_not_added_up_without_a_word(tmp_path: Path) -> None:
    text = "item,amount,units,currency\na,10,1,EUR\nb,20,2,USD\nc,5,3,EUR\n"
    with open_tables([file(tmp_path, "t.csv", text)]) as data:
        table = data.tables[0].id

        def notes(column: str, **rest: Any) -> tuple[str, ...]:
            return data.run(Query(table, (Measure(column, Aggregate.SUM),), **rest)).notes

        (note,) = notes("amount")
        assert note.startswith("amounts in EUR, USD are computed together without conversion")
        assert notes("units") == ()
        assert notes("amount", groups=("currency",)) == ()
        assert notes("amount", filters=(Filter("currency", Op.IS, ("EUR",)),)) == ()


def word(path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The price is 40 euros.")
    document.add_comment(runs=paragraph.runs, text="Is this net?", author="Ann")
    document.save(str(path))


def slides(path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Growth"
    slide.notes_slide.notes_text_frame.text = "Say that Spain was late."
    deck.save(str(path))


def commented(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["item", "amount"])
    book.active["B1"].comment = openpyxl.comments.Comment("estimated", "Bob")
    book.save(path)


@pytest.mark.parametrize(
    ("name", "write", "text"),
    [
        ("a.docx", word, "The price is 40 euros.\n\n# Comments\n\nIs this net?\n"),
        ("a.pptx", slides, "# Slide 1\nGrowth\n\nNotes: Say that Spain was late.\n"),
        ("a.xlsx", commented, "# Sheet\nitem\tamount\n# Comments\nB1: estimated"),
    ],
)
def test_notes_of_speakers_and_comments_are_text(
    tmp_path: Path, name: str, write: Callable[[Path], None], text: str
) -> None:
    write(tmp_path / name)
    assert read_text(tmp_path / name, name, "") == text


@pytest.mark.parametrize("name", ["a.xlsx", "a.docx"])
def test_a_file_with_a_password_is_called_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600) + "EncryptedPackage".encode("utf-16-le"))
    with pytest.raises(Unreadable, match=f"{name} is protected by a password"):
        read_text(path, name, "")
    with open_tables([file(tmp_path, name, path.read_bytes())]) as data:
        assert data.skipped == (f"{name} is protected by a password",)


def write_file(folder: Path, name: str, content: str | bytes) -> Any:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return fakes.file(path)


@pytest.mark.parametrize(
    ("content", "message", "reply"),
    [
        ("year,revenue\n2019,10\n2020,12\n2021,15\n", "revenue by year", "- 2019: 10\n- 2020: 12"),
        ("team,Q1 Plan,Q1 Actual\nA,10,12\nB,20,18\n", "total Q1 Plan", "Total Q1 Plan: 30."),
        ("class,pupil,mark\n7,a,2\n8,b,3\n7,c,1\n", "average mark by class", "7: 1.50"),
    ],
)
async def test_questions_about_such_tables(
    tmp_path: Path, content: str, message: str, reply: str
) -> None:
    turn = await Conversation().say(message, write_file(tmp_path, "t.csv", content))
    assert reply in "\n".join(turn.replies)


def test_small_amounts_of_money_are_no_rates(tmp_path: Path) -> None:
    content = "carrier,fee_gbp,share\nA,0.45,0.2\nB,0.30,0.3\nC,0.55,0.4\nD,0.25,0.1\n"
    with open_tables([file(tmp_path, "t.csv", content)]) as data:
        assert [one.role for one in data.tables[0].columns[1:]] == [Role.AMOUNT, Role.RATE]


async def test_a_column_that_could_not_be_read_is_not_called_absent_alone(tmp_path: Path) -> None:
    _, content, *_ = CASES["formulas without stored values"]
    assert callable(content)
    turn = await Conversation().say("total amount", write_file(tmp_path, "f.xlsx", content()))
    assert "formulas in “amount” have no stored values" in "\n".join(turn.questions)


async def test_pictures_in_avif_are_pictures(tmp_path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(picture, "AVIF")
    turn = await Conversation().say(
        "convert it to png", write_file(tmp_path, "a.avif", picture.getvalue())
    )
    assert [job.title for job in turn.started] == ["Image from a.avif"]
