"""What files may be called, and their paths: part of public ids."""

import time

import pytest
from hypothesis import given, strategies as st

from agentpost.domain.file_names import (
    check_path,
    content_disposition,
    is_renamed,
    safe_file_name,
    safe_file_path,
)
from agentpost.domain.limits import FILE_NAME_BYTES_MAX
from agentpost.egress.client import given_name

NAMES = {
    "report.pdf": "report.pdf",
    "../../etc/passwd": "passwd",
    "C:\\Users\\me\\table.csv": "table.csv",
    "..": "file",
    "": "file",
    "/": "file",
    "   ": "file",
    ".bashrc": ".bashrc",
    "a/": "file",
    "a/ .env": ".env",
    "...": "file",
    "..x": "..x",
    "trailing. ": "trailing",
    "two\r\nlines.txt": "twolines.txt",
    "nul\x00byte.txt": "nulbyte.txt",
    "photo\u202egpj.exe": "photogpj.exe",
    "cafe\u0301.txt": "caf\u00e9.txt",
    "lone\ud800.txt": "lone.txt",
    "two\u2028\u2029lines.txt": "twolines.txt",
    "\u0645\u06cc\u200c\u062e.pdf": "\u0645\u06cc\u200c\u062e.pdf",
    "\U0001f468\u200d\U0001f469.png": "\U0001f468\u200d\U0001f469.png",
    "\u200d.\u200c": "file",
    "a\u200bb.csv": "ab.csv",
    "\u30c7\u30fc\u30bf.csv": "\u30c7\u30fc\u30bf.csv",
}


@pytest.mark.parametrize("raw", NAMES, ids=ascii)
def test_safe_file_name(raw: str) -> None:
    assert safe_file_name(raw) == NAMES[raw]


@pytest.mark.parametrize("letter", ["a", "\u00e9", "\U0001f600"])
def test_long_names_keep_their_extension(letter: str) -> None:
    name = safe_file_name("begin" + letter * 5_000 + ".csv")
    assert (name[:6], name[-5:]) == (f"begin{letter}", f"{letter}.csv")
    assert FILE_NAME_BYTES_MAX - 4 < len(name.encode()) <= FILE_NAME_BYTES_MAX
    assert len(safe_file_name("a." + letter * 300).encode()) <= FILE_NAME_BYTES_MAX, "no extension"


@pytest.mark.parametrize("unit", ["a", "\u00e9", "\u0301\u0316", "/", ".", " "], ids=ascii)
def test_names_of_megabytes_take_no_time(unit: str) -> None:
    """Marks in a wrong order are sorted by Unicode, at a cost that grows with the square."""
    began = time.process_time()
    name = safe_file_name("a" + unit * 2_000_000 + ".csv")
    assert time.process_time() - began < 1
    assert len(name.encode()) <= FILE_NAME_BYTES_MAX
    assert name.endswith("csv")


NAMES_OF_ANY_KIND = st.text(st.sampled_from("a.b ./\\\r\u202e\u200d\u0301\ud800é"))


@given(NAMES_OF_ANY_KIND)
def test_what_is_made_of_a_name_an_agent_may_give(raw: str) -> None:
    """So both places have one rule; and a name that was made so stays as it is."""
    name = safe_file_name(raw)
    assert check_path(name) == name == safe_file_name(name)
    path = safe_file_path(raw)
    assert check_path(path) == path == safe_file_path(path)


@given(NAMES_OF_ANY_KIND)
def test_a_header_gives_the_name(raw: str) -> None:
    name = safe_file_name(raw)
    assert given_name(content_disposition(name)) == name
    assert content_disposition(name).isascii()


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("reports/q1.pdf", "reports/q1.pdf"),
        ("/etc/../../passwd", "etc/passwd"),
        ("C:\\a\\.env", "C:/a/.env"),
        ("", "file"),
        ("../", "file"),
        ("a/" * 300 + "b", "b"),
    ],
)
def test_safe_file_path(raw: str, path: str) -> None:
    assert safe_file_path(raw) == path


@pytest.mark.parametrize(
    ("raw", "renamed"),
    [(".env", False), ("cafe\u0301.txt", False), ("a/b.txt", True), ("b. ", True), ("", True)],
)
def test_a_change_that_people_see_is_told(raw: str, renamed: bool) -> None:
    assert is_renamed(raw, safe_file_name(raw)) == renamed


@pytest.mark.rule("File.file_id")
@pytest.mark.parametrize(
    "path",
    [
        *("chart.png", "reports/2026/q1.pdf", "Übersicht März.csv"),
        *("\U0001f468\u200d\U0001f469.png", ".hidden", "a..b", "...", "with space"),
        "n" * 255,
        "/".join(["d" * 127] * 4),
    ],
)
def test_plain_relative_paths_are_taken_as_they_are(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "1 to 512"),
        ("a/" * 256 + "b", "1 to 512"),
        ("/etc/passwd", "relative"),
        ("a//b", "relative"),
        ("a/", "relative"),
        (".", "relative"),
        ("..", "relative"),
        ("a/../../b", "relative"),
        ("a/./b", "relative"),
        ("a\\b", "backslashes"),
        ("..\\b", "backslashes"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\x7fb", "control"),
        ("photo\u202egpj.exe", "invisible"),
        ("two\u2028lines", "invisible"),
        ("a\ud800b", "control"),
        ("n" * 256, "255"),
    ],
)
def test_everything_else_is_refused_with_a_reason(path: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_path(path)
