"""Files that are made to break whoever opens them, small enough to be sent in a message."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

from PIL import Image

MB = 2**20
TABLE = b"month,region,revenue\n2025-01,North,10\n2025-02,South,30\n2025-03,North,20\n"


def zip_of(members: Mapping[str, bytes]) -> bytes:
    """An archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return buffer.getvalue()


def nested(depth: int) -> bytes:
    """An archive in an archive, so deep."""
    data = zip_of({"sales.csv": TABLE})
    for number in range(depth):
        data = zip_of({f"{number}.zip": data})
    return data


def overlapping() -> bytes:
    """An archive whose 2,000 members are the same ten packed megabytes."""
    data = zip_of({"a.csv": b"a,b\n" + b"1,2\n" * (10 * MB // 4)})
    begin = data.index(b"PK\x01\x02")
    entry = data[begin : data.index(b"PK\x05\x06")]
    directory = entry * 2_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 2_000, 2_000, len(directory), begin, 0)
    return data[:begin] + directory + end


def outside() -> bytes:
    """An archive whose members want to be written elsewhere."""
    return zip_of({"../../../../tmp/evil.csv": TABLE, "/etc/evil.csv": TABLE, "ok.csv": TABLE})


def links() -> bytes:
    """An archive with a symbolic link to a file of the machine."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        link = zipfile.ZipInfo("passwd.txt")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        packed.writestr(link, "/etc/passwd")
        packed.writestr("sales.csv", TABLE)
    return buffer.getvalue()


def locked_archive() -> bytes:
    """An archive whose only member says that it is encrypted."""
    data = bytearray(zip_of({"sales.csv": TABLE}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    return bytes(data)


_LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "lol">' for n in range(10)
)
LAUGHS = f'<?xml version="1.0"?><!DOCTYPE x [{_LAUGHS}]>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'


def office(kind: str, prologue: str, entity: str) -> bytes:
    """A Word, Excel or PowerPoint file whose text is an XML entity."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    sheet = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    related = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    parts = {
        "docx": {
            "word/document.xml": f'{prologue}<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>'
            f"{entity}</w:t></w:r></w:p></w:body></w:document>",
        },
        "pptx": {
            "ppt/presentation.xml": "<p/>",
            "ppt/slides/slide1.xml": f'{prologue}<s xmlns:a="{drawing}"><a:p><a:r><a:t>{entity}'
            "</a:t></a:r></a:p></s>",
        },
        "xlsx": {
            "xl/workbook.xml": f'<workbook xmlns="{sheet}" xmlns:r="{related}"><sheets>'
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{links}"><Relationship Id="r1"'
            f' Type="{related}/worksheet" Target="worksheets/sheet.xml"/></Relationships>',
            "xl/worksheets/sheet.xml": f'{prologue}<worksheet xmlns="{sheet}"><sheetData><row>'
            f'<c t="inlineStr"><is><t>{entity}</t></is></c></row></sheetData></worksheet>',
        },
    }[kind]
    return zip_of({"[Content_Types].xml": b"<Types/>"} | {n: t.encode() for n, t in parts.items()})


def png(width: int, height: int, *, pixels: bool = False) -> bytes:
    """A picture that says it is so large; with ``pixels`` it is so large, all of one colour."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">L", zlib.crc32(kind + body))
        return struct.pack(">L", len(body)) + kind + body + check

    packer = zlib.compressobj(9)
    rows = b""
    if pixels:
        line = bytes(1 + (width + 7) // 8)
        rows = b"".join(packer.compress(line) for _ in range(height))
    head = struct.pack(">2L5B", width, height, 1, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", rows + packer.flush()) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def picture(kind: str, width: int = 64, height: int = 48) -> bytes:
    """A picture that is what it says."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "#2a6f97").save(buffer, kind)
    return buffer.getvalue()


def pdf(*objects: bytes, root: str = "/Root 1 0 R", more: str = "") -> bytes:
    """A PDF of these objects, numbered from 1."""
    data, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj" % number + body + b"endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}{root}{more}>>\n"
    return data + f"{end}startxref\n{len(data)}\n%%EOF".encode()


def pages(text: str, *, catalogue: str = "", box: str = "0 0 400 400", more: str = "") -> bytes:
    """A PDF of one page with this text."""
    content = f"BT /F 12 Tf 20 200 Td ({text}) Tj ET".encode()
    return pdf(
        f"<</Type/Catalog/Pages 2 0 R{catalogue}>>".encode(),
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[{box}]/Contents 4 0 R"
        "/Resources<</Font<</F 5 0 R>>>>>>".encode(),
        f"<</Length {len(content)}>>stream\n".encode() + content + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        more=more,
    )


def locked_pdf() -> bytes:
    """A PDF that only its password opens."""
    lock = (
        "/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<"
        + "41" * 32 + ">/U<" + "42" * 32 + ">>>/ID[<" + "43" * 16 + "><" + "43" * 16 + ">]"
    )  # fmt: skip
    return pages("The secret is forty-two.", more=lock)


def circular_pdf() -> bytes:
    """A PDF whose pages contain themselves."""
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 9999999/Kids[2 0 R 3 0 R 2 0 R]>>",
        b"<</Type/Pages/Count 9/Kids[2 0 R]/Parent 2 0 R>>",
    )


def many_pages(count: int) -> bytes:
    """A PDF that shows one page so often."""
    kids = b"3 0 R " * count
    return pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, kids),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
    )
