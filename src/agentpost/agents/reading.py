"""The text of a file, for agents: one plain function that runs in a worker process.

The text keeps what a citation needs: headings of Word, HTML and PowerPoint files come out as
Markdown headings (``# …``), pages of a PDF are separated by a form feed, sheets of a workbook
start with ``# name`` and their cells are separated by tabs. Everything is bounded, because the
file comes from a stranger: bytes, pages, cells, characters, and the unpacked size of the zip
based formats, which is looked up before anything is unpacked.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from agentpost.agents.base import File, Unreadable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_CHARACTERS = 1_000_000
MAX_BYTES = 64 * 2**20
MAX_UNPACKED_BYTES = 256 * 2**20
MAX_MEMBERS = 10_000
MAX_PAGES = 1_000
MAX_SHEET_ROWS = 20_000

_SUFFIXES = (
    ".txt .text .md .markdown .rst .csv .tsv .tab .json .jsonl .ndjson .xml .yaml .yml .toml .ini "
    ".cfg .conf .log .py .js .ts .java .c .h .cpp .go .rs .rb .php .sh .sql .css .tex .srt .vtt "
    ".ics .eml"
)
_TEXT_SUFFIXES = frozenset(_SUFFIXES.replace(".", "").split())
_BREAKING_TAGS = (
    "p div section article header footer li ul ol table tr br hr pre blockquote main nav "
    "h1 h2 h3 h4 h5 h6 dt dd figure figcaption"
)
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def read_text(
    path: Path, name: str, content_type: str, *, max_characters: int = MAX_CHARACTERS
) -> str:
    """Return the text of the file at ``path``, cut after ``max_characters``.

    ``name`` and ``content_type`` are what the sender called it; the content decides when they are
    wrong in a way that can be seen. Raises `Unreadable`, with a sentence for the user, when the
    file has no text: another format, encrypted, damaged, or beyond the limits of this module.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable(f"{name} is larger than {MAX_BYTES // 2**20} MB")
    text = _reader(path, name, content_type)(path, name)
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")[:max_characters]


def text_of(file: File) -> str:
    """`read_text` of a file inside a worker process: what `File.text` runs."""
    return read_text(file.local, file.name, file.content_type)


def _reader(path: Path, name: str, content_type: str) -> Callable[[Path, str], str]:
    suffix = name.lower().rpartition(".")[2] if "." in name else ""
    kind = content_type.partition(";")[0].strip().lower()
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"%PDF-") or suffix == "pdf":
        return _pdf
    if head.startswith(b"PK\x03\x04"):
        return _office
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise Unreadable(f"{name} is an old or encrypted Office file; save it as .docx or .xlsx")
    if suffix in ("html", "htm", "xhtml") or kind in ("text/html", "application/xhtml+xml"):
        return _html
    if suffix in _TEXT_SUFFIXES or kind.startswith("text/") or kind.endswith(("json", "xml")):
        return _plain
    if suffix in ("docx", "xlsx", "pptx"):
        raise Unreadable(f"{name} is not a valid .{suffix} file")
    return _plain


def decode(data: bytes, name: str) -> str:
    """Decode text: a byte order mark decides, then UTF-8, then Windows-1252.

    Raises `Unreadable` for bytes that are no text at all.
    """
    for mark, encoding in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    sample = data[:4096]
    zeros = sample[::2].count(0), sample[1::2].count(0)
    if min(zeros) * 20 <= max(zeros) and max(zeros) * 4 > len(sample) >= 8:
        # UTF-16 without a mark: every other byte of western text is zero.
        return data.decode("utf-16-be" if zeros[0] > zeros[1] else "utf-16-le", "replace")
    controls = sum(byte < 9 or 13 < byte < 27 for byte in sample)
    if controls * 50 > len(sample):
        raise Unreadable(f"{name} is not a text file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _plain(path: Path, name: str) -> str:
    return decode(path.read_bytes(), name)


# PDF


def _pdf(path: Path, name: str) -> str:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        why = "is protected by a password" if "assword" in str(error) else "is damaged"
        raise Unreadable(f"{name} {why}") from error
    try:
        pages = [_pdf_page(document, n) for n in range(min(len(document), MAX_PAGES))]
    except pypdfium2.PdfiumError as error:
        raise Unreadable(f"{name} is damaged") from error
    finally:
        document.close()
    if not any(page.strip() for page in pages):
        raise Unreadable(f"{name} has no text in it (is it a scan?)")
    return "\f".join(pages)


def _pdf_page(document: Any, number: int) -> str:
    page = document[number]
    try:
        text_page = page.get_textpage()
        try:
            text = str(text_page.get_text_range())
        finally:
            text_page.close()
    finally:
        page.close()
    # pdfium marks a hyphen at a line's end with U+FFFE or U+0002: the word goes on.
    for mark in ("\ufffe\r\n", "\x02\r\n", "\ufffe", "\x02"):
        text = text.replace(mark, "")
    return text.replace("\f", "\n")


# Office formats: zip archives of XML


def open_archive(path: Path, name: str) -> zipfile.ZipFile:
    """Open a zip based document after checking what it would unpack to; raises `Unreadable`."""
    try:
        archive = zipfile.ZipFile(path)
        members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise Unreadable(f"{name} is damaged") from error
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED_BYTES or len(members) > MAX_MEMBERS:
        archive.close()
        raise Unreadable(f"{name} unpacks to more than {MAX_UNPACKED_BYTES // 2**20} MB")
    return archive


def _office(path: Path, name: str) -> str:
    with open_archive(path, name) as archive:
        members = set(archive.namelist())
        if "word/document.xml" in members:
            return "\n".join(_docx_lines(_part(archive, "word/document.xml", name)))
        if "ppt/presentation.xml" in members:
            return "\n".join(_pptx_lines(archive, name))
    if "xl/workbook.xml" in members:
        return _xlsx(path, name)
    raise Unreadable(f"{name} is an archive; attach the files inside it one by one")


def _part(archive: zipfile.ZipFile, member: str, name: str) -> Element:
    try:
        data = archive.read(member)
        # Office never writes a DTD, so one can only be an entity bomb.
        if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
            raise Unreadable(f"{name} is damaged")
        return ElementTree.fromstring(data)  # noqa: S314 - no DTD, size checked
    except (KeyError, zipfile.BadZipFile, ElementTree.ParseError, OSError, ValueError) as error:
        raise Unreadable(f"{name} is damaged or encrypted") from error
    except (RuntimeError, NotImplementedError) as error:  # what zipfile raises for passwords
        raise Unreadable(f"{name} is protected by a password") from error


def _docx_lines(root: Element) -> Iterator[str]:
    body = root.find(f"{_W}body")
    for block in body if body is not None else ():
        if block.tag == f"{_W}tbl":
            for row in block.iter(f"{_W}tr"):
                cells = (_docx_text(cell).replace("\n", " ") for cell in row.iter(f"{_W}tc"))
                yield f"| {' | '.join(cells)} |"
            yield ""
            continue
        text = _docx_text(block)
        if block.tag == f"{_W}p" and text.strip():
            yield from (_docx_prefix(block) + text, "")


def _docx_text(element: Element) -> str:
    pieces: list[str] = []
    for node in element.iter():
        if node.tag == f"{_W}t":
            pieces.append(node.text or "")
        elif node.tag in (f"{_W}br", f"{_W}cr"):
            pieces.append("\n")
        elif node.tag == f"{_W}tab":
            pieces.append(" ")
    return "".join(pieces).strip()


def _docx_prefix(paragraph: Element) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    value = "" if style is None else style.get(f"{_W}val", "")
    if value == "Title":
        return "# "
    if value.startswith("Heading") and value[-1].isdigit():
        return "#" * min(int(value[-1]), 6) + " "
    listed = paragraph.find(f"{_W}pPr/{_W}numPr") is not None or value.startswith("List")
    return "- " if listed else ""


def _pptx_lines(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    slides = [m for m in archive.namelist() if m.startswith("ppt/slides/slide")]
    slides.sort(key=lambda m: int("".join(c for c in m if c.isdigit()) or 0))
    for number, member in enumerate(slides[:MAX_PAGES], 1):
        yield f"# Slide {number}"
        for paragraph in _part(archive, member, name).iter(f"{_A}p"):
            text = "".join(run.text or "" for run in paragraph.iter(f"{_A}t")).strip()
            if text:
                yield from (text, "")


def _xlsx(path: Path, name: str) -> str:
    from openpyxl import load_workbook

    lines: list[str] = []
    try:
        workbook = load_workbook(path, read_only=True, data_only=True)
        try:
            for sheet in workbook.worksheets:
                lines.append(f"# {sheet.title}")
                rows = sheet.iter_rows(max_row=MAX_SHEET_ROWS, values_only=True)
                lines.extend(
                    "\t".join("" if value is None else str(value) for value in row)
                    for row in rows
                    if any(value is not None for value in row)
                )
        finally:
            workbook.close()
    except Exception as error:  # openpyxl raises whatever the broken part provoked
        raise Unreadable(f"{name} is damaged") from error
    return "\n".join(lines)


# HTML


class _Page(HTMLParser):
    _SKIPPED = frozenset(("script", "style", "template", "noscript", "svg", "head"))
    _BREAKING = frozenset(_BREAKING_TAGS.split())

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._SKIPPED:
            self._hidden += 1
        elif tag in self._BREAKING:
            self.pieces.append("\n")
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.pieces.append("#" * int(tag[1]) + " ")
        elif tag == "li":
            self.pieces.append("- ")
        elif tag in ("td", "th"):
            self.pieces.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._SKIPPED:
            self._hidden = max(0, self._hidden - 1)
        elif tag in self._BREAKING:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(" ".join(data.split()) + " " if data.strip() else " ")


def _html(path: Path, name: str) -> str:
    page = _Page()
    page.feed(decode(path.read_bytes(), name))
    page.close()
    lines = (" ".join(line.split()) for line in "".join(page.pieces).split("\n"))
    kept = [line for line in lines if line.strip("#- |")]
    if not kept:
        raise Unreadable(f"{name} has no text in it")
    return "\n\n".join(kept)
