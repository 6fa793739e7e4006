"""Content types and kinds: bytes first, then the declaration, then the name."""

import io
import time
import zipfile
from itertools import product
from typing import get_args

import pytest

from agentpost.domain.file_names import FileKind
from agentpost.storage.sniff import _PREVIEWABLE, ANNOUNCED_TYPES, describe, is_previewable

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
OOXML = "application/vnd.openxmlformats-officedocument."
ODF = "application/vnd.oasis.opendocument."


def package(*members: str, own_type: str | None = None) -> bytes:
    """The beginning of a zip file with these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        if own_type is not None:
            archive.writestr("mimetype", own_type)
        for member in members:
            archive.writestr(member, "x" * 50)
    return out.getvalue()[:4_096]


BY_CONTENT = {
    "png": (PNG, "image/png", "image"),
    "jpeg": (b"\xff\xd8\xff\xe0" + bytes(20), "image/jpeg", "image"),
    "gif": (b"GIF89a" + bytes(20), "image/gif", "image"),
    "webp": (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp", "image"),
    "avif": (b"\0\0\0\x20ftypavif" + bytes(20), "image/avif", "image"),
    "bmp": (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0", "image/bmp", "image"),
    "svg": (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml", "image"),
    "svg in xml": (b'<?xml version="1.0"?>\n<!-- x -->\n<svg/>', "image/svg+xml", "image"),
    "svg with doctype": (b'<?xml version="1.0"?><!DOCTYPE svg PUBLIC>', "image/svg+xml", "image"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3", "application/pdf", "document"),
    "rtf": (b"{\\rtf1 hello}", "application/rtf", "document"),
    "mp4": (b"\0\0\0\x20ftypisom" + bytes(20), "video/mp4", "video"),
    "mov": (b"\0\0\0\x14ftypqt  " + bytes(20), "video/quicktime", "video"),
    "webm": (b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm", "video/webm", "video"),
    "mkv": (b"\x1a\x45\xdf\xa3\xa3B\x86\x81\x01B\x82\x88matroska", "video/x-matroska", "video"),
    "avi": (b"RIFF\x10\0\0\0AVI LIST", "video/x-msvideo", "video"),
    "ogg": (b"OggS\0\x02" + bytes(20), "audio/ogg", "audio"),
    "theora": (b"OggS\0\x02" + bytes(20) + b"\x80theora", "video/ogg", "video"),
    "wav": (b"RIFF\x10\0\0\0WAVEfmt ", "audio/x-wav", "audio"),
    "mp3 with tags": (b"ID3\x04\0\0" + bytes(20), "audio/mpeg", "audio"),
    "mp3": (b"\xff\xfb\x90\x64" + bytes(20), "audio/mpeg", "audio"),
    "m4a": (b"\0\0\0\x20ftypM4A " + bytes(20), "audio/mp4", "audio"),
    "flac": (b"fLaC\0\0\0\x22", "audio/flac", "audio"),
    "html": (b"<!DOCTYPE html><html>", "text/html", "site"),
    "html behind a comment": (b"\xef\xbb\xbf\n<!-- hi -->\n<HTML>", "text/html", "site"),
    "xhtml": (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "">', "text/html", "site"),
    "xml": (b'<?xml version="1.0"?><rss/>', "application/xml", "data"),
    "docx": (
        package("[Content_Types].xml", "word/document.xml"),
        f"{OOXML}wordprocessingml.document",
        "document",
    ),
    "pptx": (
        package("[Content_Types].xml", "_rels/.rels", "ppt/presentation.xml"),
        f"{OOXML}presentationml.presentation",
        "deck",
    ),
    "xlsx": (package("docProps/app.xml", "xl/workbook.xml"), f"{OOXML}spreadsheetml.sheet", "data"),
    "odt": (package(own_type=f"{ODF}text"), f"{ODF}text", "document"),
    "odp": (package("content.xml", own_type=f"{ODF}presentation"), f"{ODF}presentation", "deck"),
    "ods": (package(own_type=f"{ODF}spreadsheet"), f"{ODF}spreadsheet", "data"),
    "epub": (package(own_type="application/epub+zip"), "application/epub+zip", "document"),
    "zip": (package("xl/notes.txt", "a.txt"), "application/zip", "archive"),
    "gzip": (b"\x1f\x8b\x08" + bytes(20), "application/gzip", "archive"),
    "bzip2": (b"BZh91AY&SY", "application/x-bzip2", "archive"),
    "tar": (b"a.txt".ljust(257, b"\0") + b"ustar\0", "application/x-tar", "archive"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\4", "application/x-7z-compressed", "archive"),
    "sqlite": (b"SQLite format 3\0\x10\0", "application/vnd.sqlite3", "data"),
    "parquet": (b"PAR1\x15\0", "application/vnd.apache.parquet", "data"),
    "elf": (b"\x7fELF\x02\x01", "application/x-executable", "other"),
}


@pytest.mark.rule("File.content_type")
@pytest.mark.parametrize("case", BY_CONTENT)
def test_content_decides(case: str) -> None:
    head, content_type, kind = BY_CONTENT[case]
    for name, declared in product(("file", "lie.txt"), (None, "text/csv")):
        assert describe(name, head, declared) == (content_type, kind), (name, declared)


@pytest.mark.rule("InlineFile.content_type")
@pytest.mark.parametrize(
    ("name", "head", "declared", "content_type", "kind"),
    [
        ("table.csv", b"a,b\n1,2\n", None, "text/csv", "data"),
        ("TABLE.CSV", b"a,b\n1,2\n", "application/octet-stream", "text/csv", "data"),
        ("table.csv", b"a,b\n1,2\n", "text/plain", "text/csv", "data"),
        ("table.dat", b"a,b\n1,2\n", "Text/CSV; charset=utf-8", "text/csv", "data"),
        ("empty.csv", b"", None, "text/csv", "data"),
        ("a.tsv", b"a\tb\n", None, "text/tab-separated-values", "data"),
        ("a.json", b"{}", None, "application/json", "data"),
        ("a.jsonl", b"{}\n{}\n", None, "application/x-ndjson", "data"),
        ("a.yaml", b"a: 1\n", None, "application/yaml", "data"),
        ("notes.md", b"# Hello", None, "text/markdown", "text"),
        ("notes", b"Hello", None, "text/plain", "text"),
        ("notes", "Viele Gr\u00fc\u00dfe".encode("latin-1"), None, "text/plain", "text"),
        ("notes", "Gr\u00fc\u00dfe".encode("utf-16"), None, "text/plain", "text"),
        ("main.py", b"import os\n", None, "text/x-python", "text"),
        ("app.ts", b"let a: number\n", None, "text/typescript", "text"),
        ("app.js", b"let a\n", "application/javascript", "application/javascript", "text"),
        ("run.sh", b"#!/bin/sh\n", None, "application/x-sh", "text"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", None, "application/msword", "document"),
        (
            "old.ppt",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            None,
            "application/vnd.ms-powerpoint",
            "deck",
        ),
        (
            "slides.key",
            package("Index/Document.iwa"),
            None,
            "application/x-iwork-keynote-sffkey",
            "deck",
        ),
        ("part.html", b"<p>Hello</p>", None, "text/html", "site"),
        ("blob.bin", b"\0\1\2\3", None, "application/octet-stream", "other"),
        ("model.stl", b"\0\1\2\3", "model/stl", "model/stl", "other"),
        # Claims that the bytes do not bear out.
        ("photo.png", b"alert(1)", "image/png", "text/plain", "text"),
        ("photo.png", b"\0\1\2\3", "image/png", "application/octet-stream", "other"),
        ("photo.png", b"", "image/png", "text/plain", "text"),
        ("clip.mp4", b"#!/bin/sh\n", "video/mp4", "text/plain", "text"),
        ("table.csv", b"\0\1\2\3", "text/csv", "application/octet-stream", "other"),
        ("a.pdf", b"<html><script>", "application/pdf", "text/html", "site"),
        ("a.bin", b"\0\1\2\3", "not a type", "application/octet-stream", "other"),
        ("a.bin", b"\0\1\2\3", "text/html\r\nX: 1", "application/octet-stream", "other"),
        # Text that starts like something else.
        ("a.txt", b"ID3 is a tag format", None, "text/plain", "text"),
        ("a.txt", b"BZh is how it starts", None, "text/plain", "text"),
        ("a.txt", b"OTTO and PAR1", None, "text/plain", "text"),
        ("a.txt", b"BMW is a car maker", None, "text/plain", "text"),
    ],
)
def test_claims(name: str, head: bytes, declared: str | None, content_type: str, kind: str) -> None:
    assert describe(name, head, declared) == (content_type, kind)


def test_head_cut_within_a_character() -> None:
    text = ("x" + "\u00fc" * 3_000).encode()[:4_096]
    with pytest.raises(UnicodeDecodeError):
        text.decode()
    assert describe("a", text, None) == ("text/plain", "text")


@pytest.mark.parametrize("head", [b"<!---->" * 600, b"<!--" * 1_000, b" " * 4_096, b"<?xml " * 700])
def test_markup_is_read_in_linear_time(head: bytes) -> None:
    started = time.process_time()
    describe("a", head, None)
    assert time.process_time() - started < 0.5


@pytest.mark.rule("File.kind")
def test_kinds_are_the_enumeration() -> None:
    assert {kind for *_, kind in BY_CONTENT.values()} | {"text"} == set(get_args(FileKind))


def test_previews_are_safe() -> None:
    assert all(map(is_previewable, ["image/png", "application/pdf", "text/plain", "video/mp4"]))
    unsafe = ["text/html", "image/svg+xml", "application/xml", "text/xml", "application/xhtml+xml"]
    assert not any(
        map(is_previewable, [*unsafe, "text/javascript", "application/octet-stream", ""])
    )


def test_previewed_types_are_told_by_their_bytes() -> None:
    """Otherwise a claim alone would get a file shown."""
    assert _PREVIEWABLE - {"text/plain"} <= ANNOUNCED_TYPES
