"""The text of files of every kind we read, and the refusal of the rest."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from agentpost.agents import Unreadable, reading
from agentpost.agents.reading import read_text


def read(path: Path, content_type: str = "") -> str:
    return read_text(path, path.name, content_type)


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
    assert read(path) == "# One\na\t1\t"


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
    ("a.doc", b"\xd0\xcf\x11\xe0" + bytes(100), "old or encrypted Office file"),
    ("a.bin", bytes(range(1, 32)) * 20, "is not a text file"),
    ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(30) + b"\x01\x02\x03\x04", "is not a text file"),
    ("a.html", b"<script>x</script>", "has no text in it"),
]


@pytest.mark.parametrize(("name", "content", "why"), REFUSED)
def test_what_has_no_text_is_refused_with_a_reason(
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
    monkeypatch.setattr(reading, "MAX_UNPACKED_BYTES", 2**20)
    path = tmp_path / "bomb.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * (2**20 + 1))

    def unpacked(*args: object) -> bytes:
        raise AssertionError("the bomb was unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "read", unpacked)
    with pytest.raises(Unreadable, match="unpacks to more than 1 MB"):
        read(path)


def test_an_entity_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", '<!DOCTYPE x [<!ENTITY a "aaa">]><x>&a;</x>')
    with pytest.raises(Unreadable, match="damaged"):
        read(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    path = tmp_path / "a.txt"
    path.write_text("x" * 11)
    with pytest.raises(Unreadable, match="is larger than"):
        read(path)
