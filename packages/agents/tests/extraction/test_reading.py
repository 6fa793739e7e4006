"""The text of files of every kind we read, and the refusal of the rest."""

import logging
import signal
import sys
import zipfile
from datetime import date, datetime
from pathlib import Path

import pytest

from agentpost.agents import Unreadable
from agentpost.extraction import limits, pdf, reading
from agentpost.extraction.reading import read_text


def read(path: Path, content_type: str = "") -> str:
    """The text of a file as the server gives it: a path without a suffix, and its name apart."""
    blob = path.parent / "blob"
    blob.write_bytes(path.read_bytes())
    return read_text(blob, path.name, content_type)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_text_in_the_usual_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("Größe ist gut\r\nso".encode(encoding))
    assert read(path) == "Größe ist gut\nso"


def test_html_without_its_scripts(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<html><head><title>x</title><script>evil()</script></head><body><h2>Head &amp; all</h2>"
        "<p>One <b>two</b></p><ul><li>item</li></ul><style>p{}</style></body></html>"
    )
    assert read(path) == "## Head & all\n\nOne two\n\n- item"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>a<!-- <p>hidden --><p>b", "a\n\nb"),
        ("<a>Home</a><a>About</a>", "Home About"),
        ("Hel<b>lo</b>", "Hello"),
        ("<table><tr><td>1<td>2</table>", "| 1 | 2"),
        ("one<br>two<hr>three", "one\n\ntwo\n\nthree"),
        ("text <![CDATA[ x ]]> more <![<![", "text more"),
        ("<head><title>t</title>body", "body"),
        ("<noscript>off</noscript><template>t</template>on<svg><text>s</text></svg>", "on"),
        ("caf&eacute; &#8364; &lt;b&gt; &unknown;", "café € <b> &unknown;"),
        ("<p>" + "long word " * 20_000, "long word " * 19_999 + "long word"),
    ],
)
def test_html_as_it_is_found(tmp_path: Path, markup: str, text: str) -> None:
    path = tmp_path / "a.html"
    path.write_text(markup)
    assert read(path) == text


def test_word_with_headings_lists_and_tables(tmp_path: Path) -> None:
    import docx

    word = docx.Document()
    word.add_heading("Costs", 2)
    word.add_paragraph("They rose.")
    word.add_paragraph("one", style="List Bullet")
    table = word.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "a", "b"
    path = tmp_path / "a.docx"
    word.save(str(path))
    assert read(path) == "## Costs\n\nThey rose.\n\n- one\n\n| a | b |\n"


def test_excel_sheets_as_tabbed_lines(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    assert book.active is not None
    book.active.title = "One"
    book.active.append(["a", 1, None])
    path = tmp_path / "a.xlsx"
    book.save(path)
    assert read(path) == "# One\na\t1"


def test_cells_of_every_kind(tmp_path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    rich = CellRichText("one ", TextBlock(InlineFont(b=True), "word"))
    sheet.append(["text", 1, 2.5, True, date(2025, 3, 4), datetime(2025, 3, 4, 5, 6), rich])
    sheet["B3"] = "=1+1"
    sheet["C3"] = "#N/A"
    sheet["C3"].data_type = "e"
    sheet["XFD9"] = "far"
    path = tmp_path / "a.xlsx"
    book.save(path)
    assert read(path) == (
        "# Sheet\ntext\t1\t2.5\tTrue\t2025-03-04 00:00:00\t2025-03-04 05:06:00\tone word\n\t\t#N/A"
    )


def test_a_workbook_of_the_calendar_of_1904(tmp_path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.utils.datetime import MAC_EPOCH

    book = Workbook()
    book.epoch = MAC_EPOCH
    assert book.active is not None
    book.active.append([date(2025, 3, 4)])
    path = tmp_path / "a.xlsx"
    book.save(path)
    assert "2025-03-04" in read(path)


def test_a_workbook_written_by_another_program(tmp_path: Path) -> None:
    """Cells without places, texts in place, prefixed elements, absolute links, no shared texts."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<x:workbook xmlns:x="{main}" xmlns:r="{related}"><x:sheets><x:sheet name="Data" '
            'r:id="a"/></x:sheets></x:workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="a" Type="{related}/worksheet" Target="/xl/one.xml"/>'
            "</Relationships>",
        )
        archive.writestr(
            "xl/one.xml",
            f'<x:worksheet xmlns:x="{main}"><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>in '
            'place</x:t></x:is></x:c><x:c><x:v>1e3</x:v></x:c><x:c t="d"><x:v>2025-03-04</x:v>'
            "</x:c><x:c><x:v>1e999</x:v></x:c></x:row></x:sheetData></x:worksheet>",
        )
    assert read(path) == "# Data\nin place\t1000\t2025-03-04 00:00:00\t"


def test_word_tables_text_boxes_and_tracked_changes(tmp_path: Path) -> None:
    namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

    def paragraph(text: str, properties: str = "") -> str:
        return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"

    inner = f"<w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc></w:tr></w:tbl>"
    style = '<w:pStyle w:val="Heading2"/>'
    was = '<w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange>'
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{namespace}"><w:body>'
            + paragraph("Plain", was)
            + f"<w:p><w:r><w:t>Box: </w:t><w:txbxContent>{paragraph('inside')}</w:txbxContent>"
            "</w:r></w:p>" + f"<w:sdt><w:sdtContent>{paragraph('Control', style)}"
            "</w:sdtContent></w:sdt>"
            + f"<w:tbl><w:tr><w:tc>{paragraph('a')}{paragraph('b')}</w:tc><w:tc>{inner}</w:tc>"
            "</w:tr></w:tbl></w:body></w:document>",
        )
    assert read(path) == ("Plain\n\nBox: inside\n\n## Control\n\n| a b | in |\n")


def test_slides_in_their_order(tmp_path: Path) -> None:
    namespace = "http://schemas.openxmlformats.org/drawingml/2006/main"
    path = tmp_path / "a.pptx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ppt/presentation.xml", "<p/>")
        for number in (10, 2):
            archive.writestr(
                f"ppt/slides/slide{number}.xml",
                f'<s xmlns:a="{namespace}"><a:p><a:r><a:t>text {number}</a:t></a:r></a:p></s>',
            )
    assert read(path) == "# Slide 1\ntext 2\n\n# Slide 2\ntext 10\n"


def test_pdf_pages_are_separated_by_form_feeds(tmp_path: Path) -> None:
    import typst

    source = tmp_path / "a.typ"
    source.write_text("First page. #pagebreak() Second page.")
    path = tmp_path / "a.pdf"
    path.write_bytes(typst.compile(source, root=tmp_path))
    assert [page.strip() for page in read(path).split("\f")] == ["First page.", "Second page."]


def test_the_content_decides_over_the_name(tmp_path: Path) -> None:
    import typst

    source = tmp_path / "a.typ"
    source.write_text("Hello there")
    path = tmp_path / "a.txt"
    path.write_bytes(typst.compile(source, root=tmp_path))
    assert read(path, "text/plain").strip() == "Hello there"


def test_text_is_cut_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abcdef")
    assert read_text(path, "a.txt", "text/plain", max_characters=4) == "abcd"


REFUSED = [
    ("a.pdf", b"%PDF-1.7 broken", "is damaged"),
    ("a.docx", b"plain text", "is not a valid .docx file"),
    ("a.docx", b"PK\x03\x04broken", "is damaged"),
    ("a.doc", b"\xd0\xcf\x11\xe0" + bytes(100), "old Office file"),
    ("a.bin", bytes(range(1, 32)) * 20, "is not a text file"),
    ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(30) + b"\x01\x02\x03\x04", "is not a text file"),
    ("a.html", b"<script>x</script>", "has no text in it"),
]


@pytest.mark.parametrize(("name", "content", "why"), REFUSED)
def test_a_file_without_text_is_refused_with_a_reason(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=f"{name} .*{why}|{why}"):
        read(path)


def test_an_archive_of_files_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(Unreadable, match="one by one"):
        read(path)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_UNPACKED_BYTES", 2**20)
    path = tmp_path / "bomb.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * (2**20 + 1))

    def unpacked(*args: object) -> bytes:
        raise AssertionError("the bomb was unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "open", unpacked)
    with pytest.raises(Unreadable, match="unpacks to more than 1 MB"):
        read(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES", 10)
    path = tmp_path / "a.txt"
    path.write_text("x" * 11)
    with pytest.raises(Unreadable, match="is larger than"):
        read(path)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RecursionError(), "a.txt is nested too deeply"),
        (MemoryError(), "a.txt takes too much memory to read"),
        (ZeroDivisionError(), "a.txt could not be read"),
        (AssertionError(), "a.txt could not be read"),
    ],
)
def test_whatever_a_reader_raises_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    def fail(*_: object) -> str:
        raise error

    monkeypatch.setattr(reading, "_plain", fail)
    path = tmp_path / "a.txt"
    path.write_text("x")
    with pytest.raises(Unreadable, match=f"^{why}$"):
        read(path)


def test_a_mistake_of_a_reader_is_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> str:
        raise ZeroDivisionError("our mistake")

    monkeypatch.setattr(reading, "_plain", fail)
    path = tmp_path / "a.txt"
    path.write_text("x")
    with caplog.at_level(logging.WARNING), pytest.raises(Unreadable):
        read(path)
    assert "ZeroDivisionError: our mistake" in caplog.text


def test_a_long_text_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a" + "ß" * 100)
    assert read_text(path, "a.txt", "text/plain", max_characters=10) == "a" + "ß" * 9


def test_a_service_managers_signal_does_not_end_the_reading_of_a_pdf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes to every process of the service; the file must not be called unreadable for it."""
    import typst

    (tmp_path / "terminated.py").write_text(
        "import os, signal, sys\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "from agentpost.extraction.pdf import main\n"
        "sys.exit(main(sys.argv[1], int(sys.argv[2])))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(pdf, "__name__", "terminated")
    (tmp_path / "a.typ").write_text("Some text")
    path = tmp_path / "a.pdf"
    path.write_bytes(typst.compile(tmp_path / "a.typ", root=tmp_path))
    assert read(path).strip() == "Some text"
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize(
    ("name", "content", "module", "kind"),
    [
        ("a.pdf", b"%PDF-1.7", "pypdfium2", "a PDF file"),
        ("a.html", b"<p>x</p>", "lxml", "an HTML file"),
    ],
)
def test_without_the_extra_the_text_says_what_is_missing(
    name: str,
    content: bytes,
    module: str,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / name).write_bytes(content)
    why = f"^{name} is {kind}, which this server cannot read: .*agentpost\\[extraction\\]$"
    with pytest.raises(Unreadable, match=why):
        read(tmp_path / name)
    (tmp_path / "a.txt").write_text("x")
    assert read(tmp_path / "a.txt") == "x"
