"""File names from outside: reduced to what is safe to show, to store and to put in a header."""

from __future__ import annotations

import unicodedata
from typing import Literal

FileKind = Literal[
    "image", "video", "audio", "document", "deck", "site", "data", "archive", "text", "other"
]
"""What a file is for people (`storage.sniff` tells it)."""

FILE_NAME_BYTES_MAX = 200
_READ_CHARACTERS_MAX = 1_000
"""Of each end of a longer name: bringing one into NFC may take time that grows with the square."""
_EXTENSION_BYTES_MAX = 20
_JOINERS = "\u200c\u200d"
"""Join or part the letters around them: Persian and emoji need them."""
_NOT_AT_THE_ENDS = f". {_JOINERS}"


def safe_file_name(raw: str, fallback: str = "file") -> str:
    """The last part of a path-like name, in NFC, without line breaks, control, direction and
    surrogate characters, without leading dots and spaces at the ends; at most `FILE_NAME_BYTES_MAX`
    bytes of UTF-8 (the extension is kept). ``fallback`` when nothing is left. Fast for any ``raw``.
    """
    name = raw.replace("\\", "/").rpartition("/")[2]
    if len(name) > 2 * _READ_CHARACTERS_MAX:
        name = name[:_READ_CHARACTERS_MAX] + name[-_READ_CHARACTERS_MAX:]
    name = unicodedata.normalize("NFC", name)
    visible = "".join(c for c in name if not _is_invisible(c))
    visible = visible.strip().strip(_NOT_AT_THE_ENDS)
    return _shortened(visible) or fallback


def _is_invisible(character: str) -> bool:
    """Controls, direction overrides (which disguise an extension), lone surrogates, line breaks."""
    category = unicodedata.category(character)
    return (category[0] == "C" and character not in _JOINERS) or category in ("Zl", "Zp")


def _shortened(name: str) -> str:
    if len(name.encode()) <= FILE_NAME_BYTES_MAX:
        return name
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > _EXTENSION_BYTES_MAX:
        stem, dot, extension = name, "", ""
    room = FILE_NAME_BYTES_MAX - len((dot + extension).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + dot + extension
