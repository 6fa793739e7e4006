"""Files made to take all memory, all time, or all stack of a reader; none is over 10 MB."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial

from agentpost.extraction import limits

MB = 2**20
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
DRAWING = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
BODY = f"<w:document {WORD}><w:body>"
BODY_END = "</w:body></w:document>"
_PIECE = 256 * 1024


def pieces(start: str, repeated: str, size: int, end: str) -> Iterator[bytes]:
    """About ``size`` bytes of the repeated text between a start and an end."""
    yield start.encode()
    piece = (repeated * (_PIECE // len(repeated) + 1)).encode()
    for _ in range(size // len(piece) + 1):
        yield piece
    yield end.encode()


def archive(parts: dict[str, Iterator[bytes] | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method, compresslevel=1) as packed:
        for name, content in parts.items():
            with packed.open(name, "w") as member:
                for piece in [content.encode()] if isinstance(content, str) else content:
                    member.write(piece)
    return buffer.getvalue()


def word(start: str, repeated: str, size: int, end: str) -> bytes:
    """A Word file whose body is that."""
    return archive({"word/document.xml": pieces(BODY + start, repeated, size, end + BODY_END)})


def workbook(
    sheet: Iterator[bytes] | str = "",
    strings: Iterator[bytes] | str = f"<sst {SHEET}/>",
    styles: Iterator[bytes] | str = f"<styleSheet {SHEET}/>",
    sheets: int = 1,
) -> bytes:
    """A workbook of these parts."""
    listed = "".join(f'<sheet name="S{n}" r:id="r{n}"/>' for n in range(sheets))
    links = "".join(
        f'<Relationship Id="r{n}" Type="{RELATED}/worksheet" Target="worksheets/sheet.xml"/>'
        for n in range(sheets)
    )
    links += f'<Relationship Id="a" Type="{RELATED}/sharedStrings" Target="strings.xml"/>'
    links += f'<Relationship Id="b" Type="{RELATED}/styles" Target="styles.xml"/>'
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    return archive(
        {
            "xl/workbook.xml": f'<workbook {SHEET} xmlns:r="{RELATED}"><sheets>{listed}</sheets>'
            "</workbook>",
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}">{links}'
            "</Relationships>",
            "xl/worksheets/sheet.xml": sheet or rows('<row><c t="n"><v>1</v></c></row>'),
            "xl/strings.xml": strings,
            "xl/styles.xml": styles,
        }
    )


def rows(text: str) -> str:
    """A worksheet of these rows."""
    return f"<worksheet {SHEET}><sheetData>{text}</sheetData></worksheet>"


def many_rows(start: str, repeated: str, size: int, end: str = "") -> Iterator[bytes]:
    """A worksheet of about ``size`` bytes."""
    before = f"<worksheet {SHEET}><sheetData>{start}"
    return pieces(before, repeated, size, f"{end}</sheetData></worksheet>")


def slides(repeated: str, size: int) -> bytes:
    """A presentation with one slide of about ``size`` bytes."""
    slide = pieces(f"<s {DRAWING}>", repeated, size, "</s>")
    return archive({"ppt/presentation.xml": "<p/>", "ppt/slides/slide1.xml": slide})


def endless_directory() -> bytes:
    """An archive of a hundred thousand empty members with long names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("word/document.xml", "<a/>")
    data = buffer.getvalue()
    begin = data.index(b"PK\x01\x02")
    entry = data[begin : data.index(b"PK\x05\x06")]
    directory = entry * 100_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65_535, 65_535, len(directory), begin, 0)
    return data[:begin] + directory + end


def lying_size(mb: int) -> bytes:
    """A Word file of 200 MB that says it is 100 bytes."""
    data = bytearray(word("", "<w:p/>", 200 * mb, ""))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(mark) + offset
        data[at : at + 4] = struct.pack("<L", 100)
    return bytes(data)


_CALLS_ITSELF = (
    b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length 12>>"
    b"stream\n/X Do /X Do\n\nendstream"
)


def pdf(content: bytes, *, filters: str = "/FlateDecode", resources: str = "") -> bytes:
    """A PDF of one page with this packed content."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<{resources}"
        "/Font<</F 5 0 R>>>>>>".encode(),
        f"<</Length {len(content)}/Filter{filters}>>stream\n".encode() + content + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        _CALLS_ITSELF,
    ]
    data, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj".encode() + body + b"endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        data
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R>>\n"
            f"startxref\n{len(data)}\n%%EOF"
        ).encode()
    )


def _packed(start: bytes, repeated: bytes, size: int) -> bytes:
    """Start and repeated text as a zlib stream. After a full flush the same text packs to the same
    bytes, so it is packed once only."""
    packer = zlib.compressobj(1)
    piece = repeated * (_PIECE // len(repeated))
    data = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    times = size // len(piece)
    check = zlib.adler32(start)
    for _ in range(times):
        check = zlib.adler32(piece, check)
    return data + packed * times + b"\x03\x00" + struct.pack(">L", check)


def text_operators(mb: int) -> bytes:
    """A page that shows forty million letters one by one."""
    return pdf(_packed(b"BT /F 9 Tf ", b"(a)Tj ", 240 * mb))


def page_of_nothing(mb: int) -> bytes:
    """A page of two gigabytes, packed twice."""
    once = _packed(b"", b" " * 1024, 2048 * mb)
    return pdf(zlib.compress(once), filters="[/FlateDecode/FlateDecode]")


_BOMBS: dict[str, Callable[[int], bytes]] = {
    "elements.docx": lambda mb: word("", "<w:p/>", 240 * mb, ""),
    "paragraphs.docx": lambda mb: word("", "<w:p/>", 100 * mb, ""),
    "one paragraph.docx": lambda mb: word("<w:p>", "<w:r><w:t>ab</w:t></w:r>", 100 * mb, "</w:p>"),
    "one row.docx": lambda mb: word("<w:tbl><w:tr>", "<w:tc/>", 100 * mb, "</w:tr></w:tbl>"),
    "deep.docx": lambda mb: word("", "<w:p>", 100 * mb, ""),
    "one text.docx": lambda mb: word("<w:p><w:r><w:t>", "abcd ", 100 * mb, "</w:t></w:r></w:p>"),
    "attributes.docx": lambda mb: archive(
        {"word/document.xml": pieces("<a ", 'b="c" ', 100 * mb, "/>")}
    ),
    "one attribute.docx": lambda mb: archive(
        {"word/document.xml": pieces('<a b="', "ccccccc ", 100 * mb, '"/>')}
    ),
    "comment.docx": lambda mb: archive({"word/document.xml": pieces("<!--", "c", 100 * mb, "")}),
    "entities.docx": lambda mb: archive(
        {"word/document.xml": '<!DOCTYPE x [<!ENTITY a "aaa">]><x>&a;</x>'}
    ),
    "lzma.docx": lambda mb: archive({"word/document.xml": "<a/>" * 9}, zipfile.ZIP_LZMA),
    "directory.docx": lambda _: endless_directory(),
    "lying.docx": lying_size,
    "nested.docx": lambda mb: archive({"a/word/document.xml": "x", "b.zip": "PK\x03\x04"}),
    "strings.xlsx": lambda mb: workbook(
        strings=pieces(f"<sst {SHEET}>", "<si/>", 100 * mb, "</sst>")
    ),
    "texts.xlsx": lambda mb: workbook(
        strings=pieces(f"<sst {SHEET}>", "<si><t>abcd</t></si>", 100 * mb, "</sst>")
    ),
    "styles.xlsx": lambda mb: workbook(
        styles=pieces(
            f"<styleSheet {SHEET}><cellXfs>",
            '<xf numFmtId="14"/>',
            100 * mb,
            "</cellXfs></styleSheet>",
        )
    ),
    "one row.xlsx": lambda mb: workbook(many_rows("<row>", "<c><v>1</v></c>", 100 * mb, "</row>")),
    "rows.xlsx": lambda mb: workbook(many_rows("", "<row/>", 100 * mb)),
    "sheets.xlsx": lambda mb: workbook(many_rows("", "<row/>", mb), sheets=5_000),
    "number.xlsx": lambda mb: workbook(many_rows("<row><c><v>", "9", 100 * mb, "</v></c></row>")),
    "slide.pptx": lambda mb: slides("<a:p/>", 100 * mb),
    "runs.pptx": lambda mb: slides("<a:p><a:r><a:t>ab</a:t></a:r></a:p>", 100 * mb),
    "operators.pdf": text_operators,
    "nothing.pdf": page_of_nothing,
    "calls itself.pdf": lambda mb: pdf(zlib.compress(b"/X Do"), resources="/XObject<</X 6 0 R>>"),
    "arrays.pdf": lambda mb: pdf(zlib.compress(b"[" * 4 * mb)),
    "catalogue.pdf": lambda mb: b"%PDF-1.7\n1 0 obj" + b"[" * 4 * mb + b"\n%%EOF",
    "dictionaries.pdf": lambda mb: b"%PDF-1.7\n1 0 obj" + b"<</A" * mb + b"\n%%EOF",
    "cells.csv": lambda mb: b"," * 8 * mb,
    "row.csv": lambda mb: b'"\n",' * 2 * mb,
    "quote.csv": lambda mb: b'a,b\n"' + b"c\n" * 4 * mb,
    "nested.json": lambda mb: b"[" * 8 * mb,
    "big.html": lambda mb: b"<p>" * mb,
}
"""The files by name, each of so many bytes to the megabyte."""

BOMBS: dict[str, Callable[[], bytes]] = {name: partial(make, MB) for name, make in _BOMBS.items()}
"""What must be read or refused within bounded memory, by name."""

SMALLER = 8
"""An eighth of a file under an eighth of the limits takes an eighth of the memory and time."""


def made_small(name: str, part: int = SMALLER) -> bytes:
    """A bomb for a reader with `smaller_limits`. They are those of Office files; readers of other
    formats have limits on what they hold at once, and get it whole."""
    office = name.endswith(("docx", "xlsx", "pptx"))
    return _BOMBS[name](MB // part if office else MB)


def smaller_limits(part: int = SMALLER) -> None:
    """Make the limits on the parts of an Office file so many times smaller, in this process."""
    for name in (
        "MAX_UNPACKED_BYTES", "MAX_MEMBERS", "MAX_PART_BYTES", "MAX_DOCUMENT_ELEMENTS",
        "MAX_STYLE_ELEMENTS", "MAX_WORKBOOK_ELEMENTS", "MAX_SHARED_STRINGS",
        "MAX_SHARED_CHARACTERS", "MAX_STYLES", "MAX_MERGED_RANGES", "MAX_SHEETS", "MAX_SHEET_ROWS",
    ):  # fmt: skip
        setattr(limits, name, getattr(limits, name) // part)


_HTML = (
    "<a ", "<", "<div x='", "<![", "<!--", "<div>", "<b>", "<table><tr><td>", "</p>", "<?",
    "<script>", "</script", "<title></titl", "<a><b><p></a></b>", "<svg><![CDATA[", "<!DOCTYPE ",
    "<select><option>", "<template>", "&", "&a", "&#x", "\0", "<li>", "]]>", "<b a='<", "--!>",
    "<textarea>", "<form>", "<h1>", "<font a=b>", "<p a b c d e f g h>", "\n", "<td>", "\u202e",
)  # fmt: skip


def _page(mark: str, size: int) -> bytes:
    return (mark * (size // len(mark.encode()) - 1)).encode()


def _encoded(make: Callable[[int], str], size: int) -> bytes:
    return make(size).encode()


_NUMBERED: dict[str, Callable[[int], str]] = {
    "many attributes": lambda size: f"<p {' '.join(f'a{n}' for n in range(size // 8))}>x",
    "many bodies": lambda size: "".join(f"<body a{n}=1>" for n in range(size // 19)),
    "formatting with attributes": lambda size: "".join(f"<b a{n}=1><p>" for n in range(size // 17)),
}
_PAGES: dict[str, Callable[[int], bytes]] = {
    **{ascii(mark): partial(_page, mark) for mark in _HTML},
    **{name: partial(_encoded, make) for name, make in _NUMBERED.items()},
}
PAGE_BYTES = 2 * MB
"""The largest page that is read."""
PAGES: dict[str, Callable[..., bytes]] = {
    name: partial(make, PAGE_BYTES) for name, make in _PAGES.items()
}
"""HTML of that size that is one mark again and again."""


def small_page(name: str, part: int) -> bytes:
    """That page, but so many times smaller."""
    return _PAGES[name](PAGE_BYTES // part)
