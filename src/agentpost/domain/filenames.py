"""File names from outside: reduced to what is safe to show, to store and to put in a header."""

from __future__ import annotations

import unicodedata

FILE_NAME_BYTES_MAX = 200
_EXTENSION_BYTES_MAX = 20


def safe_file_name(raw: str, fallback: str = "file") -> str:
    """The last part of a path-like name, in NFC, without control, direction and surrogate
    characters, without leading dots and spaces at the ends; at most `FILE_NAME_BYTES_MAX` bytes of
    UTF-8 (the extension is kept). ``fallback`` when nothing is left."""
    name = unicodedata.normalize("NFC", raw.replace("\\", "/")).rpartition("/")[2]
    # Category C: controls, direction overrides (which disguise an extension), lone surrogates.
    visible = "".join(c for c in name if unicodedata.category(c)[0] != "C")
    visible = visible.strip().lstrip(". ").rstrip(". ")
    return _shortened(visible) or fallback


def _shortened(name: str) -> str:
    if len(name.encode()) <= FILE_NAME_BYTES_MAX:
        return name
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > _EXTENSION_BYTES_MAX:
        stem, dot, extension = name, "", ""
    room = FILE_NAME_BYTES_MAX - len((dot + extension).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + dot + extension
