"""What kind of file is this? Content first, then what was declared, then the name.

Formats that announce themselves are told by their first bytes, and nobody is believed who claims
one of them without those bytes: a script named ``photo.png`` must not be served as a picture.
Kinds: design 4.18.
"""

import mimetypes
import re
from pathlib import PurePosixPath

from agentpost.domain.file_names import FileKind
from agentpost.files.executable_rules import HEAD_BYTES

_OCTETS = "application/octet-stream"
_GENERIC = frozenset({_OCTETS, "binary/octet-stream", "application/binary", "text/plain"})
_DECLARED = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,100}/[a-z0-9][a-z0-9!#$&^_.+-]{0,100}")
# Bytes that no text contains, in any encoding.
_NOT_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")

# Types that the standard library does not know, or not in all Python versions.
_BY_SUFFIX = {
    ".7z": "application/x-7z-compressed",
    ".bz2": "application/x-bzip2",
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".epub": "application/epub+zip",
    ".flac": "audio/flac",
    ".geojson": "application/geo+json",
    ".glb": "model/gltf-binary",
    ".gltf": "model/gltf+json",
    ".gz": "application/gzip",
    ".ics": "text/calendar",
    ".ipynb": "application/x-ipynb+json",
    ".js": "text/javascript",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".jxl": "image/jxl",
    ".log": "text/plain",
    ".m4a": "audio/mp4",
    ".md": "text/markdown",
    ".mkv": "video/x-matroska",
    ".ndjson": "application/x-ndjson",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ogg": "audio/ogg",
    ".ogv": "video/ogg",
    ".otf": "font/otf",
    ".parquet": "application/vnd.apache.parquet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".py": "text/x-python",
    ".rar": "application/vnd.rar",
    ".rtf": "application/rtf",
    ".sql": "application/sql",
    ".srt": "application/x-subrip",
    ".tgz": "application/gzip",
    ".toml": "application/toml",
    ".ts": "text/typescript",
    ".tsv": "text/tab-separated-values",
    ".ttf": "font/ttf",
    ".vtt": "text/vtt",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml",
    ".xz": "application/x-xz",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".zst": "application/zstd",
}
_TEXTUAL = frozenset(
    {
        "application/ecmascript",
        "application/geo+json",
        "application/javascript",
        "application/json",
        "application/sql",
        "application/toml",
        "application/x-httpd-php",
        "application/x-ipynb+json",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-subrip",
        "application/xml",
        "application/yaml",
        "image/svg+xml",
        "model/obj",
    }
)
_MEDIA: dict[str, FileKind] = {"image": "image", "video": "video", "audio": "audio"}
_KIND_WORDS: tuple[tuple[FileKind, tuple[str, ...]], ...] = (
    # First match wins: a presentation's type also contains "document".
    ("deck", ("presentation", "powerpoint", "keynote")),
    ("data", ("spreadsheet", "ms-excel", "iwork-numbers", "parquet", "sqlite", "hdf5")),
    ("data", ("json", "csv", "tab-separated", "yaml", "toml")),
    ("document", ("wordprocessingml", "opendocument.text", "msword", "ms-word", "iwork-pages")),
    ("document", ("pdf", "rtf", "epub", "postscript")),
    ("archive", ("zip", "archive", "x-tar", "gtar", "x-7z", "vnd.rar", "x-rar", "x-xz", "zstd")),
    ("text", ("javascript", "ecmascript", "x-sh", "sql", "x-httpd-php", "x-subrip")),
)
_PREVIEWABLE = frozenset(
    {
        "application/pdf",
        "audio/flac",
        "audio/mp4",
        "audio/mpeg",
        "audio/ogg",
        "audio/x-wav",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/jpeg",
        "image/png",
        "image/webp",
        "text/plain",
        "video/mp4",
        "video/ogg",
        "video/webm",
    }
)
# The library's own table only: the machine's files would make answers differ by machine.
_LIBRARY = mimetypes.MimeTypes()


def describe(name: str, head: bytes, declared_type: str | None) -> tuple[str, FileKind]:
    """Content type (lower case, without parameters) and kind of a file. ``head`` is its first
    `HEAD_BYTES`; ``declared_type`` what its sender called it, in any form."""
    head = head[:HEAD_BYTES]
    content_type = announced_type(name, head) or _claimed_type(name, head, declared_type)
    return content_type, _kind(content_type)


def is_previewable(content_type: str) -> bool:
    """May a browser show it inside a page of ours? Never what can carry script: HTML, SVG, XML."""
    return content_type in _PREVIEWABLE


def _claimed_type(name: str, head: bytes, declared_type: str | None) -> str:
    is_text = _looks_like_text(head)
    for claim in (_clean(declared_type), type_of_name(name)):
        if claim in _GENERIC or claim in ANNOUNCED_TYPES:
            continue
        if is_text == _is_textual(claim):
            return claim
    return "text/plain" if is_text else _OCTETS


def _clean(declared_type: str | None) -> str:
    content_type = (declared_type or "").partition(";")[0].strip().lower()
    return content_type if _DECLARED.fullmatch(content_type) else _OCTETS


def type_of_name(name: str) -> str:
    """The content type a file name suggests, without a look at the bytes."""
    suffix = PurePosixPath(name).suffix.lower()
    content_type = _BY_SUFFIX.get(suffix) or _LIBRARY.types_map[True].get(suffix)
    return content_type or _OCTETS


def _is_textual(content_type: str) -> bool:
    return (
        content_type.startswith("text/")
        or content_type in _TEXTUAL
        or content_type.endswith(("+xml", "+json"))
    )


def _looks_like_text(head: bytes) -> bool:
    """UTF-8, possibly cut within a character, or UTF-16 with its mark, or an older encoding that
    is mostly ASCII."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return len(head) % 2 == 0 or len(head) == HEAD_BYTES
    if _NOT_TEXT.search(head):
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.end == len(head) and error.reason == "unexpected end of data":
            return True
        return sum(byte > 0x7F for byte in head) <= len(head) * 0.3
    return True


def _kind(content_type: str) -> FileKind:
    main = content_type.partition("/")[0]
    if main in _MEDIA:
        return _MEDIA[main]
    if content_type in ("text/html", "application/xhtml+xml"):
        return "site"
    for kind, words in _KIND_WORDS:
        if any(word in content_type for word in words):
            return kind
    if content_type.endswith(("/xml", "+xml")):
        return "data"
    return "text" if main == "text" else "other"


# Of the 42 formats in `test_sniff.py` puremagic 1.30 tells 23 and filetype 1.2 tells 29. Both miss
# SVG and HTML behind a prolog, which can carry scripts, and take prose that begins with "BM" or
# "ID3" for media.
_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."

# Type by what the file starts with; long enough that no text starts so by chance.
_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"8BPS\0\x01", "image/vnd.adobe.photoshop"),
    (b"\0\0\x01\0", "image/vnd.microsoft.icon"),
    (b"\0\0\0\x0cJXL \r\n", "image/jxl"),
    (b"%PDF-", "application/pdf"),
    (b"%!PS", "application/postscript"),
    (b"{\\rtf", "application/rtf"),
    (b"fLaC\0", "audio/flac"),
    (b"ID3\x02", "audio/mpeg"),
    (b"ID3\x03", "audio/mpeg"),
    (b"ID3\x04", "audio/mpeg"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"FLV\x01", "video/x-flv"),
    (b"\0\0\x01\xba", "video/mpeg"),
    (b"\0\0\x01\xb3", "video/mpeg"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"PAR1\x15", "application/vnd.apache.parquet"),
    (b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
    (b"\0asm", "application/wasm"),
    (b"wOF2\0", "font/woff2"),
    (b"wOFF\0", "font/woff"),
    (b"\0\x01\0\0\0", "font/ttf"),
    (b"OTTO\0", "font/otf"),
    (b"\x7fELF", "application/x-executable"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/x-wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
    b"qt  ": "video/quicktime",
    b"3gp4": "video/3gpp",
    b"3gp5": "video/3gpp",
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_BY_SUFFIX = {
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".msg": "application/vnd.ms-outlook",
}
_ZIP_BY_SUFFIX = {
    ".docx": f"{_OOXML}wordprocessingml.document",
    ".pptx": f"{_OOXML}presentationml.presentation",
    ".xlsx": f"{_OOXML}spreadsheetml.sheet",
    ".pages": "application/x-iwork-pages-sffpages",
    ".numbers": "application/x-iwork-numbers-sffnumbers",
    ".key": "application/x-iwork-keynote-sffkey",
    ".jar": "application/java-archive",
    ".apk": "application/vnd.android.package-archive",
}
# The name of an early member tells the package, however the file is called.
_ZIP_BY_MEMBER = (
    (re.compile(rb"PK\x03\x04.{26}word/", re.DOTALL), _ZIP_BY_SUFFIX[".docx"]),
    (re.compile(rb"PK\x03\x04.{26}ppt/", re.DOTALL), _ZIP_BY_SUFFIX[".pptx"]),
    (re.compile(rb"PK\x03\x04.{26}xl/", re.DOTALL), _ZIP_BY_SUFFIX[".xlsx"]),
)
_ZIP_OFFICE = re.compile(rb"\[Content_Types\]\.xml|_rels/\.rels|docProps/")
_ZIP_OWN_TYPE = re.compile(
    rb"mimetype(application/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]+))(?=PK|\0|$)"
)
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*"
    rb"(?:<!doctype\s+(?P<doctype>[a-z]+)|<(?P<tag>html|head|body|svg)[\s/>])",
    re.IGNORECASE | re.DOTALL,
)
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_XML = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml\s")

# No claim to one of these is believed without the bytes.
ANNOUNCED_TYPES = frozenset(
    {content_type for _, content_type in _STARTS}
    | set(_RIFF.values())
    | set(_BRANDS.values())
    | set(_OLE_BY_SUFFIX.values())
    | set(_ZIP_BY_SUFFIX.values())
    | {f"{_ODF}{kind}" for kind in ("text", "spreadsheet", "presentation", "graphics")}
    | {
        "application/epub+zip",
        "application/x-bzip2",
        "application/x-ole-storage",
        "application/x-tar",
        "application/zip",
        "audio/ogg",
        "audio/wav",
        "image/bmp",
        "image/jpg",
        "image/svg+xml",
        "video/mp4",
        "video/ogg",
        "video/webm",
        "video/x-matroska",
    }
)


def announced_type(name: str, head: bytes) -> str | None:
    """The content type the bytes themselves tell; ``name`` only tells apart what shares a
    container. None for text and everything without a mark."""
    for start, content_type in _STARTS:
        if head.startswith(start):
            return content_type
    suffix = PurePosixPath(name).suffix.lower()
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(suffix, head)
    if head.startswith(_OLE):
        return _OLE_BY_SUFFIX.get(suffix, "application/x-ole-storage")
    return _media_type(head) or _markup_type(head)


def _zip_type(suffix: str, head: bytes) -> str:
    if own := _ZIP_OWN_TYPE.search(head[:256]):
        return own[1].decode()
    if _ZIP_OFFICE.search(head):
        for member, content_type in _ZIP_BY_MEMBER:
            if member.search(head):
                return content_type
    return _ZIP_BY_SUFFIX.get(suffix, "application/zip")


def _media_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[:4] == b"OggS":
        return "video/ogg" if b"theora" in head[:512] else "audio/ogg"
    if head[:1] == b"\0" and head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return "video/webm" if b"webm" in head[:64] else "video/x-matroska"
    if _BZIP2.match(head):
        return "application/x-bzip2"
    # Short marks, so more of the header must fit: sizes for BMP, the fixed bits of an MPEG frame.
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0":
        return "image/bmp"
    if len(head) > 3 and head[0] == 0xFF and head[1] in (0xFB, 0xFA, 0xF3, 0xF2):
        return "audio/mpeg"
    if head[257:262] == b"ustar":
        return "application/x-tar"
    return None


def _markup_type(head: bytes) -> str | None:
    if markup := _MARKUP.match(head):
        word = (markup["doctype"] or markup["tag"]).lower()
        if word in (b"html", b"head", b"body"):
            return "text/html"
        if word == b"svg":
            return "image/svg+xml"
    return "application/xml" if _XML.match(head) else None
