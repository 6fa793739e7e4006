"""File names from outside."""

import pytest

from agentpost.domain.filenames import FILE_NAME_BYTES_MAX, safe_file_name

NAMES = {
    "report.pdf": "report.pdf",
    "../../etc/passwd": "passwd",
    "C:\\Users\\me\\table.csv": "table.csv",
    "..": "file",
    "": "file",
    "   ": "file",
    ".bashrc": "bashrc",
    "a/": "file",
    "trailing. ": "trailing",
    "two\r\nlines.txt": "twolines.txt",
    "nul\x00byte.txt": "nulbyte.txt",
    "photo\u202egpj.exe": "photogpj.exe",
    "cafe\u0301.txt": "caf\u00e9.txt",
    "lone\ud800.txt": "lone.txt",
    "\u30c7\u30fc\u30bf.csv": "\u30c7\u30fc\u30bf.csv",
}


@pytest.mark.parametrize("raw", NAMES, ids=ascii)
def test_safe_file_name(raw: str) -> None:
    assert safe_file_name(raw) == NAMES[raw]


@pytest.mark.parametrize("letter", ["a", "\u00e9", "\U0001f600"])
def test_long_names_keep_their_extension(letter: str) -> None:
    name = safe_file_name(letter * 300 + ".csv")
    assert name.endswith(letter + ".csv")
    assert FILE_NAME_BYTES_MAX - 4 < len(name.encode()) <= FILE_NAME_BYTES_MAX


def test_long_extensions_are_no_extensions() -> None:
    assert len(safe_file_name("a." + "b" * 300).encode()) <= FILE_NAME_BYTES_MAX


def test_fallback() -> None:
    assert safe_file_name("/", "download") == "download"
