"""What files may be called, wherever a name comes from: callers, servers, agents.

A name holds no slashes, controls, direction overrides, line breaks or lone surrogates, and is
neither ``.`` nor ``..``. What a caller or a foreign server names is brought into that form; an
agent that names its file otherwise is refused, since its author can mend it.
"""

import re
import unicodedata
from typing import Final, Literal
from urllib.parse import quote

from agentpost.domain.limits import (
    FILE_NAME_BYTES_MAX,
    FILE_NAME_CHARACTERS_MAX,
    FILE_PATH_CHARACTERS_MAX,
)

FileKind = Literal[
    "image", "video", "audio", "document", "deck", "site", "data", "archive", "text", "other"
]
"""What a file is for people (`storage.sniff` tells it)."""

RENAMED: Final = "its name was changed to this one, a plain file name"
"""A note about a file that was sent with another name; it follows the name."""
_READ_CHARACTERS_MAX: Final = 1_000
"""Of each end of a longer name: bringing one into NFC may take time that grows with the square."""
_EXTENSION_BYTES_MAX: Final = 20
_INVISIBLE: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
_JOINERS: Final = "\u200c\u200d"
"""Join or part the letters around them: Persian and emoji need them."""
_NOT_AT_THE_ENDS: Final = re.compile(rf"^[\s{_JOINERS}]+|[\s.{_JOINERS}]+$")
_NOT_IN_A_HEADER: Final = re.compile(r'[^\x20-\x7e]|["\\%]')


def safe_file_name(raw: str) -> str:
    """The last part of a path-like name as a name that a file may have: in NFC, without white space
    at its ends and dots at its end; at most `FILE_NAME_BYTES_MAX` bytes of UTF-8 (the extension is
    kept); ``file`` when nothing is left. Fast for any ``raw``."""
    name = raw.replace("\\", "/").rpartition("/")[2]
    if len(name) > 2 * _READ_CHARACTERS_MAX:
        name = name[:_READ_CHARACTERS_MAX] + name[-_READ_CHARACTERS_MAX:]
    visible = "".join(c for c in name if not _is_invisible(c))
    visible = unicodedata.normalize("NFC", visible)
    return _shorten(_NOT_AT_THE_ENDS.sub("", visible)) or "file"


def safe_file_path(raw: str) -> str:
    """The same for a path: its folders stay, but none that leads out."""
    parts = [part for part in raw.replace("\\", "/").split("/") if part.strip(". ")]
    path = "/".join(map(safe_file_name, parts))
    return path if path and len(path) <= FILE_PATH_CHARACTERS_MAX else safe_file_name(raw)


def is_renamed(raw: str, name: str) -> bool:
    """Whether people can see that a file's name is not the one that was sent."""
    return len(raw) > _READ_CHARACTERS_MAX or unicodedata.normalize("NFC", raw) != name


def check_path(path: str) -> str:
    """The path, if a file of a work may have it; raises `ValueError` saying why not."""
    if not path or len(path) > FILE_PATH_CHARACTERS_MAX:
        raise ValueError(f"a path has 1 to {FILE_PATH_CHARACTERS_MAX} characters")
    refused = next((c for c in path if c == "\\" or _is_invisible(c)), None)
    if refused is not None:
        raise ValueError(
            f"a path holds no control or invisible characters and no backslashes, here {refused!a}"
        )
    for part in path.split("/"):
        if part in ("", ".", ".."):
            raise ValueError("a path is relative, without empty parts, '.' and '..'")
        if len(part) > FILE_NAME_CHARACTERS_MAX:
            raise ValueError(f"a file name has at most {FILE_NAME_CHARACTERS_MAX} characters")
    return path


def content_disposition(name: str, kind: Literal["attachment", "inline"] = "attachment") -> str:
    """The header that gives a file's name to who downloads it (RFC 6266); also for clients that
    read ASCII only."""
    plain = _NOT_IN_A_HEADER.sub("_", name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _is_invisible(character: str) -> bool:
    """Controls, direction overrides (which disguise an extension), lone surrogates, line breaks."""
    return unicodedata.category(character) in _INVISIBLE and character not in _JOINERS


def _shorten(name: str) -> str:
    if len(name.encode()) <= FILE_NAME_BYTES_MAX:
        return name
    stem, dot, extension = name.rpartition(".")
    if not stem.strip(".") or len(extension.encode()) > _EXTENSION_BYTES_MAX:
        stem, dot, extension = name, "", ""
    room = FILE_NAME_BYTES_MAX - len((dot + extension).encode())
    stem = stem.encode()[:room].decode(errors="ignore")
    return _NOT_AT_THE_ENDS.sub("", stem) + dot + extension
