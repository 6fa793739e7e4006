"""Paths of files inside a work: they become part of a public id and of storage keys."""

import pytest

from agentpost.domain.paths import check_path


@pytest.mark.rule("File.file_id")
@pytest.mark.parametrize(
    "path",
    [
        "chart.png",
        "reports/2026/q1.pdf",
        "Übersicht März.csv",
        ".hidden",
        "a..b",
        "...",
        "with space",
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
        ("a\ud800b", "control"),
        ("n" * 256, "255"),
    ],
)
def test_everything_else_is_refused_with_a_reason(path: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        check_path(path)
