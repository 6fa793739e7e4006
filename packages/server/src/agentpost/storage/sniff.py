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
from agentpost.storage.magic import ANNOUNCED_TYPES, announced_type

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
    """Content type (lower case, without parameters) and kind of a file.

    ``head`` is its first `HEAD_BYTES`; ``declared_type`` what its sender called it, in any form.
    """
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
