"""The text of files of every kind we read, and the refusal of the rest."""

import io
import logging
import signal
import sys
import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from agentpost.agents import Unreadable
from agentpost.extraction import limits, pdf, reading
from agentpost.extraction.reading import read_text
from tests.extraction.hostile import (
    BODY,
    BODY_END,
    DRAWING,
    RELATED,
    SHEET,
    archive,
    rows,
    workbook,
)


def read(folder: Path, name: str, content: bytes | str, content_type: str = "") -> str:
    """The text of a file as the server gives it: a path without a suffix, and its name apart."""
    blob = folder / "blob"
    blob.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_text(blob, name, content_type)


def saved(document: Any) -> bytes:
    """The file of a Word document or a workbook."""
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def printed(text: str) -> bytes:
    """A PDF with that text."""
    import typst

    return bytes(typst.compile(text.encode()))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_text_in_the_usual_encodings(tmp_path: Path, encoding: str) -> None:
    text = "Größe ist gut\r\nso".encode(encoding)
    assert read(tmp_path, "a.txt", text) == "Größe ist gut\nso"


PAGE = (
    "<html><head><title>x</title><script>evil()</script></head><body><h2>Head &amp; all</h2>"
    "<p>One <b>two</b></p><ul><li>item</li></ul><style>p{}</style></body></html>"
)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (PAGE, "## Head & all\n\nOne two\n\n- item"),
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
    assert read(tmp_path, "a.html", markup) == text


def test_word_with_headings_lists_and_tables(tmp_path: Path) -> None:
    import docx

    word = docx.Document()
    word.add_heading("Costs", 2)
    word.add_paragraph("They rose.")
    word.add_paragraph("one", style="List Bullet")
    table = word.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "a", "b"
    text = "## Costs\n\nThey rose.\n\n- one\n\n| a | b |\n"
    assert read(tmp_path, "a.docx", saved(word)) == text


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
    assert read(tmp_path, "a.xlsx", saved(book)) == (
        "# Sheet\ntext\t1\t2.5\tTrue\t2025-03-04 00:00:00\t2025-03-04 05:06:00\tone word\n\t\t#N/A"
    )


def test_texts_that_cells_share(tmp_path: Path) -> None:
    cells = rows('<row><c t="s"><v>1</v></c><c t="s"><v>9</v></c></row>')
    texts = "<si><t>a</t></si><si><r><t>one </t></r><rPh><t>b</t></rPh><r><t>text</t></r></si>"
    book = workbook(cells, f"<sst {SHEET}>{texts}</sst>")
    assert read(tmp_path, "a.xlsx", book) == "# S0\none text\t"


def test_a_workbook_of_the_calendar_of_1904(tmp_path: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.utils.datetime import MAC_EPOCH

    book = Workbook()
    book.epoch = MAC_EPOCH
    assert book.active is not None
    book.active.append([date(2025, 3, 4)])
    assert "2025-03-04" in read(tmp_path, "a.xlsx", saved(book))


def test_a_workbook_written_by_another_program(tmp_path: Path) -> None:
    """Cells without places, texts in place, prefixed elements, absolute links, no shared texts."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    book = archive(
        {
            "xl/workbook.xml": f'<x:workbook xmlns:x="{main}" xmlns:r="{RELATED}"><x:sheets>'
            '<x:sheet name="Data" r:id="a"/></x:sheets></x:workbook>',
            "xl/_rels/workbook.xml.rels": "<Relationships"
            ' xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="a" Type="{RELATED}/worksheet" Target="/xl/one.xml"/>'
            "</Relationships>",
            "xl/one.xml": f'<x:worksheet xmlns:x="{main}"><x:sheetData><x:row>'
            '<x:c t="inlineStr"><x:is><x:t>in place</x:t></x:is></x:c><x:c><x:v>1e3</x:v></x:c>'
            '<x:c t="d"><x:v>2025-03-04</x:v></x:c><x:c><x:v>1e999</x:v></x:c>'
            "</x:row></x:sheetData></x:worksheet>",
        }
    )
    text = "# Data\nin place\t1000\t2025-03-04 00:00:00\t"
    assert read(tmp_path, "a.xlsx", book) == text


def test_word_tables_text_boxes_and_tracked_changes(tmp_path: Path) -> None:
    def paragraph(text: str, properties: str = "") -> str:
        return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"

    inner = f"<w:tbl><w:tr><w:tc>{paragraph('in')}</w:tc></w:tr></w:tbl>"
    style = '<w:pStyle w:val="Heading2"/>'
    was = '<w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange>'
    body = (
        paragraph("Plain", was)
        + f"<w:p><w:r><w:t>Box: </w:t><w:txbxContent>{paragraph('inside')}</w:txbxContent>"
        "</w:r></w:p>" + f"<w:sdt><w:sdtContent>{paragraph('Control', style)}"
        "</w:sdtContent></w:sdt>"
        + f"<w:tbl><w:tr><w:tc>{paragraph('a')}{paragraph('b')}</w:tc><w:tc>{inner}</w:tc>"
        "</w:tr></w:tbl>"
    )
    word = archive({"word/document.xml": BODY + body + BODY_END})
    text = "Plain\n\nBox: inside\n\n## Control\n\n| a b | in |\n"
    assert read(tmp_path, "a.docx", word) == text


def test_slides_in_their_order(tmp_path: Path) -> None:
    slides: dict[str, Any] = {
        f"ppt/slides/slide{n}.xml": f"<s {DRAWING}><a:p><a:r><a:t>text {n}</a:t></a:r></a:p></s>"
        for n in (10, 2)
    }
    deck = archive({"ppt/presentation.xml": "<p/>", **slides})
    assert read(tmp_path, "a.pptx", deck) == "# Slide 1\ntext 2\n\n# Slide 2\ntext 10\n"


def test_pdf_pages_are_separated_by_form_feeds(tmp_path: Path) -> None:
    """Whatever the file is called: its content decides."""
    pages = read(tmp_path, "a.txt", printed("First page. #pagebreak() Second page."), "text/plain")
    assert [page.strip() for page in pages.split("\f")] == ["First page.", "Second page."]


REFUSED = [
    ("a.pdf", b"%PDF-1.7 broken", "is damaged"),
    ("a.docx", b"plain text", "is not a valid .docx file"),
    ("a.docx", b"PK\x03\x04broken", "is damaged"),
    ("a.doc", b"\xd0\xcf\x11\xe0" + bytes(100), "is an old Office file"),
    ("a.bin", bytes(range(1, 32)) * 20, "is not a text file"),
    ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(30) + b"\x01\x02\x03\x04", "is not a text file"),
    ("a.html", b"<script>x</script>", "has no text in it"),
    ("a.zip", archive({"a.txt": "x"}), "is an archive; attach the files inside it one by one"),
]


@pytest.mark.parametrize(("name", "content", "why"), REFUSED, ids=[why for _, _, why in REFUSED])
def test_a_file_without_text_is_refused_with_a_reason(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    with pytest.raises(Unreadable, match=f"{name} {why}"):
        read(tmp_path, name, content)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_UNPACKED_BYTES", 2**20)
    bomb = archive({"word/document.xml": " " * (2**20 + 1)})

    def unpacked(*args: object) -> bytes:
        raise AssertionError("the bomb was unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "open", unpacked)
    with pytest.raises(Unreadable, match="unpacks to more than 1 MB"):
        read(tmp_path, "bomb.docx", bomb)


def test_a_huge_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES", 10)
    with pytest.raises(Unreadable, match="is larger than"):
        read(tmp_path, "a.txt", "x" * 11)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RecursionError(), "a.txt is nested too deeply"),
        (MemoryError(), "a.txt takes too much memory to read"),
        (ZeroDivisionError("our mistake"), "a.txt could not be read"),
        (AssertionError("our mistake"), "a.txt could not be read"),
    ],
)
def test_whatever_a_reader_raises_is_unreadable(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    why: str,
) -> None:
    """A mistake of a reader is in the log."""

    def fail(*_: object) -> str:
        raise error

    monkeypatch.setattr(reading, "_plain", fail)
    with caplog.at_level(logging.WARNING), pytest.raises(Unreadable, match=f"^{why}$"):
        read(tmp_path, "a.txt", "x")
    assert f"{type(error).__name__}: our mistake" in caplog.text or not error.args


@pytest.mark.parametrize(("text", "cut"), [("abcdef", "abcd"), ("ß" * 100, "ßßßß")])
def test_a_text_is_cut_at_the_limit_between_characters(tmp_path: Path, text: str, cut: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert read_text(path, "a.txt", "text/plain", max_characters=4) == cut


def test_a_service_managers_signal_does_not_end_the_reading_of_a_pdf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes to every process of the service; the file must not be called unreadable for it."""
    (tmp_path / "terminated.py").write_text(
        "import os, signal, sys\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "from agentpost.extraction.pdf import main\n"
        "sys.exit(main(sys.argv[1], int(sys.argv[2])))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(pdf, "__name__", "terminated")
    assert read(tmp_path, "a.pdf", printed("Some text")).strip() == "Some text"
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize(
    ("name", "content", "module", "kind"),
    [
        ("a.pdf", "%PDF-1.7", "pypdfium2", "a PDF file"),
        ("a.html", "<p>x</p>", "lxml", "an HTML file"),
    ],
)
def test_without_the_extra_the_text_says_what_is_missing(
    name: str, content: str, module: str, kind: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, module, None)
    why = f"^{name} is {kind}, which this server cannot read: .*agentpost\\[extraction\\]$"
    with pytest.raises(Unreadable, match=why):
        read(tmp_path, name, content)
    assert read(tmp_path, "a.txt", "x") == "x"
